// What kernels make of a variable's value is kept for the next call, is counted to the byte, and
// goes back when the value does.
#include "memory/forms.h"

#include "memory/ledger.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;

// A transposed convolution of a 4 x 4 image by a 3 x 3 filter, whose kernel transposes the filter.
constexpr int kSize = 4, kTaps = 3, kIn = 8, kOut = 6;
constexpr std::size_t kFormBytes = kTaps * kTaps * kIn * kOut * sizeof(float);
const Shape kImage{1, kSize, kSize, kIn}, kFilter{kTaps, kTaps, kOut, kIn};
const Shape kResult{1, kSize, kSize, kOut};

Tensor numbers(std::int64_t count) { return arange(0.f, static_cast<float>(count)); }

Tensor image() { return reshape(sin(numbers(kSize * kSize * kIn)), kImage); }
Tensor weights(float scale) {
  return reshape(cos(numbers(kTaps * kTaps * kIn * kOut)) * scale, kFilter);
}

Tensor convolve(const Tensor& x, const Arg& w) {
  return conv2d_transpose(x, w, kResult, {.padding = Padding::same});
}

Floats reference(const Floats& x, const Floats& w) {
  Floats y;
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      for (int c = 0; c < kOut; ++c) {
        double sum = 0;
        for (int a = 0; a < kTaps; ++a) {
          for (int b = 0; b < kTaps; ++b) {
            const int row = i - a + 1, column = j - b + 1;
            if (row < 0 || row >= kSize || column < 0 || column >= kSize) continue;
            for (int o = 0; o < kIn; ++o) {
              sum += double{x[static_cast<std::size_t>((row * kSize + column) * kIn + o)]} *
                     w[static_cast<std::size_t>(((a * kTaps + b) * kOut + c) * kIn + o)];
            }
          }
        }
        y.push_back(static_cast<float>(sum));
      }
    }
  }
  return y;
}

void expect_near(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << "at " << i;
}

std::size_t workspace() { return memory().workspace_bytes; }

TEST(Forms, the_second_use_of_a_value_keeps_its_form_and_memory_counts_it) {
  const Tensor x = image(), plain = weights(1);
  const Variable w(weights(1));
  const Floats want = floats(convolve(x, plain));  // no variable's: made on every call
  EXPECT_EQ(workspace(), 0u);
  expect_near(want, reference(floats(x), floats(plain)));
  const MemoryInfo before = memory();
  EXPECT_EQ(floats(convolve(x, w)), want);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(floats(convolve(x, w)), want) << "the same bits";
    const MemoryInfo after = memory();
    EXPECT_EQ(after.workspace_bytes, kFormBytes);
    EXPECT_EQ(after.live_bytes, before.live_bytes + kFormBytes);
    EXPECT_EQ(after.tensors, before.tensors);
    EXPECT_EQ(after.parameter_bytes, before.parameter_bytes);
  }
}

TEST(Forms, assign_gives_the_form_back_at_once) {
  const Tensor x = image();
  Variable w(weights(1));
  for (int i = 0; i < 2; ++i) convolve(x, w);
  EXPECT_EQ(workspace(), kFormBytes);
  w.assign(weights(2));
  EXPECT_EQ(workspace(), 0u);
  const Floats want = reference(floats(x), floats(weights(2)));
  expect_near(floats(convolve(x, w)), want);
  EXPECT_EQ(workspace(), 0u);
  expect_near(floats(convolve(x, w)), want);
  expect_near(floats(convolve(x, w)), want);
  EXPECT_EQ(workspace(), kFormBytes);
}

TEST(Forms, assign_gives_the_form_back_while_a_read_holds_the_old_value) {
  const Tensor x = image();
  Variable w(weights(1));
  const Tensor held = w.read();
  for (int i = 0; i < 2; ++i) convolve(x, held);  // a read is the variable's value too
  EXPECT_EQ(workspace(), kFormBytes);
  w.assign(weights(2));
  EXPECT_EQ(workspace(), 0u);
  for (int i = 0; i < 3; ++i) {
    expect_near(floats(convolve(x, held)), reference(floats(x), floats(held)));
  }
  EXPECT_EQ(workspace(), 0u) << "it is nobody's value any more";
}

