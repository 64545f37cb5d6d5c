// Resizing, cropping, flipping, rotating and transforming images, and their gradients.
//
// All of these read each pixel of the output from a few places of the input. The gradient adds to
// those places instead, in pieces that share no element (see pieces.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend/cpu/copy.h"
#include "backend/cpu/elementwise.h"
#include "backend/cpu/index_view.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/pieces.h"
#include "ops/image_attrs.h"
#include "tenure/image.h"

namespace tenure::cpu {
namespace {

// [batch, height, width, channels], where there may be no batch.
struct Images {
  std::int64_t batch, height, width, channels;
  explicit Images(const Shape& shape)
      : batch(shape.rank() == 4 ? shape[0] : 1),
        height(shape[-3]),
        width(shape[-2]),
        channels(shape[-1]) {}
  std::int64_t pixels() const { return height * width; }
  std::int64_t size() const { return pixels() * channels; }
  // Of a pixel of one image.
  double x_of(std::int64_t pixel) const { return static_cast<double>(pixel % width); }
  double y_of(std::int64_t pixel) const {
    const std::int64_t row = pixel / width;
    return static_cast<double>(row);
  }
};

std::int64_t pixels_worth_a_thread(std::int64_t channels) {
  return kSerialElements / 4 / std::max<std::int64_t>(channels, 1) + 1;
}

// As Math.round: half goes up.
double rounded(double x) { return std::floor(x + 0.5); }

// Resizing. Along each axis a pixel lies between two of the input, or on one.

struct Between {
  std::int64_t low, high;
  double part;  // of the way from low to high
};

double ratio(std::int64_t in, std::int64_t out, bool align_corners) {
  const bool corners = align_corners && out > 1;
  return static_cast<double>(corners ? in - 1 : in) / static_cast<double>(corners ? out - 1 : out);
}

Between bilinear_place(std::int64_t o, std::int64_t in, double by, bool half_pixel_centers) {
  const auto at = static_cast<double>(o);
  const double place = half_pixel_centers ? by * (at + 0.5) - 0.5 : by * at;
  const double low = std::min(std::max(0.0, std::floor(place)), static_cast<double>(in - 1));
  const double high = std::max(low, std::min(static_cast<double>(in - 1), std::ceil(place)));
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high),
          high > low ? place - low : 0};
}

Between nearest_place(std::int64_t o, std::int64_t in, double by, bool half_pixel_centers,
                      bool align_corners) {
  const auto at = static_cast<double>(o);
  const double place = half_pixel_centers ? by * (at + 0.5) : by * at;
  const double nearest = align_corners ? rounded(place) : std::floor(place);
  const auto index = static_cast<std::int64_t>(std::min(static_cast<double>(in - 1), nearest));
  return {index, index, 0};
}

// In scratch: the places of all rows, then of all columns.
struct ResizePlaces {
  const Between* rows;
  const Between* columns;

  ResizePlaces(const ops::KernelArgs& args, bool nearest) {
    const auto& attrs = args.attrs.as<ops::ResizeAttrs>();
    auto* places = reinterpret_cast<Between*>(args.scratch);
    rows = places;
    columns = places + attrs.out[0];
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t in = attrs.in[axis];
      const double by = ratio(in, attrs.out[axis], attrs.align_corners);
      for (std::int64_t o = 0; o < attrs.out[axis]; ++o) {
        *places++ = nearest
                        ? nearest_place(o, in, by, attrs.half_pixel_centers, attrs.align_corners)
                        : bilinear_place(o, in, by, attrs.half_pixel_centers);
      }
    }
  }
};

std::size_t resize_scratch(const ops::KernelArgs& args) noexcept {
  const Shape& out = args.attrs.as<ops::ResizeAttrs>().out;
  return static_cast<std::size_t>(out[0] + out[1]) * sizeof(Between);
}

