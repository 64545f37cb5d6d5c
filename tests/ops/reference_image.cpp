#include "reference_image.h"

#include <algorithm>
#include <cmath>

namespace tenure::testing {
namespace {

Shape with_size(Shape images, const Shape& size) {
  images[-3] = size[0];
  images[-2] = size[1];
  return images;
}

// Of an index of images: which image, row and column it is of.
std::array<std::int64_t, 3> place_of(const Index& index) {
  const std::size_t rank = index.size();
  return {rank == 4 ? index[0] : 0, index[rank - 3], index[rank - 2]};
}

Index moved_to(Index index, std::int64_t y, std::int64_t x) {
  index[index.size() - 3] = y;
  index[index.size() - 2] = x;
  return index;
}

double round_half_up(double x) { return std::floor(x + 0.5); }

// How much pixel `i` counts at `place` when pixels fade into their neighbours.
double hat(double place, std::int64_t i) {
  return std::max(0.0, 1 - std::abs(place - static_cast<double>(i)));
}

double scale_of(std::int64_t in, std::int64_t out, bool align_corners) {
  if (align_corners && out > 1) return static_cast<double>(in - 1) / static_cast<double>(out - 1);
  return static_cast<double>(in) / static_cast<double>(out);
}

Pixel faded(double y, double x, const Shape& size) {
  Pixel pixel;
  for (std::int64_t i = 0; i < size[0]; ++i) {
    if (hat(y, i) == 0) continue;
    for (std::int64_t j = 0; j < size[1]; ++j) {
      const double weight = hat(y, i) * hat(x, j);
      if (weight > 0) pixel.sources.push_back({i, j, weight});
      pixel.rest -= weight;
    }
  }
  pixel.rest += 1;
  return pixel;
}

Pixel single(double y, double x, const Shape& size) {
  if (y >= 0 && x >= 0 && y < static_cast<double>(size[0]) && x < static_cast<double>(size[1])) {
    return {{{static_cast<std::int64_t>(y), static_cast<std::int64_t>(x), 1}}, 0};
  }
  return {{}, 1};
}

double clamped(double x, std::int64_t size) {
  return std::clamp(x, 0.0, static_cast<double>(size - 1));
}

double filled_place(double x, std::int64_t size, image::FillMode mode) {
  const auto length = static_cast<double>(size);
  switch (mode) {
    case image::FillMode::constant:
      return x;
    case image::FillMode::nearest:
      break;
    case image::FillMode::reflect:  // the image, its mirror image, the image, and so on
      x -= 2 * length * std::floor(x / (2 * length));
      if (x >= length) x = 2 * length - x - 1;
      break;
    case image::FillMode::wrap:
      if (size > 1 && x < 0)
        x += length * (std::trunc(-x / (length - 1)) + 1);
      else if (size > 1 && x > length - 1)
        x -= length * std::trunc(x / (length - 1));
      break;
  }
  return size > 1 || mode == image::FillMode::nearest ? clamped(x, size) : 0;
}

}  // namespace

Array sampled(const Array& images, const Shape& size, const Sampling& sampling, const Fill& fill) {
  return filled(with_size(images.shape, size), [&](const Index& index) {
    const auto [image, y, x] = place_of(index);
    const Pixel pixel = sampling(image, y, x);
    double value = pixel.rest == 0 ? 0 : pixel.rest * fill(index.back());
    for (const Reading& from : pixel.sources) {
      value += from.weight * at(images, moved_to(index, from.y, from.x));
    }
    return value;
  });
}

Array unsampled(const Array& dy, const Shape& size, const Sampling& sampling) {
  Array result = filled(with_size(dy.shape, size), [](const Index&) { return 0.0; });
  each_index(dy.shape, [&](const Index& index) {
    const auto [image, y, x] = place_of(index);
    for (const Reading& from : sampling(image, y, x).sources) {
      at(result, moved_to(index, from.y, from.x)) += from.weight * at(dy, index);
    }
  });
  return result;
}

Sampling bilinear_resizing(const Shape& in, const Shape& out, image::ResizeOptions options) {
  return [=](std::int64_t, std::int64_t y, std::int64_t x) {
    const auto place = [&](std::int64_t o, int axis) {
      const double by = scale_of(in[axis], out[axis], options.align_corners);
      const auto at = static_cast<double>(o);
      return clamped(options.half_pixel_centers ? (at + 0.5) * by - 0.5 : at * by, in[axis]);
    };
    Pixel pixel = faded(place(y, 0), place(x, 1), in);
    pixel.rest = 0;
    return pixel;
  };
}

Sampling nearest_resizing(const Shape& in, const Shape& out, image::ResizeOptions options) {
  return [=](std::int64_t, std::int64_t y, std::int64_t x) {
    const auto place = [&](std::int64_t o, int axis) {
      const double by = scale_of(in[axis], out[axis], options.align_corners);
      const double exact = by * (static_cast<double>(o) + (options.half_pixel_centers ? 0.5 : 0));
      return clamped(options.align_corners ? round_half_up(exact) : std::floor(exact), in[axis]);
    };
    return single(place(y, 0), place(x, 1), in);
  };
}

Sampling rotation(const Shape& in, double radians, double center_x, double center_y) {
  return [=](std::int64_t, std::int64_t y, std::int64_t x) {
    const double cx = static_cast<double>(in[1]) * center_x;
    const double cy = static_cast<double>(in[0]) * center_y;
    const double dx = static_cast<double>(x) - cx, dy = static_cast<double>(y) - cy;
    const double from_x = dx * std::cos(radians) - dy * std::sin(radians);
    const double from_y = dx * std::sin(radians) + dy * std::cos(radians);
    return single(round_half_up(from_y + cy), round_half_up(from_x + cx), in);
  };
}

Sampling projection(const Shape& in, const Array& transforms, bool bilinear, image::FillMode mode) {
  return [=](std::int64_t image, std::int64_t out_y, std::int64_t out_x) -> Pixel {
    const auto t = [&](std::int64_t i) {
      return at(transforms, {transforms.shape[0] == 1 ? 0 : image, i});
    };
    const auto x = static_cast<double>(out_x), y = static_cast<double>(out_y);
    const double k = t(6) * x + t(7) * y + 1;
    if (k == 0) return {{}, 1};
    const double from_x = filled_place((t(0) * x + t(1) * y + t(2)) / k, in[1], mode);
    const double from_y = filled_place((t(3) * x + t(4) * y + t(5)) / k, in[0], mode);
    if (bilinear) return faded(from_y, from_x, in);
    return single(round_half_up(from_y), round_half_up(from_x), in);
  };
}

Array unprojected(const Array& images, const Array& transforms, const Array& dy,
                  image::FillMode mode, double fill) {
  const Shape in{images.shape[-3], images.shape[-2]};
  // A place moves with the unfilled one, against it or not at all.
  const auto slope_of_place = [&](double x, std::int64_t size) {
    const double step = 1e-7;
    return std::round((filled_place(x + step, size, mode) - filled_place(x - step, size, mode)) /
                      (2 * step));
  };
  const auto slope_of_hat = [](double place, std::int64_t i) {
    const double apart = place - static_cast<double>(i);
    return std::abs(apart) >= 1 ? 0.0 : apart < 0 ? 1.0 : -1.0;
  };
  Array result = filled(transforms.shape, [](const Index&) { return 0.0; });
  each_index(dy.shape, [&](const Index& index) {
    const auto [image, out_y, out_x] = place_of(index);
    const std::int64_t row = transforms.shape[0] == 1 ? 0 : image;
    const auto t = [&](std::int64_t i) { return at(transforms, {row, i}); };
    const auto x = static_cast<double>(out_x), y = static_cast<double>(out_y);
    const double k = t(6) * x + t(7) * y + 1;
    if (k == 0) return;
    const double in_x = (t(0) * x + t(1) * y + t(2)) / k;
    const double in_y = (t(3) * x + t(4) * y + t(5)) / k;
    const double from_x = filled_place(in_x, in[1], mode), from_y = filled_place(in_y, in[0], mode);
    double by_x = 0, by_y = 0;
    for (std::int64_t i = 0; i < in[0]; ++i) {
      for (std::int64_t j = 0; j < in[1]; ++j) {
        const double value = at(images, moved_to(index, i, j)) - fill;
        by_x += value * hat(from_y, i) * slope_of_hat(from_x, j);
        by_y += value * slope_of_hat(from_y, i) * hat(from_x, j);
      }
    }
    by_x *= at(dy, index) * slope_of_place(in_x, in[1]);
    by_y *= at(dy, index) * slope_of_place(in_y, in[0]);
    const double by_k = -by_x * in_x - by_y * in_y;
    const double parts[] = {by_x * x, by_x * y, by_x, by_y * x, by_y * y, by_y, by_k * x, by_k * y};
    for (std::int64_t i = 0; i < 8; ++i) at(result, {row, i}) += parts[i] / k;
  });
  return result;
}

namespace {

// Outside: everything is `rest`.
Pixel crop_pixel(double y, double x, const Shape& size, bool nearest) {
  const auto inside = [](double place, std::int64_t length) {
    return place >= 0 && place <= static_cast<double>(length - 1);
  };
  if (!inside(y, size[0]) || !inside(x, size[1])) return {{}, 1};
  if (nearest) return single(round_half_up(y), round_half_up(x), size);
  Pixel pixel = faded(y, x, size);
  pixel.rest = 0;
  return pixel;
}

}  // namespace

Array cropped(const Arrays& in, const Shape& size, bool nearest, double outside) {
  const Array &images = in[0], &boxes = in[1], &indices = in[2];
  const Shape of_image{images.shape[1], images.shape[2]};
  const auto place = [&](std::int64_t box, int axis, std::int64_t o) {
    const double begin = at(boxes, {box, axis}), end = at(boxes, {box, axis + 2});
    const auto last = static_cast<double>(of_image[axis] - 1);
    if (size[axis] == 1) return 0.5 * (begin + end) * last;
    return begin * last +
           static_cast<double>(o) * ((end - begin) * last / static_cast<double>(size[axis] - 1));
  };
  return filled({boxes.shape[0], size[0], size[1], images.shape[3]}, [&](const Index& index) {
    const std::int64_t box = index[0];
    const Pixel pixel =
        crop_pixel(place(box, 0, index[1]), place(box, 1, index[2]), of_image, nearest);
    double value = pixel.rest == 0 ? 0 : outside;
    for (const Reading& from : pixel.sources) {
      value += from.weight *
               at(images, {static_cast<std::int64_t>(indices.data[static_cast<std::size_t>(box)]),
                           from.y, from.x, index[3]});
    }
    return value;
  });
}

Array uncropped(const Arrays& in, const Shape& images, bool nearest) {
  Array result = filled(images, [](const Index&) { return 0.0; });
  each_index(in[0].shape, [&](const Index& index) {
    const Pixel pixel = crop_pixel(at(in[1], {index[0], index[1]}), at(in[2], {index[0], index[2]}),
                                   {images[1], images[2]}, nearest);
    const auto image = static_cast<std::int64_t>(at(in[3], {index[0]}));
    for (const Reading& from : pixel.sources) {
      at(result, {image, from.y, from.x, index[3]}) += from.weight * at(in[0], index);
    }
  });
  return result;
}

Array flipped(const Array& images, int axis) {
  return filled(images.shape, [&](const Index& index) {
    Index from = index;
    auto& i = from[static_cast<std::size_t>(axis)];
    i = images.shape[axis] - 1 - i;
    return at(images, from);
  });
}

Array gray(const Array& rgb) {
  Shape shape = rgb.shape;
  shape[-1] = 1;
  return filled(shape, [&](Index index) {
    const double weights[] = {0.2989, 0.5870, 0.1140};
    double value = 0;
    for (const double weight : weights) {
      value += weight * at(rgb, index);
      ++index.back();
    }
    return value;
  });
}

double otsu(const Array& values) {
  double best = 0, threshold = -1;
  for (int level = 0; level < 255; ++level) {
    double below = 0, above = 0, sum_below = 0, sum_above = 0;
    for (const double value : values.data) {
      const double rounded = std::nearbyint(value);
      if (rounded < 0 || rounded > 255) continue;
      (rounded <= level ? below : above) += 1;
      (rounded <= level ? sum_below : sum_above) += rounded;
    }
    if (below == 0 || above == 0) continue;
    const double apart = sum_below / below - sum_above / above;
    const auto total = static_cast<double>(values.data.size());
    const double variance = below / total * (above / total) * apart * apart;
    if (variance > best) {
      best = variance;
      threshold = level;
    }
  }
  return threshold;
}

Array thresholded(const Array& image, image::ThresholdOptions options) {
  Array result = image.shape[-1] == 3 ? gray(image) : image;
  const double limit =
      options.method == image::ThresholdMethod::otsu ? otsu(result) : options.threshold * 255;
  for (double& value : result.data) value = (value > limit) != options.inverted ? 255 : 0;
  return result;
}

Suppressed suppressed(const Array& boxes, const Array& scores, std::int64_t most, double iou,
                      double least_score, double sigma) {
  const auto overlap = [&](std::size_t a, std::size_t b) {
    const auto side = [&](std::size_t box, std::size_t axis) {
      const double one = boxes.data[box * 4 + axis], other = boxes.data[box * 4 + axis + 2];
      return std::pair(std::min(one, other), std::max(one, other));
    };
    double area_a = 1, area_b = 1, both = 1;
    for (const std::size_t axis : {0, 1}) {
      const auto [a_low, a_high] = side(a, axis);
      const auto [b_low, b_high] = side(b, axis);
      area_a *= a_high - a_low;
      area_b *= b_high - b_low;
      both *= std::max(0.0, std::min(a_high, b_high) - std::max(a_low, b_low));
    }
    return area_a <= 0 || area_b <= 0 ? 0 : both / (area_a + area_b - both);
  };
  std::vector<double> left = scores.data;
  std::vector<std::size_t> compared(left.size(), 0);  // with how many of the chosen
  Suppressed result;
  const auto gone = -INFINITY;
  for (double& score : left) {
    if (!(score > least_score)) score = gone;
  }
  while (static_cast<std::int64_t>(result.indices.size()) < most) {
    const auto best = std::max_element(left.begin(), left.end());
    if (best == left.end() || *best == gone) break;
    const auto box = static_cast<std::size_t>(best - left.begin());
    const double before = *best;
    for (std::size_t j = result.indices.size(); j-- > compared[box] && *best != gone;) {
      const double shared = overlap(box, static_cast<std::size_t>(result.indices[j]));
      if (shared >= iou) {
        *best = gone;
      } else {
        *best *= sigma > 0 ? std::exp(-0.5 / sigma * shared * shared) : 1;
        if (*best <= least_score) *best = gone;
      }
    }
    compared[box] = result.indices.size();
    if (*best != before) continue;
    result.indices.push_back(static_cast<double>(box));
    result.scores.push_back(before);
    *best = gone;
  }
  return result;
}

}  // namespace tenure::testing
