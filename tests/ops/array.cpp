#include "array.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <iomanip>
#include <limits>
#include <type_traits>
#include <utility>

#include "reference.h"

namespace tenure::testing {
namespace {

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return static_cast<double>(value.real());  // rows of complex numbers end in real ones
  } else if constexpr (is_half_v<T>) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T from_double(double value) {
  if constexpr (is_half_v<T> || std::is_same_v<T, std::complex<float>>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if (std::isinf(value)) {
    return value < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(static_cast<std::int64_t>(value));
  }
}

// The distance from `value` to the next value of the dtype.
double ulp(double value, DType dtype) {
  const double size = std::abs(value);
  if (dtype == DType::float64) {
    return std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  }
  if (dtype != DType::float32) return 0;
  const auto narrow = static_cast<float>(size);
  return static_cast<double>(std::nextafter(narrow, std::numeric_limits<float>::infinity())) -
         static_cast<double>(narrow);
}

double epsilon(DType dtype) {
  if (dtype == DType::float64) return std::numeric_limits<double>::epsilon();
  return dtype == DType::float32 ? std::numeric_limits<float>::epsilon() : 0;
}

bool same(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want && std::signbit(got) == std::signbit(want);
}

bool agrees(double got, double want, DType dtype, Tolerance tolerance) {
  const double expected = rounded(want, dtype);
  if (same(got, expected)) return true;
  if (!std::isfinite(got) || !std::isfinite(expected)) return false;
  if (tolerance.epsilons == 0 && got == 0 && expected == 0) return false;  // of the wrong sign
  return std::abs(got - want) <=
         tolerance.ulps * ulp(want, dtype) + tolerance.epsilons * epsilon(dtype);
}

double unit(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// A larger array of a value that belongs to nobody, with `values` at 1, 1 + step, ... of each axis.
Array embedded(const Array& values, std::int64_t step) {
  constexpr double kFiller = 77;
  Shape shape = values.shape;
  for (std::int64_t& dim : shape) dim = dim * step + 2;
  Array large{shape, std::vector<double>(static_cast<std::size_t>(shape.numel()), kFiller)};
  each_index(values.shape, [&](const Index& index) {
    Index at_large = index;
    for (std::int64_t& i : at_large) i = 1 + i * step;
    at(large, at_large) = at(values, index);
  });
  return large;
}

Tensor scalar_view(double value, DType dtype) {
  return to_tensor({{3}, {77, value, 77}}, dtype)[1];
}

Tensor as_permuted(const Array& values, DType dtype, const Axes& axes) {
  return transpose(to_tensor(permuted(values, axes), dtype), axes);
}

Tensor as_part(const Array& values, DType dtype, std::int64_t step) {
  const int rank = values.shape.rank();
  return slice(to_tensor(embedded(values, step), dtype), Shape::filled(rank, 1), values.shape,
               Shape::filled(rank, step));
}

Tensor as_repeat(const Array& values, DType dtype, int axis) {
  if (values.shape[axis] == 0) return to_tensor(values, dtype);
  Shape one = values.shape;
  one[axis] = 1;
  const Shape begin = Shape::filled(one.rank(), 0);
  return broadcast_to(to_tensor(sliced(values, begin, one, Shape::filled(one.rank(), 1)), dtype),
                      values.shape);
}

Axes reversed(int rank, int first) {
  Axes axes = Shape::filled(rank, 0);
  for (int i = 0; i < rank; ++i) axes[i] = i < first ? i : rank - 1 - (i - first);
  return axes;
}

Axes outer_swapped(int rank) {
  Axes axes = reversed(rank, rank);
  if (rank > 2) std::swap(axes[0], axes[1]);
  return axes;
}

}  // namespace

double rounded(double value, DType dtype) {
  return with_type(dtype,
                   [value](auto zero) { return to_double(from_double<decltype(zero)>(value)); });
}

Array rounded(Array values, DType dtype) {
  for (double& value : values.data) value = rounded(value, dtype);
  return values;
}

Tensor to_tensor(const Array& values, DType dtype) {
  return with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> elements;
    elements.reserve(values.data.size());
    for (const double value : values.data) elements.push_back(from_double<T>(value));
    return tensor(elements, values.shape);
  });
}

