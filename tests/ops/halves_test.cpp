// float16 and bfloat16 through the rows of case.h: an op of them, and a function made of others, is
// float32's, rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "harness.h"

namespace tenure::testing {
namespace {

const DTypes kHalves{DType::float16, DType::bfloat16};

struct HalfOp : OpTest {};
struct DifferentiableHalfOp : OpTest {};

Tensors widened(const Tensors& tensors) {
  Tensors wide;
  for (const Tensor& x : tensors) {
    const bool half = x.dtype() == DType::float16 || x.dtype() == DType::bfloat16;
    wide.push_back(half ? cast(x, DType::float32) : x);
  }
  return wide;
}

// Within a share of the largest value: for what is rounded more than once.
::testing::AssertionResult near(const Tensor& actual, const Tensor& expected, double share) {
  const Array a = to_array(actual), e = to_array(expected);
  if (a.shape != e.shape) return ::testing::AssertionFailure() << a.shape << ", not " << e.shape;
  double largest = 1;
  for (const double value : e.data) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (a.data[i] == e.data[i] || !std::isfinite(e.data[i])) continue;
    if (!(std::abs(a.data[i] - e.data[i]) <= share * largest)) {
      return ::testing::AssertionFailure()
             << "element " << i << ": " << a.data[i] << ", not " << e.data[i];
    }
  }
  return ::testing::AssertionSuccess();
}

TEST_P(HalfOp, gives_what_float32_gives_rounded_once) {
  Random random(23);
  each_run(row.shapes, kHalves, [&](const Shapes& shapes, DType dtype) {
    each_lay([&](Lays lays) {
      const Given given = draw_inputs(row, shapes, dtype, random, lays);
      set_seed(5);
      const Tensor y = row.run(given.tensors, dtype);
      set_seed(5);
      const Tensor wide = row.run(widened(given.tensors), DType::float32);
      const Tensor expected = is_floating(y.dtype()) ? cast(wide, y.dtype()) : wide;
      if (row.several_calls) {
        EXPECT_TRUE(near(y, expected, dtype == DType::float16 ? 0.01 : 0.08));
      } else {
        EXPECT_EQ(bits_of(y), bits_of(expected));
      }
    });
  });
}

TEST_P(HalfOp, traced_gives_the_same_bits) {
  Random random(24);
  each_run(row.shapes, kHalves, [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    set_seed(3);
    const Tensor eager = row.run(given.tensors, dtype);
    Function traced = function("row", [&](Tensors in) { return row.run(std::move(in), dtype); });
    unless_unsupported([&] {
      set_seed(3);
      EXPECT_EQ(bits_of(traced(given.tensors)), bits_of(eager));
    });
  });
}

TEST_P(DifferentiableHalfOp, gradients_are_float32s_but_for_rounding) {
  Random random(25);
  each_run(row.shapes, kHalves, [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    const auto gradients = [&](const Tensors& in, DType computed) {
      GradientTape tape;
      std::vector<Source> sources;
      for (const Tensor& x : in) {
        if (!is_floating(x.dtype())) continue;
        tape.watch(x);
        sources.emplace_back(x);
      }
      const Tensor y = row.run(in, computed);
      return tape.gradient(y, sources, {.zero_if_unconnected = true});
    };
    const Tensors narrow = gradients(given.tensors, dtype);
    const Tensors wide = gradients(widened(given.tensors), DType::float32);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      SCOPED_TRACE("input " + std::to_string(i));
      EXPECT_TRUE(near(narrow[i], wide[i], dtype == DType::float16 ? 0.02 : 0.1));
    }
  });
}

// But for thresholds: what is rounded on the way falls to one side or the other.
bool computes_floats(const Case& row) {
  return std::ranges::count(row.dtypes, DType::float32) != 0 && !row.name.starts_with("threshold");
}

// What the rows leave out: results that are complex, or come without operands, or in steps.
TEST(Halves, every_function_made_of_others_has_a_row) {
  const std::set<std::string_view> elsewhere{"fft2d",       "ifft2d",         "stft",
                                             "hann_window", "hamming_window", "threshold",
                                             "lower_bound", "upper_bound"};
  for (const ops::Composite& each : ops::all_composites()) {
    const std::string name = each.name;
    const bool has_row = std::ranges::any_of(all_cases(), [&](const Case& row) {
      return computes_floats(row) && (row.name == name || row.name.starts_with(name + "_"));
    });
    EXPECT_NE(has_row, elsewhere.contains(name)) << name;
  }
}

// Functions of one tensor whose steps are out of float16's range where the result is not.
struct Composed {
  const char* name;
  Tensor (*run)(const Tensor& x);
  Tensor (*x)();
};

Tensor hundreds() { return random::uniform({300, 7}, {.low = -400, .high = 400}); }
Tensor moderate() { return random::uniform({7, 7}, {.low = -20, .high = 20}); }

