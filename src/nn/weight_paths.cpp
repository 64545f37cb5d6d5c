#include "nn/weight_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "core/raise.h"
#include "nn/fields.h"
#include "tenure/nn/model.h"

namespace tenure::nn::detail {

namespace {

// A name without that of the layer it is in, which variables and cells have before theirs.
std::string name_within(const LayerBase& owner, const std::string& name) {
  const std::string before = owner.name() + "/";
  return name.starts_with(before) ? name.substr(before.size()) : name;
}

// The name by default without its number; the two of a Bidirectional say which way they go.
std::string stem_of(const LayerBase& base, const std::string& name) {
  std::string stem = snake_case(base.class_name());
  for (const char* way : {"forward_", "backward_"}) {
    if (name.starts_with(way)) stem.insert(0, way);
  }
  return stem;
}

bool is_default_name(const std::string& name, const std::string& stem) {
  if (!name.starts_with(stem)) return false;
  const std::string rest = name.substr(stem.size());
  return rest.empty() ||
         (rest.size() > 1 && rest[0] == '_' &&
          std::all_of(rest.begin() + 1, rest.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

// What the layers in `owner` are called in files.
std::vector<std::string> file_names(const LayerBase& owner) {
  const std::vector<Layer>& layers = LayerAccess::state(owner).layers;
  std::vector<std::string> names, stems;
  std::set<std::string> taken;
  for (const Layer& layer : layers) {
    const LayerBase& base = LayerAccess::base(layer);
    names.push_back(name_within(owner, base.name()));
    stems.push_back(stem_of(base, names.back()));
    if (!is_default_name(names.back(), stems.back())) taken.insert(names.back());
  }
  std::map<std::string, int> used;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_default_name(names[i], stems[i])) continue;
    do {
      const int number = used[stems[i]]++;
      names[i] = number == 0 ? stems[i] : stems[i] + "_" + std::to_string(number);
    } while (taken.contains(names[i]));
  }
  return names;
}

// What TensorFlow.js puts for a layer into the names of weights; nothing for models and stacks.
std::string tfjs_name(const LayerBase& owner, const LayerBase& base, const std::string& name,
                      std::size_t place) {
  const auto is_stack = [](const LayerBase& layer) {
    return std::string_view(layer.class_name()) == "StackedRNNCells";
  };
  if (dynamic_cast<const ModelBase*>(&base) != nullptr || is_stack(base)) return {};
  return is_stack(owner) ? "RNNCell_" + std::to_string(place) : name;
}

class NamesWalk {
 public:
  explicit NamesWalk(bool states) : states_(states) {}
  std::vector<NamedVariable> take() { return std::move(named_); }

  void visit(LayerBase& base, bool trainable) {
    if (!seen_.insert(&base).second) return;
    LayerState& state = LayerAccess::state(base);
    trainable = trainable && state.trainable.load(std::memory_order_relaxed);
    if (states_) {
      for (const Variable& slot : state.slots) add(base, slot, false);
      for (const Variable& record : state.records) add(base, record, false);
    } else {
      for (const Weight& weight : state.weights) {
        add(base, weight.variable, trainable && weight.trainable);
      }
    }
    const std::vector<std::string> names = file_names(base);
    for (std::size_t i = 0; i < state.layers.size(); ++i) {
      LayerBase& inner = LayerAccess::base(state.layers[i]);
      const std::string name = name_within(base, inner.name());
      const std::string tfjs = tfjs_name(base, inner, name, i);
      path_.push_back(name);
      files_.push_back(names[i]);
      if (!tfjs.empty()) tfjs_path_.push_back(tfjs);
      visit(inner, trainable);
      path_.pop_back();
      files_.pop_back();
      if (!tfjs.empty()) tfjs_path_.pop_back();
    }
  }

 private:
  void add(const LayerBase& base, const Variable& variable, bool trainable) {
    const std::string short_name = name_within(base, variable.name());
    std::string name;
    for (const std::string& each : files_) name += each + "/";
    name += short_name;
    if (!names_.insert(name).second) {
      raise<ValueError>("{}: two {} would be called \"{}\" in a file: give one another name",
                        layer_text(base), states_ ? "states" : "weights", name);
    }
    NamedVariable& named = named_.emplace_back();
    named.path = path_;
    named.path.push_back(short_name);
    named.tfjs_path = tfjs_path_;
    named.tfjs_path.push_back(short_name);
    named.name = std::move(name);
    named.variable = variable;
    named.trainable = trainable;
  }

  bool states_;
  std::vector<std::string> path_, tfjs_path_, files_;
  std::unordered_set<const LayerBase*> seen_;
  std::set<std::string> names_;
  std::vector<NamedVariable> named_;
};

LayerBase* find_twice(LayerBase& base, std::unordered_set<const LayerBase*>& seen) {
  for (const Layer& layer : LayerAccess::state(base).layers) {
    LayerBase& inner = LayerAccess::base(layer);
    if (!seen.insert(&inner).second) return &inner;
    if (LayerBase* repeated = find_twice(inner, seen)) return repeated;
  }
  return nullptr;
}

}  // namespace

std::vector<NamedVariable> named_weights(LayerBase& model) {
  NamesWalk walk(false);
  walk.visit(model, true);
  return walk.take();
}

std::vector<NamedVariable> named_states(LayerBase& model) {
  NamesWalk walk(true);
  walk.visit(model, true);
  return walk.take();
}

LayerBase* layer_in_two_places(LayerBase& model) {
  std::unordered_set<const LayerBase*> seen{&model};
  return find_twice(model, seen);
}

}  // namespace tenure::nn::detail
