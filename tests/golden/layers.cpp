// What layers and models refuse of what they are given or set up with.
#include "golden/situation.h"

namespace golden {

SITUATION(lstm_without_features, Tells::thing) {
  const nn::LSTM lstm({.units = 4, .name = "memory"});
  lstm(tn::ones({32, 10}));
}

SITUATION(lstm_behind_the_last_step_of_another, Tells::thing) {
  const nn::LSTM first({.units = 4, .name = "first", .input_shape = {5, 3}});
  nn::Sequential({first, nn::LSTM({.units = 4, .name = "second"})}, {.name = "series"});
}

SITUATION(reshape_of_sizes_that_vary, Tells::thing) {
  const nn::Node x = nn::Input({.shape = {4}});
  nn::Reshape({.target_shape = {3}, .name = "rows"})(x);
}

SITUATION(embedding_of_an_index_out_of_range, Tells::thing) {
  const nn::Embedding words({.input_dim = 5, .output_dim = 2, .name = "words"});
  words(tn::tensor({0, 4, 7, 1}, {2, 2}));
}

SITUATION(embedding_in_a_step_of_an_index_out_of_range, Tells::thing) {
  const nn::Sequential model({nn::Embedding({.input_dim = 5, .output_dim = 2, .name = "words"})});
  model.predict(tn::tensor({0, 4, 7, 1}, {2, 2}));
}

SITUATION(features_that_a_sequential_did_not_declare, Tells::thing) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "head", .input_shape = {10}})},
                             {.name = "scorer"});
  model(tn::ones({4, 7}));
}

SITUATION(kernel_size_of_too_many_axes, Tells::use) {
  nn::Conv1D({.filters = 4, .kernel_size = {3, 3}});
}

SITUATION(layer_that_a_model_lacks, Tells::thing) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "head"})}, {.name = "scorer"});
  model.get_layer("heads");
}

SITUATION(output_of_a_layer_in_several_places, Tells::thing) {
  const nn::Dense shared({.units = 2, .name = "shared"});
  const nn::Node a = shared(nn::Input({.shape = {3}})), b = shared(nn::Input({.shape = {3}}));
  shared.output();
}

SITUATION(node_of_shapes_that_do_not_fit, Tells::use) {
  const nn::Node a = nn::Input({.shape = {3}}), b = nn::Input({.shape = {4}});
  tn::concat({a, b}, 0) + a* b;
}

}  // namespace golden
