// Models as JSON in Keras's schema, and back.
#include <map>

#include "core/raise.h"
#include "nn/containers.h"
#include "nn/input_layer.h"

namespace tenure::nn::detail {

namespace {

[[noreturn]] void broken(const char* what, const Json& json) {
  std::string found = json.dump();
  if (found.size() > 80) found = found.substr(0, 80) + "...";
  raise<ValueError>("model: {}: {}", what, found);
}

const Json& member(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end()) {
    raise<ValueError>("model: the architecture lacks \"{}\"", key);
  }
  return *found;
}

Json layer_json(const Layer& layer) {
  return {{"class_name", layer.class_name()},
          {"config", Json::parse(layer.config())},
          {"name", layer.name()}};
}

// A node's name in the file: layer, which of its calls, which output.
class NodeNames {
 public:
  explicit NodeNames(const Structure& structure) {
    std::map<std::string, int> calls;
    for (const auto& call : structure.calls) index_[call.get()] = calls[call->layer.name()]++;
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
  const std::vector<Layer> all = chain();
  if (known != nullptr && (all.empty() || all.front().class_name() != "InputLayer")) {
    layers.push_back(layer_json(known->inputs.front().layer()));
  }
  for (const Layer& layer : all) layers.push_back(layer_json(layer));
  return Json{{"name", name()}, {"layers", layers}}.dump();
}

std::string GraphModel::config() const {
  const NodeNames names(structure_);
  std::vector<std::pair<Layer, Json>> layers;  // with its inbound nodes
  for (const auto& call : structure_.calls) {
    auto found =
        std::ranges::find(layers, call->layer, [](const auto& pair) { return pair.first; });
    if (found == layers.end()) {
      layers.emplace_back(call->layer, Json::array());
      found = layers.end() - 1;
    }
    if (call->inputs.empty()) continue;
    Json inbound = Json::array();
    for (const Node& input : call->inputs) {
      Json name = names(input);
      name.push_back(Json::object());
      inbound.push_back(std::move(name));
    }
    found->second.push_back(std::move(inbound));
  }
  Json list = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (const auto& [layer, inbound] : layers) {
    Json each = layer_json(layer);
    each["inbound_nodes"] = inbound;
    list.push_back(std::move(each));
  }
  for (const Node& input : structure_.inputs) inputs.push_back(names(input));
  for (const Node& output : structure_.outputs) outputs.push_back(names(output));
  return Json{
      {"name", name()}, {"layers", list}, {"input_layers", inputs}, {"output_layers", outputs}}
      .dump();
}

Layer sequential_from_json(const Json& config) {
  // Older files have the list of layers in the place of the config.
  const Json& list = config.is_array() ? config : member(config, "layers");
  std::vector<Layer> layers;
  from_json(list, "Sequential: layers", layers);
  const std::string name = config.is_object() ? config.value("name", std::string()) : std::string();
  return Sequential(std::move(layers), {.name = name}, {});
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

class GraphReader {
 public:
  explicit GraphReader(const Json& config) {
    const Json& list = member(config, "layers");
    if (!list.is_array()) broken("layers should be a list", list);
    for (const Json& each : list) {
      std::optional<Layer> layer;
      from_json(each, "Functional: layers", layer);
      if (!layer) broken("layers should be a list of layers", list);
      const std::string name = each.value("name", layer->name());
      Pending pending{*layer, {}, {}};
      const Json inbound = each.value("inbound_nodes", Json::array());
      if (!inbound.is_array()) broken("inbound_nodes should be a list", inbound);
      for (const Json& call : inbound) pending.inputs.push_back(references(call));
      if (!layers_.emplace(name, std::move(pending)).second) {
        raise<ValueError>("model: two layers are called \"{}\"", name);
      }
    }
    Model model(nodes(member(config, "input_layers")), nodes(member(config, "output_layers")),
                {.name = config.value("name", std::string())}, {});
    model_ = model;
  }
  Layer take() { return *model_; }

 private:
  struct Pending {
    Layer layer;
    std::vector<std::vector<Reference>> inputs;  // per call
    std::map<std::size_t, std::vector<Node>> outputs;
    bool visiting = false;
  };

  std::vector<Node> nodes(const Json& json) {
    std::vector<Node> list;
    for (const Reference& each : references(json)) list.push_back(node(each));
    return list;
  }

  Node node(const Reference& wanted) {
    const auto found = layers_.find(wanted.layer);
    if (found == layers_.end()) {
      raise<ValueError>("model: a node is of \"{}\", which is no layer of it", wanted.layer);
    }
    Pending& pending = found->second;
    auto made = pending.outputs.find(wanted.call);
    if (made == pending.outputs.end()) {
      std::vector<Node> outputs;
      if (pending.inputs.empty() && wanted.call == 0) {
        const LayerOptions& options = LayerAccess::base(pending.layer).layer_options();
        outputs.push_back(LayerAccess::node(
            std::make_shared<const NodeCall>(
                NodeCall{pending.layer, {}, {{options.batch_input_shape, options.dtype}}, {}}),
            0));
      } else {
        if (wanted.call >= pending.inputs.size()) {
          raise<ValueError>("model: \"{}\" has {} calls, a node is of number {}", wanted.layer,
                            pending.inputs.size(), wanted.call);
        }
        if (std::exchange(pending.visiting, true)) {
          raise<ValueError>("model: \"{}\" depends on itself", wanted.layer);
        }
        std::vector<Node> inputs;
        for (const Reference& input : pending.inputs[wanted.call]) inputs.push_back(node(input));
        pending.visiting = false;
        outputs = pending.layer.apply(std::move(inputs), std::source_location());
      }
      made = pending.outputs.emplace(wanted.call, std::move(outputs)).first;
    }
    if (wanted.output >= made->second.size()) {
      raise<ValueError>("model: \"{}\" has {} outputs, a node is of number {}", wanted.layer,
                        made->second.size(), wanted.output);
    }
    return made->second[wanted.output];
  }

  std::map<std::string, Pending> layers_;
  std::optional<Model> model_;
};

}  // namespace

Layer functional_from_json(const Json& config) { return GraphReader(config).take(); }

}  // namespace tenure::nn::detail