TEST(Forms, a_step_that_uses_each_value_once_keeps_nothing) {
  const Tensor x = image();
  Variable w(weights(1));
  for (int step = 0; step < 5; ++step) {
    convolve(x, w);
    EXPECT_EQ(workspace(), 0u);
    w.assign(w * 0.5);
  }
}

TEST(Forms, dispose_gives_the_form_back_at_once) {
  const Tensor x = image();
  Variable w(weights(1));
  const Tensor held = w.read();
  for (int i = 0; i < 2; ++i) convolve(x, w);
  EXPECT_EQ(workspace(), kFormBytes);
  w.dispose();
  EXPECT_EQ(workspace(), 0u);
  expect_near(floats(convolve(x, held)), reference(floats(x), floats(held)));
}

TEST(Forms, the_last_handle_of_a_variable_gives_the_form_back) {
  const Tensor x = image();
  Tensor held;
  {
    const Variable w(weights(1));
    held = w.read();
    for (int i = 0; i < 2; ++i) convolve(x, w);
    EXPECT_EQ(workspace(), kFormBytes);
  }
  EXPECT_EQ(workspace(), 0u);
  // Its bytes are now reused for another value, of which no form may be found.
  Tensor doubled = std::move(held) * 2.0;
  for (int i = 0; i < 3; ++i) {
    expect_near(floats(convolve(x, doubled)), reference(floats(x), floats(weights(2))));
  }
}

TEST(Forms, two_variables_with_one_value_share_its_form) {
  const Tensor x = image();
  Variable v(weights(1));
  Variable w(v.read());
  for (int i = 0; i < 2; ++i) convolve(x, v);
  convolve(x, w);
  EXPECT_EQ(workspace(), kFormBytes);
  v.assign(weights(2));
  EXPECT_EQ(workspace(), kFormBytes);
  expect_near(floats(convolve(x, v)), reference(floats(x), floats(weights(2))));
  expect_near(floats(convolve(x, w)), reference(floats(x), floats(weights(1))));
  w.assign(weights(3));
  EXPECT_EQ(workspace(), 0u);
  expect_near(floats(convolve(x, w)), reference(floats(x), floats(weights(3))));
}

TEST(Forms, a_value_has_at_most_two_forms) {
  const Variable w(weights(1));
  std::vector<Floats> first;
  for (int round = 0; round < 4; ++round) {
    std::vector<Floats> results;
    for (const int channels : {2, 4, 8, 16}) {
      const int out = kIn * kOut / channels;
      const Tensor x = ones({1, kSize, kSize, channels});
      results.push_back(
          floats(conv2d_transpose(x, reshape(w, {kTaps, kTaps, out, channels}),
                                  {1, kSize, kSize, out}, {.padding = Padding::same})));
    }
    if (round == 0) first = results;
    EXPECT_EQ(results, first);
    EXPECT_LE(workspace(), detail::kMostForms * kFormBytes);
  }
  EXPECT_EQ(workspace(), detail::kMostForms * kFormBytes);
}

TEST(Forms, a_form_that_finds_no_memory_is_made_on_every_call_instead) {
  const Tensor x = image();
  Variable w(weights(1));
  const Floats want = floats(convolve(x, w));
  detail::fail_nth_allocation(1);
  Floats got;
  EXPECT_NO_THROW(got = floats(convolve(x, w)));
  detail::fail_nth_allocation(0);
  EXPECT_EQ(got, want);
  EXPECT_EQ(floats(convolve(x, w)), want);
  EXPECT_EQ(workspace(), 0u) << "it is not tried again for this value";
  w.assign(weights(1));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(floats(convolve(x, w)), want);
  EXPECT_EQ(workspace(), kFormBytes);
}