template <class T>
void resize_bilinear(const ops::KernelArgs& args) noexcept {
  const Images in(*args.in[0].shape), out(*args.out[0].shape);
  if (args.out[0].numel() == 0) return;
  const ResizePlaces places(args, false);
  const std::int64_t channels = in.channels;
  const T* src = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  const std::int64_t grain = pixels_worth_a_thread(channels) / out.width + 1;
  parallel_for(out.batch * out.height, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const Between row = places.rows[line % out.height];
      const T* image = src + line / out.height * in.size();
      const T* upper = image + row.low * in.width * channels;
      const T* lower = image + row.high * in.width * channels;
      const T down = static_cast<T>(row.part);
      T* to = dst + line * out.width * channels;
      for (std::int64_t o = 0; o < out.width; ++o, to += channels) {
        const Between column = places.columns[o];
        const T across = static_cast<T>(column.part);
        const T* upper_left = upper + column.low * channels;
        const T* upper_right = upper + column.high * channels;
        const T* lower_left = lower + column.low * channels;
        const T* lower_right = lower + column.high * channels;
        TENURE_VECTORISE
        for (std::int64_t c = 0; c < channels; ++c) {
          const T top = upper_left[c] + (upper_right[c] - upper_left[c]) * across;
          const T bottom = lower_left[c] + (lower_right[c] - lower_left[c]) * across;
          to[c] = top + (bottom - top) * down;
        }
      }
    }
  });
}

// Adds weight * src to `count` channels of dst.
template <class T>
void add_weighed(T* dst, const T* src, T weight, std::int64_t count) {
  TENURE_VECTORISE
  for (std::int64_t c = 0; c < count; ++c) dst[c] += weight * src[c];
}

template <class T, bool nearest>
void resize_grad(const ops::KernelArgs& args) noexcept {
  const Images in(*args.out[0].shape), out(*args.in[0].shape);  // of the resizing
  if (args.out[0].numel() == 0) return;
  const ResizePlaces places(args, nearest);
  const std::int64_t channels = in.channels;
  each_piece(in.batch, channels, in.size() + 4 * out.size(),
             [&](std::int64_t image, std::int64_t first, std::int64_t count) {
               T* to = args.out[0].as<T>() + image * in.size() + first;
               const T* dy = args.in[0].as<T>() + image * out.size() + first;
               clear_channels(to, in.size(), channels, count);
               for (std::int64_t i = 0; i < out.pixels(); ++i, dy += channels) {
                 const Between row = places.rows[i / out.width];
                 const Between column = places.columns[i % out.width];
                 const auto pixel = [&](std::int64_t y, std::int64_t x) {
                   return to + (y * in.width + x) * channels;
                 };
                 if constexpr (nearest) {
                   add_weighed(pixel(row.low, column.low), dy, T{1}, count);
                 } else {
                   const T down = static_cast<T>(row.part);
                   const T across = static_cast<T>(column.part);
                   add_weighed(pixel(row.low, column.low), dy, (1 - down) * (1 - across), count);
                   add_weighed(pixel(row.low, column.high), dy, (1 - down) * across, count);
                   add_weighed(pixel(row.high, column.low), dy, down * (1 - across), count);
                   add_weighed(pixel(row.high, column.high), dy, down * across, count);
                 }
               }
             });
}

void resize_nearest(const ops::KernelArgs& args) noexcept {
  const Images in(*args.in[0].shape), out(*args.out[0].shape);
  if (args.out[0].numel() == 0) return;
  const ResizePlaces places(args, true);
  const auto pixel = static_cast<std::int64_t>(size_of(args.in[0].dtype)) * in.channels;
  const std::int64_t grain = pixels_worth_a_thread(in.channels) / out.width + 1;
  parallel_for(out.batch * out.height, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t row = places.rows[line % out.height].low;
      const std::byte* from =
          args.in[0].data + (line / out.height * in.height + row) * in.width * pixel;
      std::byte* to = args.out[0].data + line * out.width * pixel;
      for (std::int64_t o = 0; o < out.width; ++o) {
        std::memcpy(to + o * pixel, from + places.columns[o].low * pixel,
                    static_cast<std::size_t>(pixel));
      }
    }
  });
}

// Cropping: samples at given rows and columns.

// The two pixels a sample lies between along an axis, and what each counts for.
struct Weighed {
  bool inside;
  std::int64_t low = 0, high = 0;
  double of_low = 0, of_high = 0;

  Weighed(double place, std::int64_t size, bool nearest, int derivative)
      : inside(place >= 0 && place <= static_cast<double>(size - 1)) {
    if (!inside) return;
    if (nearest) {
      low = high = static_cast<std::int64_t>(rounded(place));
      of_low = 1;
      of_high = 0;
      return;
    }
    low = static_cast<std::int64_t>(place);
    high = std::min(low + 1, size - 1);
    const double part = place - static_cast<double>(low);
    of_low = derivative == 0 ? 1 - part : -1;
    of_high = derivative == 0 ? part : 1;
  }
};

