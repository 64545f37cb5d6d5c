#include "ops/promote.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <optional>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/transfer.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::ops {
namespace {

template <class T>
void store(std::byte* to, T value) {
  *reinterpret_cast<T*>(to) = value;
}

std::size_t store_scalar(std::byte* to, const Scalar& value, DType dtype) {
  switch (dtype) {
    case DType::float32:
      store(to, static_cast<float>(value.to_double()));
      break;
    case DType::float64:
      store(to, value.to_double());
      break;
    case DType::int32:
      store(to, static_cast<std::int32_t>(value.to_int64()));
      break;
    case DType::int64:
      store(to, value.to_int64());
      break;
    case DType::uint8:
      store(to, static_cast<std::uint8_t>(value.to_int64()));
      break;
    case DType::int8:
      store(to, static_cast<std::int8_t>(value.to_int64()));
      break;
    case DType::boolean:
      store(to, static_cast<std::uint8_t>(value.to_double() != 0));
      break;
    case DType::float16:
      store(to, Float16(static_cast<float>(value.to_double())));
      break;
    case DType::bfloat16:
      store(to, BFloat16(static_cast<float>(value.to_double())));
      break;
    case DType::complex64:
      store(to, std::complex<float>(static_cast<float>(value.to_double())));
      break;
  }
  return size_of(dtype);
}

void check_held(const char* op, int input, const Tensor& x, std::source_location site,
                std::uint32_t own_handles) {
  const detail::Header& header = detail::checked(x, op, input);
  const bool symbolic_here = header.is_symbolic() && header.trace == detail::current_trace();
  if (header.is_dead() && !symbolic_here) {
    detail::raise_disposed(header, {op, input, site, own_handles});
  }
}

}  // namespace

Tensor scalar_tensor(const char* op, const Scalar& value, DType dtype, std::source_location site) {
  if (!value.fits(dtype)) {
    const detail::UserLine line(site);
    raise<DtypeError>("{}: {} is not exactly a value of {}: cast the tensor first", op, value,
                      dtype);
  }
  detail::Context& context = detail::context();
  if (context.trace != nullptr) return full({}, value, dtype, site);
  detail::StorageRef storage(detail::allocate_storage(Device{}, size_of(dtype), context.session));
  alignas(8) std::byte bytes[8];
  const std::size_t size = store_scalar(bytes, value, dtype);
  detail::device_transfer(storage->device.type).from_host(*storage.get(), bytes, size);
  Layout layout;
  layout.dtype = dtype;
  const detail::NoScope no_scope(context);
  return detail::Access::adopt(
      new_tensor(context, std::move(layout), std::move(storage), op, site));
}

void check_alive(const char* op, int input, const Tensor& x, std::source_location site) {
  check_held(op, input, x, site, 1);
}

void check_alive(const char* op, int input, const Arg& x) {
  check_held(op, input, x.tensor(), x.site(), x.is_borrowed() ? 0 : 1);
}

Tensor operand_as(const char* op, int input, Tensor x, DType dtype, std::source_location site) {
  const detail::Header& header = detail::checked(x, op, input);
  if (header.layout.dtype == dtype) return x;
  // The cast would name itself; the user wrote `op`.
  check_alive(op, input, x, site);
  const detail::CallScope call(op, site);
  return cast(Arg(std::move(x), site), dtype);
}

Shape shape_of(const char* op, const Arg& x) {
  const detail::UserLine line(x.site());
  return x.scalar() ? Shape{} : detail::checked(x.tensor(), op, 0).layout.shape;
}

void unify(const char* op, std::span<Arg* const> args, std::span<Tensor> out, bool arithmetic,
           int first) {
  const detail::UserLine line(args[0]->site());
  std::optional<DType> dtype;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i]->scalar()) continue;
    const DType arg_dtype =
        detail::checked(args[i]->tensor(), op, first + static_cast<int>(i)).layout.dtype;
    dtype = dtype && *dtype != arg_dtype ? promote(*dtype, arg_dtype) : arg_dtype;
  }
  if (!dtype) {  // numbers only
    for (Arg* arg : args) {
      const DType arg_dtype = arg->scalar()->natural_dtype();
      dtype = dtype ? promote(*dtype, arg_dtype) : arg_dtype;
    }
  }
  if (arithmetic && *dtype == DType::boolean) dtype = DType::int32;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::source_location site = args[i]->site();
    if (args[i]->scalar()) {
      out[i] = scalar_tensor(op, *args[i]->scalar(), *dtype, site);
    } else {
      out[i] =
          operand_as(op, first + static_cast<int>(i), std::move(*args[i]).tensor(), *dtype, site);
    }
  }
}

Tensor as_tensor(const char* op, Arg&& x) {
  const detail::UserLine line(x.site());
  if (x.scalar()) return scalar_tensor(op, *x.scalar(), x.scalar()->natural_dtype(), x.site());
  detail::checked(x.tensor(), op, 0);
  return std::move(x).tensor();
}

Tensor as_float(const char* op, Arg&& x) {
  const std::source_location site = x.site();
  if (x.scalar()) return scalar_tensor(op, *x.scalar(), DType::float32, site);
  Tensor tensor = as_tensor(op, std::move(x));
  if (is_floating(tensor.dtype()) || is_complex(tensor.dtype())) return tensor;
  return operand_as(op, 0, std::move(tensor), DType::float32, site);
}

Tensor as_number(const char* op, Arg&& x, bool widen) {
  const std::source_location site = x.site();
  Tensor tensor = as_tensor(op, std::move(x));
  const DType dtype = tensor.dtype();
  const bool small =
      dtype == DType::boolean || (widen && (dtype == DType::uint8 || dtype == DType::int8));
  return small ? operand_as(op, 0, std::move(tensor), DType::int32, site) : tensor;
}

Tensor unbroadcast(Tensor gradient, const Shape& shape) {
  const Shape from = gradient.shape();
  if (from == shape) return gradient;
  Axes axes;
  const int extra = from.rank() - shape.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (axis < extra || (shape[axis - extra] == 1 && from[axis] != 1)) axes.push_back(axis);
  }
  return reshape(sum(std::move(gradient), axes), shape);
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape shape = longer;
  for (int back = 1; back <= shorter.rank(); ++back) {
    const std::int64_t one = shorter[-back];
    if (one == shape[-back] || one == 1) continue;
    if (shape[-back] != 1) {
      raise<ShapeError>("{}: shapes do not broadcast: {} and {}", op, a, b);
    }
    shape[-back] = one;
  }
  return shape;
}

void check_indexable(const char* op, std::int64_t count, const Shape& shape) {
  if (count > std::numeric_limits<std::int32_t>::max()) {
    raise<ShapeError>("{}: {} elements are too many for int32: {}", op, count, shape);
  }
}

int normal_axis(const char* op, std::int64_t axis, const Shape& shape) {
  if (axis < -shape.rank() || axis >= shape.rank()) {
    raise<ShapeError>("{}: axis {} out of range for {}", op, axis, shape);
  }
  return static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
}

Axes normal_axes(const char* op, const Axes& axes, const Shape& shape) {
  Axes normal = axes;
  for (std::int64_t& axis : normal) axis = normal_axis(op, axis, shape);
  std::sort(normal.begin(), normal.end());
  if (std::adjacent_find(normal.begin(), normal.end()) != normal.end()) {
    raise<ShapeError>("{}: an axis is named twice: {}", op, axes);
  }
  return normal;
}

Axes all_axes(const Shape& shape) {
  Axes axes = shape;
  for (int i = 0; i < shape.rank(); ++i) axes[i] = i;
  return axes;
}

}  // namespace tenure::ops
