// Which dtype comes out when two meet: against a rule in words, not a second table.
#include "case.h"

namespace tenure::testing {
namespace {

int rank_of_signed(DType dtype) {
  if (dtype == DType::int64) return 3;
  if (dtype == DType::int32) return 2;
  return dtype == DType::int8 ? 1 : 0;
}

DType expected_promotion(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) && is_floating(b)) {
    if (a == DType::float64 || b == DType::float64) return DType::float64;
    return DType::float32;  // the halves have nothing narrower in common
  }
  if (is_floating(a) || is_floating(b)) return is_floating(a) ? a : b;
  if (a == DType::boolean || b == DType::boolean) return a == DType::boolean ? b : a;
  if (a == DType::uint8 || b == DType::uint8) {
    const DType other = a == DType::uint8 ? b : a;
    return other == DType::int8 ? DType::int32 : other;  // neither byte holds the other
  }
  return rank_of_signed(a) > rank_of_signed(b) ? a : b;
}

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

TEST(Promotion, of_two_dtypes_follows_the_rule_both_ways) {
  for (const DType a : kAnything) {
    for (const DType b : kAnything) {
      EXPECT_EQ(promote(a, b), expected_promotion(a, b)) << a << " and " << b;
      EXPECT_EQ(promote(b, a), expected_promotion(a, b)) << b << " and " << a;
    }
  }
}

TEST(Promotion, arithmetic_gives_the_promoted_dtype_and_bool_counts_as_int32) {
  for (const DType a : kAnything) {
    for (const DType b : kAnything) {
      const DType promoted = expected_promotion(a, b);
      if (is_half(promoted)) continue;
      const Tensor x = ones({2}, a), y = ones({2}, b);
      for (const auto op : std::initializer_list<Tensor (*)(Arg, Arg)>{add, sub, mul, maximum}) {
        EXPECT_EQ(op(x, y).dtype(), number_dtype(promoted)) << a << " and " << b;
      }
      EXPECT_EQ(to_array(x + y).data, (std::vector<double>{2, 2})) << a << " and " << b;
      EXPECT_EQ(equal(x, y).dtype(), DType::boolean);
      EXPECT_EQ(to_array(equal(x, y)).data, (std::vector<double>{1, 1})) << a << " and " << b;
    }
  }
}

TEST(Promotion, where_and_concat_promote_and_keep_bool_and_halves) {
  const Tensor condition = tensor({true, false});
  for (const DType a : kAnything) {
    for (const DType b : kAnything) {
      const Tensor x = ones({2}, a), y = zeros({2}, b);
      const Tensor chosen = where(condition, x, y), joined = concat({x, y});
      EXPECT_EQ(chosen.dtype(), expected_promotion(a, b)) << a << " and " << b;
      EXPECT_EQ(to_array(chosen).data, (std::vector<double>{1, 0})) << a << " and " << b;
      EXPECT_EQ(joined.dtype(), expected_promotion(a, b)) << a << " and " << b;
      EXPECT_EQ(to_array(joined).data, (std::vector<double>{1, 1, 0, 0})) << a << " and " << b;
    }
  }
}

TEST(Promotion, functions_of_floats_make_of_integers_what_they_are_promoted_to) {
  for (const DType a : kAnything) {
    for (const DType b : kAnything) {
      const Tensor x = ones({2}, a), y = ones({2}, b);
      for (const auto op : {prelu, atan2, hypot}) {
        EXPECT_EQ(op(x, y).dtype(), float_dtype(expected_promotion(a, b))) << a << " and " << b;
      }
    }
  }
  // Not by way of float32, which has no such number.
  EXPECT_EQ(hypot(tensor({16777217}), zeros({1}, DType::float64)).item<double>(), 16777217);
}

TEST(Promotion, scattered_updates_are_promoted_with_what_they_go_into) {
  const Tensor at = tensor({1}, {1, 1});
  for (const DType a : kAnything) {
    for (const DType b : kAnything) {
      const DType promoted = expected_promotion(a, b);
      const Tensor x = ones({2}, a), updates = ones({1}, b);
      EXPECT_EQ(tensor_scatter_update(x, at, updates).dtype(), promoted) << a << " and " << b;
      if (promoted == DType::boolean) continue;
      for (const auto op : {tensor_scatter_add, tensor_scatter_min, tensor_scatter_max}) {
        EXPECT_EQ(op(x, at, updates).dtype(), promoted) << a << " and " << b;
      }
    }
  }
  const Tensor sum = tensor_scatter_add(tensor({10, 20}), at, tensor({0.5f}));
  EXPECT_EQ(to_array(sum).data, (std::vector<double>{10, 20.5}));
  const Tensor half = ones({2}, DType::float16);
  EXPECT_EQ(to_array(tensor_scatter_update(half, at, tensor({1e6f}))).data,
            (std::vector<double>{1, 1e6}));
  EXPECT_EQ(tensor_scatter_update(half, tensor({1}), 2).dtype(), DType::float16);
}

