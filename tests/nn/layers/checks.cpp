#include "nn/layers/checks.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "nn/config.h"

namespace tenure::testing {

Tensor Grid::tensor(DType dtype) const { return cast(tenure::tensor(values, shape), dtype); }

Grid numbers(const Shape& shape, unsigned seed) {
  Grid grid(shape);
  std::uint64_t state = seed * 2654435761u + 12345;
  for (double& value : grid.values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 11) / static_cast<double>(1ull << 52) - 1;
  }
  return grid;
}

Grid grid_of(const Tensor& tensor) {
  Grid grid(tensor.shape());
  grid.values = cast(tensor, DType::float64).to_vector<double>();
  return grid;
}

void expect_near(const Tensor& got, const Grid& want, double tolerance) {
  ASSERT_EQ(got.shape(), want.shape);
  const Grid found = grid_of(got);
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    const double bound = tolerance * std::max(1.0, std::abs(want.values[i]));
    ASSERT_NEAR(found.values[i], want.values[i], bound) << "element " << i;
  }
}

void fill_weights(const nn::Layer& layer, unsigned seed) {
  std::vector<Tensor> values;
  for (const Variable& weight : layer.weights()) {
    values.push_back(numbers(weight.shape(), seed++).tensor(weight.dtype()));
  }
  layer.set_weights(values);
}

Tensor patterned_sum(const Tensor& y) {
  Grid pattern(y.shape());
  for (std::size_t i = 0; i < pattern.values.size(); ++i) {
    pattern.values[i] = (static_cast<double>(i * 7 % 11) - 5) / 5;
  }
  return sum(y * pattern.tensor(y.dtype()));
}

void compute_in_double(const nn::Layer& layer) {
  nn::detail::LayerState& state = nn::detail::LayerAccess::state(layer);
  if (!state.options.dtype.given() && state.weights.empty()) state.options.dtype = kDouble;
  for (const nn::Layer& inner : layer.layers()) compute_in_double(inner);
}

namespace {

std::vector<Tensor> outputs_of(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                               const nn::Call& call) {
  compute_in_double(layer);
  return layer.apply(inputs, call);
}

double loss_of(const nn::Layer& layer, const std::vector<Tensor>& inputs, const nn::Call& call) {
  return patterned_sum(outputs_of(layer, inputs, call).front()).item<double>();
}

bool is_float(const Tensor& tensor) { return tensor.dtype() == DType::float64; }

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                 const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(std::string(what) + ", output " + std::to_string(i));
    expect_near(got[i], grid_of(want[i]), 1e-6);
  }
}

// The loss a little to both sides of `at`, for each of its elements.
template <class Put>
Grid differences(const Grid& at, Put&& loss_with) {
  constexpr double kStep = 1e-5;
  Grid slopes(at.shape);
  for (std::size_t i = 0; i < at.values.size(); ++i) {
    Grid moved = at;
    moved.values[i] = at.values[i] + kStep;
    const double above = loss_with(moved.tensor());
    moved.values[i] = at.values[i] - kStep;
    slopes.values[i] = (above - loss_with(moved.tensor())) / (2 * kStep);
  }
  return slopes;
}

void check_gradients(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                     const nn::Call& call) {
  std::vector<Source> sources;
  GradientTape tape;
  for (const Tensor& input : inputs) {
    if (!is_float(input)) continue;
    tape.watch(input);
    sources.emplace_back(input);
  }
  const std::vector<Variable> weights = layer.trainable_weights();
  for (const Variable& weight : weights) sources.emplace_back(weight);
  const Tensor loss = patterned_sum(outputs_of(layer, inputs, call).front());
  const std::vector<Tensor> gradients =
      tape.gradient(loss, sources, {.output_gradient = {}, .zero_if_unconnected = true});

  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_float(inputs[i])) continue;
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    const Grid slopes = differences(grid_of(inputs[i]), [&](const Tensor& moved) {
      std::vector<Tensor> others = inputs;
      others[i] = moved;
      return loss_of(layer, others, call);
    });
    expect_near(gradients[next++], slopes, 2e-6);
  }
  for (Variable weight : weights) {
    SCOPED_TRACE("gradient of " + weight.name());
    const Tensor before = weight.read();
    const Grid slopes = differences(grid_of(before), [&](const Tensor& moved) {
      weight.assign(moved);
      return loss_of(layer, inputs, call);
    });
    weight.assign(before);
    expect_near(gradients[next++], slopes, 2e-6);
  }
}

}  // namespace

void check_config(const nn::Layer& layer, const std::vector<Tensor>& inputs, const nn::Call& call) {
  const nn::Layer read =
      nn::detail::layer_from_json(layer.class_name(), nn::detail::Json::parse(layer.config()));
  EXPECT_EQ(read.config(), layer.config());
  compute_in_double(read);
  read.apply(inputs, {.training = false, .masks = call.masks});
  read.set_weights(layer.get_weights());
  for (std::size_t i = 0; i < read.weights().size(); ++i) {
    EXPECT_EQ(read.weights()[i].name(), layer.weights()[i].name());
  }
  expect_same(outputs_of(read, inputs, call), outputs_of(layer, inputs, call), "from its config");
}

void check_trace(const nn::Layer& layer, const std::vector<Tensor>& inputs, const nn::Call& call) {
  const std::vector<Tensor> want = outputs_of(layer, inputs, call);
  const auto body = [&](std::vector<Tensor> x, std::vector<Tensor> masks) {
    return layer.apply(std::move(x), {.training = call.training, .masks = std::move(masks)});
  };
  expect_same(function("layer", body)(inputs, call.masks), want, "traced");
  Function any_batch = function("any_batch", body);
  int argument = 0;
  for (const std::vector<Tensor>& given : {inputs, call.masks}) {
    for (const Tensor& tensor : given) {
      if (!tensor.defined()) return;
      std::vector<Dim> dims;
      for (const std::int64_t size : tensor.shape()) dims.emplace_back(size);
      if (dims.empty()) return;
      dims.front() = Dim(dyn);
      any_batch.input(argument++, dims);
    }
  }
  expect_same(any_batch(inputs, call.masks), want, "traced for any batch");
}

void check_spec(const nn::Layer& layer, const std::vector<Tensor>& inputs) {
  std::vector<nn::Spec> specs;
  for (const Tensor& input : inputs) {
    specs.push_back({input.shape(), input.dtype()});
    specs.back().shape[0] = nn::kAny;
  }
  Shape want = layer.apply(inputs).front().shape();
  want[0] = nn::kAny;
  EXPECT_EQ(layer.output_spec(specs).shape, want);
}

namespace {

void check_nothing_is_left(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                           const nn::Call& call) {
  const std::size_t before = memory().tensors;
  const std::vector<Tensor> outputs = layer.apply(inputs, call);
  EXPECT_EQ(memory().tensors, before + outputs.size());
}

}  // namespace

void check_layer(const nn::Layer& layer, const std::vector<Tensor>& inputs, const nn::Call& call) {
  SCOPED_TRACE(layer.class_name() + " " + layer.config());
  check_gradients(layer, inputs, call);
  check_nothing_is_left(layer, inputs, call);
  check_config(layer, inputs, call);
  check_trace(layer, inputs, call);
  check_spec(layer, inputs);
}

}  // namespace tenure::testing
