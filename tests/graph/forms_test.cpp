// Traced functions use the forms that are kept of variables' values, and never one of an old value.
#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;

const Shape kImage{2, 5, 5, 12}, kFilter{3, 3, 10, 12}, kResult{2, 5, 5, 10};
constexpr std::size_t kFormBytes = 9 * 10 * 12 * sizeof(float);

Tensor numbers(std::int64_t count) { return arange(0.f, static_cast<float>(count)); }

Tensor filter(float scale) { return reshape(cos(numbers(9 * 10 * 12)) * scale, kFilter); }
Tensor image() { return reshape(sin(numbers(2 * 25 * 12)), kImage); }

Tensor convolve(const Tensor& x, const Arg& w) {
  return conv2d_transpose(x, w, kResult, {.padding = Padding::same});
}

// A filter that is no variable's: its kernel makes the form on every call.
Floats plainly(const Tensor& x, float scale) { return floats(convolve(x, filter(scale))); }

std::size_t workspace() { return memory().workspace_bytes; }

TEST(Forms, a_function_called_in_a_loop_keeps_one_form_for_all_calls) {
  const Tensor x = image();
  const Variable w(filter(1));
  Function f = function("infer", [&](Tensor in) { return tanh(convolve(in, w)); });
  const Floats want = floats(tanh(convolve(x, filter(1))));
  EXPECT_EQ(floats(f(x)), want);
  EXPECT_EQ(workspace(), 0u);
  std::size_t live = 0;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(floats(f(x)), want);
    EXPECT_EQ(workspace(), kFormBytes);
    if (i > 0) {
      EXPECT_EQ(memory().live_bytes, live);
    }
    live = memory().live_bytes;
  }
  EXPECT_EQ(floats(tanh(convolve(x, w))), want) << "eager code finds the same form";
  EXPECT_EQ(workspace(), kFormBytes);
}

TEST(Forms, an_eager_assign_is_seen_by_the_next_call) {
  const Tensor x = image();
  Variable w(filter(1));
  Function f = function("infer", [&](Tensor in) { return convolve(in, w); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats(f(x)), plainly(x, 1));
  w.assign(filter(2));
  EXPECT_EQ(workspace(), 0u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats(f(x)), plainly(x, 2));
  EXPECT_EQ(workspace(), kFormBytes);
  w.dispose();
  EXPECT_EQ(workspace(), 0u);
  EXPECT_THROW(f(x), DisposedError);
}

TEST(Forms, a_function_that_writes_the_variable_where_it_lies_drops_the_form) {
  const Tensor x = image();
  Variable w(filter(1));
  Function infer = function("infer", [&](Tensor in) { return convolve(in, w); });
  Function update = function("update", [&](Tensor factor) { w.assign(w * factor); });
  const Tensor two = full({}, 2.f);
  float scale = 1;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(floats(infer(x)), plainly(x, scale));
    EXPECT_EQ(workspace(), kFormBytes);
    update(two);
    EXPECT_EQ(workspace(), 0u);
    scale *= 2;
  }
  // And where a read holds the old bytes, so that new ones are written.
  for (int i = 0; i < 2; ++i) infer(x);
  const Tensor held = w.read();
  update(two);
  EXPECT_EQ(workspace(), 0u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats(infer(x)), plainly(x, 2 * scale));
  EXPECT_EQ(floats(convolve(x, held)), plainly(x, scale));
}

TEST(Forms, a_step_that_changes_its_weights_keeps_nothing) {
  const Tensor x = image();
  Variable w(filter(1));
  Function step = function("step", [&](Tensor in) {
    const Tensor y = convolve(in, w) + convolve(in * 2.0, w);  // two uses in one call
    w.assign(w * 0.5);
    return y;
  });
  step(x);
  const std::size_t constants = workspace();  // the program's own
  EXPECT_LT(constants, kFormBytes);
  for (int i = 0; i < 4; ++i) {
    step(x);
    EXPECT_EQ(workspace(), constants);
  }
}

TEST(Forms, a_value_swapped_between_variables_is_never_mistaken) {
  const Tensor x = image();
  Variable a(filter(1)), b(filter(3));
  Function infer =
      function("infer", [&](Tensor in) { return std::vector{convolve(in, a), convolve(in, b)}; });
  Function swap = function("swap", [&] {
    const Tensor was = a.read();
    a.assign(b.read());
    b.assign(was);
  });
  float of_a = 1, of_b = 3;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<Tensor> y = infer(x);
      EXPECT_EQ(floats(y[0]), plainly(x, of_a));
      EXPECT_EQ(floats(y[1]), plainly(x, of_b));
    }
    EXPECT_EQ(workspace(), 2 * kFormBytes);
    swap();
    std::swap(of_a, of_b);
  }
}

TEST(Forms, a_product_with_its_epilogue_reads_the_form_of_its_side) {
  const Tensor x = reshape(sin(numbers(40 * 64)), {40, 64});
  const Tensor e = reshape(cos(numbers(48 * 64)), {48, 64});
  const Variable w(e.clone());
  const Variable bias(full({48}, 0.25f));
  const auto layer = [](const Tensor& in, const Arg& weights, const Arg& add) {
    return relu(matmul(in, weights, {.transpose_b = true}) + add);
  };
  const Tensor alone = e * 1.0;
  const Floats want = floats(layer(x, alone, full({48}, 0.25f)));
  Function f = function("layer", [&](Tensor in) { return layer(in, w, bias); });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(floats(f(x)), want);
  EXPECT_EQ(workspace(), 48 * 64 * sizeof(float));
}

}  // namespace
}  // namespace tenure