// Says so when an index names no image.
bool sound(const ops::KernelArgs& args, const IndexView& indices, std::int64_t boxes,
           std::int64_t images) {
  for (std::int64_t i = 0; i < boxes; ++i) {
    if (indices[i] >= 0 && indices[i] < images) continue;
    args.complain("box index {0} at position {1} is out of range for {2} images", indices[i], i,
                  images);
    return false;
  }
  return true;
}

template <class T>
void crop_and_resize(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::CropAttrs>();
  const Images in(*args.in[0].shape), out(*args.out[0].shape);
  const IndexView indices(args.in[3]);
  if (!sound(args, indices, out.batch, in.batch) || args.out[0].numel() == 0) return;
  const auto* rows = args.in[1].as<double>();
  const auto* columns = args.in[2].as<double>();
  const T* src = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  const std::int64_t channels = in.channels;
  const bool derived = attrs.by_row != 0 || attrs.by_column != 0;
  const T outside = static_cast<T>(derived ? 0 : attrs.outside);
  const std::int64_t grain = pixels_worth_a_thread(channels) / out.width + 1;
  parallel_for(out.batch * out.height, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t box = line / out.height;
      const Weighed row(rows[line], in.height, attrs.nearest, attrs.by_row);
      const T* image = src + indices[box] * in.size();
      T* to = dst + line * out.width * channels;
      for (std::int64_t o = 0; o < out.width; ++o, to += channels) {
        const Weighed column(columns[box * out.width + o], in.width, attrs.nearest,
                             attrs.by_column);
        if (!row.inside || !column.inside) {
          std::fill_n(to, channels, outside);
          continue;
        }
        const auto pixel = [&](std::int64_t y, std::int64_t x) {
          return image + (y * in.width + x) * channels;
        };
        const T* upper_left = pixel(row.low, column.low);
        if (attrs.nearest) {
          std::copy_n(upper_left, channels, to);
          continue;
        }
        const T* upper_right = pixel(row.low, column.high);
        const T* lower_left = pixel(row.high, column.low);
        const T* lower_right = pixel(row.high, column.high);
        const T left = static_cast<T>(column.of_low), right = static_cast<T>(column.of_high);
        const T up = static_cast<T>(row.of_low), down = static_cast<T>(row.of_high);
        TENURE_VECTORISE
        for (std::int64_t c = 0; c < channels; ++c) {
          const T top = left * upper_left[c] + right * upper_right[c];
          const T bottom = left * lower_left[c] + right * lower_right[c];
          to[c] = up * top + down * bottom;
        }
      }
    }
  });
}

template <class T>
void crop_and_resize_grad(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::CropAttrs>();
  const Images in(*args.out[0].shape), out(*args.in[0].shape);  // of the cropping
  const IndexView indices(args.in[3]);
  if (!sound(args, indices, out.batch, in.batch) || args.out[0].numel() == 0) return;
  const auto* rows = args.in[1].as<double>();
  const auto* columns = args.in[2].as<double>();
  const std::int64_t channels = in.channels;
  each_piece(in.batch, channels, in.size() + 4 * out.size(),
             [&](std::int64_t image, std::int64_t first, std::int64_t count) {
               T* to = args.out[0].as<T>() + image * in.size() + first;
               clear_channels(to, in.size(), channels, count);
               for (std::int64_t line = 0; line < out.batch * out.height; ++line) {
                 const std::int64_t box = line / out.height;
                 const Weighed row(rows[line], in.height, attrs.nearest, attrs.by_row);
                 if (indices[box] != image || !row.inside) continue;
                 for (std::int64_t o = 0; o < out.width; ++o) {
                   const Weighed column(columns[box * out.width + o], in.width, attrs.nearest,
                                        attrs.by_column);
                   if (!column.inside) continue;
                   const T* dy = args.in[0].as<T>() + (line * out.width + o) * channels + first;
                   const auto add = [&](std::int64_t y, std::int64_t x, double weight) {
                     add_weighed(to + (y * in.width + x) * channels, dy, static_cast<T>(weight),
                                 count);
                   };
                   add(row.low, column.low, row.of_low * column.of_low);
                   if (attrs.nearest) continue;
                   add(row.low, column.high, row.of_low * column.of_high);
                   add(row.high, column.low, row.of_high * column.of_low);
                   add(row.high, column.high, row.of_high * column.of_high);
                 }
               }
             });
}