TEST(Contract, L30_forms_give_way_before_an_allocation_fails) {
  constexpr std::int64_t kChannels = 256;
  const Shape shape{1, 4, 4, kChannels};
  const std::size_t bytes = 9 * kChannels * kChannels * sizeof(float);
  const Tensor x = ones(shape);
  const Variable w(full({3, 3, kChannels, kChannels}, 0.5f));
  const auto run = [&] {
    return floats(conv2d_transpose(x, w, shape, {.padding = Padding::same}));
  };
  const Floats want = run();
  EXPECT_EQ(run(), want);
  EXPECT_EQ(workspace(), bytes);
  trim_pool();
  set_memory_budget(memory().reserved_bytes + bytes / 2);
  EXPECT_NO_THROW(zeros({static_cast<std::int64_t>(bytes / sizeof(float))}));
  EXPECT_EQ(workspace(), 0u);
  set_memory_budget(0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(), want);
  EXPECT_EQ(workspace(), 0u) << "pressure has shown that it does not fit";
}

TEST(Contract, L30_forms_give_way_to_the_budget_of_their_session) {
  constexpr std::int64_t kChannels = 32;
  const Shape shape{1, 4, 4, kChannels};
  const std::size_t bytes = 9 * kChannels * kChannels * sizeof(float);
  const Variable other(weights(1));
  const Tensor x = image();
  for (int i = 0; i < 2; ++i) convolve(x, other);
  EXPECT_EQ(workspace(), kFormBytes);
  Session session({.name = "small", .budget = 100 << 10});
  session.run([&] {
    const Tensor y = ones(shape);
    const Variable w(full({3, 3, kChannels, kChannels}, 0.5f));
    for (int i = 0; i < 2; ++i) conv2d_transpose(y, w, shape, {.padding = Padding::same});
    EXPECT_EQ(session.memory().workspace_bytes, bytes);
    EXPECT_NO_THROW(zeros({6000}));
    EXPECT_EQ(session.memory().workspace_bytes, 0u);
    EXPECT_THROW(zeros({60000}), OutOfMemoryError);
  });
  EXPECT_EQ(workspace(), kFormBytes) << "those of others stay";
}

TEST(Forms, belong_to_the_session_of_the_variable) {
  Session session({.name = "own"});
  session.run([&] {
    const Tensor x = image();
    const Variable w(weights(1));
    for (int i = 0; i < 2; ++i) convolve(x, w);
    EXPECT_EQ(session.memory().workspace_bytes, kFormBytes);
  });
  EXPECT_EQ(session.memory().live_bytes, 0u);
  // A closed session leaves none behind, even if the variable's handle is still there.
  Session closed({.name = "closed"});
  const Variable w = closed.run([&] {
    const Tensor x = image();
    Variable made(weights(1));
    for (int i = 0; i < 2; ++i) convolve(x, made);
    return made;
  });
  EXPECT_EQ(closed.memory().workspace_bytes, kFormBytes);
  closed.close();
  EXPECT_EQ(closed.memory().live_bytes, 0u);
  EXPECT_EQ(workspace(), 0u);
}

// Products with a transposed right side pack it where there are more than a few rows.
TEST(Forms, of_the_right_side_of_a_product_give_the_same_bits) {
  for (const std::int64_t rows : {8, 25, 70}) {
    const std::int64_t n = 37, k = 130;
    const Tensor x = reshape(sin(numbers(rows * k)), {rows, k});
    const Tensor plain = reshape(cos(numbers(n * k)), {n, k});
    const Variable w(plain.clone());
    const Tensor alone = plain * 1.0;
    const Floats want = floats(matmul(x, alone, {.transpose_b = true}));
    const Floats a = floats(x), b = floats(plain);
    for (std::int64_t i = 0; i < rows * n; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += double{a[static_cast<std::size_t>(i / n * k + p)]} *
               b[static_cast<std::size_t>(i % n * k + p)];
      }
      EXPECT_NEAR(want[static_cast<std::size_t>(i)], sum, 1e-4);
    }
    for (int call = 0; call < 4; ++call) {
      EXPECT_EQ(floats(matmul(x, w, {.transpose_b = true})), want);
      EXPECT_EQ(floats(matmul(x, transpose(w.read()))), want);
    }
    EXPECT_EQ(workspace(), rows > 24 ? static_cast<std::size_t>(n * k) * sizeof(float) : 0u);
  }
}

}  // namespace
}  // namespace tenure
