// Pooling and its gradients.
//
// With channels last, a window's elements are rows of channels and vectors run along them. With
// channels first, vectors run along the last axis: the windows of one row of the output that have a
// certain element all have it in one row of the input. The order of additions depends on the shape
// alone in both, and gradients are cut into pieces that no two windows share.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/pool_geometry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/pooling.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kTile = kPieceChannels;  // whose state is kept on the stack

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// A NaN is never larger, as in TensorFlow.js.
struct Max {
  template <class T>
  static constexpr T kStart = lowest<T>();
  template <class T>
  static HWY_INLINE T merge(T so_far, T x) {
    return x > so_far ? x : so_far;
  }
  template <class D, class V>
  static HWY_INLINE V merge(D, V so_far, V x) {
    return hn::IfThenElse(hn::Gt(x, so_far), x, so_far);
  }
  template <class T>
  static HWY_INLINE T finish(T x, std::int64_t) {
    return x;
  }
  template <class D, class V>
  static HWY_INLINE V finish(D, V x, V) {
    return x;
  }
};

struct Mean {
  template <class T>
  static constexpr T kStart = 0;
  template <class T>
  static HWY_INLINE T merge(T so_far, T x) {
    return so_far + x;
  }
  template <class D, class V>
  static HWY_INLINE V merge(D, V so_far, V x) {
    return hn::Add(so_far, x);
  }
  template <class T>
  static HWY_INLINE T finish(T x, std::int64_t count) {
    return x / static_cast<T>(std::max<std::int64_t>(count, 1));
  }
  template <class D, class V>
  static HWY_INLINE V finish(D, V x, V count) {
    return hn::Div(x, count);
  }
};

// The elements of one window, for a row of channels: `src` is at the first.
template <class T>
struct Window {
  const T* src;
  Taps taps[3];
  std::int64_t steps[3];  // from one to the next, in elements

  std::int64_t count() const { return taps[0].count * taps[1].count * taps[2].count; }
  template <class F>
  HWY_INLINE void each(F&& fn) const {
    for (std::int64_t i = 0; i < taps[0].count; ++i) {
      for (std::int64_t j = 0; j < taps[1].count; ++j) {
        const T* row = src + i * steps[0] + j * steps[1];
        for (std::int64_t k = 0; k < taps[2].count; ++k, row += steps[2]) fn(row);
      }
    }
  }
};

template <class Op, int vectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void pool_vectors(D d, const Window<T>& window, hn::Vec<D> count, std::int64_t channel,
                             T* HWY_RESTRICT dst) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> a = hn::Set(d, Op::template kStart<T>);
  hn::Vec<D> b = a, c = a, e = a;
  window.each([&](const T* row) HWY_ATTR {
    const T* from = row + channel;
    a = Op::merge(d, a, hn::LoadU(d, from));
    if constexpr (vectors == 4) {
      b = Op::merge(d, b, hn::LoadU(d, from + lanes));
      c = Op::merge(d, c, hn::LoadU(d, from + 2 * lanes));
      e = Op::merge(d, e, hn::LoadU(d, from + 3 * lanes));
    }
  });
  hn::StoreU(Op::finish(d, a, count), d, dst + channel);
  if constexpr (vectors == 4) {
    hn::StoreU(Op::finish(d, b, count), d, dst + channel + lanes);
    hn::StoreU(Op::finish(d, c, count), d, dst + channel + 2 * lanes);
    hn::StoreU(Op::finish(d, e, count), d, dst + channel + 3 * lanes);
  }
}

