// Random tensors. What an element becomes is a function of its own counter; philox.h says which
// counter that is, and random_lanes.h which words of its block are used.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/philox.h"
#include "backend/cpu/random_lanes.h"
#include "ops/attrs.h"
#include "ops/noise.h"
#include "ops/norm_attrs.h"

namespace tenure::cpu {
namespace {

// Calls fill(dst, counter, count) for batches of up to kBatch * per_block elements; `counter` is of
// the batch's first block.
template <class T, int per_block, class Fill>
void for_batches(const ops::KernelArgs& args, Fill fill) {
  constexpr std::int64_t kElements = kBatch * per_block;
  const std::uint64_t offset = args.attrs.as<ops::RandomAttrs>().offset;
  const std::int64_t count = args.out[0].numel();
  T* dst = args.out[0].as<T>();
  const std::int64_t batches = (count + kElements - 1) / kElements;
  parallel_for(batches, 8 * 1024 / kElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      fill(dst + b * kElements, offset + static_cast<std::uint64_t>(b * kBatch),
           std::min(kElements, count - b * kElements));
    }
  });
}

// The largest number below `high`, unless that is below `low`.
template <class T>
T last_below(T high, T low) {
  return std::max(low, std::nextafter(high, -std::numeric_limits<T>::infinity()));
}

// Four elements of a block at a time, by `transform`.
template <class Transform>
void four_floats_a_block(const ops::KernelArgs& args, Transform transform) {
  const std::uint64_t seed = args.attrs.as<ops::RandomAttrs>().seed;
  for_batches<float, 4>(args, [&](float* dst, std::uint64_t counter, std::int64_t count) {
    Words words;
    draw_words(seed, counter, 0, words);
    if (count == 4 * kBatch) {
      transform(words, dst);
    } else {
      float all[4 * kBatch];
      transform(words, all);
      std::copy_n(all, count, dst);
    }
  });
}

void uniform_f32(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RandomAttrs>();
  const auto low = static_cast<float>(attrs.a.to_double());
  const auto high = static_cast<float>(attrs.b.to_double());
  const float last = last_below(high, low);
  four_floats_a_block(
      args, [&](const Words& words, float* dst) { uniform_of_four(words, low, high, last, dst); });
}

void normal_f32(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RandomAttrs>();
  const auto mean = static_cast<float>(attrs.a.to_double());
  const auto deviation = static_cast<float>(attrs.b.to_double());
  four_floats_a_block(
      args, [&](const Words& words, float* dst) { normal_of_four(words, mean, deviation, dst); });
}

void uniform_f64(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RandomAttrs>();
  const double low = attrs.a.to_double();
  const double high = attrs.b.to_double();
  const double last = last_below(high, low);
  const double half_range = high / 2 - low / 2;  // the whole may be larger than any number
  for_batches<double, 1>(args, [&](double* dst, std::uint64_t counter, std::int64_t count) {
    Words words;
    draw_words(attrs.seed, counter, 0, words);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = std::uint64_t{words.word[1][i]} << 32 | words.word[0][i];
      const double u = static_cast<double>(bits >> 11) * 0x1p-53;
      dst[i] = std::min(2 * (low / 2 + u * half_range), last);
    }
  });
}

void normal_f64(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RandomAttrs>();
  const double mean = attrs.a.to_double();
  const double deviation = attrs.b.to_double();
  for_batches<double, 1>(args, [&](double* dst, std::uint64_t counter, std::int64_t count) {
    Words words;
    NormalPairs<double> pairs;
    draw_words(attrs.seed, counter, 0, words);
    draw_pairs(words, pairs);
    for (std::int64_t i = 0; i < count; ++i) dst[i] = mean + deviation * pairs.first[i];
  });
}

// The first of a block's two numbers within two deviations; where both lie outside, of the next
// attempt's.
template <class T>
void truncated_normal(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RandomAttrs>();
  const auto mean = static_cast<T>(attrs.a.to_double());
  const auto deviation = static_cast<T>(attrs.b.to_double());
  for_batches<T, 1>(args, [&](T* dst, std::uint64_t counter, std::int64_t count) {
    std::array<bool, kBatch> done{};
    std::int64_t left = count;
    for (std::uint32_t attempt = 0; left > 0; ++attempt) {
      Words words;
      NormalPairs<T> pairs;
      draw_words(attrs.seed, counter, attempt, words);
      draw_pairs(words, pairs);
      for (std::int64_t i = 0; i < count; ++i) {
        if (done[static_cast<std::size_t>(i)]) continue;
        const T z = std::abs(pairs.first[i]) <= 2 ? pairs.first[i] : pairs.second[i];
        if (!(std::abs(z) <= 2)) continue;
        dst[i] = mean + deviation * z;
        done[static_cast<std::size_t>(i)] = true;
        --left;
      }
    }
  });
}

