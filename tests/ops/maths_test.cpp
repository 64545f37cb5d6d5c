// What random rows cannot show of the functions in math.h and activation.h.
#include <cmath>
#include <limits>
#include <numbers>

#include "elementwise_rows.h"

namespace tenure::testing {
namespace {

const std::vector<double> kEdges{kNaN, -kInf, -1e30, -3, -1, -0.5, -1e-30, -0.0,
                                 0.0,  1e-30, 0.5,   1,  3,  1e30, kInf};

Tensor floats_in(DType dtype, std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return to_tensor({{count}, std::move(values)}, dtype);
}

// Each pair alone, and between others.
void check_edges(Tensor (*run)(Arg, Arg), double (*value)(double, double), double ulps) {
  for (const DType dtype : kFloats) {
    for (const double p : kEdges) {
      for (const double q : kEdges) {
        const double a = rounded(p, dtype), b = rounded(q, dtype);
        SCOPED_TRACE(std::to_string(a) + " and " + std::to_string(b));
        for (const std::size_t at : {0, 20}) {
          std::vector<double> left(at + 1, 2), right(at + 1, 3), want(at + 1, value(2, 3));
          left[at] = a;
          right[at] = b;
          want[at] = value(a, b);
          const auto count = static_cast<std::int64_t>(at + 1);
          EXPECT_TRUE(close(run(floats_in(dtype, left), floats_in(dtype, right)), {{count}, want},
                            dtype, {.ulps = ulps}));
        }
      }
    }
  }
}

TEST(Maths, edges_of_atan2_are_the_c_librarys) {
  check_edges(atan2, [](double y, double x) { return std::atan2(y, x); }, 1.5);
}

TEST(Maths, edges_of_pow_are_the_c_librarys) {
  check_edges(pow, [](double a, double b) { return std::pow(a, b); }, 1.5);
}

TEST(Maths, edges_of_mod_are_those_of_a_remainder_with_the_divisors_sign) {
  check_edges(
      mod,
      [](double a, double b) {
        const double rest = std::fmod(a, b);
        return (a < 0) == (b < 0) ? rest : std::fmod(rest + b, b);
      },
      0);
  const Tensor signs = mod(floats_in(DType::float32, {7, -7, 7, -7, 6, -6}),
                           floats_in(DType::float32, {3, 3, -3, -3, 3, -3}));
  EXPECT_EQ(signs.to_vector<float>(), (std::vector<float>{1, 2, -2, -1, 0, -0.0f}));
}

TEST(Maths, edges_of_floor_div_are_those_of_the_floor) {
  check_edges(floor_div, [](double a, double b) { return std::floor(a / b); }, 0);
}

TEST(Maths, round_takes_halves_to_the_even_number) {
  const std::vector<double> halves{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0.49999997, 8388609};
  for (const DType dtype : kFloats) {
    EXPECT_TRUE(close(round(floats_in(dtype, halves)),
                      {{9}, {-2, -2, -0.0, 0, 2, 2, 4, 0, 8388609}}, dtype, {}));
  }
}

TEST(Maths, large_angles_are_reduced_exactly) {
  const std::vector<double> angles{1e5, 1048575, 1048576, 1e7, 1e15, 1e22, 3e38};
  for (const double angle : angles) {
    const auto x = static_cast<float>(angle);
    EXPECT_NEAR(sin(tensor(x)).item<float>(), std::sin(double{x}), 1e-7) << angle;
    EXPECT_NEAR(cos(tensor(x)).item<float>(), std::cos(double{x}), 1e-7) << angle;
  }
}

template <class T>
class MathsOfIntegers : public ::testing::Test {};
using IntegerTypes = ::testing::Types<std::int32_t, std::int64_t, std::int8_t>;
TYPED_TEST_SUITE(MathsOfIntegers, IntegerTypes);

TYPED_TEST(MathsOfIntegers, the_ends_wrap_and_nothing_divides_by_zero) {
  using T = TypeParam;
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const auto of = [](std::vector<T> values) { return tensor(values); };
  using Values = std::vector<T>;
  EXPECT_EQ(abs(of({least, -5, most})).template to_vector<T>(), (Values{least, 5, most}));
  EXPECT_EQ(sign(of({least, 0, most})).template to_vector<T>(), (Values{-1, 0, 1}));
  EXPECT_EQ(floor_div(of({7, -7, 5, least}), of({2, 2, 0, -1})).template to_vector<T>(),
            (Values{3, -4, 0, least}));
  EXPECT_EQ(mod(of({7, -7, 7, -7, 5, least, most}), of({3, 3, -3, -3, 0, -1, most}))
                .template to_vector<T>(),
            (Values{1, 2, -2, -1, 0, 0, 0}));
  EXPECT_EQ(
      pow(of({2, -1, -1, 0, 0, 1, 3}), of({-1, -3, -2, -1, 0, least, 0})).template to_vector<T>(),
      (Values{0, -1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(clip(of({least, 0, most}), -3, 4).template to_vector<T>(), (Values{-3, 0, 4}));
  EXPECT_EQ(bitwise_xor(of({least, -1}), of({-1, -1})).template to_vector<T>(), (Values{most, 0}));
}

TEST(Maths, powers_of_int64_beyond_double_are_exact) {
  const Tensor y = pow(tensor(std::vector<std::int64_t>{3, 2, 10}),
                       tensor(std::vector<std::int64_t>{39, 62, 18}));
  EXPECT_EQ(
      y.to_vector<std::int64_t>(),
      (std::vector<std::int64_t>{4052555153018976267, 4611686018427387904, 1000000000000000000}));
}

TEST(Maths, the_power_zero_has_no_slope_at_base_zero) {
  GradientTape tape;
  const Tensor x = tensor({0.0, 2.0});
  tape.watch(x);
  const Tensor y = pow(x, tensor({0.0, 3.0}));
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{0, 12}));
}

TEST(Maths, clip_lets_gradients_through_at_its_bounds) {
  GradientTape tape;
  const Tensor x = tensor({-2.0, -1.0, 0.0, 1.0, 2.0});
  tape.watch(x);
  const Tensor y = clip(x, -1, 1);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{0, 1, 1, 1, 0}));
}

TEST(Maths, numbers_stand_beside_integers_where_results_are_floats) {
  const Tensor x = tensor({-4, 4});
  EXPECT_EQ(prelu(x, 0.25).to_vector<float>(), (std::vector<float>{-1, 4}));
  EXPECT_NEAR(atan2(1, 1).item<float>(), std::numbers::pi / 4, 1e-6);
}

TEST(Logical, an_exclamation_mark_inverts) {
  EXPECT_EQ((!tensor({true, false})).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(logical_and(tensor({true, false}), true).to_vector<bool>(),
            (std::vector<bool>{true, false}));
}

TEST(Activation, tails_vanish_instead_of_becoming_nan) {
  for (const DType dtype : kFloats) {
    const Tensor x = floats_in(dtype, {-kInf, -1e30, kInf, kNaN});
    const Array want{{4}, {-0.0, -0.0, kInf, kNaN}};
    EXPECT_TRUE(close(gelu(x), want, dtype, {}));
    EXPECT_TRUE(close(gelu(x, {.approximate = true}), want, dtype, {}));
    EXPECT_TRUE(close(silu(x), want, dtype, {}));
  }
}

TEST(MathsErrors, say_what_to_change) {
  const Tensor floats = zeros({2}), integers = zeros({2}, DType::int32);
  EXPECT_EQ(message_of<ValueError>([&] { clip(floats, 2, 1); }),
            "clip: the bounds are not in order: 2 and 1");
  EXPECT_EQ(message_of<ValueError>([&] { clip(floats, kNaN, 1); }),
            "clip: the bounds are not in order: nan and 1");
  EXPECT_EQ(message_of<DtypeError>([&] { clip(integers, 0.5, 1); }),
            "clip: 0.5 is not exactly a value of int32: cast the tensor first");
  EXPECT_EQ(message_of<DtypeError>([&] { logical_and(floats, floats); }),
            "logical_and: input 0 must be bool, not float32: compare it with 0 first");
  EXPECT_EQ(message_of<ValueError>([&] { add_n({}); }), "add_n: no tensors to add");
  EXPECT_EQ(message_of<ShapeError>([&] { broadcast_args(zeros({}, DType::int32), integers); }),
            "broadcast_args: shapes are vectors: [] and [2]");
}

}  // namespace
}  // namespace tenure::testing
