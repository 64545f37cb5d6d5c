// Grayscale dilation and its gradients; see ops/dilation.cpp.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/pool_geometry.h"

namespace tenure::cpu {
namespace {

// Of a window without elements.
template <class T>
constexpr T kNothing = std::numeric_limits<T>::lowest();

// Integers wrap.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

// A window: calls fn(offset in the image, offset in the filter) for each element inside.
template <class F>
void each_tap(const PoolGeometry& geometry, std::int64_t row, std::int64_t column, F&& fn) {
  const auto& [depth, height, width] = geometry.axes;
  const std::int64_t top = row * height.stride - height.before;
  const std::int64_t left = column * width.stride - width.before;
  for (std::int64_t h = 0; h < height.window; ++h) {
    const std::int64_t y = top + h * height.dilation;
    if (y < 0 || y >= height.in) continue;
    for (std::int64_t w = 0; w < width.window; ++w) {
      const std::int64_t x = left + w * width.dilation;
      if (x < 0 || x >= width.in) continue;
      fn((y * width.in + x) * geometry.channels, (h * width.window + w) * geometry.channels);
    }
  }
}

std::int64_t rows_worth_a_thread(const PoolGeometry& geometry) {
  const std::int64_t work =
      std::max<std::int64_t>(1, geometry.axes[2].out * geometry.channels * geometry.window());
  return (kSerialElements + work - 1) / work;
}

template <class T>
void dilate(const ops::KernelArgs& args) noexcept {
  const PoolGeometry geometry(*args.in[0].shape, args.attrs.as<ops::PoolAttrs>());
  const T* src = args.in[0].as<T>();
  const T* filter = args.in[1].as<T>();
  T* dst = args.out[0].as<T>();
  const std::int64_t channels = geometry.channels;
  const std::int64_t lines = geometry.axes[1].out;
  const std::int64_t columns = geometry.axes[2].out;
  if (args.out[0].numel() == 0) return;
  parallel_for(
      geometry.rows(), rows_worth_a_thread(geometry), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin * columns; i < end * columns; ++i) {
          const std::int64_t row = i / columns;
          const T* image = src + row / lines * geometry.image_in();
          T* to = dst + i * channels;
          std::fill_n(to, channels, kNothing<T>);
          each_tap(geometry, row % lines, i % columns, [&](std::int64_t at, std::int64_t tap) {
            TENURE_VECTORISE
            for (std::int64_t c = 0; c < channels; ++c) {
              const T sum = plus(image[at + c], filter[tap + c]);
              to[c] = sum > to[c] ? sum : to[c];
            }
          });
        }
      });
}

// Where the largest sum lies, in some channels of one window: -1 for none.
struct Places {
  std::int64_t image[kPieceChannels];
  std::int64_t filter[kPieceChannels];
};

// Calls fn(place in the output, places) for every window of one image, in channels [first, first +
// count).
template <class T, class F>
void each_window(const PoolGeometry& geometry, const T* src, const T* filter, std::int64_t image,
                 std::int64_t first, std::int64_t count, F&& fn) {
  const T* from = src + image * geometry.image_in() + first;
  const std::int64_t columns = geometry.axes[2].out;
  T largest[kPieceChannels];
  Places places;
  for (std::int64_t i = 0; i < geometry.axes[1].out * columns; ++i) {
    std::fill_n(largest, count, kNothing<T>);
    std::fill_n(places.image, count, -1);
    std::fill_n(places.filter, count, -1);
    each_tap(geometry, i / columns, i % columns, [&](std::int64_t at, std::int64_t tap) {
      for (std::int64_t c = 0; c < count; ++c) {
        const T sum = from[at + c] + filter[tap + first + c];
        if (!(sum > largest[c])) continue;
        largest[c] = sum;
        places.image[c] = at + first + c;
        places.filter[c] = tap + first + c;
      }
    });
    fn(image * geometry.image_out() + i * geometry.channels + first, places);
  }
}

// All of these have x as input 1 and the filter as input 2.
struct Windows {
  const PoolGeometry geometry;
  std::int64_t work;
  explicit Windows(const ops::KernelArgs& args)
      : geometry(*args.in[1].shape, args.attrs.as<ops::PoolAttrs>()),
        work(geometry.image_out() * geometry.window() + geometry.image_in()) {}
};

