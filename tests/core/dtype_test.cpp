#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <vector>

#include "tenure/dtype.h"
#include "tenure/scalar.h"

namespace tenure {
namespace {

// The compiler's float16. GCC 12 has no _Float16 in C++ for arm64; __fp16 is kept the same way.
#ifdef __aarch64__
using CompilersHalf = __fp16;
#else
using CompilersHalf = _Float16;
#endif

TEST(DTypes, the_documented_promotion_table_is_the_real_one) {
  std::ifstream page(TENURE_SOURCE_DIR "/docs/dtypes.md");
  ASSERT_TRUE(page) << "docs/dtypes.md";
  const auto cells = [](const std::string& line) {
    std::vector<std::string> parts;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '|');) {
      const auto first = cell.find_first_not_of(' ');
      parts.push_back(
          first == cell.npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    }
    return parts;
  };
  std::string line;
  while (std::getline(page, line) && !line.starts_with("| float32")) {
  }
  for (int row = 0; row < kDTypeCount; ++row, std::getline(page, line)) {
    const std::vector<std::string> columns = cells(line);
    ASSERT_EQ(columns.size(), 2u + kDTypeCount) << line;
    EXPECT_EQ(columns[1], name(static_cast<DType>(row)));
    for (int column = 0; column < kDTypeCount; ++column) {
      EXPECT_EQ(columns[2 + static_cast<std::size_t>(column)],
                name(promote(static_cast<DType>(row), static_cast<DType>(column))))
          << name(static_cast<DType>(row)) << " and " << name(static_cast<DType>(column));
    }
  }
}

TEST(DTypes, sizes_are_those_of_the_element_types) {
  EXPECT_EQ(size_of(DType::float64), sizeof(double));
  EXPECT_EQ(size_of(DType::boolean), sizeof(bool));
  EXPECT_EQ(size_of(DType::bfloat16), sizeof(BFloat16));
  EXPECT_TRUE(is_floating(DType::float16));
  EXPECT_FALSE(is_integer(DType::boolean));
}

TEST(Scalars, fit_only_what_they_equal) {
  EXPECT_TRUE(Scalar(2.0).fits(DType::int32));
  EXPECT_FALSE(Scalar(2.5).fits(DType::int32));
  EXPECT_FALSE(Scalar(256).fits(DType::uint8));
  EXPECT_FALSE(Scalar(-1).fits(DType::uint8));
  EXPECT_TRUE(Scalar(std::numeric_limits<std::int64_t>::max()).fits(DType::int64));
  EXPECT_FALSE(Scalar(0x1p63).fits(DType::int64));
  EXPECT_FALSE(Scalar(NAN).fits(DType::int32));
  EXPECT_TRUE(Scalar(NAN).fits(DType::float32));
  EXPECT_FALSE(Scalar(2).fits(DType::boolean));
  EXPECT_EQ(Scalar(1ll << 40).natural_dtype(), DType::int64);
  EXPECT_EQ(Scalar(true).natural_dtype(), DType::boolean);
}

TEST(Halves, every_float16_survives_the_round_trip) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    Float16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    const auto value = static_cast<float>(half);
    const auto expected = static_cast<float>(std::bit_cast<CompilersHalf>(half.bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(Float16(value).bits, half.bits) << bits;
    }
  }
}

TEST(Halves, floats_round_to_nearest_even) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(value))));
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(value))));
      continue;
    }
    ASSERT_EQ(Float16(value).bits, std::bit_cast<std::uint16_t>(static_cast<CompilersHalf>(value)))
        << value;
    // bfloat16: the nearest of the two neighbours, ties to the even one.
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t low = bits & 0xffff, kept = bits >> 16;
    const bool up = low > 0x8000 || (low == 0x8000 && (kept & 1) != 0);
    ASSERT_EQ(BFloat16(value).bits, static_cast<std::uint16_t>(kept + (up ? 1 : 0))) << value;
  }
}

}  // namespace
}  // namespace tenure
