// Operands on their way into an op: numbers become tensors, dtypes are made to agree.
#pragma once

#include <span>

#include "ops/op_def.h"
#include "tenure/tensor.h"

namespace tenure::ops {

// Makes the operands' dtypes agree: numbers take the tensors' dtype, mixed dtypes are promoted, and
// (with `arithmetic`) bool becomes int32. A number that the dtype cannot hold exactly is a
// DtypeError. `first` is the op's index of the first operand, for errors.
void unify(const char* op, std::span<Arg* const> args, std::span<Tensor> out, bool arithmetic,
           int first = 0);

// Operand `input` of `op` can be used: it is alive, or a symbolic tensor of the trace at hand. For
// functions made of several ops, whose ops see their operands in another order than the user.
void check_alive(const char* op, int input, const Tensor& x, std::source_location site);
void check_alive(const char* op, int input, const Arg& x);

// `x` as `dtype`, for operand `input` of `op`.
Tensor operand_as(const char* op, int input, Tensor x, DType dtype, std::source_location site);
// The shape of operand 0; a number's is that of a scalar.
Shape shape_of(const char* op, const Arg& x);

// The operand as a floating-point or complex tensor: integers and bool become float32.
Tensor as_float(const char* op, Arg&& x);
// The operand as a tensor; bool becomes int32, and small integers too when `widen`.
Tensor as_number(const char* op, Arg&& x, bool widen = false);
// The operand as a tensor of any dtype; a number by itself becomes a scalar tensor.
Tensor as_tensor(const char* op, Arg&& x);

// A rank-0 tensor that joins no scope: the library's own.
Tensor scalar_tensor(const char* op, const Scalar& value, DType dtype, std::source_location site);

// Sums `gradient` down to `shape`, undoing a broadcast.
Tensor unbroadcast(Tensor gradient, const Shape& shape);

// The shape two shapes broadcast to; ShapeError when they do not.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

// A negative axis counted from the end, checked.
int normal_axis(const char* op, std::int64_t axis, const Shape& shape);
// Ascending, unique, not negative.
Axes normal_axes(const char* op, const Axes& axes, const Shape& shape);
Axes all_axes(const Shape& shape);

}  // namespace tenure::ops