// Flipping: a copy that walks one axis backwards.
void flip(const ops::KernelArgs& args) noexcept {
  const int axis = args.attrs.as<ops::AxisAttrs>().axis;
  const Shape& shape = *args.in[0].shape;
  if (shape.numel() == 0) return;
  Strides strides = *args.in[0].strides;
  const std::size_t size = size_of(args.in[0].dtype);
  const std::byte* last =
      args.in[0].data + (shape[axis] - 1) * strides[axis] * static_cast<std::int64_t>(size);
  strides[axis] = -strides[axis];
  copy_strided(args.out[0].data, *args.out[0].strides, last, strides, shape, size);
}

// Rotating and transforming: a map from the output's pixels to places of the input. A Map has
// `taps(image, x, y, fn)`, which calls fn(x, y, weight) for the input's pixels that make up one of
// the output, those outside the input included, and `fill(channel)`.

struct Rotation {
  const ops::RotateAttrs& attrs;
  double sine, cosine, center_x, center_y;

  Rotation(const ops::KernelArgs& args, const Images& in)
      : attrs(args.attrs.as<ops::RotateAttrs>()),
        sine(std::sin(attrs.radians)),
        cosine(std::cos(attrs.radians)),
        center_x(static_cast<double>(in.width) * attrs.center_x),
        center_y(static_cast<double>(in.height) * attrs.center_y) {}

  template <class F>
  void taps(std::int64_t, double x, double y, F&& fn) const {
    const double right = x - center_x, down = y - center_y;
    fn(rounded(right * cosine - down * sine + center_x),
       rounded(right * sine + down * cosine + center_y), 1.0);
  }
  double fill(std::int64_t channel) const {
    switch (channel) {
      case 0:
        return attrs.red;
      case 1:
        return attrs.green;
      case 2:
        return attrs.blue;
      default:
        return attrs.further;
    }
  }
};

// A place in the image that stands for one that may lie outside it, and how fast it moves with
// that.
struct Mapped {
  double place, slope;
};

// At the last pixel the slope is 0, as beyond it: there is no next one to go towards.
Mapped clamped(double place, std::int64_t size, double slope = 1) {
  const auto last = static_cast<double>(size - 1);
  return {std::max(0.0, std::min(place, last)), place >= 0 && place < last ? slope : 0};
}

Mapped reflected(double place, std::int64_t size) {
  if (size <= 1) return clamped(place, size);
  const auto once = static_cast<double>(size);
  const double twice = 2 * once;
  double slope = 1;
  if (place < 0) {
    place += twice * std::trunc(-place / twice);
    slope = place < -once ? 1 : -1;
    place = place < -once ? place + twice : -place - 1;
  } else if (place > once - 1) {
    place -= twice * std::trunc(place / twice);
    if (place >= once) {
      place = twice - place - 1;
      slope = -1;
    }
  }
  return clamped(place, size, slope);
}

Mapped wrapped(double place, std::int64_t size) {
  if (size <= 1) return clamped(place, size);
  const auto all = static_cast<double>(size);
  if (place < 0) {
    place += all * (std::trunc(-place / (all - 1)) + 1);
  } else if (place > all - 1) {
    place -= all * std::trunc(place / (all - 1));
  }
  return clamped(place, size);
}

// The first of the two pixels a place lies between and how much each counts, differentiated so many
// times by the place before it was mapped.
struct Beside {
  double first;
  double weights[2];

  Beside(Mapped at, int times) : first(std::floor(at.place)) {
    const double part = at.place - first;
    weights[0] = times == 0 ? 1 - part : times == 1 ? -at.slope : 0;
    weights[1] = times == 0 ? part : times == 1 ? at.slope : 0;
  }
};

struct Projection {
  const ops::TransformAttrs& attrs;
  const double* transforms;
  std::int64_t step;  // from one image's to the next's

