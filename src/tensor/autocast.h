// Weights that are kept in one dtype and computed with in another: while a layer is called that
// does so, its weights are read in the dtype it computes in. Assigning, and reading from anywhere
// else (an optimizer, a file, the user), is in their own.
#pragma once

#include <optional>

#include "memory/context.h"
#include "tenure/dtype.h"

namespace tenure::detail {

// On this thread; none: weights are read as they are. A call of a layer neither changes threads
// nor waits for one.
inline std::optional<DType>& autocast() {
  thread_local std::optional<DType> dtype;
  return dtype;
}

struct Autocast : Meanwhile<std::optional<DType>> {
  explicit Autocast(std::optional<DType> dtype) : Meanwhile(autocast(), dtype) {}
};

}  // namespace tenure::detail
