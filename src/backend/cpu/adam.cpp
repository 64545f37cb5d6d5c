// Adam's update (ops/adam.h), of whole tensors or of pieces of an operand that another kernel
// makes.
#include "ops/adam.h"

#include <array>
#include <cstdint>
#include <type_traits>

#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/adam.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// In: value, mean, square, gradient. Out: value, mean, square.
// Numbers: beta_1, 1 - beta_1, beta_2, 1 - beta_2, rate, epsilon.
template <class T>
HWY_INLINE void update(const T* const* in, T* const* out, const T* numbers, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> number[6];
  for (std::size_t i = 0; i < 6; ++i) number[i] = hn::Set(d, numbers[i]);
  const auto step = [&]<bool kPartial>(std::int64_t i, std::bool_constant<kPartial>) HWY_ATTR {
    const auto left = static_cast<std::size_t>(count - i);
    const auto load = [&](int k) HWY_ATTR { return load_lanes<kPartial>(d, in[k] + i, left); };
    const auto value = load(0), mean = load(1), square = load(2), gradient = load(3);
    const auto new_mean = hn::Add(hn::Mul(mean, number[0]), hn::Mul(gradient, number[1]));
    const auto new_square =
        hn::Add(hn::Mul(square, number[2]), hn::Mul(hn::Mul(gradient, gradient), number[3]));
    const auto change =
        hn::Div(hn::Mul(new_mean, number[4]), hn::Add(hn::Sqrt(new_square), number[5]));
    store_lanes<kPartial>(d, hn::Sub(value, change), out[0] + i, left);
    store_lanes<kPartial>(d, new_mean, out[1] + i, left);
    store_lanes<kPartial>(d, new_square, out[2] + i, left);
  };
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) step(i, std::false_type());
  if (i < count) step(i, std::true_type());
}

void update_f32(const float* const* in, float* const* out, const float* numbers,
                std::int64_t count) {
  update(in, out, numbers, count);
}
void update_f64(const double* const* in, double* const* out, const double* numbers,
                std::int64_t count) {
  update(in, out, numbers, count);
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(update_f32);
HWY_EXPORT(update_f64);

namespace {

template <class T>
class Adam {
 public:
  // `piecewise`: the input that may come in pieces.
  explicit Adam(const ops::KernelArgs& args, std::size_t piecewise = 0) : piecewise_(piecewise) {
    const auto& [beta_1, beta_2] = args.attrs.as<ops::AdamAttrs>();
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = args.in[i].as<T>();
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i] = args.out[i].as<T>();
    numbers_ = {static_cast<T>(beta_1),     static_cast<T>(1 - beta_1), static_cast<T>(beta_2),
                static_cast<T>(1 - beta_2), *args.in[4].as<T>(),        *args.in[5].as<T>()};
  }
  void run(std::int64_t begin, std::int64_t end, const std::byte* piece = nullptr) const {
    std::array<const T*, 4> in;
    std::array<T*, 3> out;
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = in_[i] + begin;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = out_[i] + begin;
    if (piece != nullptr) in[piecewise_] = reinterpret_cast<const T*>(piece);
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(update_f32)(in.data(), out.data(), numbers_.data(), end - begin);
    } else {
      HWY_DYNAMIC_DISPATCH(update_f64)(in.data(), out.data(), numbers_.data(), end - begin);
    }
  }

 private:
  std::array<const T*, 4> in_;
  std::array<T*, 3> out_;
  std::array<T, 6> numbers_;
  std::size_t piecewise_;
};

template <class T>
void adam(const ops::KernelArgs& args) noexcept {
  if (args.out[0].numel() == 0) return;
  const Adam<T> adam(args);
  parallel_for(args.out[0].numel(), 8 * 1024,
               [&](std::int64_t begin, std::int64_t end) { adam.run(begin, end); });
}

template <class T>
void follow_with_adam(const ops::KernelArgs& args, std::size_t operand, ops::KernelFn producer,
                      ops::KernelArgs of_producer) noexcept {
  const Adam<T> adam(args, operand);
  of_producer.epilogue = {
      [](const void* context, std::int64_t begin, std::int64_t end, std::byte* piece) noexcept {
        static_cast<const Adam<T>*>(context)->run(begin, end, piece);
      },
      &adam};
  producer(of_producer);
}

template <class T>
constexpr ops::KernelRow kRow{
    .op = "adam", .dtype = dtype_of<T>, .run = adam<T>, .follow = follow_with_adam<T>};

}  // namespace

std::span<const ops::KernelRow> adam_kernels() {
  static constexpr ops::KernelRow rows[] = {kRow<float>, kRow<double>};
  return rows;
}

}  // namespace tenure::cpu
#endif
