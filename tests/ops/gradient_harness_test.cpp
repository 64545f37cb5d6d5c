// Gradients of every differentiable op, from the rows of case.h.
#include <cmath>

#include "harness.h"

namespace tenure::testing {
namespace {

struct DifferentiableOp : OpTest {};

std::vector<Source> watched(GradientTape& tape, const Tensors& x) {
  std::vector<Source> sources;
  for (const Tensor& each : x) {
    if (!is_floating(each.dtype())) continue;
    tape.watch(each);
    sources.emplace_back(each);
  }
  return sources;
}

// With respect to the floating inputs.
Tensors gradients(const Case& row, const Tensors& x, const Tensor& dy, DType dtype) {
  GradientTape tape;
  const std::vector<Source> sources = watched(tape, x);
  const Tensor y = row.run(x, dtype);
  return tape.gradient(y, sources, {.output_gradient = dy, .zero_if_unconnected = true});
}

// Shapes small enough to be differentiated again and again.
std::vector<Shapes> small_shapes(const Case& row) {
  std::vector<Shapes> small;
  for (const Shapes& shapes : row.shapes) {
    if (elements_of(shapes) <= 400) small.push_back(shapes);
  }
  return small;
}

DTypes floats_of(const Case& row) {
  DTypes floats;
  for (const DType dtype : row.dtypes) {
    if (dtype == DType::float32 || dtype == DType::float64) floats.push_back(dtype);
  }
  return floats;
}

Tensor draw_output_gradient(const Case& row, const Tensors& x, DType dtype, Random& random) {
  const Tensor y = row.run(x, dtype);
  return to_tensor(draw_normal(y.shape(), random), y.dtype());
}

// The derivative of value(t) at 0 is `expected`.
template <class F>
void expect_derivative(double expected, double magnitude, const Case& row, F&& value) {
  const double measured = (value(row.step) - value(-row.step)) / (2 * row.step);
  EXPECT_NEAR(expected, measured, row.gradient_error * (1 + magnitude));
}

TEST_P(DifferentiableOp, traced_gradient_has_the_same_bits) {
  Random random(18);
  each_run(small_shapes(row), floats_of(row), [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    const Tensor dy = draw_output_gradient(row, given.tensors, dtype, random);
    set_seed(4);
    const Tensors eager = gradients(row, given.tensors, dy, dtype);
    Function traced =
        function("gradient", [&](Tensors in) { return gradients(row, in, dy, dtype); });
    set_seed(4);
    unless_unsupported([&] {
      const Tensors replayed = traced(given.tensors);
      ASSERT_EQ(replayed.size(), eager.size());
      for (std::size_t i = 0; i < eager.size(); ++i) {
        EXPECT_EQ(bits_of(replayed[i]), bits_of(eager[i])) << "input " << i;
      }
    });
  });
}

TEST_P(DifferentiableOp, gradient_matches_finite_differences) {
  Random random(9);
  each_run(small_shapes(row), {DType::float64}, [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    const Tensor dy = draw_output_gradient(row, given.tensors, dtype, random);
    const Tensors g = gradients(row, given.tensors, dy, dtype);
    std::size_t next = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (!is_floating(given.tensors[i].dtype())) continue;
      SCOPED_TRACE("input " + std::to_string(i));
      ASSERT_EQ(g[next].shape(), shapes[i]);
      ASSERT_EQ(g[next].dtype(), dtype);
      const Array slope = to_array(g[next++]);
      if (slope.data.empty()) continue;
      const Array direction = draw_normal(shapes[i], random);
      expect_derivative(dot(slope, direction), dot_of_magnitudes(slope, direction), row,
                        [&](double step) {
                          Tensors x = given.tensors;
                          x[i] = to_tensor(moved(given.values[i], direction, step), dtype);
                          return dot(to_array(row.run(std::move(x), dtype)), to_array(dy));
                        });
    }
  });
}

// A function of the inputs and of the output's gradient whose gradient is second-order: the op's
// gradients, each weighed and summed.
Tensor weighed_gradients(const Case& row, const Tensors& x_and_dy, const Tensors& weights,
                         DType dtype) {
  const Tensors x(x_and_dy.begin(), x_and_dy.end() - 1);
  const Tensors g = gradients(row, x, x_and_dy.back(), dtype);
  Tensor total = sum(g[0] * weights[0]);
  for (std::size_t i = 1; i < g.size(); ++i) total += sum(g[i] * weights[i]);
  return total;
}

TEST_P(DifferentiableOp, second_gradient_matches_finite_differences_of_the_first) {
  Random random(10);
  each_run(small_shapes(row), {DType::float64}, [&](const Shapes& shapes, DType dtype) {
    if (elements_of(shapes) == 0) return;
    Tensors at = draw_inputs(row, shapes, dtype, random).tensors;
    Tensors weights;
    for (const Tensor& x : at) {
      if (is_floating(x.dtype()))
        weights.push_back(to_tensor(draw_normal(x.shape(), random), dtype));
    }
    at.push_back(draw_output_gradient(row, at, dtype, random));
    Tensors g;
    {
      GradientTape outer;
      const std::vector<Source> sources = watched(outer, at);
      const Tensor total = weighed_gradients(row, at, weights, dtype);
      g = outer.gradient(total, sources, {.zero_if_unconnected = true});
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (!is_floating(at[i].dtype())) continue;
      SCOPED_TRACE(i + 1 < at.size() ? "input " + std::to_string(i) : "the output's gradient");
      const Array slope = to_array(g[next++]);
      const Array direction = draw_normal(at[i].shape(), random);
      expect_derivative(
          dot(slope, direction), dot_of_magnitudes(slope, direction), row, [&](double step) {
            Tensors moved_to = at;
            moved_to[i] = to_tensor(moved(to_array(at[i]), direction, step), at[i].dtype());
            return weighed_gradients(row, moved_to, weights, dtype).item<double>();
          });
    }
  });
}

TEST_P(DifferentiableOp, any_layout_of_inputs_and_output_gradient_gives_the_same_gradient) {
  Random random(11);
  each_run(small_shapes(row), {DType::float64}, [&](const Shapes& shapes, DType dtype) {
    each_lay([&](Lays lays) {
      const Given given = draw_inputs(row, shapes, dtype, random, lays);
      Tensor dy = draw_output_gradient(row, given.tensors, dtype, random);
      const Array dy_values = fitted(to_array(dy), lays.of(2));
      const DType dy_dtype = dy.dtype();
      const Tensors g =
          gradients(row, given.tensors, lay_out(dy_values, dy_dtype, lays.of(2)), dtype);
      const Tensors expected =
          gradients(row, lay_out_again(given), to_tensor(dy_values, dy_dtype), dtype);
      for (std::size_t i = 0; i < g.size(); ++i) {
        EXPECT_TRUE(close(g[i], to_array(expected[i]), dtype, {.ulps = 8, .epsilons = 64}))
            << "gradient " << i;
      }
    });
  });
}

void expect_same_bits(const Tensors& got, const Tensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(bits_of(got[i]), bits_of(expected[i])) << "gradient " << i;
}

TEST_P(DifferentiableOp, inputs_and_output_may_be_disposed_before_the_gradient) {
  Random random(12);
  each_run(row.shapes, floats_of(row), [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    const Tensor dy = draw_output_gradient(row, given.tensors, dtype, random);
    const Tensors expected = gradients(row, given.tensors, dy, dtype);
    Tensors x = lay_out_again(given);
    GradientTape tape;
    const std::vector<Source> sources = watched(tape, x);
    Tensor y = row.run(x, dtype);
    y.dispose();
    for (Tensor& each : x) each.dispose();
    expect_same_bits(
        tape.gradient(y, sources, {.output_gradient = dy, .zero_if_unconnected = true}), expected);
  });
}

TEST_P(DifferentiableOp, inputs_may_be_moved_in_and_the_gradient_stays) {
  Random random(13);
  each_run(row.shapes, floats_of(row), [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    const Tensor dy = draw_output_gradient(row, given.tensors, dtype, random);
    const Tensors expected = gradients(row, given.tensors, dy, dtype);
    GradientTape tape;
    const std::vector<Source> sources = watched(tape, given.tensors);
    Tensors temporaries;
    for (const Tensor& each : given.tensors) {
      temporaries.push_back(is_floating(each.dtype()) ? each * 1.0 : each);
    }
    const Tensor y = row.run(std::move(temporaries), dtype);
    expect_same_bits(
        tape.gradient(y, sources, {.output_gradient = dy, .zero_if_unconnected = true}), expected);
  });
}

TEST_P(DifferentiableOp, a_gradient_leaves_its_results_and_nothing_else) {
  Random random(14);
  each_run(row.shapes, floats_of(row), [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    const Tensor dy = draw_output_gradient(row, given.tensors, dtype, random);
    const MemoryInfo before = memory();
    {
      const Tensors g = gradients(row, given.tensors, dy, dtype);
      EXPECT_EQ(memory().tensors, before.tensors + g.size());
    }
    EXPECT_EQ(memory().tensors, before.tensors);
    EXPECT_EQ(memory().storages, before.storages);
    EXPECT_EQ(memory().live_bytes, before.live_bytes);
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, DifferentiableOp,
                         rows_where([](const Case& row) { return row.differentiable; }), row_name);

}  // namespace
}  // namespace tenure::testing
