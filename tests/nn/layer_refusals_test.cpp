// What layers say of inputs that are of another kind than they look up or go along.
#include "nn/layers/checks.h"
#include "tenure/nn.h"

namespace tenure::testing {
namespace {

TEST(LayerRefusals, a_recurrent_layer_without_steps_or_features_says_how_to_add_them) {
  const nn::LSTM lstm({.units = 3, .name = "memory"});
  for (const Tensor& x : {ones({32, 10}), ones({2, 3, 4, 5})}) {
    const int line = here().line() + 1;
    const std::string text = whole_message_of<ShapeError>([&] { lstm(x); });
    EXPECT_HAS(text,
               "LSTM \"memory\": takes [batch, time, features], was given " + to_string(x.shape()));
    EXPECT_HAS(text, "layer_refusals_test.cpp:" + std::to_string(line));
    EXPECT_EQ(text.find("nn::Reshape({.target_shape = {-1, 1}})") != text.npos, x.rank() == 2);
    EXPECT_EQ(text.find("expand_dims(x, -1)") != text.npos, x.rank() == 2);
  }
  EXPECT_FALSE(lstm.is_built());
  lstm(ones({2, 3, 4}));  // built: the same
  EXPECT_HAS(message_of<ShapeError>([&] { lstm(ones({32, 10})); }),
             "takes [batch, time, features], was given [32, 10]");
  EXPECT_HAS(message_of<ShapeError>([&] { lstm(nn::Input({.shape = {10}})); }),
             "takes [batch, time, features], was given [");
  EXPECT_HAS(
      message_of<ShapeError>([] { nn::GRU({.units = 1, .time_major = true})(ones({2, 2})); }),
      "takes [time, batch, features]");
  EXPECT_HAS(message_of<ShapeError>(
                 [] { nn::ConvLSTM2D({.filters = 1, .kernel_size = 1})(ones({2, 3, 4, 5})); }),
             "takes [batch, time, height, width, channels], was given [2, 3, 4, 5]");
  nn::Sequential model({lstm}, {.name = "series"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_HAS(message_of<ShapeError>([&] { model.fit(ones({8, 10}), ones({8, 3})); }),
             "LSTM \"memory\": takes [batch, time, features], was given [8, 10]");
}

TEST(LayerRefusals, a_recurrent_layer_behind_another_names_that_one) {
  const nn::LSTM first({.units = 3, .name = "first"});
  const auto text_of = [](const std::vector<nn::Layer>& layers) {
    return whole_message_of<ShapeError>([&] { nn::Sequential model(layers); });
  };
  const nn::Dense in({.units = 2, .input_shape = {5, 4}});
  const std::string text = text_of({in, first, nn::LSTM({.units = 2, .name = "second"})});
  EXPECT_HAS(text, "LSTM \"second\": takes [batch, time, features], was given [-1, 3]");
  EXPECT_HAS(text,
             "LSTM \"first\" gives its last step only: with .return_sequences = true it gives all "
             "of them.");
  EXPECT_EQ(text.find("expand_dims"), text.npos) << text;
  EXPECT_HAS(text_of({in, nn::Bidirectional(nn::GRU({.units = 3, .name = "both"})),
                      nn::SimpleRNN({.units = 2})}),
             "with .return_sequences = true");
  EXPECT_HAS(text_of({in, nn::LSTM({.units = 3, .name = "inner"}),
                      nn::Bidirectional(nn::LSTM({.units = 2}))}),
             "LSTM \"inner\" gives its last step only");
  // Also where the sizes are those of data.
  nn::Sequential undeclared({nn::LSTM({.units = 3, .name = "early"}), nn::LSTM({.units = 2})});
  EXPECT_HAS(whole_message_of<ShapeError>([&] { undeclared(ones({2, 5, 4})); }),
             "LSTM \"early\" gives its last step only");
  EXPECT_HAS(text_of({nn::Dense({.units = 2, .input_shape = {4}}), nn::LSTM({.units = 2})}),
             "expand_dims(x, -1)");
}

TEST(LayerRefusals, one_example_where_a_batch_belongs_is_told_so) {
  const char* advice = "give a dataset as dataset.batch(32), a tensor as expand_dims(x, 0)";
  EXPECT_HAS(whole_message_of<ShapeError>([] { nn::Dense({.units = 1})(ones({3})); }), advice);
  EXPECT_HAS(
      whole_message_of<ShapeError>(
          [] { nn::Conv2D({.filters = 1, .kernel_size = 1})(ones({3, 3, 1})); }),
      "where it is one example, give a batch: dataset.batch(32), or expand_dims(x, 0); where "
      "each place is one number, say so: expand_dims(x, -1)");
  const nn::Sequential model({nn::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto open = [] {
    return [] { return std::optional(nn::Batch{{ones({3})}, {ones({1})}, {}}); };
  };
  EXPECT_HAS(whole_message_of<ShapeError>([&] {
               model.fit(nn::Dataset::from_generator(open).take(4),
                         {.verbose = nn::Verbose::silent});
             }),
             advice);
}

TEST(LayerRefusals, an_index_that_an_embedding_lacks_is_told_with_its_input_dim) {
  const nn::Embedding words({.input_dim = 5, .output_dim = 2, .name = "words"});
  const Tensor x = tensor({0, 4, 7, 1}, {2, 2}), below = tensor({0, -1}, {1, 2});
  const std::string want =
      "Embedding \"words\": index 7 at position 2 is out of range: input_dim is 5";
  const int line = here().line() + 1;
  const std::string text = whole_message_of<ValueError>([&] { words(x); });
  EXPECT_HAS(text, want);
  EXPECT_HAS(text, "indices go from 0 to 4: this one needs an input_dim of 8.");
  EXPECT_HAS(text, "layer_refusals_test.cpp:" + std::to_string(line));
  EXPECT_HAS(message_of<ValueError>([&] { words(below); }), "index -1 at position 1");

  // In traced steps, where no layer runs any more.
  const nn::Sequential model({words, nn::Flatten(), nn::Dense({.units = 1})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor good = tensor({0, 4, 3, 1}, {2, 2}), y = zeros({2, 1});
  model.fit(good, y, {.verbose = nn::Verbose::silent});
  model.predict(good);
  const std::vector<Tensor> before = model.get_weights();
  const std::size_t held = memory().tensors;
  EXPECT_HAS(message_of<ValueError>(
                 [&] { model.fit(x, y, {.verbose = nn::Verbose::silent, .shuffle = false}); }),
             want);
  EXPECT_HAS(message_of<ValueError>([&] { model.predict(x); }), want);
  EXPECT_HAS(message_of<ValueError>([&] { model.test_on_batch(x, y); }), want);
  EXPECT_EQ(memory().tensors, held);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(floats(model.get_weights()[i]), floats(before[i]));
  }
}

TEST(LayerRefusals, an_index_that_is_no_number_is_in_no_table) {
  const nn::Embedding words({.input_dim = 4, .output_dim = 1});
  EXPECT_HAS(message_of<ValueError>([&] { words(tensor({0.f, NAN})); }), "index -1 at position 1");
  EXPECT_NO_THROW(words(tensor({0.f, 3.f})));
}

TEST(LayerRefusals, a_class_beyond_num_tokens_is_told_with_it) {
  const nn::Sequential model(
      {nn::CategoryEncoding(
          {.num_tokens = 4, .output_mode = "one_hot", .name = "kinds", .input_shape = {1}})},
      {.name = "m"});
  const Tensor x = tensor({1, 4}, {2, 1});
  for (const bool predicts : {false, true}) {
    const std::string text =
        whole_message_of<ValueError>([&] { predicts ? model.predict(x) : model(x); });
    EXPECT_HAS(
        text, "CategoryEncoding \"kinds\": index 4 at position 1 is out of range: num_tokens is 4");
    EXPECT_HAS(text, "indices go from 0 to 3: this one needs a num_tokens of 5.");
    EXPECT_HAS(text, "layer_refusals_test.cpp");
  }
}

// Its weights fit the inputs, which are too small for them.
TEST(LayerRefusals, a_kernel_larger_than_the_first_image_is_not_told_of_other_inputs) {
  const std::string text = whole_message_of<ShapeError>([] {
    nn::Sequential({nn::Conv2D({.filters = 2, .kernel_size = 5, .input_shape = {4, 4, 1}})});
  });
  EXPECT_HAS(text, "Conv2D");
  EXPECT_EQ(text.find("its weights are for"), text.npos) << text;
  const nn::Dense dense({.units = 2});
  dense(ones({1, 3}));
  EXPECT_HAS(whole_message_of<ShapeError>([&] { dense(ones({1, 4})); }), "its weights are for");
}

TEST(LayerRefusals, attention_says_which_of_its_inputs_do_not_fit) {
  const nn::MultiHeadAttention attend({.num_heads = 1, .key_dim = 2, .name = "looks"});
  const Tensor query = ones({1, 3, 4});
  EXPECT_HAS(
      message_of<ShapeError>([&] { attend({query, ones({1, 5, 4}), ones({1, 6, 4})}); }),
      "MultiHeadAttention \"looks\": each key is to have a value: keys are [1, 6, 4], values "
      "[1, 5, 4]");
  EXPECT_HAS(message_of<ShapeError>([&] { attend({query, query, query, ones({1, 2, 2})}); }),
             "takes an attention_mask of shape [batch, 3, 3]");
  EXPECT_NO_THROW(attend({query, query, query, ones({1, 1, 3})}));
}

TEST(LayerRefusals, a_model_says_which_inputs_and_targets_it_takes) {
  const nn::Node a = nn::Input({.shape = {2}, .name = "left"}),
                 b = nn::Input({.shape = {2}, .name = "right"});
  const nn::Model model({a, b}, {nn::Dense({.units = 1, .name = "price"})(nn::Add()({a, b}))});
  const std::string text = whole_message_of<ValueError>([&] { model.predict({ones({3, 2})}); });
  EXPECT_HAS(text, "takes 2 inputs, was given 1");
  EXPECT_HAS(text, "give a tensor for each of: \"left\" [-1, 2], \"right\" [-1, 2].");
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::string targets = whole_message_of<ValueError>(
      [&] { model.fit({ones({3, 2}), ones({3, 2})}, {}, {.verbose = nn::Verbose::silent}); });
  EXPECT_HAS(targets, "has 1 output, was given 0 targets");
  EXPECT_HAS(targets, "output \"price\"");
}

TEST(LayerRefusals, a_loss_of_ones_own_that_weights_cannot_weigh_is_told_so) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  const auto whole = [](Tensor y, Tensor p) { return mean(square(y - p)); };
  model.compile({.optimizer = "sgd", .loss = nn::Loss(whole, "whole")});
  EXPECT_HAS(message_of<ShapeError>([&] {
               model.fit(ones({4, 2}), ones({4, 1}),
                         {.verbose = nn::Verbose::silent, .sample_weight = ones({4})});
             }),
             "it should give one for each example");
}

TEST(LayerRefusals, a_callback_cannot_set_the_rate_of_a_schedule) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  model.compile({.optimizer = nn::SGD({.learning_rate = nn::CosineDecay(
                                           {.initial_learning_rate = 1, .decay_steps = 10})}),
                 .loss = "mse"});
  const std::string text = whole_message_of<ValueError>([&] {
    model.fit(ones({4, 2}), ones({4, 1}),
              {.epochs = 3,
               .verbose = nn::Verbose::silent,
               .callbacks = {nn::LearningRateScheduler([](int, double) { return 0.5; })}});
  });
  EXPECT_HAS(text, "the learning rate is set by a schedule");
  EXPECT_HAS(text, "give the optimizer a number as its learning_rate");
}

}  // namespace
}  // namespace tenure::testing
