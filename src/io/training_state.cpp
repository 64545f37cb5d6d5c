#include "io/training_state.h"

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "core/raise.h"
#include "io/model_file.h"
#include "io/model_json.h"
#include "io/model_parts.h"
#include "memory/context.h"
#include "nn/config.h"
#include "nn/eager_scope.h"
#include "tensor/assign.h"
#include "tenure/create.h"

namespace tenure::io {

using nn::detail::Compiled;
using nn::detail::NamedVariable;

void append(std::vector<NamedVariable>& to, std::vector<NamedVariable> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<NamedVariable> weights_of(const nn::Model& model, const char* what,
                                      std::source_location site) {
  nn::detail::check_alive(nn::detail::ModelAccess::base(model), site, what);
  if (!model.is_built()) {
    raise<ValueError>(
        "{}: {} has no weights yet: call it, build it, or give its first layer an input_shape",
        what, nn::detail::layer_text(nn::detail::ModelAccess::base(model)));
  }
  std::vector<NamedVariable> weights =
      nn::detail::named_weights(nn::detail::ModelAccess::base(model));
  for (const NamedVariable& weight : weights) {
    if (is_reserved(weight.name)) {
      raise<ValueError>("{}: \"{}\": a layer may not be called optimizer, state or gradient", what,
                        weight.name);
    }
  }
  return weights;
}

std::vector<NamedVariable> states_of(const nn::Model& model) {
  std::vector<NamedVariable> states =
      nn::detail::named_states(nn::detail::ModelAccess::base(model));
  for (NamedVariable& state : states) state.name = std::string(kStatePrefix) + state.name;
  return states;
}

std::vector<WeightPair> fit_all(const SafetensorsReader& file,
                                const std::vector<NamedVariable>& variables,
                                const std::function<bool(std::string_view)>& chosen,
                                WeightFaults& faults) {
  std::map<std::string_view, std::size_t> entries;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const std::string& name = file.tensors()[i].name;
    if (chosen(name)) entries.emplace(name, i);
  }
  std::vector<WeightPair> pairs;
  for (const NamedVariable& variable : variables) {
    const auto entry = entries.find(variable.name);
    if (entry == entries.end()) {
      faults.missing(variable.name);
      continue;
    }
    const std::string wrong = mismatch(variable, file.tensors()[entry->second]);
    if (!wrong.empty()) faults.mismatched(wrong);
    pairs.push_back({&variable, entry->second});
    entries.erase(entry);
  }
  for (const auto& [name, entry] : entries) faults.unexpected(std::string(name));
  return pairs;
}

namespace {

constexpr const char* kTrainingKey = "tenure.training";
constexpr const char* kBackup = "BackupAndRestore";

struct SavedTraining {
  TrainingPosition position;
  int held_back = 0;
  std::int64_t seed = 0;  // of random numbers; a file's whole numbers are signed
  std::int64_t next = 0;
};

void fields(nn::detail::Fields& visit, SavedTraining& saved) {
  TENURE_FIELDS(visit, saved.position, epoch, batch);
  TENURE_FIELDS(visit, saved, held_back, seed, next);
}

std::vector<NamedVariable> all_of(const nn::Model& model, const Compiled& compiled,
                                  const std::vector<NamedVariable>& weights) {
  std::vector<NamedVariable> all = weights;
  append(all, optimizer_state(compiled.options.optimizer, weights));
  append(all, waiting_gradients(compiled, weights));
  append(all, states_of(model));
  return all;
}

SavedTraining saved_training(const Origin& origin, const Metadata& metadata, int accumulate) {
  const auto text = metadata.find(kTrainingKey);
  if (text == metadata.end()) {
    origin.fail("no backup of a training: its metadata lack \"{}\"", kTrainingKey);
  }
  SavedTraining saved = about_file(origin, [&] {
    const Json json = parse_model_json(origin, text->second);
    nn::detail::ConfigReader visit(json, "training");
    visit.need({"epoch", "batch", "held_back", "seed", "next"});
    SavedTraining read;
    fields(visit, read);
    return read;
  });
  if (saved.position.epoch < 0 || saved.position.batch < 0) {
    origin.fail("epoch {} and batch {} are no place in a training", saved.position.epoch,
                saved.position.batch);
  }
  if (saved.held_back < 0 || saved.held_back >= accumulate) {
    origin.fail("held_back is {} where a step takes {} batches", saved.held_back, accumulate);
  }
  return saved;
}

// Sets how many batches wait for the rest of their step; back to what it was unless kept.
class HeldBack {
 public:
  HeldBack(Compiled& compiled, int count) : compiled_(compiled), before_(compiled.held_back) {
    compiled_.held_back = count;
  }
  ~HeldBack() {
    if (!kept_) compiled_.held_back = before_;
  }
  HeldBack(const HeldBack&) = delete;
  HeldBack& operator=(const HeldBack&) = delete;
  void keep() {
    kept_ = true;
    if (compiled_.held_back > 0 || before_ == 0) return;
    std::vector<Tensor> none;
    for (const Variable& sum : compiled_.accumulated) {
      none.push_back(zeros(sum.shape(), sum.dtype()));
    }
    tenure::detail::assign_all(compiled_.accumulated, none, {});
  }

