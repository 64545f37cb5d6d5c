// Models as JSON in Keras's schema, and back.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/raise.h"
#include "nn/containers.h"
#include "nn/input_layer.h"

namespace tenure::nn::detail {

namespace {

[[noreturn]] void broken(const char* what, const Json& json) {
  std::string text = json.dump();
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  raise<ValueError>("model: {}: {}", what, text);
}

const Json& member(const Json& json, const char* key) {
  const auto value = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || value == json.end()) {
    raise<ValueError>("model: the architecture lacks \"{}\"", key);
  }
  return *value;
}

Json layer_json(const Layer& layer) {
  return {{"class_name", layer.class_name()},
          {"config", Json::parse(layer.config())},
          {"name", layer.name()}};
}

// The number of a layer's first call: a model's own is from its inputs to its outputs, so that it
// is called from 1 on.
int first_call(const Layer& layer) { return layer.as<Container>() != nullptr ? 1 : 0; }

// A node's name in the file: layer, which of its calls, which output.
class NodeNames {
 public:
  explicit NodeNames(const Structure& structure) {
    std::map<std::string, int> calls;
    for (const auto& call : structure.calls) {
      index_[call.get()] = first_call(call->layer) + calls[call->layer.name()]++;
    }
  }
  Json operator()(const Node& node) const {
    return Json::array(
        {node.layer().name(), index_.at(LayerAccess::call(node).get()), LayerAccess::output(node)});
  }

 private:
  std::map<const NodeCall*, int> index_;
};

}  // namespace

std::string SequentialModel::config() const {
  Json layers = Json::array();
  const Structure* known = structure();
  if (known != nullptr) {
    layers.push_back(layer_json(known->inputs.front().layer()));
  }
  for (const Layer& layer : chain()) layers.push_back(layer_json(layer));
  Json config{{"name", name()}, {"layers", layers}};
  if (!trainable()) config["trainable"] = false;
  return config.dump();
}

std::string GraphModel::config() const {
  const NodeNames names(structure_);
  std::vector<std::pair<Layer, Json>> layers;  // with its inbound nodes
  std::unordered_map<const LayerBase*, std::size_t> rows;
  for (const auto& call : structure_.calls) {
    const auto [row, is_new] = rows.try_emplace(&LayerAccess::base(call->layer), layers.size());
    if (is_new) layers.emplace_back(call->layer, Json::array());
    if (call->inputs.empty()) continue;
    Json inbound = Json::array();
    for (const Node& input : call->inputs) {
      Json name = names(input);
      name.push_back(Json::object());
      inbound.push_back(std::move(name));
    }
    if (call->training) inbound[0][3]["training"] = *call->training;
    layers[row->second].second.push_back(std::move(inbound));
  }
  Json list = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (const auto& [layer, inbound] : layers) {
    Json each = layer_json(layer);
    each["inbound_nodes"] = inbound;
    list.push_back(std::move(each));
  }
  for (const Node& input : structure_.inputs) inputs.push_back(names(input));
  for (const Node& output : structure_.outputs) outputs.push_back(names(output));
  Json config{
      {"name", name()}, {"layers", list}, {"input_layers", inputs}, {"output_layers", outputs}};
  if (!trainable()) config["trainable"] = false;
  return config.dump();
}

namespace {

std::string name_in(const Json& config) {
  std::string name;
  ConfigReader(config, "model")("name", name);
  return name;
}

void read_trainable(const Json& config, const Layer& model) {
  bool trainable = true;
  ConfigReader(config, "model")("trainable", trainable);
  // Those in it have told for themselves.
  if (!trainable) LayerAccess::state(model).trainable = false;
}

}  // namespace

Layer sequential_from_json(const Json& config) {
  // Older files have the list of layers in the place of the config.
  const Json& list = config.is_array() ? config : member(config, "layers");
  if (!list.is_array()) broken("layers should be a list", list);
  std::vector<Layer> layers;
  for (const Json& each : list) layers.push_back(layer_from_json(each, "Sequential: layers"));
  Sequential model(std::move(layers), {.name = name_in(config)}, {});
  read_trainable(config, model);
  return model;
}