  Projection(const ops::KernelArgs& args, const Images&)
      : attrs(args.attrs.as<ops::TransformAttrs>()),
        transforms(args.in[1].as<double>()),
        step((*args.in[1].shape)[0] == 1 ? 0 : 8) {}

  // Where a pixel of the output comes from; nowhere if `k`, by which it is divided, is 0.
  struct Origin {
    double k, x, y;
    bool exists() const { return k != 0 && std::isfinite(x) && std::isfinite(y); }
  };
  Origin origin(std::int64_t image, double x, double y) const {
    const double* t = transforms + image * step;
    const double k = t[6] * x + t[7] * y + 1;
    return {k, (t[0] * x + t[1] * y + t[2]) / k, (t[3] * x + t[4] * y + t[5]) / k};
  }

  Mapped mapped(double place, std::int64_t size) const {
    switch (static_cast<image::FillMode>(attrs.fill_mode)) {
      case image::FillMode::reflect:
        return reflected(place, size);
      case image::FillMode::wrap:
        return wrapped(place, size);
      case image::FillMode::nearest:
        return clamped(place, size);
      case image::FillMode::constant:
        break;
    }
    return {place, 1};
  }
  Mapped column_of(const Origin& from) const { return mapped(from.x, attrs.in[1]); }
  Mapped row_of(const Origin& from) const { return mapped(from.y, attrs.in[0]); }

  template <class F>
  void taps(std::int64_t image, double x, double y, F&& fn) const {
    const Origin from = origin(image, x, y);
    if (!from.exists()) {
      if (attrs.by_row == 0 && attrs.by_column == 0) fn(-1.0, -1.0, 1.0);
      return;
    }
    const Mapped column = column_of(from), row = row_of(from);
    if (!attrs.bilinear) {
      fn(rounded(column.place), rounded(row.place), 1.0);
      return;
    }
    const Beside across(column, attrs.by_column), down(row, attrs.by_row);
    const auto [left, right] = across.weights;
    const auto [top, bottom] = down.weights;
    fn(across.first, down.first, left * top);
    fn(across.first + 1, down.first, right * top);
    fn(across.first, down.first + 1, left * bottom);
    fn(across.first + 1, down.first + 1, right * bottom);
  }
  double fill(std::int64_t) const { return attrs.fill_value; }
};

bool holds(const Images& images, double x, double y) {
  return x >= 0 && y >= 0 && x < static_cast<double>(images.width) &&
         y < static_cast<double>(images.height);
}

std::int64_t offset_of(const Images& images, double x, double y) {
  return (static_cast<std::int64_t>(y) * images.width + static_cast<std::int64_t>(x)) *
         images.channels;
}

template <class T, class Map>
void warp(const ops::KernelArgs& args) noexcept {
  const Images in(*args.in[0].shape), out(*args.out[0].shape);
  if (args.out[0].numel() == 0) return;
  const Map map(args, in);
  const std::int64_t channels = in.channels;
  parallel_for(out.batch * out.pixels(), pixels_worth_a_thread(channels),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t image = i / out.pixels(), pixel = i % out.pixels();
                   const T* from = args.in[0].as<T>() + image * in.size();
                   T* to = args.out[0].as<T>() + i * channels;
                   std::fill_n(to, channels, T{0});
                   map.taps(image, out.x_of(pixel), out.y_of(pixel),
                            [&](double x, double y, double weight) {
                              const T part = static_cast<T>(weight);
                              if (holds(in, x, y)) {
                                add_weighed(to, from + offset_of(in, x, y), part, channels);
                              } else {
                                for (std::int64_t c = 0; c < channels; ++c) {
                                  to[c] += part * static_cast<T>(map.fill(c));
                                }
                              }
                            });
                 }
               });
}

template <class T, class Map>
void warp_grad(const ops::KernelArgs& args) noexcept {
  const Images in(*args.out[0].shape), out(*args.in[0].shape);  // of the warp
  if (args.out[0].numel() == 0) return;
  const Map map(args, in);
  const std::int64_t channels = in.channels;
  each_piece(in.batch, channels, in.size() + 4 * out.size(),
             [&](std::int64_t image, std::int64_t first, std::int64_t count) {
               T* to = args.out[0].as<T>() + image * in.size() + first;
               const T* dy = args.in[0].as<T>() + image * out.size() + first;
               clear_channels(to, in.size(), channels, count);
               for (std::int64_t i = 0; i < out.pixels(); ++i, dy += channels) {
                 map.taps(image, out.x_of(i), out.y_of(i), [&](double x, double y, double weight) {
                   if (!holds(in, x, y)) return;
                   add_weighed(to + offset_of(in, x, y), dy, static_cast<T>(weight), count);
                 });
               }
             });
}

