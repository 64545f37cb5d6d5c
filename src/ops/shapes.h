// Shape rules that several families share.
#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

inline void same_shape(Infer& infer) { infer.result(infer.shape(0), infer.dtype(0)); }
void broadcast(Infer& infer);          // of two inputs with one dtype
void broadcast_to_bool(Infer& infer);  // the same, for comparisons

// Indices and counts are int32, as in TensorFlow.js: ShapeError if `count` elements of `shape` are
// too many for them.
void check_indexable(const char* op, std::int64_t count, const Shape& shape);

}  // namespace tenure::ops
