#include "io/weight_loading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/raise.h"
#include "memory/text.h"
#include "tensor/assign.h"
#include "tensor/variable_state.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure::io {

void WeightFaults::add(List& list, const std::string& text) {
  constexpr std::size_t kMost = 50;
  if (list.count++ < kMost) list.some.push_back(printable(text));
}

void WeightFaults::raise(const Origin& origin, const std::string& what) const {
  std::string text;
  const auto tell = [&](const char* kind, const List& list) {
    if (list.count == 0) return;
    text += fmt::format("\n  {}: {}", kind, fmt::join(list.some, ", "));
    if (list.count > list.some.size()) {
      text += fmt::format(" and {} more", list.count - list.some.size());
    }
  };
  tell("not in the file", missing_);
  tell("not in the model", unexpected_);
  tell("of another kind", mismatched_);
  if (!text.empty()) origin.fail("the weights do not fit {}; nothing was changed{}", what, text);
}

namespace {

std::string birth_of(const Variable& variable) {
  return detail::site_text(detail::Access::state(variable)->label->site);
}

}  // namespace

std::string mismatch(const nn::detail::NamedVariable& weight, const TensorInfo& info) {
  const Variable& variable = weight.variable;
  if (info.shape != variable.shape()) {
    return fmt::format("\"{}\" is {} in the file, {} in the model (made {})", weight.name,
                       info.shape, variable.shape(), birth_of(variable));
  }
  const bool floats = info.dtype && is_floating(*info.dtype) && is_floating(variable.dtype());
  if (!floats && info.dtype != variable.dtype()) {
    return fmt::format("\"{}\" is {} in the file, {} in the model (made {})", weight.name,
                       printable(info.type), variable.dtype(), birth_of(variable));
  }
  return {};
}

void assign_all(const std::vector<WeightPair>& pairs,
                const std::function<Tensor(std::size_t entry)>& read, std::source_location site) {
  std::vector<Variable> variables;
  std::vector<Tensor> values;
  for (const WeightPair& pair : pairs) {
    Tensor value = read(pair.entry);
    const DType dtype = pair.weight->variable.dtype();
    values.push_back(value.dtype() == dtype ? std::move(value) : cast(value, dtype));
    variables.push_back(pair.weight->variable);
  }
  detail::assign_all(variables, values, site);
}

}  // namespace tenure::io