namespace {

// One call of a layer in a file: from which nodes.
struct Reference {
  std::string layer;
  std::size_t call;
  std::size_t output;
};

Reference reference(const Json& json) {
  if (!json.is_array() || json.size() < 3 || !json[0].is_string() ||
      !json[1].is_number_unsigned() || !json[2].is_number_unsigned()) {
    broken("a node should be [layer, call, output]", json);
  }
  return {json[0].get<std::string>(), json[1].get<std::size_t>(), json[2].get<std::size_t>()};
}

// The nodes of a file: several lists, or for one node the list alone.
std::vector<Reference> references(const Json& json) {
  std::vector<Reference> list;
  if (json.is_array() && !json.empty() && json[0].is_string()) return {reference(json)};
  if (!json.is_array()) broken("nodes should be a list", json);
  for (const Json& each : json) list.push_back(reference(each));
  return list;
}

// The arguments of a call stand behind its first node.
NodeOptions options_in(const Json& call) {
  NodeOptions options;
  const bool is_list = call.is_array() && !call.empty() && call[0].is_array();
  const Json& first = is_list ? call[0] : call;
  if (first.is_array() && first.size() > 3 && first[3].is_object()) {
    ConfigReader(first[3], "inbound_nodes")("training", options.training);
  }
  return options;
}

class GraphReader {
 public:
  explicit GraphReader(const Json& config) {
    const Json& list = member(config, "layers");
    if (!list.is_array()) broken("layers should be a list", list);
    for (const Json& each : list) {
      const Layer layer = layer_from_json(each, "Functional: layers");
      const std::string file_name = name_in(each);
      const std::string name = file_name.empty() ? layer.name() : file_name;
      Pending pending{layer, {}, {}, {}, {}};
      if (const auto inbound = each.find("inbound_nodes"); inbound != each.end()) {
        if (!inbound->is_array()) broken("inbound_nodes should be a list", *inbound);
        for (const Json& call : *inbound) {
          pending.inputs.push_back(noted(references(call)));
          pending.options.push_back(options_in(call));
        }
      }
      pending.visiting.resize(pending.inputs.size());
      if (!layers_.emplace(name, std::move(pending)).second) {
        raise<ValueError>("model: two layers are called \"{}\"", name);
      }
    }
    const std::vector<Reference> inputs = noted(references(member(config, "input_layers")));
    const std::vector<Reference> outputs = noted(references(member(config, "output_layers")));
    model_ = Model(nodes(inputs), nodes(outputs), {.name = name_in(config)}, {});
    read_trainable(config, *model_);
  }
  Layer take() { return *model_; }

 private:
  struct Pending {
    Layer layer;
    std::vector<std::vector<Reference>> inputs;  // per call
    std::vector<NodeOptions> options;            // likewise
    std::map<std::size_t, std::vector<Node>> outputs;
    std::vector<bool> visiting;  // per call
  };
  using Place = std::pair<Pending*, std::size_t>;  // a call

  // Files that count a model's calls from 0 are read too: none of them names what would be before.
  std::vector<Reference> noted(std::vector<Reference> list) {
    for (const Reference& each : list) {
      const auto [least, is_new] = least_call_.emplace(each.layer, each.call);
      if (!is_new) least->second = std::min(least->second, each.call);
    }
    return list;
  }

  std::vector<Node> nodes(const std::vector<Reference>& references) {
    std::vector<Node> list;
    list.reserve(references.size());
    for (const Reference& each : references) list.push_back(node(each));
    return list;
  }

  Place place(const Reference& wanted) {
    const auto row = layers_.find(wanted.layer);
    if (row == layers_.end()) {
      raise<ValueError>("model: a node is of \"{}\", which is no layer of it", wanted.layer);
    }
    Pending& pending = row->second;
    if (pending.inputs.empty() && wanted.call == 0) {
      if (pending.layer.class_name() != "InputLayer") {
        raise<ValueError>("model: \"{}\" is given nothing, and is no input", wanted.layer);
      }
      return {&pending, 0};
    }
    const auto first = static_cast<std::size_t>(first_call(pending.layer));
    const std::size_t call = wanted.call - std::min(first, least_call_.at(wanted.layer));
    if (call >= pending.inputs.size()) {
      raise<ValueError>("model: \"{}\" has {} calls, a node is of number {}", wanted.layer,
                        pending.inputs.size(), wanted.call);
    }
    return {&pending, call};
  }

  bool is_known(const Reference& wanted) {
    const auto [pending, call] = place(wanted);
    return pending->outputs.contains(call);
  }

  Node known_node(const Reference& wanted) {
    const auto [pending, call] = place(wanted);
    const std::vector<Node>& outputs = pending->outputs.at(call);
    if (wanted.output >= outputs.size()) {
      raise<ValueError>("model: \"{}\" has {} outputs, a node is of number {}", wanted.layer,
                        outputs.size(), wanted.output);
    }
    return outputs[wanted.output];
  }

  // What a call needs is made before it, on a stack of our own: a file decides how deep it is.
  Node node(const Reference& wanted) {
    std::vector<Reference> stack{wanted};
    while (!stack.empty()) {
      const Reference current = stack.back();
      const auto [pending, call] = place(current);
      if (pending->outputs.contains(call)) {
        stack.pop_back();
        continue;
      }
      if (pending->inputs.empty()) {
        const LayerOptions& options = LayerAccess::base(pending->layer).layer_options();
        pending->outputs[call] = {
            input_node(pending->layer, {options.batch_input_shape, options.dtype}, {})};
        continue;
      }
      const std::size_t before = stack.size();
      for (const Reference& input : pending->inputs[call]) {
        if (!is_known(input)) stack.push_back(input);
      }
      if (stack.size() > before) {
        if (pending->visiting[call]) {
          raise<ValueError>("model: \"{}\" depends on itself", current.layer);
        }
        pending->visiting[call] = true;
        continue;
      }
      std::vector<Node> inputs;
      for (const Reference& input : pending->inputs[call]) inputs.push_back(known_node(input));
      pending->outputs[call] = pending->layer.apply(std::move(inputs), pending->options[call], {});
    }
    return known_node(wanted);
  }

  std::map<std::string, Pending> layers_;
  std::map<std::string, std::size_t> least_call_;  // of each layer, that a node is of
  std::optional<Model> model_;
};

}  // namespace

Layer functional_from_json(const Json& config) { return GraphReader(config).take(); }

}  // namespace tenure::nn::detail