 private:
  Compiled& compiled_;
  int before_;
  bool kept_ = false;
};

}  // namespace

void save_training(const nn::Model& model, const std::string& path, TrainingPosition position,
                   std::source_location site) {
  const nn::detail::EagerScope eager;
  const tenure::detail::CallScope call(kBackup, site);
  const auto compiled = nn::detail::compiled_of(model, kBackup, site);
  tenure::detail::RandomState& random = *tenure::detail::context().random;
  SavedTraining saved{position, compiled->held_back,
                      static_cast<std::int64_t>(random.seed.load(std::memory_order_relaxed)),
                      static_cast<std::int64_t>(random.next.load(std::memory_order_relaxed))};
  Entries entries{{}, site};
  for (const NamedVariable& each : all_of(model, *compiled, weights_of(model, kBackup, site))) {
    entries.add(each.name, each.variable);
  }
  const std::string text =
      nn::detail::written([&](nn::detail::Fields& visit) { fields(visit, saved); });
  save_safetensors(path, entries.tensors, {{kFormatKey, kFormat}, {kTrainingKey, text}}, site);
}

TrainingPosition load_training(const nn::Model& model, const std::string& path,
                               std::source_location site) {
  const nn::detail::EagerScope eager;
  const tenure::detail::CallScope call(kBackup, site);
  const Origin origin{kBackup, path};
  const auto compiled = nn::detail::compiled_of(model, kBackup, site);
  const SafetensorsReader file(path);
  const SavedTraining saved = saved_training(origin, file.metadata(), compiled->options.accumulate);
  const std::vector<NamedVariable> weights = weights_of(model, kBackup, site);
  build_optimizer(
      compiled->options.optimizer, weights,
      [&](const std::string& name) { return file.contains(name); }, site);
  if (saved.held_back > 0) {
    const std::vector<nn::Node> inputs = model.inputs();
    nn::detail::prepare(nn::detail::ModelAccess::base(model), *compiled,
                        std::vector<nn::Spec>(inputs.begin(), inputs.end()), site);
  }
  HeldBack held_back(*compiled, saved.held_back);
  const std::vector<NamedVariable> all = all_of(model, *compiled, weights);
  WeightFaults faults;
  const std::vector<WeightPair> pairs =
      fit_all(file, all, [](std::string_view) { return true; }, faults);
  faults.raise(origin, nn::detail::layer_text(nn::detail::ModelAccess::base(model)));
  assign_all(pairs, [&](std::size_t i) { return file.read(file.tensors()[i].name, site); }, site);
  held_back.keep();
  tenure::detail::RandomState& random = *tenure::detail::context().random;
  random.seed.store(static_cast<std::uint64_t>(saved.seed), std::memory_order_relaxed);
  random.next.store(static_cast<std::uint64_t>(saved.next), std::memory_order_relaxed);
  return saved.position;
}

}  // namespace tenure::io