template <class Op, class T>
HWY_INLINE void pool_channels(const Window<T>& window, std::int64_t channels, T* HWY_RESTRICT dst) {
  if constexpr (std::is_floating_point_v<T>) {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto count = hn::Set(d, static_cast<T>(std::max<std::int64_t>(window.count(), 1)));
    std::int64_t channel = 0;
    for (; channel + 4 * lanes <= channels; channel += 4 * lanes) {
      pool_vectors<Op, 4>(d, window, count, channel, dst);
    }
    for (; channel + lanes <= channels; channel += lanes) {
      pool_vectors<Op, 1>(d, window, count, channel, dst);
    }
    if (channel < channels) {
      const auto left = static_cast<std::size_t>(channels - channel);
      auto total = hn::Set(d, Op::template kStart<T>);
      window.each([&](const T* row) HWY_ATTR {
        total = Op::merge(d, total, load_first(d, row + channel, left));
      });
      store_first(d, Op::finish(d, total, count), dst + channel, left);
    }
  } else {
    std::fill_n(dst, channels, Op::template kStart<T>);
    window.each([&](const T* row) HWY_ATTR {
      TENURE_VECTORISE
      for (std::int64_t c = 0; c < channels; ++c) dst[c] = Op::merge(dst[c], row[c]);
    });
  }
}

// One row of the output, with channels first.
template <class Op, class T>
void pool_plane_row(const PoolGeometry& geometry, Taps planes, Taps lines, const T* image,
                    T* HWY_RESTRICT dst) {
  const auto& [depth, height, width] = geometry.axes;
  std::fill_n(dst, width.out, Op::template kStart<T>);
  for (std::int64_t i = 0; i < planes.count; ++i) {
    for (std::int64_t j = 0; j < lines.count; ++j) {
      const std::int64_t line =
          (planes.first + i * depth.dilation) * height.in + lines.first + j * height.dilation;
      const T* HWY_RESTRICT row = image + line * width.in;
      for (std::int64_t tap = 0; tap < width.window; ++tap) {
        const auto [begin, end] = width.windows(tap);
        const std::int64_t shift = tap * width.dilation - width.before;
        if (width.stride == 1) {
          TENURE_VECTORISE
          for (std::int64_t o = begin; o < end; ++o) dst[o] = Op::merge(dst[o], row[o + shift]);
        } else {
          TENURE_VECTORISE
          for (std::int64_t o = begin; o < end; ++o) {
            dst[o] = Op::merge(dst[o], row[o * width.stride + shift]);
          }
        }
      }
    }
  }
  if constexpr (std::is_same_v<Op, Mean>) {
    for (std::int64_t o = 0; o < width.out; ++o) {
      dst[o] = Op::finish(dst[o], planes.count * lines.count * width.taps(o).count);
    }
  }
}

// Calls fn(image, planes, lines, row) for rows [begin, end) of the output.
template <class F>
HWY_INLINE void each_row(const PoolGeometry& geometry, std::int64_t begin, std::int64_t end,
                         F&& fn) {
  const PoolAxis& depth = geometry.axes[0];
  const PoolAxis& height = geometry.axes[1];
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t image = row / (depth.out * height.out);
    fn(image, depth.taps(row / height.out % depth.out), height.taps(row % height.out), row);
  }
}

template <class T>
HWY_INLINE Window<T> window_at(const PoolGeometry& geometry, const T* image, Taps planes,
                               Taps lines, std::int64_t o) {
  const auto& [depth, height, width] = geometry.axes;
  const Taps columns = width.taps(o);
  const std::int64_t channels = geometry.channels;
  const std::int64_t first = (planes.first * height.in + lines.first) * width.in + columns.first;
  return {image + first * channels,
          {planes, lines, columns},
          {depth.dilation * height.in * width.in * channels, height.dilation * width.in * channels,
           width.dilation * channels}};
}

std::int64_t row_grain(const PoolGeometry& geometry) {
  const std::int64_t work =
      std::max<std::int64_t>(1, geometry.axes[2].out * geometry.channels * geometry.window());
  return (2 * kSerialElements + work - 1) / work;
}

