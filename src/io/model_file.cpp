// Models in safetensors files. Weights lie under their names, what training needs beside them
// under "optimizer/", "gradient/" and "state/", and the metadata tell how the model is made:
//
//   tenure.format   "1"
//   tenure.model    {"class_name": ..., "config": ...} in Keras's schema
//   tenure.compile  optimizer, losses, metrics; only of a model that was compiled
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/raise.h"
#include "io/model_file.h"
#include "io/model_parts.h"
#include "io/tfjs_dialect.h"
#include "io/training_state.h"
#include "memory/context.h"
#include "nn/containers.h"
#include "nn/eager_scope.h"
#include "nn/model_path.h"
#include "tensor/assign.h"
#include "tenure/nn/files.h"

namespace tenure::io {

using nn::detail::NamedVariable;

const char* const kFormatKey = "tenure.format";
const char* const kModelKey = "tenure.model";
const char* const kCompileKey = "tenure.compile";
const char* const kFormat = "2";

namespace {

constexpr const char* kOldFormat = "1";  // in which hard_sigmoid was that of Keras 2

// The values of one moment.
NamedTensors values_of(const std::vector<NamedVariable>& variables, std::source_location site) {
  std::vector<Variable> all;
  all.reserve(variables.size());
  for (const NamedVariable& each : variables) all.push_back(each.variable);
  std::vector<Tensor> values = tenure::detail::read_all(all, site);
  NamedTensors tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensors.emplace_back(variables[i].name, std::move(values[i]));
  }
  return tensors;
}

std::string architecture(const nn::Model& model) {
  nn::ModelBase& base = nn::detail::ModelAccess::base(model);
  if (nn::detail::structure_of(base) == nullptr) {
    raise<UnsupportedError>(
        "save: {} is a model of your own, whose code is in no file: save_weights, and load_weights "
        "into one that your program made",
        nn::detail::layer_text(base));
  }
  if (const nn::LayerBase* shared = nn::detail::layer_in_two_places(base)) {
    raise<UnsupportedError>(
        "save: {} stands in two of the models within {}, which a file cannot say: save_weights",
        nn::detail::layer_text(*shared), nn::detail::layer_text(base));
  }
  return architecture_text("save", model);
}

std::uint64_t weight_bytes(const SafetensorsReader& file) {
  std::uint64_t bytes = 0;
  for (const TensorInfo& info : file.tensors()) {
    // Half the bytes of a weight may be in the file, where it is to be widened.
    if (!is_reserved(info.name)) bytes += 4 * info.nbytes;
  }
  return bytes;
}

// Old files do not say how often layers with seeds have drawn.
void leave_out_draws(std::vector<NamedVariable>& states, const SafetensorsReader& file) {
  std::erase_if(states, [&](const NamedVariable& state) {
    return state.name.ends_with("/draws") && !file.contains(state.name);
  });
}

// Compiles the model as the file says; gives what of its state is in the file.
std::vector<NamedVariable> compile_from(const Origin& origin, const SafetensorsReader& file,
                                        const nn::Model& model,
                                        const std::vector<NamedVariable>& weights,
                                        std::source_location site) {
  const auto text = file.metadata().find(kCompileKey);
  if (text == file.metadata().end()) return {};
  return about_file(origin, [&] {
    const auto [options, held_back] = compile_from_text(origin, text->second);
    model.compile(options, site);
    const auto compiled = nn::detail::compiled_of(model, "load_model", site);
    if (held_back < 0 || held_back >= compiled->options.accumulate) {
      origin.fail("held_back is {} where a step takes {} batches", held_back,
                  compiled->options.accumulate);
    }
    build_optimizer(
        compiled->options.optimizer, weights,
        [&](const std::string& name) { return file.contains(name); }, site);
    if (held_back > 0) {
      const std::vector<nn::Node> inputs = model.inputs();
      nn::detail::prepare(nn::detail::ModelAccess::base(model), *compiled,
                          std::vector<nn::Spec>(inputs.begin(), inputs.end()), site);
      compiled->held_back = held_back;
    }
    std::vector<NamedVariable> state = optimizer_state(compiled->options.optimizer, weights);
    append(state, waiting_gradients(*compiled, weights));
    return state;
  });
}

}  // namespace
}  // namespace tenure::io