// 1 for each word up to `last`, else 0, times `one`. Without branches, so that it vectorises.
template <class T>
void compare_words(const Words& words, std::uint32_t last, std::int32_t one, T* dst) {
  const auto value = [=](std::uint32_t word) {
    return static_cast<T>(static_cast<std::int32_t>(word <= last) & one);
  };
  TENURE_VECTORISE
  for (std::int64_t i = 0; i < kBatch; ++i) {
    dst[4 * i] = value(words.word[0][i]);
    dst[4 * i + 1] = value(words.word[1][i]);
    dst[4 * i + 2] = value(words.word[2][i]);
    dst[4 * i + 3] = value(words.word[3][i]);
  }
}

template <class T>
void bernoulli(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RandomAttrs>();
  const auto ones = static_cast<std::uint64_t>(std::clamp(attrs.a.to_double(), 0.0, 1.0) * 0x1p32);
  const auto last = static_cast<std::uint32_t>(ones - 1);
  for_batches<T, 4>(args, [&](T* dst, std::uint64_t counter, std::int64_t count) {
    Words words;
    draw_words(attrs.seed, counter, 0, words);
    T all[4 * kBatch];
    compare_words(words, last, ones == 0 ? 0 : 1, all);
    std::copy_n(all, count, dst);
  });
}

// Four elements a block, each kept where its word is not among the lowest `rate` of all.
template <class T>
void dropout(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::DropoutAttrs>();
  const auto dropped = static_cast<std::uint64_t>(attrs.rate * 0x1p32);
  const auto factor = static_cast<T>(1 / (1 - attrs.rate));
  const T* src = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  const std::int64_t count = args.out[0].numel();
  const std::int64_t batches = (count + 4 * kBatch - 1) / (4 * kBatch);
  parallel_for(batches, 8 * 1024 / (4 * kBatch), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      Words words;
      draw_words(attrs.seed, attrs.offset + static_cast<std::uint64_t>(b * kBatch), 0, words);
      const std::int64_t first = b * 4 * kBatch;
      const std::int64_t some = std::min<std::int64_t>(4 * kBatch, count - first);
      for (std::int64_t i = 0; i < some; ++i) {
        const bool kept = words.word[i % 4][i / 4] >= dropped;
        dst[first + i] = kept ? src[first + i] * factor : T{0};
      }
    }
  });
}

template <class T>
void randint(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::RandomAttrs>();
  const auto low = static_cast<std::uint64_t>(attrs.a.to_int64());
  const std::uint64_t range = static_cast<std::uint64_t>(attrs.b.to_int64()) - low;
  for_batches<T, 1>(args, [&](T* dst, std::uint64_t counter, std::int64_t count) {
    Words words;
    draw_words(attrs.seed, counter, 0, words);
    for (std::int64_t i = 0; i < count; ++i) {
      const Philox::Counter block = {words.word[0][i], words.word[1][i], words.word[2][i],
                                     words.word[3][i]};
      dst[i] = static_cast<T>(static_cast<std::int64_t>(low + below(range, block)));
    }
  });
}

// Halves, as draws of float32 that are rounded, but not out of the range that these lie in: to a
// number within it where that has one.

struct Range {
  float least, most;
};

Range uniform_range(const ops::RandomAttrs& attrs) {
  const auto low = static_cast<float>(attrs.a.to_double());
  return {low, last_below(static_cast<float>(attrs.b.to_double()), low)};
}
Range randint_range(const ops::RandomAttrs& attrs) {
  const auto low = static_cast<float>(attrs.a.to_int64());
  const float below_high = last_below(static_cast<float>(attrs.b.to_int64()), low);
  return {low, std::min(static_cast<float>(attrs.b.to_int64() - 1), below_high)};
}
Range truncated_range(const ops::RandomAttrs& attrs) {
  const double mean = attrs.a.to_double(), most = 2 * attrs.b.to_double();
  return {static_cast<float>(mean - most), static_cast<float>(mean + most)};
}

// The next one, upwards or downwards, of a number that is not the last.
template <class H>
H stepped(H value, int by) {
  const int magnitude = value.bits & 0x7fff;
  const int place = (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
  value.bits = static_cast<std::uint16_t>(place + by < 0 ? 0x8000 | -(place + by) : place + by);
  return value;
}

template <class H, ops::KernelFn draw, Range (*range_of)(const ops::RandomAttrs&)>
void drawn_half(const ops::KernelArgs& args) noexcept {
  ops::KernelView floats = args.out[0];
  floats.data = args.scratch;
  floats.dtype = DType::float32;
  draw({.in = args.in, .out = {&floats, 1}, .attrs = args.attrs});

  const Range range = range_of(args.attrs.as<ops::RandomAttrs>());
  H first(range.least), last(range.most);
  if (static_cast<float>(first) < range.least) first = stepped(first, 1);
  if (static_cast<float>(last) > range.most) last = stepped(last, -1);
  if (static_cast<float>(first) > static_cast<float>(last)) first = last = H(range.least);
  const auto least = static_cast<float>(first), most = static_cast<float>(last);
  const float* const src = floats.as<float>();
  H* const dst = args.out[0].as<H>();
  parallel_for(floats.numel(), 8 * 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) dst[i] = H(std::clamp(src[i], least, most));
  });
}

