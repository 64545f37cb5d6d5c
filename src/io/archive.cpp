#include <algorithm>

#include "core/listed.h"
#include "core/raise.h"
#include "io/origin.h"
#include "memory/context.h"
#include "tenure/io.h"

namespace tenure::io {
namespace {

auto find(const NamedTensors& tensors, std::string_view name) {
  return std::find_if(tensors.begin(), tensors.end(),
                      [&](const auto& named) { return named.first == name; });
}

}  // namespace

bool Archive::contains(std::string_view name) const { return find(tensors, name) != tensors.end(); }

Tensor Archive::operator[](detail::NameAt name) const {
  const auto entry = find(tensors, name.name);
  if (entry == tensors.end()) {
    const detail::UserLine line(name.site);
    const std::string names = detail::listed(
        tensors, [](const auto& named) { return fmt::format("\"{}\"", named.first); });
    raise<ValueError>("Archive: no tensor is named \"{}\"; there are: {}", printable(name.name),
                      printable(names));
  }
  return entry->second;
}

}  // namespace tenure::io
