#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct TopKAttrs {
  std::int64_t k = 1;
  bool sorted = true;
  bool largest = true;
  TENURE_ATTRS(TopKAttrs, k, sorted, largest)
};

struct SortAttrs {
  bool descending = false;
  TENURE_ATTRS(SortAttrs, descending)
};

struct SearchAttrs {
  bool right = false;
  TENURE_ATTRS(SearchAttrs, right)
};

}  // namespace tenure::ops