template <class Op, class T>
void pool(const ops::KernelArgs& args) noexcept {
  const PoolGeometry geometry(*args.in[0].shape, args.attrs.as<ops::PoolAttrs>());
  if (args.out[0].numel() == 0) return;
  const T* src = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  const bool planar = geometry.channels == 1;
  const std::int64_t width = geometry.axes[2].out;
  const std::int64_t channels = geometry.channels;
  const std::int64_t image_size = geometry.image_in();
  parallel_for(geometry.rows(), row_grain(geometry), [&](std::int64_t begin, std::int64_t end) {
    each_row(geometry, begin, end,
             [&](std::int64_t image, Taps planes, Taps lines, std::int64_t row) {
               const T* from = src + image * image_size;
               T* to = dst + row * width * channels;
               if (planar) {
                 pool_plane_row<Op>(geometry, planes, lines, from, to);
                 return;
               }
               for (std::int64_t o = 0; o < width; ++o) {
                 pool_channels<Op>(window_at(geometry, from, planes, lines, o), channels,
                                   to + o * channels);
               }
             });
  });
}

// The largest elements of up to kTile windows, and where they lie: windows in the same place of
// neighbouring channels, or neighbours in a row of an image with a single channel.
template <class T>
struct Largest {
  using Number = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  T value[kTile];
  Number pixel[kTile];  // of the image, or -1 where nothing is larger than nothing
  std::int64_t channels = 1;
  std::int64_t channel = 0;  // of the first
  std::int64_t step = 0;     // from one's channel to the next's

  // In elements of the image, or -1.
  std::int64_t place(std::int64_t i) const {
    return pixel[i] < 0 ? -1 : static_cast<std::int64_t>(pixel[i]) * channels + channel + i * step;
  }

  void find_in_channels(const Window<T>& window, const T* image, std::int64_t count) {
    if constexpr (std::is_floating_point_v<T>) {
      const hn::ScalableTag<T> d;
      const hn::RebindToSigned<decltype(d)> di;
      const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
      for (std::int64_t c = 0; c < count; c += lanes) {
        auto best = hn::Set(d, lowest<T>());
        auto at = hn::Set(di, Number{-1});
        const auto left = static_cast<std::size_t>(std::min(lanes, count - c));
        window.each([&](const T* row) HWY_ATTR {
          const T* from = row + channel + c;
          const auto x = left == static_cast<std::size_t>(lanes) ? hn::LoadU(d, from)
                                                                 : load_first(d, from, left);
          const auto larger = hn::Gt(x, best);
          const auto here = hn::Set(di, static_cast<Number>((row - image) / channels));
          best = hn::IfThenElse(larger, x, best);
          at = hn::IfThenElse(hn::RebindMask(di, larger), here, at);
        });
        hn::StoreU(best, d, value + c);
        hn::StoreU(at, di, pixel + c);
      }
    } else {
      std::fill_n(value, count, lowest<T>());
      std::fill_n(pixel, count, -1);
      window.each([&](const T* row) HWY_ATTR {
        const auto here = static_cast<Number>((row - image) / channels);
        for (std::int64_t c = 0; c < count; ++c) {
          const T x = row[channel + c];
          const bool larger = x > value[c] || pixel[c] < 0;
          value[c] = larger ? x : value[c];
          pixel[c] = larger ? here : pixel[c];
        }
      });
    }
  }

  // Of windows [first, first + count) of a row.
  void find_in_row(const PoolGeometry& geometry, Taps planes, Taps lines, const T* image,
                   std::int64_t first, std::int64_t count) {
    const auto& [depth, height, width] = geometry.axes;
    std::fill_n(value, count, lowest<T>());
    std::fill_n(pixel, count, -1);
    for (std::int64_t i = 0; i < planes.count; ++i) {
      for (std::int64_t j = 0; j < lines.count; ++j) {
        const std::int64_t line =
            (planes.first + i * depth.dilation) * height.in + lines.first + j * height.dilation;
        for (std::int64_t tap = 0; tap < width.window; ++tap) {
          const auto [begin, end] = width.windows(tap);
          const std::int64_t low = std::max(begin, first) - first;
          const std::int64_t high = std::min(end, first + count) - first;
          const std::int64_t shift =
              line * width.in + tap * width.dilation - width.before + first * width.stride;
          TENURE_VECTORISE
          for (std::int64_t o = low; o < high; ++o) {
            const std::int64_t here = shift + o * width.stride;
            const T x = image[here];
            const bool larger = x > value[o] || (!std::is_floating_point_v<T> && pixel[o] < 0);
            value[o] = larger ? x : value[o];
            pixel[o] = larger ? static_cast<Number>(here) : pixel[o];
          }
        }
      }
    }
  }
};

