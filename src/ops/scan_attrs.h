#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct ScanAttrs {
  int axis = 0;  // normalised: not negative
  bool exclusive = false;
  bool reverse = false;
  TENURE_ATTRS(ScanAttrs, axis, exclusive, reverse)
};

struct RecurrenceAttrs {
  int axis = 0;
  bool reverse = false;
  bool lagged = false;  // the factor is that of the element before
  TENURE_ATTRS(RecurrenceAttrs, axis, reverse, lagged)
};

}  // namespace tenure::ops