// The gradient of the transforms: a sum over all pixels, in pieces whose sums lie in scratch.
constexpr int kCoefficients = 8;

struct TransformPieces {
  std::int64_t pixels, count;  // of one piece; for one image
  explicit TransformPieces(const Images& out)
      : pixels(pixels_worth_a_thread(out.channels)), count((out.pixels() + pixels - 1) / pixels) {}
};

std::size_t transform_scratch(const ops::KernelArgs& args) noexcept {
  const Images out(*args.in[2].shape);
  return static_cast<std::size_t>(out.batch * TransformPieces(out).count * kCoefficients) *
         sizeof(double);
}

// Several sums at a time, so that they do not wait for one another.
template <class F>
double sum_over(std::int64_t count, F&& term) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  std::int64_t c = 0;
  for (; c + kSums <= count; c += kSums) {
    TENURE_VECTORISE
    for (std::int64_t i = 0; i < kSums; ++i) sums[i] += term(c + i);
  }
  double total = 0;
  for (; c < count; ++c) total += term(c);
  for (const double sum : sums) total += sum;
  return total;
}

template <class T>
void transform_grad_transforms(const ops::KernelArgs& args) noexcept {
  const Images in(*args.in[0].shape), out(*args.in[2].shape);  // of the transform
  const Projection map(args, in);
  const TransformPieces pieces(out);
  const auto& attrs = map.attrs;
  auto* partial = reinterpret_cast<double*>(args.scratch);
  const auto sum_of_piece = [&](std::int64_t piece) {
    const std::int64_t image = piece / pieces.count;
    const T* from = args.in[0].as<T>() + image * in.size();
    double* sums = partial + piece * kCoefficients;
    std::fill_n(sums, kCoefficients, 0.0);
    const std::int64_t begin = piece % pieces.count * pieces.pixels;
    const std::int64_t end = std::min(begin + pieces.pixels, out.pixels());
    for (std::int64_t i = begin; i < end; ++i) {
      const double x = out.x_of(i), y = out.y_of(i);
      const Projection::Origin place = map.origin(image, x, y);
      if (!place.exists()) continue;
      const T* dy = args.in[2].as<T>() + image * out.size() + i * out.channels;
      const Mapped column = map.column_of(place), row = map.row_of(place);
      const Beside across(column, attrs.by_column), down(row, attrs.by_row);
      const Beside across_slope(column, attrs.by_column + 1), down_slope(row, attrs.by_row + 1);
      double by_x = 0, by_y = 0;
      for (int r = 0; r < 2; ++r) {
        for (int c = 0; c < 2; ++c) {
          const double from_x = across.first + c, from_y = down.first + r;
          double flow = 0;
          if (holds(in, from_x, from_y)) {
            const T* pixel = from + offset_of(in, from_x, from_y);
            flow = sum_over(out.channels, [=](std::int64_t channel) {
              return static_cast<double>(dy[channel]) * static_cast<double>(pixel[channel]);
            });
          } else {
            flow = attrs.fill_value * sum_over(out.channels, [=](std::int64_t channel) {
                     return static_cast<double>(dy[channel]);
                   });
          }
          by_x += flow * across_slope.weights[c] * down.weights[r];
          by_y += flow * across.weights[c] * down_slope.weights[r];
        }
      }
      by_x /= place.k;
      by_y /= place.k;
      const double by_k = -(by_x * place.x + by_y * place.y);
      const double parts[kCoefficients] = {by_x * x, by_x * y, by_x,     by_y * x,
                                           by_y * y, by_y,     by_k * x, by_k * y};
      for (int j = 0; j < kCoefficients; ++j) sums[j] += parts[j];
    }
  };
  const std::int64_t count = out.batch * pieces.count;
  if (out.batch * out.size() < kSerialElements) {
    for (std::int64_t piece = 0; piece < count; ++piece) sum_of_piece(piece);
  } else {
    parallel_each(count, sum_of_piece);
  }
  auto* dst = args.out[0].as<double>();
  std::fill_n(dst, args.out[0].numel(), 0.0);
  for (std::int64_t piece = 0; piece < count; ++piece) {
    double* to = dst + piece / pieces.count * map.step;
    for (int j = 0; j < kCoefficients; ++j) to[j] += partial[piece * kCoefficients + j];
  }
}

