#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct BincountAttrs {
  std::int64_t size = 0;
  bool binary = false;
  TENURE_ATTRS(BincountAttrs, size, binary)
};

struct HistogramAttrs {
  double low = 0;
  double high = 1;
  std::int64_t bins = 1;
  TENURE_ATTRS(HistogramAttrs, low, high, bins)
};

}  // namespace tenure::ops