TEST(Promotion, mixed_inputs_get_gradients_in_their_own_dtypes) {
  const Tensor a = to_tensor({{2}, {1, 2}}, DType::float32),
               b = to_tensor({{2}, {3, 4}}, DType::float64);
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const Tensor y = a * b;
  ASSERT_EQ(y.dtype(), DType::float64);
  const Tensors g = tape.gradient(y, {a, b});
  EXPECT_TRUE(close(g[0], {{2}, {3, 4}}, DType::float32, {}));
  EXPECT_TRUE(close(g[1], {{2}, {1, 2}}, DType::float64, {}));
}

TEST(Promotion, a_number_takes_the_tensors_dtype) {
  for (const DType dtype : kAnything) {
    if (is_half(dtype)) continue;
    const Tensor x = ones({2}, dtype);
    const DType kept = number_dtype(dtype);
    const Tensor products[] = {x * 2.0, x * 2.0f, 2 * x, x * std::int64_t{2}, x * std::uint8_t{2}};
    for (const Tensor& product : products) {
      EXPECT_EQ(product.dtype(), kept);
      EXPECT_EQ(to_array(product).data, (std::vector<double>{2, 2}));
    }
    EXPECT_EQ((x - 1.0).dtype(), kept);
    EXPECT_EQ((1.0 / x).dtype(), kept);
    EXPECT_EQ(maximum(x, true).dtype(), kept);
    EXPECT_EQ(less(x, 1.0).dtype(), DType::boolean);
    EXPECT_EQ(where(tensor({true, false}), x, 0).dtype(), dtype);
  }
}

TEST(Promotion, numbers_alone_take_the_dtypes_they_have_as_tensors) {
  EXPECT_EQ(add(1, 2).dtype(), DType::int32);
  EXPECT_EQ(add(1, 2.5).dtype(), DType::float32);
  EXPECT_EQ(add(1, std::int64_t{1} << 40).dtype(), DType::int64);
  EXPECT_EQ(add(true, false).dtype(), DType::int32);
  EXPECT_EQ(exp(1).dtype(), DType::float32);
  EXPECT_EQ(sum(3).item<std::int32_t>(), 3);
}

TEST(Promotion, tensors_made_of_numbers_have_the_numbers_dtype) {
  EXPECT_EQ(full({1}, 2).dtype(), DType::int32);
  EXPECT_EQ(full({1}, 2.0).dtype(), DType::float32);
  EXPECT_EQ(full({1}, true).dtype(), DType::boolean);
  EXPECT_EQ(arange(3).dtype(), DType::int32);
  EXPECT_EQ(to_array(arange(3)).data, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(arange(2.5).dtype(), DType::float32);
  EXPECT_EQ(to_array(arange(2.5)).data, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(arange(0, 1, 0.5).dtype(), DType::float32);
  EXPECT_EQ(arange(0, std::int64_t{1} << 40, std::int64_t{1} << 39).dtype(), DType::int64);
  EXPECT_EQ(linspace(0, 1, 3).dtype(), DType::float32);
}

TEST(Promotion, halves_stay_halves_and_are_rounded_once) {
  for (const DType half : {DType::float16, DType::bfloat16}) {
    const Tensor x = ones({2, 2}, half);
    for (const Tensor& y :
         {x + x, x * 2.0, tanh(x), -x, sum(x), matmul(x, x), mean(x), swish(x),
          outer(ones({2}, half), ones({2}, half)), x + ones({2, 2}, DType::int32)}) {
      EXPECT_EQ(y.dtype(), half);
    }
    EXPECT_EQ((x + ones({2, 2})).dtype(), DType::float32) << "beside a float32 it is one";
    // One thousand ones: adding them one by one in bfloat16 would stop at 256.
    EXPECT_EQ(static_cast<float>(to_array(sum(ones({1000}, half))).data[0]), 1000.f);
    // Each eighth of the last place of 1 would be lost by itself; eight of them are a place.
    const double place = half == DType::float16 ? 0x1p-10 : 0x1p-7;
    const Tensor eighths = full({8}, place / 8, half);
    EXPECT_EQ(to_array(sum(concat({ones({1}, half), eighths}, 0))).data[0], 1 + place);
  }
}

}  // namespace
}  // namespace tenure::testing