Array to_array(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Array values{tensor.shape(), {}};
    for (const T element : tensor.to_vector<T>()) values.data.push_back(to_double(element));
    return values;
  });
}

std::vector<std::byte> bits_of(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&](auto zero) {
    const auto elements = tensor.view<decltype(zero)>();
    const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
    return std::vector<std::byte>(bytes, bytes + elements.size() * sizeof(zero));
  });
}

Array draw(const Shape& shape, const Input& input, DType dtype, Random& random) {
  const auto one = [&] {
    if (!is_floating(dtype)) {
      const double least = std::max(static_cast<double>(input.least),
                                    rounded(-std::numeric_limits<double>::infinity(), dtype));
      const double most = std::min(static_cast<double>(input.most),
                                   rounded(std::numeric_limits<double>::infinity(), dtype));
      if (dtype == DType::boolean) return static_cast<double>(random() & 1);
      return least + std::floor(unit(random) * (most - least + 1));
    }
    for (;;) {
      double value = input.low + unit(random) * (input.high - input.low);
      if (input.whole) value = std::round(value) + 0.0;  // never -0
      const auto near = [&](double kink) { return std::abs(value - kink) < 0.05; };
      if (std::none_of(input.away_from.begin(), input.away_from.end(), near)) return value;
    }
  };
  Array values{shape, std::vector<double>(static_cast<std::size_t>(shape.numel()))};
  for (double& value : values.data) value = one();
  return rounded(std::move(values), dtype);
}

Array draw_normal(const Shape& shape, Random& random) {
  return draw(shape, {.low = -1.5, .high = 1.5}, DType::float64, random);
}

Array fitted(Array values, Lay lay) {
  const int rank = values.shape.rank();
  if ((lay != Lay::repeated_rows && lay != Lay::repeated_cells) || rank == 0) return values;
  const int axis = lay == Lay::repeated_rows ? 0 : rank - 1;
  each_index(values.shape, [&](const Index& index) {
    Index first = index;
    first[static_cast<std::size_t>(axis)] = 0;
    at(values, index) = at(values, first);
  });
  return values;
}

Tensor lay_out(const Array& values, DType dtype, Lay lay) {
  const int rank = values.shape.rank();
  if (lay == Lay::contiguous) return to_tensor(values, dtype);
  if (rank == 0) return scalar_view(values.data[0], dtype);
  switch (lay) {
    case Lay::contiguous:
      break;
    case Lay::transposed:
      return as_permuted(values, dtype, reversed(rank, 0));
    case Lay::swapped:
      return as_permuted(values, dtype, reversed(rank, std::max(rank - 2, 0)));
    case Lay::outer_swapped:
      return as_permuted(values, dtype, outer_swapped(rank));
    case Lay::offset:
      return as_part(values, dtype, 1);
    case Lay::strided:
      return as_part(values, dtype, 2);
    case Lay::repeated_rows:
      return as_repeat(values, dtype, 0);
    case Lay::repeated_cells:
      return as_repeat(values, dtype, rank - 1);
  }
  return to_tensor(values, dtype);
}

::testing::AssertionResult close(const Tensor& got, const Array& want, DType dtype,
                                 Tolerance tolerance) {
  if (got.dtype() != dtype) {
    return ::testing::AssertionFailure() << "dtype " << got.dtype() << " instead of " << dtype;
  }
  if (got.shape() != want.shape) {
    return ::testing::AssertionFailure() << "shape " << got.shape() << " instead of " << want.shape;
  }
  const Array values = to_array(got);
  for (std::size_t i = 0; i < values.data.size(); ++i) {
    if (agrees(values.data[i], want.data[i], dtype, tolerance)) continue;
    return ::testing::AssertionFailure()
           << std::setprecision(17) << "element " << i << " of " << want.shape << " is "
           << values.data[i] << " instead of " << want.data[i];
  }
  return ::testing::AssertionSuccess();
}

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) sum += a.data[i] * b.data[i];
  return sum;
}

double dot_of_magnitudes(const Array& a, const Array& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) sum += std::abs(a.data[i] * b.data[i]);
  return sum;
}

Array moved(Array x, const Array& direction, double step) {
  for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] += step * direction.data[i];
  return x;
}

}  // namespace tenure::testing