template <class T>
void backprop_input(const ops::KernelArgs& args) noexcept {
  const Windows windows(args);
  const PoolGeometry& geometry = windows.geometry;
  const T* dy = args.in[0].as<T>();
  if (args.out[0].numel() == 0) return;
  each_piece(geometry.batch, geometry.channels, windows.work,
             [&](std::int64_t image, std::int64_t first, std::int64_t count) {
               T* to = args.out[0].as<T>() + image * geometry.image_in();
               clear_channels(to + first, geometry.image_in(), geometry.channels, count);
               each_window(geometry, args.in[1].as<T>(), args.in[2].as<T>(), image, first, count,
                           [&](std::int64_t output, const Places& places) {
                             for (std::int64_t c = 0; c < count; ++c) {
                               if (places.image[c] >= 0) to[places.image[c]] += dy[output + c];
                             }
                           });
             });
}

// A filter sums over all images, so that its pieces are of channels alone.
template <class T>
void backprop_filter(const ops::KernelArgs& args) noexcept {
  const Windows windows(args);
  const PoolGeometry& geometry = windows.geometry;
  const T* dy = args.in[0].as<T>();
  T* to = args.out[0].as<T>();
  if (args.out[0].numel() == 0) return;
  each_piece(1, geometry.channels, geometry.batch * windows.work,
             [&](std::int64_t, std::int64_t first, std::int64_t count) {
               clear_channels(to + first, args.out[0].numel(), geometry.channels, count);
               for (std::int64_t image = 0; image < geometry.batch; ++image) {
                 each_window(geometry, args.in[1].as<T>(), args.in[2].as<T>(), image, first, count,
                             [&](std::int64_t output, const Places& places) {
                               for (std::int64_t c = 0; c < count; ++c) {
                                 if (places.filter[c] >= 0) {
                                   to[places.filter[c]] += dy[output + c];
                                 }
                               }
                             });
               }
             });
}

template <class T, bool of_filter>
void pick(const ops::KernelArgs& args) noexcept {
  const Windows windows(args);
  const PoolGeometry& geometry = windows.geometry;
  T* dst = args.out[0].as<T>();
  if (args.out[0].numel() == 0) return;
  each_piece(geometry.batch, geometry.channels, windows.work,
             [&](std::int64_t image, std::int64_t first, std::int64_t count) {
               const T* values = args.in[0].as<T>() + (of_filter ? 0 : image * geometry.image_in());
               each_window(geometry, args.in[1].as<T>(), args.in[2].as<T>(), image, first, count,
                           [&](std::int64_t output, const Places& places) {
                             const std::int64_t* place = of_filter ? places.filter : places.image;
                             for (std::int64_t c = 0; c < count; ++c) {
                               dst[output + c] = place[c] < 0 ? T{0} : values[place[c]];
                             }
                           });
             });
}

}  // namespace

std::span<const ops::KernelRow> dilation_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"dilation2d", DType::float32, dilate<float>},
      {"dilation2d", DType::float64, dilate<double>},
      {"dilation2d", DType::int32, dilate<std::int32_t>},
      {"dilation2d", DType::int64, dilate<std::int64_t>},
      {"dilation2d", DType::uint8, dilate<std::uint8_t>},
      {"dilation2d", DType::int8, dilate<std::int8_t>},
      {"dilation2d_backprop_input", DType::float32, backprop_input<float>},
      {"dilation2d_backprop_input", DType::float64, backprop_input<double>},
      {"dilation2d_backprop_filter", DType::float32, backprop_filter<float>},
      {"dilation2d_backprop_filter", DType::float64, backprop_filter<double>},
      {"dilation2d_pick_input", DType::float32, pick<float, false>},
      {"dilation2d_pick_input", DType::float64, pick<double, false>},
      {"dilation2d_pick_filter", DType::float32, pick<float, true>},
      {"dilation2d_pick_filter", DType::float64, pick<double, true>},
  };
  return rows;
}

}  // namespace tenure::cpu
