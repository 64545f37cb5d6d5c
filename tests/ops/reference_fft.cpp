#include "reference_fft.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "reference.h"

namespace tenure::testing {
namespace {

using Z = std::complex<double>;
using Row = std::vector<Z>;

// Calls fn with every row along the last axis.
template <class F>
void each_row(const Shape& shape, F&& fn) {
  if (shape.numel() == 0) return;
  const std::int64_t rows = shape.numel() / shape[-1];
  for (std::int64_t row = 0; row < rows; ++row) fn(static_cast<std::size_t>(row * shape[-1]));
}

Row row_at(const Array& re, const Array& im, std::size_t at) {
  Row row;
  for (std::size_t i = at; i < at + static_cast<std::size_t>(re.shape[-1]); ++i) {
    row.emplace_back(re.data[i], im.data[i]);
  }
  return row;
}

struct Parts {
  Array re, im;
};

Parts fft_parts(const Parts& x, bool inverse) {
  Parts result{{x.re.shape, {}}, {x.re.shape, {}}};
  each_row(x.re.shape, [&](std::size_t at) {
    for (const Z z : transformed(row_at(x.re, x.im, at), inverse)) {
      result.re.data.push_back(z.real());
      result.im.data.push_back(z.imag());
    }
  });
  return result;
}

Parts swapped(const Parts& x) {
  Axes axes = x.re.shape;
  for (int i = 0; i < axes.rank(); ++i) axes[i] = i;
  std::swap(axes[-1], axes[-2]);
  return {permuted(x.re, axes), permuted(x.im, axes)};
}

Array mixed_parts(const Parts& x) {
  Array result{x.re.shape, {}};
  for (std::size_t i = 0; i < x.re.data.size(); ++i) {
    result.data.push_back(mixed(Z{x.re.data[i], x.im.data[i]}));
  }
  return result;
}

}  // namespace

Row transformed(const Row& row, bool inverse) {
  const std::size_t n = row.size();
  Row turns(n), result(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    turns[i] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) result[k] += row[j] * turns[j * k % n];
    if (inverse) result[k] /= static_cast<double>(n);
  }
  return result;
}

Array fft_mixed(const Array& re, const Array& im, bool inverse) {
  return mixed_parts(fft_parts({re, im}, inverse));
}

Array fft2d_mixed(const Array& re, const Array& im, bool inverse) {
  return mixed_parts(swapped(fft_parts(swapped(fft_parts({re, im}, inverse)), inverse)));
}

Array rfft_mixed(const Array& x, std::int64_t length) {
  Array result{x.shape, {}};
  result.shape[-1] = length / 2 + 1;
  const std::int64_t rows = x.shape[-1] == 0 ? 0 : x.shape.numel() / x.shape[-1];
  for (std::int64_t r = 0; r < rows; ++r) {
    Row row(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < std::min(length, x.shape[-1]); ++i) {
      row[static_cast<std::size_t>(i)] = x.data[static_cast<std::size_t>(r * x.shape[-1] + i)];
    }
    const Row spectrum = transformed(row, false);
    for (std::int64_t k = 0; k <= length / 2; ++k) {
      result.data.push_back(mixed(spectrum[static_cast<std::size_t>(k)]));
    }
  }
  return result;
}

Array irfft_of(const Array& re, const Array& im, std::int64_t length) {
  Array result{re.shape, {}};
  result.shape[-1] = length;
  each_row(re.shape, [&](std::size_t at) {
    const Row half = row_at(re, im, at);
    Row row(static_cast<std::size_t>(length));
    for (std::size_t k = 0; k <= static_cast<std::size_t>(length / 2) && k < half.size(); ++k) {
      const std::size_t mirror = (row.size() - k) % row.size();
      row[k] = k == mirror ? Z(half[k].real()) : half[k];
      row[mirror] = std::conj(row[k]);
    }
    for (const Z z : transformed(row, true)) result.data.push_back(z.real());
  });
  return result;
}

Array framed(const Array& x, std::int64_t length, std::int64_t step, bool pad_end, double pad) {
  const std::int64_t size = x.shape[-1];
  std::int64_t frames = 0;
  for (std::int64_t at = 0; pad_end ? at < size : at + length <= size; at += step) ++frames;
  Shape shape = x.shape;
  shape[-1] = frames;
  shape.push_back(length);
  return filled(shape, [&](const Index& index) {
    Index from(index.begin(), index.end() - 1);
    from.back() = from.back() * step + index.back();
    return from.back() < size ? at(x, from) : pad;
  });
}

Array overlapped(const Array& frames, std::int64_t step) {
  const std::int64_t count = frames.shape[-2], length = frames.shape[-1];
  Shape shape(frames.shape.dims().first(static_cast<std::size_t>(frames.shape.rank()) - 1));
  shape[-1] = count == 0 ? 0 : (count - 1) * step + length;
  Array result = filled(shape, [](const Index&) { return 0.0; });
  each_index(frames.shape, [&](const Index& index) {
    Index to(index.begin(), index.end() - 1);
    to.back() = to.back() * step + index.back();
    at(result, to) += at(frames, index);
  });
  return result;
}

std::vector<double> cosine_window(std::int64_t length, double mean, double swing) {
  std::vector<double> values;
  const std::int64_t even = 1 - length % 2;
  for (std::int64_t i = 0; i < length; ++i) {
    const double angle = length == 1 ? std::numbers::pi
                                     : 2 * std::numbers::pi * static_cast<double>(i) /
                                           static_cast<double>(length + even - 1);
    values.push_back(mean - swing * std::cos(angle));
  }
  return values;
}

}  // namespace tenure::testing