const Composed kComposed[] = {
    {"mean of many", [](const Tensor& x) { return mean(x); }, [] { return ones({70000}); }},
    {"variance", [](const Tensor& x) { return variance(x); }, hundreds},
    {"standard_deviation", [](const Tensor& x) { return standard_deviation(x); }, hundreds},
    {"moments", [](const Tensor& x) { return moments(x, {0}).variance; }, hundreds},
    {"norm", [](const Tensor& x) { return norm(x); }, hundreds},
    {"rms_norm", [](const Tensor& x) { return rms_norm(x); }, hundreds},
    {"l2_normalize", [](const Tensor& x) { return l2_normalize(x); }, hundreds},
    {"group_norm", [](const Tensor& x) { return group_norm(x, 7); }, hundreds},
    {"logsumexp", [](const Tensor& x) { return logsumexp(x); }, hundreds},
    {"mish", [](const Tensor& x) { return mish(x); }, moderate},
    {"softsign", [](const Tensor& x) { return softsign(x); }, hundreds},
    {"gram_schmidt", [](const Tensor& x) { return gram_schmidt(x); }, moderate},
    {"gram_schmidt of vectors",
     [](const Tensor& x) { return gram_schmidt(std::vector<Tensor>{x[0], x[1]})[1]; }, moderate},
    {"lstsq", [](const Tensor& x) { return lstsq(x, ones({300, 1}, x.dtype())); }, hundreds},
    {"log_determinant", [](const Tensor& x) { return log_determinant(matmul(x, x)); },
     [] { return eye(5) * 3; }},
    {"stft", [](const Tensor& x) { return real(stft(reshape(x, {-1}), 32, 16)); }, moderate},
    {"threshold", [](const Tensor& x) { return image::threshold(reshape(x, {10, 70, 3})); },
     [] { return random::uniform({2100}, {.low = 0, .high = 255}); }},
    {"global_avg_pool",
     [](const Tensor& x) { return global_avg_pool(reshape(x, {1, 700, 100, 1})); },
     [] { return ones({70000}); }},
};

TEST(Halves, functions_made_of_others_round_only_their_result) {
  set_seed(4);
  for (const Composed& each : kComposed) {
    for (const DType dtype : kHalves) {
      SCOPED_TRACE(::testing::Message() << each.name << ' ' << dtype);
      const Tensor x = cast(each.x(), dtype);
      const Tensor y = each.run(x), wide = each.run(cast(x, DType::float32));
      if (is_floating(wide.dtype()) && std::string_view(each.name) != "stft") {
        EXPECT_EQ(y.dtype(), dtype);
      }
      EXPECT_EQ(bits_of(y), bits_of(cast(wide, y.dtype())));
    }
  }
}

TEST(Halves, gradients_of_functions_made_of_others_round_only_their_result) {
  const auto gradient_of = [](const Composed& each, const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(each.run(x)), x);
  };
  set_seed(4);
  for (const Composed& each : kComposed) {
    if (std::string_view(each.name) == "threshold" || std::string_view(each.name) == "stft")
      continue;
    const Tensor x = cast(each.x(), DType::bfloat16), narrow = cast(x, DType::float16);
    SCOPED_TRACE(each.name);
    const Tensor wide = gradient_of(each, cast(narrow, DType::float32));
    EXPECT_EQ(bits_of(gradient_of(each, narrow)), bits_of(cast(wide, DType::float16)));
  }
}

TEST(Halves, the_gradient_of_an_op_rounds_only_its_result) {
  const auto gradient_of = [](Tensor (*run)(Arg), const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(run(x), x);
  };
  // Of the first, the square of the tangent is beyond float16; of the second, 1 - x^2 loses all.
  for (const auto& [run, value] : {std::pair<Tensor (*)(Arg), float>{tan, 1.5703125F},
                                   {atanh, 0.99951172F},
                                   {log_sigmoid, 12.F},
                                   {silu, -8.5F}}) {
    const Tensor x = cast(tensor({value, value / 2}), DType::float16);
    const Tensor wide = gradient_of(run, cast(x, DType::float32));
    EXPECT_EQ(bits_of(gradient_of(run, x)), bits_of(cast(wide, DType::float16))) << value;
  }
}

