// Complex arithmetic: the kernels of complex64, for ops of its own and for those of real numbers.
//
// A product is taken as written, so an infinity times a complex number can be NaN, as in
// TensorFlow. Quotients, magnitudes and sums go through double: nothing overflows on the way.
#include <cmath>
#include <complex>
#include <cstdint>
#include <span>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/reduce_layout.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

using Complex = std::complex<float>;

struct Real {
  static float of(Complex x) { return x.real(); }
};
struct Imag {
  static float of(Complex x) { return x.imag(); }
};
struct Conj {
  static Complex of(Complex x) { return {x.real(), -x.imag()}; }
};
struct Neg {
  static Complex of(Complex x) { return {-x.real(), -x.imag()}; }
};
struct Abs {
  static float of(Complex x) {
    if (std::isinf(x.real()) || std::isinf(x.imag())) return INFINITY;
    const double a = x.real(), b = x.imag();
    return static_cast<float>(std::sqrt(a * a + b * b));
  }
};
struct Angle {
  static float of(Complex x) { return std::atan2(x.imag(), x.real()); }
};
struct Exp {
  static Complex of(Complex x) {
    const double size = std::exp(static_cast<double>(x.real()));
    if (x.imag() == 0) return {static_cast<float>(size), x.imag()};
    const double angle = x.imag();
    return {static_cast<float>(size * std::cos(angle)), static_cast<float>(size * std::sin(angle))};
  }
};

struct Pair {
  static Complex of(float a, float b) { return {a, b}; }
};
struct Add {
  static Complex of(Complex a, Complex b) { return {a.real() + b.real(), a.imag() + b.imag()}; }
};
struct Sub {
  static Complex of(Complex a, Complex b) { return {a.real() - b.real(), a.imag() - b.imag()}; }
};
struct Mul {
  static Complex of(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
struct Square {
  static Complex of(Complex x) { return Mul::of(x, x); }
};
struct Div {
  static Complex of(Complex a, Complex b) {
    const double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
    const double size = br * br + bi * bi;
    return {static_cast<float>((ar * br + ai * bi) / size),
            static_cast<float>((ai * br - ar * bi) / size)};
  }
};
struct Equal {
  static bool of(Complex a, Complex b) { return a.real() == b.real() && a.imag() == b.imag(); }
};
struct NotEqual {
  static bool of(Complex a, Complex b) { return !Equal::of(a, b); }
};

template <class Op, class To>
struct UnaryLoop {
  using Dst = To;
  template <std::size_t>
  using Src = Complex;
  static constexpr int kInputs = 1;
  static constexpr std::int64_t kGrain = kSerialMathElements;
  static void run(const Run& run) noexcept {
    const Complex* src = run.input<Complex>(0);
    To* dst = run.output<To>();
    for (std::int64_t i = 0; i < run.count; ++i) dst[i] = Op::of(src[i]);
  }
};

template <class Op, class To, class From>
struct BinaryLoop {
  using Dst = To;
  template <std::size_t>
  using Src = From;
  static constexpr int kInputs = 2;
  static constexpr std::int64_t kGrain = kSerialMathElements;
  static void run(const Run& run) noexcept {
    const From *a = run.input<From>(0), *b = run.input<From>(1);
    To* dst = run.output<To>();
    if (run.stepped == 3) {
      for (std::int64_t i = 0; i < run.count; ++i) dst[i] = Op::of(a[i], b[i]);
    } else if (run.stepped == 1) {
      const From value = *b;
      for (std::int64_t i = 0; i < run.count; ++i) dst[i] = Op::of(a[i], value);
    } else {
      const From value = *a;
      for (std::int64_t i = 0; i < run.count; ++i) dst[i] = Op::of(value, b[i]);
    }
  }
};

// Each output is added up in order by one thread.
void sum(const ops::KernelArgs& args) noexcept {
  const Complex* src = args.in[0].as<Complex>();
  Complex* dst = args.out[0].as<Complex>();
  const std::int64_t outputs = args.out[0].numel();
  if (args.in[0].numel() == 0) {
    std::fill_n(dst, outputs, Complex());
    return;
  }
  const ReduceLayout layout(*args.in[0].shape, args.attrs.as<ops::ReduceAttrs>().axes);
  const std::int64_t width = layout.inner_reduced ? 1 : layout.inner;  // of a row of outputs
  const std::int64_t run = layout.inner_reduced ? layout.inner : 1;
  const std::int64_t runs = layout.reduced.numel();
  parallel_for(outputs, kSerialMathElements / (run * runs) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t o = begin; o < end; ++o) {
                   const Complex* first = src + layout.kept.offset(o / width) + o % width;
                   double re = 0, im = 0;
                   for (std::int64_t r = 0; r < runs; ++r) {
                     const Complex* at = first + layout.reduced.offset(r);
                     for (std::int64_t i = 0; i < run; ++i) {
                       re += at[i].real();
                       im += at[i].imag();
                     }
                   }
                   dst[o] = {static_cast<float>(re), static_cast<float>(im)};
                 }
               });
}

template <class Op, class To>
constexpr ops::KernelRow unary(std::string_view op) {
  return elementwise_row<UnaryLoop<Op, To>>(op, DType::complex64);
}
template <class Op, class To = Complex>
constexpr ops::KernelRow binary(std::string_view op) {
  return elementwise_row<BinaryLoop<Op, To, Complex>>(op, DType::complex64);
}

constexpr ops::KernelRow kRows[] = {
    elementwise_row<BinaryLoop<Pair, Complex, float>>("complex", DType::float32),
    unary<Real, float>("real"),
    unary<Imag, float>("imag"),
    unary<Conj, Complex>("conj"),
    unary<Abs, float>("complex_abs"),
    unary<Angle, float>("angle"),
    unary<Neg, Complex>("neg"),
    unary<Square, Complex>("square"),
    unary<Exp, Complex>("exp"),
    binary<Add>("add"),
    binary<Sub>("sub"),
    binary<Mul>("mul"),
    binary<Div>("div"),
    binary<Equal, bool>("equal"),
    binary<NotEqual, bool>("not_equal"),
    {"sum", DType::complex64, &sum},
};

}  // namespace

std::span<const ops::KernelRow> complex_kernels() { return kRows; }

}  // namespace tenure::cpu
