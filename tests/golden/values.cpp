// Values that do not fit what they are given to, and memory that does not suffice.
#include <filesystem>

#include "golden/situation.h"

namespace golden {

SITUATION(assigned_another_shape, Tells::thing) {
  tn::Variable w(tn::zeros({4, 4}), {.name = "w"});
  const tn::Tensor update = tn::tanh(tn::ones({3}));
  w.assign(update);
}

SITUATION(assigned_as_many_in_another_shape, Tells::thing) {
  tn::Variable w(tn::zeros({4, 4}), {.name = "w"});
  w.assign(tn::ones({16}));
}

SITUATION(assigned_another_dtype, Tells::thing) {
  tn::Variable w(tn::zeros({2}), {.name = "w"});
  w.assign(tn::zeros({2}, tn::DType::int32));
}

SITUATION(assigned_a_number, Tells::thing) {
  tn::Variable w(tn::zeros({2}), {.name = "w"});
  w.assign(1.5);
}

SITUATION(item_of_many, Tells::thing) {
  const tn::Tensor losses = tn::ones({2, 3}).set_name("losses");
  losses.item<float>();
}

SITUATION(read_as_another_dtype, Tells::use) {
  const tn::Tensor labels = tn::arg_max(tn::ones({2, 3}), 1);
  labels.to_vector<float>();
}

SITUATION(complex_read_as_real, Tells::use) {
  const tn::Tensor spectrum = tn::fft(tn::complex(tn::ones({4}), tn::zeros({4})));
  spectrum.to_vector<float>();
}

SITUATION(axis_out_of_range, Tells::use) {
  const tn::Tensor x = tn::ones({2, 3});
  x.dim(2);
}

SITUATION(empty_handle, Tells::use) {
  tn::Tensor x = tn::ones({2});
  const tn::Tensor y = std::move(x);
  x + y;
}

SITUATION(empty_variable, Tells::use) {
  const tn::Variable w;
  w.read();
}

SITUATION(shapes_that_do_not_multiply, Tells::use) {
  const tn::Tensor x = tn::ones({2, 3}).set_name("x"), w = tn::zeros({4, 5});
  tn::matmul(x, w);
}

SITUATION(shapes_that_do_not_broadcast, Tells::use) {
  const tn::Tensor x = tn::ones({2, 3});
  x + tn::tanh(tn::ones({2}));
}

SITUATION(shapes_that_do_not_multiply_in_a_trace, Tells::use) {
  auto f = tn::function("f", [](tn::Tensor x) { return tn::matmul(x, tn::tanh(x)); });
  f(tn::ones({2, 3}));
}

SITUATION(dtype_without_a_kernel, Tells::use) {
  const tn::Tensor mask = tn::ones({2}) > 0;
  tn::logical_and(mask, tn::ones({2}));
}

SITUATION(index_out_of_range, Tells::use) {
  const tn::Tensor table = tn::ones({3, 2});
  tn::gather(table, tn::tensor({0, 7}));
}

SITUATION(index_out_of_range_in_a_function, Tells::use) {
  auto pick = tn::function(
      "pick", [](tn::Tensor table, tn::Tensor rows) { return tn::gather(table, rows); });
  pick(tn::ones({3, 2}), tn::tensor({0, 7}));
}

SITUATION(weights_of_another_shape, Tells::thing) {
  const nn::Dense head({.units = 2, .name = "head"});
  head(tn::ones({1, 3}));
  head.set_weights({tn::ones({2, 3}), tn::ones({2})});
}

SITUATION(too_few_weights, Tells::thing) {
  const nn::Dense head({.units = 2, .name = "head"});
  head(tn::ones({1, 3}));
  head.set_weights({tn::ones({3, 2})});
}

SITUATION(weights_before_the_layer_is_built, Tells::thing) {
  const nn::Dense head({.units = 2, .name = "head"});
  head.set_weights({tn::ones({3, 2}), tn::ones({2})});
}

SITUATION(layer_given_another_size, Tells::use) {
  const nn::Dense head({.units = 2, .name = "head"});
  head(tn::ones({1, 3}));
  const tn::Tensor x = tn::ones({1, 5}).set_name("x");
  head(x);
}

SITUATION(layer_in_a_model_given_another_size, Tells::use) {
  const nn::Sequential model({nn::Dense({.units = 4, .name = "in", .input_shape = {3}}),
                              nn::Dense({.units = 2, .name = "out"})},
                             {.name = "scorer"});
  model(tn::ones({1, 5}));
}

SITUATION(layer_given_another_rank, Tells::use) {
  const nn::LSTM memory({.units = 2, .name = "memory"});
  memory(tn::ones({4, 3}));
}

SITUATION(stateful_layer_given_another_batch, Tells::use) {
  const nn::LSTM memory({.units = 2, .stateful = true, .name = "memory"});
  memory(tn::ones({4, 5, 3}));
  memory(tn::ones({2, 5, 3}));
}

SITUATION(states_of_another_shape, Tells::thing) {
  const nn::GRU memory({.units = 2, .stateful = true, .name = "memory"});
  memory(tn::ones({4, 5, 3}));
  memory.reset_states({tn::zeros({3, 2})});
}

SITUATION(gradient_of_another_shape, Tells::thing) {
  const nn::Optimizer sgd = nn::SGD({.learning_rate = 0.1});
  const tn::Variable w(tn::zeros({2}), {.name = "w"});
  sgd.apply({tn::ones({3})}, {w});
}

SITUATION(too_few_gradients, Tells::thing) {
  const nn::Optimizer sgd = nn::SGD({.learning_rate = 0.1});
  const tn::Variable w(tn::zeros({2}), {.name = "w"}), b(tn::zeros({1}), {.name = "b"});
  sgd.apply({tn::ones({2})}, {w, b});
}

SITUATION(no_gradient_at_all, Tells::thing) {
  const nn::Optimizer sgd = nn::SGD({.learning_rate = 0.1});
  const tn::Variable w(tn::zeros({2}), {.name = "w"});
  sgd.apply({tn::Tensor()}, {w});
}

SITUATION(file_of_another_model, Tells::use) {
  const auto file = std::filesystem::temp_directory_path() / "tenure_golden.safetensors";
  const nn::Sequential small({nn::Dense({.units = 2, .name = "head", .input_shape = {3}})});
  const nn::Sequential large({nn::Dense({.units = 4, .name = "head", .input_shape = {3}})},
                             {.name = "large"});
  small.save_weights(file.string());
  struct Remove {
    std::filesystem::path path;
    ~Remove() { std::filesystem::remove(path); }
  } const remove{file};
  large.load_weights(file.string());
}

// ---- memory

namespace {

constexpr std::int64_t kMiB = 1 << 18;  // of float32

}  // namespace

SITUATION(out_of_a_sessions_budget, Tells::use) {
  tn::Session render({.name = "render", .budget = 4 << 20});
  render.run([] {
    const tn::Tensor frame = tn::zeros({3 * kMiB}).set_name("frame");
    frame + 1;
  });
}

SITUATION(out_of_memory_held_by_a_small_view, Tells::use) {
  tn::Session render({.name = "render", .budget = 4 << 20});
  render.run([] {
    const tn::Tensor first = tn::zeros({3 * kMiB})[0];
    tn::ones({2 * kMiB});
  });
}

SITUATION(out_of_memory_saved_by_a_tape, Tells::use) {
  tn::Session render({.name = "render", .budget = 4 << 20});
  render.run([] {
    tn::Tensor x = tn::ones({kMiB});
    tn::GradientTape tape({.name = "step"});
    tape.watch(x);
    x = tn::tanh(x);
    x = tn::tanh(x);
    tn::ones({3 * kMiB});
  });
}

}  // namespace golden
