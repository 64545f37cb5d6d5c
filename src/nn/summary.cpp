// A model for people: a table, and a picture.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/listed.h"
#include "memory/text.h"
#include "nn/model_state.h"

namespace tenure::nn {

using detail::LayerAccess;

namespace {

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    text += axis == 0 ? "" : ", ";
    text += shape[axis] == kAny ? "any" : std::to_string(shape[axis]);
  }
  return text + "]";
}

std::string shapes_text(const std::vector<Spec>& specs) {
  return tenure::detail::listed(specs, [](const Spec& spec) { return shape_text(spec.shape); });
}

// 12345678 as 12,345,678.
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

struct Columns {
  std::vector<std::vector<std::string>> rows;
  std::string text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::string line;
      for (std::size_t i = 0; i < rows[r].size(); ++i) {
        line += fmt::format("{:<{}}", rows[r][i], widths[i] + 3);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
      if (r == 0) {
        std::size_t width = 0;
        for (const std::size_t each : widths) width += each + 3;
        for (std::size_t i = 3; i < width; ++i) text += "─";
        text += "\n";
      }
    }
    return text;
  }
};

std::string title(const Layer& layer) {
  return fmt::format("{} ({})", layer.name(), layer.class_name());
}

}  // namespace

std::string Model::summary(std::source_location site) const {
  detail::check_alive(*base_, site, "summary");
  const detail::Structure* structure = detail::structure_of(detail::ModelAccess::base(*this));
  Columns table;
  std::string text = fmt::format("{} \"{}\"\n", class_name(), name());
  if (structure != nullptr) {
    const bool chain = structure->sequential;
    table.rows.push_back({"layer", "output", "parameters"});
    if (!chain) table.rows.front().push_back("from");
    std::unordered_set<const LayerBase*> counted;
    for (const auto& call : structure->calls) {
      if (chain && call->inputs.empty()) continue;
      const bool again = !counted.insert(&LayerAccess::base(call->layer)).second;
      std::vector<std::string> row{
          title(call->layer), shapes_text(call->outputs),
          again ? "(shared)" : grouped(detail::count_weights(LayerAccess::base(call->layer)))};
      if (!chain) {
        row.push_back(tenure::detail::listed(
            call->inputs, [](const Node& input) { return input.layer().name(); }));
      }
      table.rows.push_back(std::move(row));
    }
  } else {
    table.rows.push_back({"layer", "parameters"});
    for (const Layer& layer : layers(site)) {
      table.rows.push_back(
          {title(layer), layer.is_built() ? grouped(layer.count_params(site)) : "not built yet"});
    }
  }
  text += table.text();
  std::int64_t trainable = 0, total = 0;
  std::size_t bytes = 0;
  for (const detail::LayerWeight& each : detail::all_weights(*base_)) {
    const std::int64_t count = each.weight->variable.shape().numel();
    total += count;
    if (each.trainable) trainable += count;
    bytes += static_cast<std::size_t>(count) * size_of(each.weight->variable.dtype());
  }
  text += fmt::format("parameters: {} ({}), trainable: {}, not trainable: {}\n", grouped(total),
                      tenure::detail::bytes_text(bytes), grouped(trainable),
                      grouped(total - trainable));
  return text;
}

std::string Model::dot(std::source_location site) const {
  detail::check_alive(*base_, site, "dot");
  const detail::Structure* structure = detail::structure_of(detail::ModelAccess::base(*this));
  std::string text =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=\"sans-serif\"];\n", name());
  if (structure == nullptr) {
    for (const Layer& layer : layers(site)) text += fmt::format("  \"{}\";\n", title(layer));
    return text + "}\n";
  }
  std::unordered_map<const detail::NodeCall*, std::size_t> numbers;
  for (const auto& call : structure->calls) numbers.try_emplace(call.get(), numbers.size());
  const auto number = [&](const std::shared_ptr<const detail::NodeCall>& call) {
    return numbers.at(call.get());
  };
  for (const auto& call : structure->calls) {
    text += fmt::format("  n{} [label=\"{}\\n{}\"];\n", number(call), title(call->layer),
                        shapes_text(call->outputs));
    for (const Node& input : call->inputs) {
      text += fmt::format("  n{} -> n{};\n", number(LayerAccess::call(input)), number(call));
    }
  }
  return text + "}\n";
}

}  // namespace tenure::nn
