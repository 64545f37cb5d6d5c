// Updates of optimizers and metrics are not something that a tape should keep anything for.
#pragma once

#include "memory/context.h"

namespace tenure::nn::detail {

struct NoTapes : tenure::detail::Meanwhile<ops::Recorder*> {
  NoTapes() : Meanwhile(tenure::detail::context().tapes, nullptr) {}
};

}  // namespace tenure::nn::detail
