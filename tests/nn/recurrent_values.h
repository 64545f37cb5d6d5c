// Values that tests of recurrent layers, and the script that made their fixtures, have in common.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tenure/nn/layer.h"
#include "tenure/tenure.h"

namespace tenure::testing {

inline std::vector<double> wave(std::int64_t count, double seed, double scale) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i);
    values.push_back(scale * std::sin(seed + 0.73 * at * (1 + 0.01 * at)));
  }
  return values;
}

inline Tensor wave_tensor(const Shape& shape, double seed, double scale) {
  const std::vector<double> wide = wave(shape.numel(), seed, scale);
  return tensor(std::vector<float>(wide.begin(), wide.end()), shape);
}

inline void set_waves(const nn::Layer& layer) {
  std::vector<Tensor> weights;
  double seed = 1;
  for (const Variable& weight : layer.weights()) {
    weights.push_back(wave_tensor(weight.shape(), seed++, 0.6));
  }
  layer.set_weights(weights);
}

// Of outputs: each times a wave, added up.
inline Tensor wave_loss(const std::vector<Tensor>& outputs) {
  Tensor total;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor part = sum(outputs[i] * wave_tensor(outputs[i].shape(), 40 + static_cast<double>(i), 1));
    total = total.defined() ? total + part : part;
  }
  return total;
}

inline void expect_near(const Tensor& found, const std::vector<double>& wanted, double tolerance,
                        const std::string& what) {
  const std::vector<float> values = found.to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], wanted[i], tolerance * (1 + std::abs(wanted[i])))
        << what << ", element " << i;
  }
}

// What a layer gives, and the gradients of wave_loss with respect to inputs, then weights.
struct LayerRun {
  std::vector<Tensor> outputs, gradients;
};

inline LayerRun run_layer(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                          const nn::Call& call = {}) {
  GradientTape tape;
  std::vector<Source> sources;
  for (const Tensor& input : inputs) {
    tape.watch(input);
    sources.emplace_back(input);
  }
  for (const Variable& weight : layer.trainable_weights()) sources.emplace_back(weight);
  LayerRun run;
  run.outputs = layer.apply(inputs, call);
  run.gradients = tape.gradient(wave_loss(run.outputs), sources,
                                {.output_gradient = {}, .zero_if_unconnected = true});
  return run;
}

// The same in a traced function, with the tape inside.
inline LayerRun run_traced(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                           const nn::Call& call = {}) {
  std::size_t outputs = 0;
  const auto fn = tenure::function(
      "run", [&](std::vector<Tensor> given, std::vector<Tensor> masks) -> std::vector<Tensor> {
        LayerRun run = run_layer(layer, given, {.training = call.training, .masks = masks});
        outputs = run.outputs.size();
        run.outputs.insert(run.outputs.end(), run.gradients.begin(), run.gradients.end());
        return run.outputs;
      });
  std::vector<Tensor> made = fn(inputs, call.masks);
  const auto split = made.begin() + static_cast<std::ptrdiff_t>(outputs);
  return {{made.begin(), split}, {split, made.end()}};
}

}  // namespace tenure::testing
