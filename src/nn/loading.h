// Layers that are made for a file. What the file says of sizes is not believed: weights take no
// more bytes than the file has for them, and begin as zeros, since its values replace them.
#pragma once

#include <cstdint>
#include <string_view>

#include "memory/context.h"
#include "tenure/dtype.h"
#include "tenure/shape.h"

namespace tenure::nn::detail {

class LoadScope {
 public:
  // States of recurrent layers need not be in the file: they have a bound of their own.
  LoadScope(std::uint64_t weight_bytes, std::uint64_t state_bytes);
  static LoadScope* current();  // of this thread, or null
  // ValueErrors where there is no room left.
  void take_weight(std::string_view name, const Shape& shape, DType dtype);
  void take_state(std::string_view name, const Shape& shape, DType dtype);

 private:
  tenure::detail::Meanwhile<LoadScope*> current_;
  std::uint64_t weight_bytes_;
  std::uint64_t state_bytes_;
};

}  // namespace tenure::nn::detail