// Calls fn(image, output, count, largest) for all windows of rows [begin, end), in channels [first,
// last): up to kTile of them that lie next to each other in the output, the first at `output`.
template <class T, class F>
void each_largest(const PoolGeometry& geometry, const T* x, std::int64_t begin, std::int64_t end,
                  std::int64_t first, std::int64_t last, F&& fn) {
  const std::int64_t channels = geometry.channels;
  const std::int64_t width = geometry.axes[2].out;
  Largest<T> largest;
  largest.channels = channels;
  largest.step = channels == 1 ? 0 : 1;
  each_row(geometry, begin, end,
           [&](std::int64_t image, Taps planes, Taps lines, std::int64_t row) {
             const T* from = x + image * geometry.image_in();
             if (channels == 1) {
               for (std::int64_t o = 0; o < width; o += kTile) {
                 const std::int64_t count = std::min(kTile, width - o);
                 largest.find_in_row(geometry, planes, lines, from, o, count);
                 fn(image, row * width + o, count, largest);
               }
               return;
             }
             for (std::int64_t o = 0; o < width; ++o) {
               const Window<T> window = window_at(geometry, from, planes, lines, o);
               for (std::int64_t c = first; c < last; c += kTile) {
                 const std::int64_t count = std::min(kTile, last - c);
                 largest.channel = c;
                 largest.find_in_channels(window, from, count);
                 fn(image, (row * width + o) * channels + c, count, largest);
               }
             }
           });
}

template <class T>
void max_pool_with_argmax(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::PoolAttrs>();
  const Shape& shape = *args.in[0].shape;
  const PoolGeometry geometry(shape, attrs);
  if (args.out[0].numel() == 0) return;
  const std::int64_t image_size = geometry.image_in();
  // With channels first, an image's planes count as images of their own.
  const std::int64_t planes = attrs.channels_first ? shape[attrs.batched ? 1 : 0] : 1;
  T* values = args.out[0].as<T>();
  auto* indices = args.out[1].as<std::int32_t>();
  parallel_for(geometry.rows(), row_grain(geometry), [&](std::int64_t begin, std::int64_t end) {
    each_largest(
        geometry, args.in[0].as<T>(), begin, end, 0, geometry.channels,
        [&](std::int64_t image, std::int64_t output, std::int64_t count,
            const Largest<T>& largest) {
          const std::int64_t before = (attrs.batch_in_index ? image : image % planes) * image_size;
          for (std::int64_t c = 0; c < count; ++c) {
            const std::int64_t place = largest.place(c);
            values[output + c] = largest.value[c];
            indices[output + c] = static_cast<std::int32_t>(place < 0 ? -1 : before + place);
          }
        });
  });
}

template <class T>
void max_pool_pick(const ops::KernelArgs& args) noexcept {
  const PoolGeometry geometry(*args.in[0].shape, args.attrs.as<ops::PoolAttrs>());
  if (args.out[0].numel() == 0) return;
  const T* values = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  parallel_for(geometry.rows(), row_grain(geometry), [&](std::int64_t begin, std::int64_t end) {
    each_largest(geometry, args.in[1].as<T>(), begin, end, 0, geometry.channels,
                 [&](std::int64_t image, std::int64_t output, std::int64_t count,
                     const Largest<T>& largest) {
                   const T* from = values + image * geometry.image_in();
                   for (std::int64_t c = 0; c < count; ++c) {
                     const std::int64_t place = largest.place(c);
                     dst[output + c] = place < 0 ? T{0} : from[place];
                   }
                 });
  });
}

// How many elements one image of a gradient takes.
std::int64_t image_work(const PoolGeometry& geometry) {
  return geometry.image_out() * geometry.window() + geometry.image_in();
}

