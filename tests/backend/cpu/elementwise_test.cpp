// The driver: which element of which input an output's element is computed from.
#include "backend/cpu/elementwise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernel_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

struct Case {
  Shape a, b, out;
};

std::int64_t broadcast_offset(const Layout& in, const Shape& out, std::int64_t element) {
  std::int64_t offset = 0;
  for (int back = 1; back <= out.rank(); ++back) {
    const std::int64_t index = element % out[-back];
    element /= out[-back];
    if (back <= in.shape.rank() && in.shape[-back] != 1) offset += index * in.strides[-back];
  }
  return offset;
}

// a - b. The values are such that every pair has a result of its own.
std::vector<std::int32_t> expected(const Operand& a, const Operand& b, const Shape& out) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(out.numel()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    const auto x =
        static_cast<const std::int32_t*>(a.data)[broadcast_offset(a.layout, out, element)];
    const auto y =
        static_cast<const std::int32_t*>(b.data)[broadcast_offset(b.layout, out, element)];
    result[i] = x - y;
  }
  return result;
}

class Elementwise : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Elementwise() : use_(GetParam()) {
    std::iota(a_.begin(), a_.end(), 0);
    for (std::size_t i = 0; i < b_.size(); ++i)
      b_[i] = 1'000'000 * static_cast<std::int32_t>(i % 2000);
  }

  void check(const Operand& a, const Operand& b, const Shape& out) {
    const std::size_t count = static_cast<std::size_t>(out.numel());
    std::vector<std::int32_t> dst(count + 1, -7);
    testing::call(testing::find(binary_kernels(), "sub", DType::int32), {a, b},
                  Operand(dst.data(), out));
    EXPECT_EQ(dst.back(), -7) << "written past the end of " << to_string(out);
    dst.pop_back();
    EXPECT_EQ(dst, expected(a, b, out))
        << to_string(a.layout.shape) << " with " << to_string(b.layout.shape);
  }

  testing::UseTarget use_;
  std::vector<std::int32_t> a_ = std::vector<std::int32_t>(300'000);
  std::vector<std::int32_t> b_ = std::vector<std::int32_t>(300'000);
};

TEST_P(Elementwise, BroadcastsAsShapesSay) {
  const Case cases[] = {
      {{}, {}, {}},
      {{5}, {5}, {5}},
      {{1}, {33}, {33}},
      {{2, 3}, {3}, {2, 3}},
      {{2, 3}, {2, 1}, {2, 3}},
      {{2, 1}, {1, 3}, {2, 3}},
      {{100, 3}, {3}, {100, 3}},
      {{3}, {1000, 3}, {1000, 3}},
      {{100, 3}, {100, 1}, {100, 3}},
      {{7, 128}, {128}, {7, 128}},
      {{7, 129}, {129}, {7, 129}},
      {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
      {{4, 1, 5}, {2, 1, 3, 1}, {2, 4, 3, 5}},
      {{1, 1, 6, 1, 1}, {2, 1, 1, 1, 3}, {2, 1, 6, 1, 3}},
      {{2, 1, 2, 1, 2, 1, 2, 1, 3}, {2, 2, 1, 2, 1, 2, 1, 2, 1}, {2, 2, 2, 2, 2, 2, 2, 2, 3}},
      {{0}, {1}, {0}},
      {{3, 0, 2}, {2}, {3, 0, 2}},
      {{300, 1}, {1, 700}, {300, 700}},
      {{60'000, 3}, {3}, {60'000, 3}},
      {{1, 100'000}, {2, 1}, {2, 100'000}},
  };
  for (const Case& c : cases) {
    check(Operand(a_.data(), c.a), Operand(b_.data(), c.b), c.out);
  }
}

TEST_P(Elementwise, ReadsViews) {
  const Operand rows(a_.data() + 1, {5, 7}, {20, 1});
  const Operand expanded(b_.data(), {5, 7}, {1, 0});
  const Operand repeated(b_.data(), {5, 7}, {0, 1});
  const Operand one_value(b_.data() + 3, {5, 7}, {0, 0});
  const Operand lines(a_.data() + 1, {3, 4, 2, 9}, {1000, 9, 100, 1});
  check(rows, expanded, {5, 7});
  check(rows, repeated, {5, 7});
  check(rows, one_value, {5, 7});
  check(one_value, one_value, {5, 7});
  check(one_value, one_value, {2, 5, 7});
  check(expanded, repeated, {5, 7});
  check(lines, Operand(b_.data(), {4, 1, 9}), {3, 4, 2, 9});
  check(Operand(a_.data(), {40'000}, {0}), Operand(b_.data() + 1, {40'000}, {0}), {40'000});
}

TEST_P(Elementwise, ReadsFromAnyAddress) {
  for (int offset = 0; offset < 17; ++offset) {
    check(Operand(a_.data() + offset, {45}), Operand(b_.data() + 3, {45}), {45});
  }
}

TEST_P(Elementwise, MayOverwriteAnInput) {
  for (const char* op : {"add", "mul"}) {
    for (const int count : {1, 3, 16, 100, 70'000}) {
      const Shape shape{count};
      std::vector<float> a(static_cast<std::size_t>(count)), b(a.size()), apart(a.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i);
        b[i] = static_cast<float>(i % 13);
      }
      const ops::KernelFn kernel = testing::find(binary_kernels(), op, DType::float32);
      testing::call(kernel, {Operand(a.data(), shape), Operand(b.data(), shape)},
                    Operand(apart.data(), shape));
      testing::call(kernel, {Operand(a.data(), shape), Operand(b.data(), shape)},
                    Operand(b.data(), shape));
      EXPECT_EQ(b, apart) << op << " of " << count;
    }
  }
}

TEST_P(Elementwise, BitsDependNeitherOnThePlaceNorOnTheThreads) {
  const std::size_t count = 100'003;
  std::vector<float> src(count);
  for (std::size_t i = 0; i < count; ++i) {
    src[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 2654435761U));
  }
  for (const char* op : {"exp", "log", "tanh", "sigmoid", "elu", "selu", "sqrt"}) {
    const ops::KernelFn kernel = testing::find(unary_kernels(), op, DType::float32);
    std::vector<float> whole(count), alone(count), serial(count);
    testing::call_flat<float>(kernel, src, whole);
    set_num_threads(1);
    testing::call_flat<float>(kernel, src, serial);
    set_num_threads(0);
    for (std::size_t i = 0; i < count; ++i) {
      testing::call_flat<float>(kernel, {&src[i], 1}, {&alone[i], 1});
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(whole[i]);
      ASSERT_EQ(bits, std::bit_cast<std::uint32_t>(alone[i])) << op << " of " << src[i];
      ASSERT_EQ(bits, std::bit_cast<std::uint32_t>(serial[i])) << op << " of " << src[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Elementwise, ::testing::ValuesIn(testing::targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

}  // namespace
}  // namespace tenure::cpu