namespace tenure::nn {

using detail::NamedVariable;
using io::NamedTensors;
using io::Origin;
using io::WeightFaults;
using io::WeightPair;

void Model::save(const std::string& path, std::source_location site) const {
  const detail::EagerScope eager;
  const tenure::detail::CallScope call("save", site);
  detail::check_model_path("save", path);
  std::optional<detail::Turn> turn(std::in_place, *base_);
  const std::vector<NamedVariable> weights = io::weights_of(*this, "save", site);
  io::Metadata metadata{{io::kFormatKey, io::kFormat}, {io::kModelKey, io::architecture(*this)}};
  std::vector<NamedVariable> all = weights;
  std::shared_ptr<detail::Compiled> compiled;
  {
    detail::ModelState& state = detail::ModelAccess::state(*this);
    const std::lock_guard lock(state.mutex);
    compiled = state.compiled;
  }
  if (compiled != nullptr) {
    try {
      metadata[io::kCompileKey] = io::compile_text(*compiled);
    } catch (UnsupportedError& error) {
      error.within(detail::layer_text(*base_));
      error.within("save");
      throw;
    }
    io::append(all, io::optimizer_state(compiled->options.optimizer, weights));
    io::append(all, io::waiting_gradients(*compiled, weights));
  }
  io::append(all, io::states_of(*this));
  const NamedTensors values = io::values_of(all, site);
  turn.reset();  // the training goes on while the file is written
  io::save_safetensors(path, values, metadata, site);
}

Model load_model(const std::string& path, std::source_location site) {
  const detail::EagerScope eager;
  const tenure::detail::CallScope call("load_model", site);
  const Origin origin{"load_model", path};
  const io::SafetensorsReader file(path);
  const io::Metadata& metadata = file.metadata();
  if (!metadata.contains(io::kModelKey) || !metadata.contains(io::kFormatKey)) {
    origin.fail("no model: its metadata lack \"{}\" (for weights alone, load_weights into a model)",
                io::kModelKey);
  }
  const bool is_old = metadata.at(io::kFormatKey) == io::kOldFormat;
  if (!is_old && metadata.at(io::kFormatKey) != io::kFormat) {
    origin.fail("of format {}, and this library reads {} and {}",
                io::printable(metadata.at(io::kFormatKey)), io::kOldFormat, io::kFormat);
  }
  io::Json architecture = io::parse_model_json(origin, metadata.at(io::kModelKey));
  if (is_old) io::from_keras_2(architecture);
  Model model = io::model_from_json(origin, architecture, io::weight_bytes(file));
  const std::vector<NamedVariable> weights =
      io::about_file(origin, [&] { return io::weights_of(model, "load_model", site); });
  std::vector<NamedVariable> all = weights;
  io::append(all, io::compile_from(origin, file, model, weights, site));
  std::vector<NamedVariable> states = io::states_of(model);
  if (is_old) io::leave_out_draws(states, file);
  io::append(all, std::move(states));
  WeightFaults faults;
  const std::vector<WeightPair> pairs =
      io::fit_all(file, all, [](std::string_view) { return true; }, faults);
  faults.raise(origin, "the architecture");
  io::assign_all(
      pairs, [&](std::size_t i) { return file.read(file.tensors()[i].name, site); }, site);
  return model;
}

void Model::save_weights(const std::string& path, std::source_location site) const {
  const detail::EagerScope eager;
  const tenure::detail::CallScope call("save_weights", site);
  detail::check_model_path("save_weights", path);
  std::optional<detail::Turn> turn(std::in_place, *base_);
  const NamedTensors values = io::values_of(io::weights_of(*this, "save_weights", site), site);
  turn.reset();  // the training goes on while the file is written
  io::save_safetensors(path, values, {{io::kFormatKey, io::kFormat}}, site);
}

void Model::load_weights(const std::string& path, std::source_location site) const {
  nn::load_weights(*this, path, {}, site);
}

LoadedWeights load_weights(const Model& model, const std::string& path, LoadOptions options,
                           std::source_location site) {
  const detail::EagerScope eager;
  const tenure::detail::CallScope call("load_weights", site);
  const Origin origin{"load_weights", path};
  const std::vector<NamedVariable> weights = io::weights_of(model, "load_weights", site);
  const io::SafetensorsReader file(path);
  // Other programs' files may have any names; ours keep some for what is no weight.
  const bool ours = file.metadata().contains(io::kFormatKey);
  std::map<std::string_view, std::size_t> entries;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const std::string& name = file.tensors()[i].name;
    if (!ours || !io::is_reserved(name)) entries.emplace(name, i);
  }
  LoadedWeights result;
  WeightFaults faults;
  std::vector<WeightPair> pairs;
  for (const NamedVariable& weight : weights) {
    const auto entry = entries.find(weight.name);
    if (entry == entries.end()) {
      if (!options.by_name) faults.missing(weight.name);
      result.missing.push_back(weight.name);
      continue;
    }
    const std::string wrong = io::mismatch(weight, file.tensors()[entry->second]);
    if (wrong.empty()) {
      pairs.push_back({&weight, entry->second});
      result.loaded.push_back(weight.name);
    } else {
      if (!options.skip_mismatched) faults.mismatched(wrong);
      result.mismatched.push_back(weight.name);
    }
    entries.erase(entry);
  }
  for (const auto& [name, entry] : entries) {
    if (!options.by_name) faults.unexpected(std::string(name));
    result.unexpected.emplace_back(name);
  }
  faults.raise(origin, detail::layer_text(detail::ModelAccess::base(model)));
  io::assign_all(
      pairs, [&](std::size_t i) { return file.read(file.tensors()[i].name, site); }, site);
  return result;
}

}  // namespace tenure::nn