// The draw whose number the last input holds.
template <ops::KernelFn draw>
void drawn_at(const ops::KernelArgs& args) noexcept {
  const auto& distribution = args.attrs.as<ops::RandomAttrs>();
  const auto number = static_cast<std::uint64_t>(*args.in.back().as<std::int64_t>());
  const ops::RandomAttrs attrs{{},
                               distribution.dtype,
                               distribution.a,
                               distribution.b,
                               distribution.seed,
                               number << ops::kDrawShift};
  ops::KernelArgs at = args;
  at.in = {};
  at.attrs = ops::ref(attrs);
  draw(at);
}
template <class T>
void dropout_at(const ops::KernelArgs& args) noexcept {
  ops::DropoutAttrs attrs = args.attrs.as<ops::DropoutAttrs>();
  const auto number = static_cast<std::uint64_t>(*args.in.back().as<std::int64_t>());
  attrs.offset = number << ops::kDrawShift;
  ops::KernelArgs at = args;
  at.in = args.in.first(1);
  at.attrs = ops::ref(attrs);
  dropout<T>(at);
}

std::size_t bytes_of_floats(const ops::KernelArgs& args) noexcept {
  return static_cast<std::size_t>(args.out[0].numel()) * sizeof(float);
}

template <class H, ops::KernelFn draw, Range (*range_of)(const ops::RandomAttrs&)>
constexpr ops::KernelRow half_row(std::string_view op, DType dtype) {
  return {op, dtype, drawn_half<H, draw, range_of>, bytes_of_floats};
}

}  // namespace

std::span<const ops::KernelRow> random_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"random_uniform", DType::float32, uniform_f32},
      {"random_uniform", DType::float64, uniform_f64},
      {"random_normal", DType::float32, normal_f32},
      {"random_normal", DType::float64, normal_f64},
      {"random_truncated_normal", DType::float32, truncated_normal<float>},
      {"random_truncated_normal", DType::float64, truncated_normal<double>},
      {"random_bernoulli", DType::float32, bernoulli<float>},
      {"random_bernoulli", DType::float64, bernoulli<double>},
      {"random_bernoulli", DType::int32, bernoulli<std::int32_t>},
      {"random_bernoulli", DType::uint8, bernoulli<std::uint8_t>},
      {"random_bernoulli", DType::boolean, bernoulli<bool>},
      {"random_randint", DType::int32, randint<std::int32_t>},
      {"random_randint", DType::int64, randint<std::int64_t>},
      {"random_randint", DType::uint8, randint<std::uint8_t>},
      {"random_randint", DType::int8, randint<std::int8_t>},
      {"random_randint", DType::float32, randint<float>},
      half_row<Float16, uniform_f32, uniform_range>("random_uniform", DType::float16),
      half_row<BFloat16, uniform_f32, uniform_range>("random_uniform", DType::bfloat16),
      half_row<Float16, randint<float>, randint_range>("random_randint", DType::float16),
      half_row<BFloat16, randint<float>, randint_range>("random_randint", DType::bfloat16),
      half_row<Float16, truncated_normal<float>, truncated_range>("random_truncated_normal",
                                                                  DType::float16),
      half_row<BFloat16, truncated_normal<float>, truncated_range>("random_truncated_normal",
                                                                   DType::bfloat16),
      {"dropout", DType::float32, dropout<float>},
      {"dropout", DType::float64, dropout<double>},
      {"random_uniform_at", DType::float32, drawn_at<uniform_f32>},
      {"random_uniform_at", DType::float64, drawn_at<uniform_f64>},
      half_row<Float16, drawn_at<uniform_f32>, uniform_range>("random_uniform_at", DType::float16),
      half_row<BFloat16, drawn_at<uniform_f32>, uniform_range>("random_uniform_at",
                                                               DType::bfloat16),
      {"random_normal_at", DType::float32, drawn_at<normal_f32>},
      {"random_normal_at", DType::float64, drawn_at<normal_f64>},
      {"dropout_at", DType::float32, dropout_at<float>},
      {"dropout_at", DType::float64, dropout_at<double>},
  };
  return rows;
}

}  // namespace tenure::cpu
