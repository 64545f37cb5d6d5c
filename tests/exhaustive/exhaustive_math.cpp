// Elementary functions of every float32, each against a reference in double.
//
// The reference is the C library's vector math (4 ULP of a double, 2^-27 of a float's), because its
// scalar functions would take minutes a function; whatever seems out of bounds is judged again by
// those. The best target sees all 2^32 floats of the functions that everything is made of, and
// every 61st of the others; the other targets see every 1021st.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "../backend/cpu/kernel_call.h"
#include "backend/cpu/parallel.h"

#define TARGET_AVX2 __attribute__((target("avx2")))

extern "C" {
TARGET_AVX2 __m256d _ZGVdN4v_exp(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_log(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_tanh(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_sin(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_cos(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_tan(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_asin(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_acos(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_atan(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_sinh(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_cosh(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_asinh(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_acosh(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_atanh(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_erf(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_expm1(__m256d);
TARGET_AVX2 __m256d _ZGVdN4v_log1p(__m256d);
}

namespace tenure::cpu {
namespace {

constexpr std::size_t kMathBlock = 4096;
constexpr std::uint32_t kUlpOfWrongNan = 0xffffffff;

struct Function {
  const char* name;
  double (*scalar)(double);
  __m256d (*vector)(__m256d);
  std::uint32_t max_ulp;
  std::uint32_t step = 1;  // every so many floats
};

double sigmoid(double x) {
  const double e = std::exp(x < 700 ? x : 700);
  return e / (1 + e);
}

TARGET_AVX2 __m256d vector_sigmoid(__m256d x) {
  // The bound comes first: the instruction answers NaN with its second operand.
  const __m256d e = _ZGVdN4v_exp(_mm256_min_pd(_mm256_set1_pd(700), x));
  return _mm256_div_pd(e, _mm256_add_pd(_mm256_set1_pd(1), e));
}

const Function kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, _ZGVdN4v_exp, 1},
    {"log", [](double x) { return std::log(x); }, _ZGVdN4v_log, 1},
    {"tanh", [](double x) { return std::tanh(x); }, _ZGVdN4v_tanh, 2},
    {"sigmoid", sigmoid, vector_sigmoid, 2},
    {"sin", [](double x) { return std::sin(x); }, _ZGVdN4v_sin, 1, 61},
    {"cos", [](double x) { return std::cos(x); }, _ZGVdN4v_cos, 1, 61},
    {"tan", [](double x) { return std::tan(x); }, _ZGVdN4v_tan, 1, 61},
    {"asin", [](double x) { return std::asin(x); }, _ZGVdN4v_asin, 1, 61},
    {"acos", [](double x) { return std::acos(x); }, _ZGVdN4v_acos, 1, 61},
    {"atan", [](double x) { return std::atan(x); }, _ZGVdN4v_atan, 1, 61},
    {"sinh", [](double x) { return std::sinh(x); }, _ZGVdN4v_sinh, 1, 61},
    {"cosh", [](double x) { return std::cosh(x); }, _ZGVdN4v_cosh, 1, 61},
    {"asinh", [](double x) { return std::asinh(x); }, _ZGVdN4v_asinh, 1, 61},
    {"acosh", [](double x) { return std::acosh(x); }, _ZGVdN4v_acosh, 1, 61},
    {"atanh", [](double x) { return std::atanh(x); }, _ZGVdN4v_atanh, 1, 61},
    {"erf", [](double x) { return std::erf(x); }, _ZGVdN4v_erf, 2, 61},
    {"expm1", [](double x) { return std::expm1(x); }, _ZGVdN4v_expm1, 2, 61},
    {"log1p", [](double x) { return std::log1p(x); }, _ZGVdN4v_log1p, 2, 61},
};

TARGET_AVX2 void reference(const Function& function, const float* src, float* dst) {
  for (std::size_t i = 0; i < kMathBlock; i += 4) {
    const __m256d y = function.vector(_mm256_cvtps_pd(_mm_loadu_ps(src + i)));
    _mm_storeu_ps(dst + i, _mm256_cvtpd_ps(y));
  }
}

// Consecutive floats, consecutive integers; both zeros are 0.
std::int32_t ordinal(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits < 0 ? std::numeric_limits<std::int32_t>::min() - bits : bits;
}

std::uint32_t ulp_between(float a, float b) {
  if (a != a || b != b) return (a != a) == (b != b) ? 0 : kUlpOfWrongNan;
  const std::int32_t x = ordinal(a), y = ordinal(b);
  return x > y ? static_cast<std::uint32_t>(x) - static_cast<std::uint32_t>(y)
               : static_cast<std::uint32_t>(y) - static_cast<std::uint32_t>(x);
}

struct Worst {
  std::uint32_t ulp = 0;
  float at = 0;
};

// Of the floats with bits first, first + step, ...
void update_worst(Worst& worst, const Function& function, ops::KernelFn kernel, std::uint32_t first,
                  std::uint32_t step) {
  std::array<float, kMathBlock> src, dst, expected;
  for (std::uint32_t i = 0; i < kMathBlock; ++i) src[i] = std::bit_cast<float>(first + i * step);
  testing::call_flat<float>(kernel, src, dst);
  reference(function, src.data(), expected.data());
  std::uint32_t most = 0;
#pragma omp simd reduction(max : most)
  for (std::size_t i = 0; i < kMathBlock; ++i)
    most = std::max(most, ulp_between(dst[i], expected[i]));
  if (most <= worst.ulp) return;
  for (std::size_t i = 0; i < kMathBlock; ++i) {
    std::uint32_t ulp = ulp_between(dst[i], expected[i]);
    if (ulp > function.max_ulp) {
      ulp = ulp_between(dst[i], static_cast<float>(function.scalar(src[i])));
    }
    if (ulp > worst.ulp) worst = {ulp, src[i]};
  }
}

Worst worst_of(const Function& function, ops::KernelFn kernel, std::uint32_t step) {
  Worst worst;
  const std::int64_t blocks = (std::int64_t{1} << 32) / (std::int64_t{kMathBlock} * step) + 1;
  std::mutex mutex;
  parallel_for(blocks, 64, [&](std::int64_t begin, std::int64_t end) {
    Worst worst_here;
    for (std::int64_t block = begin; block < end; ++block) {
      const auto first = static_cast<std::uint32_t>(block * kMathBlock * step);
      update_worst(worst_here, function, kernel, first, step);
    }
    const std::lock_guard lock(mutex);
    if (worst_here.ulp > worst.ulp) worst = worst_here;
  });
  return worst;
}

ops::KernelFn kernel_of(const std::string& name) {
  for (const ops::KernelRow& row : maths_kernels()) {
    if (row.op == name && row.dtype == DType::float32) return row.run;
  }
  return testing::find(unary_kernels(), name, DType::float32);
}

void check(std::int64_t target, const Function& function, std::uint32_t step) {
  const testing::UseTarget use(target);
  const ops::KernelFn kernel = kernel_of(function.name);
  const Worst worst = worst_of(function, kernel, step);
  std::printf("%-8s %-8s every %4u: at most %u ULP, at %a\n", function.name,
              hwy::TargetName(target), step, worst.ulp, worst.at);
  EXPECT_LE(worst.ulp, function.max_ulp) << function.name << " on " << hwy::TargetName(target);
}

class ExhaustiveMath : public ::testing::TestWithParam<Function> {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "the reference needs AVX2";
  }
};

TEST_P(ExhaustiveMath, EveryFloatIsWithinItsBound) {
  check(testing::targets().front(), GetParam(), GetParam().step);
}

TEST_P(ExhaustiveMath, OtherTargetsAreToo) {
  const std::vector<std::int64_t> targets = testing::targets();
  for (std::size_t i = 1; i < targets.size(); ++i) check(targets[i], GetParam(), 1021);
}

INSTANTIATE_TEST_SUITE_P(Functions, ExhaustiveMath, ::testing::ValuesIn(kFunctions),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tenure::cpu