// Otsu's method: the threshold between whose sides the variance is largest, the first of equals; -1
// for an image of one value. Values are rounded, half to even; those outside 0 to 255 are left out.
template <class T>
void otsu(const ops::KernelArgs& args) noexcept {
  constexpr int kLevels = 256;
  double histogram[kLevels] = {};
  const T* src = args.in[0].as<T>();
  const std::int64_t total = args.in[0].numel();
  for (std::int64_t i = 0; i < total; ++i) {
    const double level = std::nearbyint(static_cast<double>(src[i]));
    if (level >= 0 && level < kLevels) histogram[static_cast<int>(level)] += 1;
  }
  double count = 0, sum = 0;
  for (int level = 0; level < kLevels; ++level) {
    count += histogram[level];
    sum += histogram[level] * level;
  }
  double best = 0, count_below = 0, sum_below = 0;
  int threshold = -1;
  for (int level = 0; level + 1 < kLevels; ++level) {
    count_below += histogram[level];
    sum_below += histogram[level] * level;
    const double count_above = count - count_below;
    if (count_below == 0 || count_above == 0) continue;
    const double apart = sum_below / count_below - (sum - sum_below) / count_above;
    const double variance = count_below / static_cast<double>(total) *
                            (count_above / static_cast<double>(total)) * apart * apart;
    if (!(variance > best)) continue;
    best = variance;
    threshold = level;
  }
  *args.out[0].as<float>() = static_cast<float>(threshold);
}

constexpr ops::KernelRow kFloatRows[] = {
    {"resize_bilinear", DType::float32, resize_bilinear<float>, resize_scratch},
    {"resize_bilinear", DType::float64, resize_bilinear<double>, resize_scratch},
    {"resize_bilinear_grad", DType::float32, resize_grad<float, false>, resize_scratch},
    {"resize_bilinear_grad", DType::float64, resize_grad<double, false>, resize_scratch},
    {"resize_nearest_grad", DType::float32, resize_grad<float, true>, resize_scratch},
    {"resize_nearest_grad", DType::float64, resize_grad<double, true>, resize_scratch},
    {"crop_and_resize", DType::float32, crop_and_resize<float>},
    {"crop_and_resize", DType::float64, crop_and_resize<double>},
    {"crop_and_resize_grad", DType::float32, crop_and_resize_grad<float>},
    {"crop_and_resize_grad", DType::float64, crop_and_resize_grad<double>},
    {"rotate_with_offset", DType::float32, warp<float, Rotation>},
    {"rotate_with_offset", DType::float64, warp<double, Rotation>},
    {"rotate_with_offset_grad", DType::float32, warp_grad<float, Rotation>},
    {"rotate_with_offset_grad", DType::float64, warp_grad<double, Rotation>},
    {"transform", DType::float32, warp<float, Projection>},
    {"transform", DType::float64, warp<double, Projection>},
    {"transform_grad", DType::float32, warp_grad<float, Projection>},
    {"transform_grad", DType::float64, warp_grad<double, Projection>},
    {"transform_grad_transforms", DType::float32, transform_grad_transforms<float>,
     transform_scratch},
    {"transform_grad_transforms", DType::float64, transform_grad_transforms<double>,
     transform_scratch},
    {"otsu_threshold", DType::float32, otsu<float>},
    {"otsu_threshold", DType::float64, otsu<double>},
};

}  // namespace

std::span<const ops::KernelRow> image_kernels() {
  static constexpr auto rows = [] {
    constexpr std::size_t floats = std::size(kFloatRows);
    std::array<ops::KernelRow, floats + 2 * kDTypeCount> all{};
    std::copy_n(kFloatRows, floats, all.begin());
    for (std::size_t i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      all[floats + 2 * i] = {"resize_nearest", dtype, resize_nearest, resize_scratch};
      all[floats + 2 * i + 1] = {"flip_image", dtype, flip};
    }
    return all;
  }();
  return rows;
}

}  // namespace tenure::cpu
