// What fit, evaluate and predict are given that does not fit the model.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "golden/situation.h"

namespace golden {

namespace {
constexpr nn::Verbose kUnseen = nn::Verbose::silent;
}

SITUATION(fit_given_other_features, Tells::thing) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "out", .input_shape = {3}})},
                             {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(tn::ones({8, 5}), tn::ones({8, 2}), {.verbose = kUnseen});
}

SITUATION(fit_given_other_features_than_the_first_had, Tells::thing) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "out"})}, {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(tn::ones({8, 5}), tn::ones({8, 2}), {.verbose = kUnseen});
  model.fit(tn::ones({8, 3}), tn::ones({8, 2}), {.verbose = kUnseen});
}

namespace {
struct Net : nn::ModelBase {
  Net() : ModelBase({.name = "net"}) {}
  tn::Tensor call(const tn::Tensor& x, const nn::Call& how) override { return out(x, how); }
  nn::Layer out = track(nn::Dense({.units = 2, .name = "out"}));
};
}  // namespace

SITUATION(fit_of_a_model_of_ones_own_given_other_features, Tells::thing) {
  const nn::Model model = nn::make_model<Net>();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(tn::ones({8, 5}), tn::ones({8, 2}), {.verbose = kUnseen});
  model.fit(tn::ones({8, 3}), tn::ones({8, 2}), {.verbose = kUnseen});
}

SITUATION(predict_given_other_features, Tells::thing) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "out", .input_shape = {3}})},
                             {.name = "scorer"});
  model.predict(tn::ones({8, 5}));
}

SITUATION(fit_given_single_examples, Tells::thing) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "out", .input_shape = {3}})},
                             {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(nn::Dataset::from_tensors(tn::ones({8, 3}), tn::ones({8, 2})), {.verbose = kUnseen});
}

SITUATION(fit_given_targets_of_another_shape, Tells::thing) {
  const nn::Node in = nn::Input({.shape = {3}, .name = "features"});
  const nn::Dense price({.units = 1, .name = "price"}), sold({.units = 2, .name = "sold"});
  const nn::Model model({in}, {price(in), sold(in)}, {.name = "twin"});
  model.compile({.optimizer = "sgd", .loss = {{"price", "mse"}, {"sold", "bce"}}});
  model.fit({tn::ones({8, 3})}, std::vector{tn::ones({8, 1}), tn::ones({8, 5})},
            {.verbose = kUnseen});
}

SITUATION(fit_given_a_label_that_is_no_class, Tells::thing) {
  const nn::Sequential model(
      {nn::Dense({.units = 3, .activation = "softmax", .name = "out", .input_shape = {3}})},
      {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  model.fit(tn::ones({4, 3}), tn::tensor({0, 2, 3, 1}), {.verbose = kUnseen, .shuffle = false});
}

SITUATION(fit_given_class_numbers_in_place_of_rows, Tells::thing) {
  const nn::Sequential model(
      {nn::Dense({.units = 3, .activation = "softmax", .name = "out", .input_shape = {3}})},
      {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "categorical_crossentropy"});
  model.fit(tn::ones({4, 3}), tn::tensor({0, 2, 2, 1}), {.verbose = kUnseen, .shuffle = false});
}

SITUATION(fit_given_rows_in_place_of_class_numbers, Tells::thing) {
  const nn::Sequential model(
      {nn::Dense({.units = 3, .activation = "softmax", .name = "out", .input_shape = {3}})},
      {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  model.fit(tn::ones({4, 3}), tn::ones({4, 3}), {.verbose = kUnseen, .shuffle = false});
}

SITUATION(model_in_braces_that_is_not_compiled, Tells::thing) {
  const nn::Sequential inner({nn::Dense({.units = 2, .name = "out", .input_shape = {3}})},
                             {.name = "scorer"});
  inner.compile({.optimizer = "sgd", .loss = "mse"});
  const nn::Sequential model({inner}, {.name = "outer"});
  model.fit(tn::ones({8, 3}), tn::ones({8, 2}), {.verbose = kUnseen});
}

SITUATION(compile_given_an_output_that_is_not_there, Tells::use) {
  const nn::Node in = nn::Input({.shape = {3}, .name = "features"});
  const nn::Dense price({.units = 1, .name = "price"}), sold({.units = 2, .name = "sold"});
  const nn::Model model({in}, {price(in), sold(in)}, {.name = "twin"});
  model.compile({.optimizer = "sgd", .loss = {{"prise", "mse"}}});
}

SITUATION(compile_given_too_few_metrics, Tells::use) {
  const nn::Node in = nn::Input({.shape = {3}, .name = "features"});
  const nn::Dense price({.units = 1, .name = "price"}), sold({.units = 2, .name = "sold"});
  const nn::Model model({in}, {price(in), sold(in)}, {.name = "twin"});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
}

SITUATION(compile_given_a_metric_called_loss, Tells::use) {
  const nn::Node in = nn::Input({.shape = {3}, .name = "features"});
  const nn::Dense price({.units = 1, .name = "price"}), sold({.units = 2, .name = "sold"});
  const nn::Model model({in}, {price(in), sold(in)}, {.name = "twin"});
  model.compile({.optimizer = "sgd",
                 .loss = "mse",
                 .metrics = {{"price", nn::MeanSquaredError({.name = "loss"})}}});
}

SITUATION(fit_given_a_validation_and_a_split, Tells::use) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "out", .input_shape = {3}})},
                             {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const tn::Tensor x = tn::ones({8, 3}), y = tn::ones({8, 2});
  model.fit(x, y, {.validation_split = 0.5, .validation = nn::Dataset::from_tensors(x, y)});
}

SITUATION(predictions_of_too_many_sizes, Tells::problem) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "out", .input_shape = {3}})},
                             {.name = "scorer"});
  for (int size = 1; size <= 65; ++size) model.predict_on_batch(tn::ones({size, 3}));
}

namespace {

// A file of these bytes, and of no name: what reads it cannot be told by its ending.
struct FileOf {
  explicit FileOf(const std::string& bytes)
      : path(std::filesystem::temp_directory_path() / fmt::format("tenure-golden-{}", ::getpid())) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~FileOf() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

std::string zip_that_begins_with(const std::string& name) {
  return std::string("PK\3\4") + std::string(22, '\0') + static_cast<char>(name.size()) +
         std::string(3, '\0') + name;
}

}  // namespace

SITUATION(load_model_given_a_keras_archive, Tells::use) {
  const FileOf file(zip_that_begins_with("metadata.json"));
  nn::load_model(file.path);
}

SITUATION(load_weights_given_an_hdf5_file, Tells::use) {
  const FileOf file("\x89HDF\r\n\x1a\n" + std::string(56, '\0'));
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})});
  model.load_weights(file.path);
}

SITUATION(load_model_given_text, Tells::use) {
  const FileOf file("height,width\n1,2\n");
  nn::load_model(file.path);
}

SITUATION(save_under_a_foreign_ending, Tells::use) {
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})});
  model.save("model.keras");
}

SITUATION(save_weights_under_a_foreign_ending, Tells::use) {
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})});
  model.save_weights("model.weights.h5");
}

SITUATION(training_of_what_is_frozen, Tells::problem) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "out", .input_shape = {3}})},
                             {.name = "scorer"});
  model.set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(tn::ones({8, 3}), tn::ones({8, 2}), {.verbose = kUnseen});
}

}  // namespace golden
