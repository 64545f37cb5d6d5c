#include <algorithm>

#include "core/raise.h"
#include "io/origin.h"
#include "tenure/io.h"

namespace tenure::io {
namespace {

auto find(const NamedTensors& tensors, std::string_view name) {
  return std::find_if(tensors.begin(), tensors.end(),
                      [&](const auto& named) { return named.first == name; });
}

}  // namespace

bool Archive::contains(std::string_view name) const { return find(tensors, name) != tensors.end(); }

Tensor Archive::operator[](std::string_view name) const {
  const auto found = find(tensors, name);
  if (found == tensors.end()) {
    std::string names;
    for (const auto& [known, tensor] : tensors) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", known);
    }
    raise<ValueError>("Archive: no tensor is named \"{}\"; there are: {}", printable(name),
                      printable(names));
  }
  return found->second;
}

}  // namespace tenure::io
