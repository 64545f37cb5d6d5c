// Free dimensions of a function that is being traced (see graph/free_dims.h): numbers stand for
// their sizes, which the library may compute with and the user may not see.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/header.h"

namespace tenure::detail {

struct FreeSizes {
  std::vector<std::int64_t> stand_ins;  // chosen so that no other size is a multiple of one
  std::uint64_t trace = 0;              // whose values `known` is about
  std::vector<std::uint64_t> known;     // per value, a bit for each free dimension

  // The free dimensions of a symbolic tensor, a bit for each: where they are not known, those that
  // are a multiple of a stand-in.
  std::uint64_t dims_of(const Header& header) const {
    if (header.trace == trace && header.body == 0 && header.value < known.size()) {
      return known[header.value];
    }
    std::uint64_t dims = 0;
    for (int axis = 0; axis < header.layout.shape.rank() && axis < 64; ++axis) {
      const std::int64_t dim = header.layout.shape[axis];
      for (const std::int64_t size : stand_ins) {
        if (dim != 0 && dim % size == 0) dims |= std::uint64_t{1} << axis;
      }
    }
    return dims;
  }
};

// `axis` is the dimension that was asked for, -1 for all; `dims` are those that are free.
[[noreturn]] void raise_free_size(const Header& header, const Use& use, int axis,
                                  std::uint64_t dims);

}  // namespace tenure::detail