// Adds `dy` to the largest element of a window, in each of `count` channels from `channel` on.
// Zero is added to the others: that changes none, as no sum here is -0.
template <class T>
void add_to_largest(const Window<T>& window, const T* x, std::int64_t channel, std::int64_t count,
                    const T* dy, T* dst) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using Number = hn::TFromD<decltype(di)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t c = 0; c < count; c += lanes) {
    const bool whole = count - c >= lanes;
    const auto left = static_cast<std::size_t>(std::min(lanes, count - c));
    const auto load = [&](const T* from) HWY_ATTR {
      return whole ? hn::LoadU(d, from) : load_first(d, from, left);
    };
    auto best = hn::Set(d, lowest<T>());
    auto at = hn::Set(di, Number{-1});  // the window's elements are numbered
    Number number = 0;
    window.each([&](const T* row) HWY_ATTR {
      const auto value = load(row + channel + c);
      const auto larger = hn::Gt(value, best);
      best = hn::IfThenElse(larger, value, best);
      at = hn::IfThenElse(hn::RebindMask(di, larger), hn::Set(di, number++), at);
    });
    const auto gradient = load(dy + c);
    number = 0;
    window.each([&](const T* row) HWY_ATTR {
      T* to = dst + (row - x) + channel + c;
      const auto here = hn::RebindMask(d, hn::Eq(at, hn::Set(di, number++)));
      const auto sum = hn::Add(load(to), hn::IfThenElseZero(here, gradient));
      if (whole) {
        hn::StoreU(sum, d, to);
      } else {
        store_first(d, sum, to, left);
      }
    });
  }
}

template <class T>
void max_pool_grad(const ops::KernelArgs& args) noexcept {
  const PoolGeometry geometry(*args.in[0].shape, args.attrs.as<ops::PoolAttrs>());
  if (args.out[0].numel() == 0) return;
  const T* dy = args.in[0].as<T>();
  const T* x = args.in[1].as<T>();
  T* dst = args.out[0].as<T>();
  const std::int64_t channels = geometry.channels;
  const std::int64_t width = geometry.axes[2].out;
  const std::int64_t rows = geometry.axes[0].out * geometry.axes[1].out;
  each_piece(
      geometry.batch, channels, image_work(geometry),
      [&](std::int64_t image, std::int64_t first, std::int64_t tile) {
        const T* from = x + image * geometry.image_in();
        T* to = dst + image * geometry.image_in();
        clear_channels(to + first, geometry.image_in(), channels, tile);
        if (channels > 1) {
          each_row(geometry, image * rows, (image + 1) * rows,
                   [&](std::int64_t, Taps planes, Taps lines, std::int64_t row) {
                     for (std::int64_t o = 0; o < width; ++o) {
                       add_to_largest(window_at(geometry, from, planes, lines, o), from, first,
                                      tile, dy + (row * width + o) * channels + first, to);
                     }
                   });
          return;
        }
        each_largest(
            geometry, x, image * rows, (image + 1) * rows, first, first + tile,
            [&](std::int64_t, std::int64_t output, std::int64_t count, const Largest<T>& largest) {
              for (std::int64_t c = 0; c < count; ++c) {
                const std::int64_t place = largest.place(c);
                if (place >= 0) to[place] += dy[output + c];
              }
            });
      });
}

// Gives the elements of a row's windows their shares, in an image with a single channel.
template <class T>
void share_in_row(const PoolGeometry& geometry, Taps planes, Taps lines, const T* dy, T* image) {
  const auto& [depth, height, width] = geometry.axes;
  T share[kTile];
  for (std::int64_t first = 0; first < width.out; first += kTile) {
    const std::int64_t count = std::min(kTile, width.out - first);
    for (std::int64_t o = 0; o < count; ++o) {
      const std::int64_t taps = planes.count * lines.count * width.taps(first + o).count;
      share[o] = Mean::finish(dy[first + o], taps);
    }
    for (std::int64_t i = 0; i < planes.count; ++i) {
      for (std::int64_t j = 0; j < lines.count; ++j) {
        const std::int64_t line =
            (planes.first + i * depth.dilation) * height.in + lines.first + j * height.dilation;
        for (std::int64_t tap = 0; tap < width.window; ++tap) {
          const auto [begin, end] = width.windows(tap);
          const std::int64_t low = std::max(begin, first) - first;
          const std::int64_t high = std::min(end, first + count) - first;
          const std::int64_t shift =
              line * width.in + tap * width.dilation - width.before + first * width.stride;
          TENURE_VECTORISE
          for (std::int64_t o = low; o < high; ++o) image[shift + o * width.stride] += share[o];
        }
      }
    }
  }
}

