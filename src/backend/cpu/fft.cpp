// Fourier transforms, on top of KISS FFT.
//
// KISS FFT is quick for lengths whose prime factors are 2, 3 and 5 and takes no memory of its own
// then. Every other length goes through Bluestein's algorithm: with a chirp c[k] = e^(-i pi k^2/n),
// kj = (k^2 + j^2 - (k - j)^2) / 2 turns the transform into a convolution with the chirp's
// conjugate, which is done with transforms of a length that KISS FFT likes. Primes cost about six
// times what their neighbours do, instead of n times.
//
// Transforms of real signals of even length n are those of n / 2 complex numbers: the even elements
// as real parts, the odd ones as imaginary parts, taken apart afterwards.
//
// Tables are made anew by each kernel call, in its scratch; rows are cut into pieces by the shape.
#include <kiss_fft.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <numbers>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ops/fft_attrs.h"

namespace tenure::cpu {
namespace {

using Complex = std::complex<float>;

constexpr std::int64_t kMostPieces = 32;          // for any number of threads
constexpr std::int64_t kSerialLength = 4 * 1024;  // elements worth a second thread
constexpr std::size_t kAlign = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

const kiss_fft_cpx* kiss(const Complex* x) { return reinterpret_cast<const kiss_fft_cpx*>(x); }
kiss_fft_cpx* kiss(Complex* x) { return reinterpret_cast<kiss_fft_cpx*>(x); }

// As written: operator* of std::complex looks after infinities, at a price.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// e^(2 pi i turn)
Complex unit(double turn) {
  const double angle = 2 * std::numbers::pi * turn;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

bool only_small_factors(std::int64_t n) {
  for (const std::int64_t factor : {2, 3, 5}) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

// Cuts memory into arrays; without memory it only counts.
class Carver {
 public:
  explicit Carver(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t at = used_;
    used_ += aligned(static_cast<std::size_t>(count) * sizeof(T));
    return memory_ != nullptr ? reinterpret_cast<T*>(memory_ + at) : nullptr;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

std::int64_t kiss_bytes(std::int64_t n) {
  std::size_t bytes = 0;
  kiss_fft_alloc(static_cast<int>(n), 0, nullptr, &bytes);
  return static_cast<std::int64_t>(bytes);
}

kiss_fft_cfg make_kiss(std::int64_t n, bool inverse, std::byte* memory) {
  auto bytes = static_cast<std::size_t>(kiss_bytes(n));
  return kiss_fft_alloc(static_cast<int>(n), inverse ? 1 : 0, memory, &bytes);
}

// Complex transforms of one length and direction, without a factor.
class Plan {
 public:
  Plan(std::int64_t n, bool inverse, Carver& carver)
      : n_(n), inverse_(inverse), direct_(only_small_factors(n)) {
    if (!direct_) wide_ = kiss_fft_next_fast_size(static_cast<int>(2 * n - 1));
    const std::int64_t length = direct_ ? n : wide_;
    auto* memory = carver.take<std::byte>(kiss_bytes(length));
    if (!direct_) {
      chirp_ = carver.take<Complex>(n);
      filter_ = carver.take<Complex>(wide_);
    }
    if (memory != nullptr) config_ = make_kiss(length, direct_ && inverse, memory);
  }

  // Elements that one transform at a time needs beside its input and output.
  std::int64_t work() const { return direct_ ? 0 : 2 * wide_; }

  // Fills the tables; `work` has room for work().
  void prepare(Complex* work) const {
    if (direct_) return;
    for (std::int64_t k = 0; k < n_; ++k) {
      const std::int64_t turn = k * k % (2 * n_);
      const Complex c = unit(-static_cast<double>(turn) / static_cast<double>(2 * n_));
      chirp_[k] = inverse_ ? std::conj(c) : c;
    }
    std::fill_n(work, wide_, Complex());
    const float scale = 1.0F / static_cast<float>(wide_);
    for (std::int64_t k = 0; k < n_; ++k) {
      work[k] = std::conj(chirp_[k]) * scale;
      if (k > 0) work[wide_ - k] = work[k];
    }
    kiss_fft(config_, kiss(work), kiss(filter_));
  }

  // dst and src are different memory.
  void run(const Complex* src, Complex* dst, Complex* work) const {
    if (n_ == 1) {  // KISS FFT would allocate
      *dst = *src;
      return;
    }
    if (direct_) {
      kiss_fft(config_, kiss(src), kiss(dst));
      return;
    }
    Complex *a = work, *b = work + wide_;
    for (std::int64_t k = 0; k < n_; ++k) a[k] = times(src[k], chirp_[k]);
    std::fill(a + n_, a + wide_, Complex());
    kiss_fft(config_, kiss(a), kiss(b));
    // The way back is a forward transform of the conjugate.
    for (std::int64_t k = 0; k < wide_; ++k) b[k] = std::conj(times(b[k], filter_[k]));
    kiss_fft(config_, kiss(b), kiss(a));
    for (std::int64_t k = 0; k < n_; ++k) dst[k] = times(std::conj(a[k]), chirp_[k]);
  }

 private:
  std::int64_t n_;
  bool inverse_;
  bool direct_;
  std::int64_t wide_ = 0;  // length of the convolution
  kiss_fft_cfg config_ = nullptr;
  Complex* chirp_ = nullptr;
  Complex* filter_ = nullptr;  // the transform of the chirp's conjugate, over `wide_`
};

std::int64_t pieces_of(std::int64_t rows, std::int64_t length) {
  return rows * length <= kSerialLength ? 1 : std::clamp<std::int64_t>(rows, 1, kMostPieces);
}

// Calls run(row, work) for every row, each piece of rows with `work` elements of its own.
template <class F>
void each_row(std::int64_t rows, std::int64_t length, std::int64_t work, Complex* memory, F&& run) {
  const std::int64_t pieces = pieces_of(rows, length);
  const auto piece = [&](std::int64_t p) {
    for (std::int64_t row = p * rows / pieces; row < (p + 1) * rows / pieces; ++row) {
      run(row, memory + p * work);
    }
  };
  parallel_each(pieces, piece);
}

// One kind of transform: a table made once per kernel call and the work on one row.
template <bool inverse>
struct Whole {
  std::int64_t n;
  Plan plan;
  Whole(const ops::KernelArgs& args, Carver& carver)
      : n((*args.in[0].shape)[-1]), plan(n, inverse, carver) {}
  std::int64_t work() const { return plan.work(); }
  void row(const ops::KernelArgs& args, std::int64_t row, Complex* work) const {
    Complex* dst = args.out[0].as<Complex>() + row * n;
    plan.run(args.in[0].as<Complex>() + row * n, dst, work);
    if constexpr (inverse) {
      const float scale = 1.0F / static_cast<float>(n);
      for (std::int64_t k = 0; k < n; ++k) dst[k] *= scale;
    }
  }
};

struct HalfBase {
  std::int64_t n;
  bool even;
  std::int64_t half;  // the length of the transform that is made
  Plan plan;
  Complex* turns = nullptr;  // e^(-2 pi i k / n) for k <= half / 2
  HalfBase(const ops::KernelArgs& args, bool inverse, Carver& carver)
      : n(args.attrs.as<ops::FourierAttrs>().length),
        even(n % 2 == 0),
        half(even ? n / 2 : n),
        plan(half, inverse, carver) {
    if (!even) return;
    turns = carver.take<Complex>(half / 2 + 1);
    if (turns == nullptr) return;
    for (std::int64_t k = 0; k <= half / 2; ++k) {
      turns[k] = unit(-static_cast<double>(k) / static_cast<double>(n));
    }
  }
  std::int64_t work() const { return 2 * half + plan.work(); }
};

struct Forward : HalfBase {
  Forward(const ops::KernelArgs& args, Carver& carver) : HalfBase(args, false, carver) {}
  void row(const ops::KernelArgs& args, std::int64_t row, Complex* work) const {
    const float* src = args.in[0].as<float>() + row * n;
    Complex* dst = args.out[0].as<Complex>() + row * (n / 2 + 1);
    Complex *a = work, *z = work + half, *rest = work + 2 * half;
    if (!even) {
      for (std::int64_t k = 0; k < n; ++k) a[k] = {src[k], 0};
      plan.run(a, z, rest);
      std::copy_n(z, n / 2 + 1, dst);
      dst[0] = {dst[0].real(), 0};
      return;
    }
    plan.run(reinterpret_cast<const Complex*>(src), z, rest);
    dst[0] = {z[0].real() + z[0].imag(), 0};
    dst[half] = {z[0].real() - z[0].imag(), 0};
    for (std::int64_t k = 1; k <= half - k; ++k) {
      const Complex mirror = std::conj(z[half - k]);
      const Complex evens = (z[k] + mirror) * 0.5F;
      const Complex odds = (z[k] - mirror) * 0.5F;
      const Complex turned = times({odds.imag(), -odds.real()}, turns[k]);
      dst[k] = evens + turned;
      dst[half - k] = std::conj(evens - turned);
    }
  }
};

struct Backward : HalfBase {
  Backward(const ops::KernelArgs& args, Carver& carver) : HalfBase(args, true, carver) {}
  void row(const ops::KernelArgs& args, std::int64_t row, Complex* work) const {
    const Complex* src = args.in[0].as<Complex>() + row * (n / 2 + 1);
    float* dst = args.out[0].as<float>() + row * n;
    Complex *a = work, *z = work + half, *rest = work + 2 * half;
    const float scale = 1.0F / static_cast<float>(n);
    if (!even) {
      a[0] = {src[0].real(), 0};
      for (std::int64_t k = 1; k <= n / 2; ++k) {
        a[k] = src[k];
        a[n - k] = std::conj(src[k]);
      }
      plan.run(a, z, rest);
      for (std::int64_t k = 0; k < n; ++k) dst[k] = z[k].real() * scale;
      return;
    }
    const float first = src[0].real(), last = src[half].real();
    a[0] = {first + last, first - last};
    for (std::int64_t k = 1; k <= half - k; ++k) {
      const Complex mirror = std::conj(src[half - k]);
      const Complex evens = src[k] + mirror;
      const Complex odds = times(src[k] - mirror, std::conj(turns[k]));
      const Complex turned{-odds.imag(), odds.real()};
      a[k] = evens + turned;
      a[half - k] = std::conj(evens - turned);
    }
    plan.run(a, z, rest);
    for (std::int64_t k = 0; k < half; ++k) {
      dst[2 * k] = z[k].real() * scale;
      dst[2 * k + 1] = z[k].imag() * scale;
    }
  }
};

template <class Kind>
std::size_t scratch_bytes(const ops::KernelArgs& args) noexcept {
  const std::int64_t length = (*args.in[0].shape)[-1];
  const std::int64_t rows = args.in[0].numel() / length;
  Carver carver(nullptr);
  const Kind kind(args, carver);
  carver.take<Complex>(pieces_of(rows, length) * kind.work());
  return carver.used();
}

template <class Kind>
void run(const ops::KernelArgs& args) noexcept {
  if (args.out[0].numel() == 0) return;
  const std::int64_t length = (*args.in[0].shape)[-1];
  const std::int64_t rows = args.in[0].numel() / length;
  Carver carver(args.scratch);
  const Kind kind(args, carver);
  auto* work = carver.take<Complex>(pieces_of(rows, length) * kind.work());
  kind.plan.prepare(work);
  each_row(rows, length, kind.work(), work,
           [&](std::int64_t row, Complex* memory) { kind.row(args, row, memory); });
}

// Each element of the sum takes its frames in order.
template <class T>
void overlap_and_add(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::OverlapAttrs>();
  const Shape& shape = *args.in[0].shape;
  const std::int64_t frames = shape[-2], length = shape[-1], total = attrs.length;
  const T* src = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  parallel_for(args.out[0].numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i % total;
      const T* row = src + i / total * frames * length;
      const std::int64_t last = std::min(at / attrs.step, frames - 1);
      const std::int64_t first = at < length ? 0 : (at - length) / attrs.step + 1;
      T sum{};
      for (std::int64_t f = first; f <= last; ++f) sum += row[f * length + at - f * attrs.step];
      dst[i] = sum;
    }
  });
}

}  // namespace

std::span<const ops::KernelRow> fft_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"fft", DType::complex64, run<Whole<false>>, scratch_bytes<Whole<false>>},
      {"ifft", DType::complex64, run<Whole<true>>, scratch_bytes<Whole<true>>},
      {"rfft", DType::float32, run<Forward>, scratch_bytes<Forward>},
      {"irfft", DType::complex64, run<Backward>, scratch_bytes<Backward>},
      {"overlap_and_add", DType::float32, overlap_and_add<float>},
      {"overlap_and_add", DType::float64, overlap_and_add<double>},
      {"overlap_and_add", DType::complex64, overlap_and_add<Complex>},
  };
  return rows;
}

}  // namespace tenure::cpu
