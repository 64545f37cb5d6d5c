#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct FourierAttrs {  // of a real signal
  std::int64_t length = 0;
  TENURE_ATTRS(FourierAttrs, length)
};

struct FrameAttrs {
  std::int64_t length = 0;
  std::int64_t step = 1;
  TENURE_ATTRS(FrameAttrs, length, step)
};

struct OverlapAttrs {  // the sum's last axis, which may be longer than the frames reach
  std::int64_t step = 1;
  std::int64_t length = 0;
  TENURE_ATTRS(OverlapAttrs, step, length)
};

}  // namespace tenure::ops
