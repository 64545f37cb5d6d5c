// Fourier transforms of lengths that rows are too slow for.
#include <cmath>
#include <complex>
#include <numbers>

#include "support/expect.h"

namespace tenure {
namespace {

using Z = std::complex<float>;

// The error of fft(x), of ifft(fft(x)) and of irfft(rfft(x)), against single values by definition;
// relative to the size of the whole.
void check_length(std::int64_t n) {
  SCOPED_TRACE(n);
  set_seed(5);
  const Tensor re = random::normal({n}), im = random::normal({n});
  const Tensor x = complex(re, im);
  const std::vector<Z> values = x.to_vector<Z>(), spectrum = fft(x).to_vector<Z>();
  double error = 0, size = 0;
  for (const std::int64_t k : {std::int64_t{0}, n / 5, n / 3, n / 2, n - 1}) {
    std::complex<double> sum;
    for (std::int64_t j = 0; j < n; ++j) {
      const double angle =
          -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum += std::complex<double>(values[static_cast<std::size_t>(j)]) * std::polar(1.0, angle);
    }
    error += std::norm(sum - std::complex<double>(spectrum[static_cast<std::size_t>(k)]));
    size += std::norm(sum);
  }
  EXPECT_LT(std::sqrt(error / size), 2e-6);
  const auto distance = [](const Tensor& a, const Tensor& b) {
    return std::sqrt(sum(square(complex_abs(a - b))).item<float>() /
                     sum(square(complex_abs(b))).item<float>());
  };
  EXPECT_LT(distance(ifft(fft(x)), x), 2e-6);
  EXPECT_LT(distance(irfft(rfft(re), n), re), 2e-6);
}

TEST(Fourier, lengths_with_small_factors) {
  for (const std::int64_t n : {1, 2, 1 << 16, 59049, 78125, 100000}) check_length(n);
}

TEST(Fourier, large_primes_and_their_multiples) {
  for (const std::int64_t n : {7, 10007, 65537, 100003, 2 * 50021, 3 * 33331}) check_length(n);
}

TEST(Fourier, a_row_has_the_same_bits_alone_and_among_others) {
  const Tensor x = complex(random::normal({100, 77}), random::normal({100, 77}));
  const Tensor all = fft(x);
  EXPECT_EQ(fft(x[63]).to_vector<Z>(), all[63].to_vector<Z>());
}

TEST(Fourier, an_overlong_length_is_refused) {
  EXPECT_HAS(testing::message_of<ShapeError>([] { rfft(ones({2}), std::int64_t{1} << 40); }),
             "rfft: a transform of length 1099511627776 of [2]");
  EXPECT_HAS(testing::message_of<DtypeError>([] { rfft(ones({2}, DType::complex64)); }), "real()");
}

}  // namespace
}  // namespace tenure
