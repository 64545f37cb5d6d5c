// What a file has of a model beside its weights: the optimizer's state, gradients that wait for
// the last batch of a step, the states of recurrent layers, and how the model was compiled.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "io/model_json.h"
#include "nn/model_state.h"
#include "nn/weight_paths.h"
#include "tenure/nn/model.h"

namespace tenure::io {

// First parts of names in files; no layer of a model may be called so.
inline constexpr std::string_view kOptimizerPrefix = "optimizer/";
inline constexpr std::string_view kStatePrefix = "state/";
inline constexpr std::string_view kGradientPrefix = "gradient/";
bool is_reserved(std::string_view name);

// As text of JSON.
std::string compile_text(const nn::detail::Compiled& compiled);
struct CompileSettings {
  nn::CompileOptions options;
  int held_back = 0;
};
CompileSettings compile_from_text(const Origin& origin, std::string_view text);
// The training_config of Keras and TensorFlow.js, of a model with so many outputs. Nothing where it
// does not say enough; a ValueError for what does not exist here.
std::optional<nn::CompileOptions> compile_from_keras(const Json& json, std::size_t outputs);

// The optimizer's state as it stands, under names that say which weight it is for.
std::vector<nn::detail::NamedVariable> optimizer_state(
    const nn::Optimizer& optimizer, const std::vector<nn::detail::NamedVariable>& weights);
// Makes the state that `has` says a file holds.
void build_optimizer(const nn::Optimizer& optimizer,
                     const std::vector<nn::detail::NamedVariable>& weights,
                     const std::function<bool(const std::string& name)>& has,
                     std::source_location site);

// Sums of gradients, where a step takes several batches and is not complete.
std::vector<nn::detail::NamedVariable> waiting_gradients(
    const nn::detail::Compiled& compiled, const std::vector<nn::detail::NamedVariable>& weights);

}  // namespace tenure::io
