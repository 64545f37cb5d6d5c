// Shape rules that several families share.
#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

inline void same_shape(Infer& infer) { infer.result(infer.shape(0), infer.dtype(0)); }
void broadcast(Infer& infer);          // of two inputs with one dtype
void broadcast_to_bool(Infer& infer);  // the same, for comparisons

}  // namespace tenure::ops