template <class T>
void avg_pool_grad(const ops::KernelArgs& args) noexcept {
  const PoolGeometry geometry(*args.in[0].shape, args.attrs.as<ops::PoolAttrs>());
  if (args.out[0].numel() == 0) return;
  const T* dy = args.in[0].as<T>();
  const std::int64_t rows = geometry.axes[0].out * geometry.axes[1].out;
  const std::int64_t width = geometry.axes[2].out;
  const std::int64_t channels = geometry.channels;
  each_piece(geometry.batch, channels, image_work(geometry),
             [&](std::int64_t image, std::int64_t channel, std::int64_t tile) {
               T* to = args.out[0].as<T>() + image * geometry.image_in();
               clear_channels(to + channel, geometry.image_in(), channels, tile);
               each_row(geometry, image * rows, (image + 1) * rows,
                        [&](std::int64_t, Taps planes, Taps lines, std::int64_t row) {
                          if (channels == 1) {
                            share_in_row(geometry, planes, lines, dy + row * width, to);
                            return;
                          }
                          for (std::int64_t o = 0; o < width; ++o) {
                            const Window<T> window =
                                window_at(geometry, static_cast<const T*>(to), planes, lines, o);
                            const T* from = dy + (row * width + o) * channels + channel;
                            const T count =
                                static_cast<T>(std::max<std::int64_t>(window.count(), 1));
                            T share[kTile];
                            TENURE_VECTORISE
                            for (std::int64_t c = 0; c < tile; ++c) share[c] = from[c] / count;
                            window.each([&](const T* at) HWY_ATTR {
                              T* sum = to + (at - to) + channel;
                              TENURE_VECTORISE
                              for (std::int64_t c = 0; c < tile; ++c) sum[c] += share[c];
                            });
                          }
                        });
             });
}

constexpr ops::KernelRow kRows[] = {
    {"max_pool", DType::float32, pool<Max, float>},
    {"max_pool", DType::float64, pool<Max, double>},
    {"max_pool", DType::int32, pool<Max, std::int32_t>},
    {"max_pool", DType::int64, pool<Max, std::int64_t>},
    {"max_pool", DType::uint8, pool<Max, std::uint8_t>},
    {"max_pool", DType::int8, pool<Max, std::int8_t>},
    {"max_pool_with_argmax", DType::float32, max_pool_with_argmax<float>},
    {"max_pool_with_argmax", DType::float64, max_pool_with_argmax<double>},
    {"max_pool_with_argmax", DType::int32, max_pool_with_argmax<std::int32_t>},
    {"max_pool_with_argmax", DType::int64, max_pool_with_argmax<std::int64_t>},
    {"max_pool_with_argmax", DType::uint8, max_pool_with_argmax<std::uint8_t>},
    {"max_pool_with_argmax", DType::int8, max_pool_with_argmax<std::int8_t>},
    {"max_pool_grad", DType::float32, max_pool_grad<float>},
    {"max_pool_grad", DType::float64, max_pool_grad<double>},
    {"max_pool_pick", DType::float32, max_pool_pick<float>},
    {"max_pool_pick", DType::float64, max_pool_pick<double>},
    {"avg_pool", DType::float32, pool<Mean, float>},
    {"avg_pool", DType::float64, pool<Mean, double>},
    {"avg_pool_grad", DType::float32, avg_pool_grad<float>},
    {"avg_pool_grad", DType::float64, avg_pool_grad<double>},
};

std::span<const ops::KernelRow> pooling_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(pooling_rows);

std::span<const ops::KernelRow> pooling_kernels() { return HWY_DYNAMIC_DISPATCH(pooling_rows)(); }

}  // namespace tenure::cpu
#endif
