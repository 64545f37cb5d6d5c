// What a call of matmul asks for: a stack of products of matrices that all have the same sizes and
// strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend/cpu/matmul_tiles.h"
#include "backend/cpu/parallel.h"
#include "ops/attrs.h"
#include "ops/kernel.h"

namespace tenure::cpu {

// Products of matrices that all have the same sizes and strides.
template <class T>
struct Stack {
  Product<T> product;  // of the first item
  std::int64_t items;
  const ops::KernelView* a;  // the views that the product's A and B belong to
  const ops::KernelView* b;
  const Shape* out;
};

// Where item `index` of the results begins in an input, in elements.
inline std::int64_t offset_of(const ops::KernelView& in, const Shape& out, std::int64_t index) {
  std::int64_t offset = 0;
  int axis = in.shape->rank() - 3;
  for (int out_axis = out.rank() - 3; index > 0 && axis >= 0; --out_axis, --axis) {
    const std::int64_t size = out[out_axis];
    if ((*in.shape)[axis] != 1) offset += index % size * (*in.strides)[axis];
    index /= size;
  }
  return offset;
}

inline std::int64_t items_of(const Shape& shape) {
  std::int64_t items = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) items *= shape[axis];
  return items;
}

// The distance between the rows of all items, taken in order; 0 if it is not always the same.
inline std::int64_t common_row_stride(const ops::KernelView& in, std::int64_t rows,
                                      std::int64_t stride) {
  for (int axis = in.shape->rank() - 3; axis >= 0; --axis) {
    const std::int64_t size = (*in.shape)[axis];
    if (size == 1) continue;
    if (rows == 1) {
      stride = (*in.strides)[axis];
    } else if ((*in.strides)[axis] != rows * stride) {
      return 0;
    }
    rows *= size;
  }
  return stride;
}

// The result as a row: C' = B' A', where ' is the transpose. C has one column.
template <class T>
void swap_operands(Stack<T>& stack) {
  Product<T>& p = stack.product;
  std::swap(stack.a, stack.b);
  std::swap(p.a, p.b);
  std::swap(p.m, p.n);
  const std::int64_t row = p.b_row;
  const std::int64_t col = p.b_col;
  p.b_row = p.a_col;
  p.b_col = p.a_row;
  p.a_row = col;
  p.a_col = row;
  p.c_row = p.n;
}

template <class T>
Stack<T> stack_of(const ops::KernelArgs& args) {
  const auto& attrs = args.attrs.as<ops::MatmulAttrs>();
  const ops::KernelView& a = args.in[0];
  const ops::KernelView& b = args.in[1];
  const Shape& out = *args.out[0].shape;
  const int a_row = attrs.transpose_a ? -1 : -2;
  const int a_col = -3 - a_row;
  const int b_row = attrs.transpose_b ? -1 : -2;
  const int b_col = -3 - b_row;
  Stack<T> stack{{.a = a.as<T>(),
                  .a_row = (*a.strides)[a_row],
                  .a_col = (*a.strides)[a_col],
                  .b = b.as<T>(),
                  .b_row = (*b.strides)[b_row],
                  .b_col = (*b.strides)[b_col],
                  .c = args.out[0].as<T>(),
                  .c_row = out[-1],
                  .m = out[-2],
                  .n = out[-1],
                  .k = (*a.shape)[a_col],
                  .read_b = ReadB::in_place,
                  .panels = nullptr},
                 items_of(out),
                 &a,
                 &b,
                 &out};
  Product<T>& p = stack.product;
  if (stack.items > 1 && items_of(*b.shape) == 1) {
    if (const std::int64_t stride = common_row_stride(a, p.m, p.a_row); stride != 0) {
      p.a_row = stride;
      p.m *= stack.items;
      stack.items = 1;
    }
  }
  // A column of results would fill one lane of a vector; as a row it fills them all.
  if (p.n == 1 && (p.m > 1 || p.b_row != 1)) swap_operands(stack);
  // The stride of an axis of size 1 says nothing; choose the one that makes B readable.
  if (p.n == 1) {
    p.b_col = p.b_row == 1 ? p.k : 1;
  } else if (p.k == 1) {
    p.b_row = p.b_col == 1 ? p.n : 1;
  }
  return stack;
}

}  // namespace tenure::cpu