// The order of a product's sums depends on how its operands lie.
TEST(HalfProducts, operands_that_are_views_give_the_same_bits_eager_and_traced) {
  Random random(27);
  const auto swapped = [](const Tensor& x) { return matrix_transpose(x); };
  const auto part = [](const Tensor& x) { return slice(x, {1, 2}, {x.dim(0) - 2, x.dim(1) - 5}); };
  const auto stacked = [](const Tensor& x) {
    return broadcast_to(reshape(x, {1, x.dim(0), x.dim(1)}), {3, x.dim(0), x.dim(1)});
  };
  using View = std::function<Tensor(const Tensor&)>;
  const View views[] = {[](const Tensor& x) { return x; },
                        swapped,
                        part,
                        [&](const Tensor& x) { return swapped(part(x)); },
                        [&](const Tensor& x) { return part(swapped(x)); },
                        [&](const Tensor& x) { return stacked(x); },
                        [&](const Tensor& x) { return swapped(stacked(x)); }};
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{16, 512, 300},
                                {1, 512, 1000},
                                {8, 64, 513},
                                {1, 7, 300},
                                {40, 70, 33},
                                {5, 300, 1},
                                {2, 1, 3},
                                {128, 129, 64}}) {
    for (std::size_t of_a = 0; of_a < std::size(views); ++of_a) {
      for (std::size_t of_b = 0; of_b < std::size(views); ++of_b) {
        SCOPED_TRACE(::testing::Message()
                     << m << ' ' << k << ' ' << n << " views " << of_a << ' ' << of_b);
        // Larger ones, of which the view has the shape that is wanted.
        const auto whole = [&](std::size_t view, std::int64_t rows, std::int64_t columns) {
          if (view == 3) return Shape{columns + 2, rows + 5};
          if (view == 4) return Shape{columns + 5, rows + 2};
          if (view == 2) return Shape{rows + 2, columns + 5};
          return view == 1 || view == 6 ? Shape{columns, rows} : Shape{rows, columns};
        };
        const auto body = [&](const Tensor& a, const Tensor& b) {
          return matmul(views[of_a](a), views[of_b](b));
        };
        const Array left = draw_normal(whole(of_a, m, k), random);
        const Array right = draw_normal(whole(of_b, k, n), random);
        for (const DType dtype : kHalves) {
          const Tensor a = cast(to_tensor(left, DType::float64), dtype);
          const Tensor b = cast(to_tensor(right, DType::float64), dtype);
          const Tensor eager = body(a, b);
          Function traced = function("product", body);
          ASSERT_EQ(bits_of(traced(a, b)), bits_of(eager)) << dtype;
          if (dtype == DType::bfloat16) continue;  // a machine may have a kernel for its products
          const Tensor wide = body(cast(a, DType::float32), cast(b, DType::float32));
          ASSERT_EQ(bits_of(eager), bits_of(cast(wide, dtype)));
        }
      }
    }
  }
}

// Large enough for a machine's matrix unit, and of sizes that fill its tiles and that do not.
TEST(HalfProducts, sums_are_rounded_once) {
  struct Sizes {
    std::int64_t items, m, k, n;
  };
  Random random(26);
  for (const DType dtype : kHalves) {
    for (const auto& [items, m, k, n] :
         {Sizes{1, 64, 64, 64}, Sizes{1, 33, 129, 65}, Sizes{3, 40, 32, 70}, Sizes{1, 16, 1, 4096},
          Sizes{2, 100, 77, 31}, Sizes{1, 300, 500, 200}}) {
      for (int way = 0; way < 4; ++way) {
        const bool ta = (way & 1) != 0, tb = (way & 2) != 0;
        SCOPED_TRACE(::testing::Message() << dtype << ' ' << items << " x " << m << ' ' << k << ' '
                                          << n << (ta ? " ta" : "") << (tb ? " tb" : ""));
        const Shape a_shape = ta ? Shape{items, k, m} : Shape{items, m, k};
        const Shape b_shape = tb ? Shape{items, n, k} : Shape{items, k, n};
        const Tensor a = cast(to_tensor(draw_normal(a_shape, random), DType::float64), dtype);
        const Tensor b = cast(to_tensor(draw_normal(b_shape, random), DType::float64), dtype);
        const MatmulOptions how{.transpose_a = ta, .transpose_b = tb};
        const Tensor y = matmul(a, b, how);
        const Tensor wide_a = cast(a, DType::float64), wide_b = cast(b, DType::float64);
        const Array expected = to_array(matmul(wide_a, wide_b, how));
        const Array largest = to_array(matmul(abs(wide_a), abs(wide_b), how));
        const Array actual = to_array(y);
        const double half_ulp = dtype == DType::float16 ? 0x1p-11 : 0x1p-8;
        for (std::size_t i = 0; i < actual.data.size(); ++i) {
          const double bound = half_ulp * 1.01 * std::abs(expected.data[i]) +
                               static_cast<double>(k) * 0x1p-24 * largest.data[i] + 1e-7;
          ASSERT_NEAR(actual.data[i], expected.data[i], bound) << "element " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, HalfOp, rows_where(computes_floats), row_name);
INSTANTIATE_TEST_SUITE_P(Ops, DifferentiableHalfOp, rows_where([](const Case& row) {
                           return computes_floats(row) && row.differentiable;
                         }),
                         row_name);

}  // namespace
}  // namespace tenure::testing
