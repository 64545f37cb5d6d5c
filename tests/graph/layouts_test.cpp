// A product of few rows sums in another order where its right side is transposed in memory. So in a
// traced function values must lie as they do in eager code, whatever the passes leave out.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <optional>
#include <random>

#include "support/expect.h"

namespace tenure::testing {
namespace {

using Tensors = std::vector<Tensor>;
using Bits = std::vector<std::uint32_t>;

Bits bits_in(const Tensor& x) {
  Bits bits;
  for (const float value : floats(x)) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

Tensor drawn(const Shape& shape, std::uint64_t seed) {
  set_seed(seed);
  return random::normal(shape);
}

// Whether a function of a few matrices gives the same bits traced as it does eagerly.
template <class F>
void expect_eager_bits(F fn, const Shape& shape = {4, 4}) {
  Function f = function("traced", fn);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Tensor x = drawn(shape, seed);
    ASSERT_EQ(bits_in(f(x)), bits_in(fn(x))) << f.dump() << f.dump({.optimised = true});
  }
}

TEST(Layouts, what_changes_no_number_still_makes_a_value_row_major) {
  const auto times_itself = [](const Tensor& x) { return matmul(x, transpose(x)); };
  for (const Shape& shape : {Shape{2, 2}, Shape{4, 4}, Shape{3, 100}}) {
    expect_eager_bits([=](Tensor x) { return times_itself(transpose(transpose(x) * 1.f)); }, shape);
    expect_eager_bits([=](Tensor x) { return times_itself(transpose(transpose(x) / 1.f)); }, shape);
    expect_eager_bits([=](Tensor x) { return times_itself(transpose(transpose(x) - 0.f)); }, shape);
    expect_eager_bits([=](Tensor x) { return times_itself(transpose(-(-transpose(x)))); }, shape);
    expect_eager_bits([=](Tensor x) { return times_itself(1.f * transpose(x)); }, shape);
  }
}

TEST(Layouts, a_captured_view_lies_as_it_does_outside) {
  const Tensor view = transpose(drawn({4, 4}, 100));
  expect_eager_bits([&](Tensor x) { return matmul(x, view * 1.f); });
  expect_eager_bits([&](Tensor x) { return matmul(x, view); });
  expect_eager_bits([&](Tensor x) { return matmul(x, contiguous(view)); });
}

TEST(Layouts, contiguous_copies_in_a_trace_what_it_copies_outside) {
  expect_eager_bits([](Tensor x) { return matmul(x, contiguous(transpose(x))); });
  expect_eager_bits([](Tensor x) { return matmul(x, contiguous(x)); });
}

TEST(Layouts, a_variable_is_read_row_major_whatever_it_was_assigned) {
  Variable w(zeros({4, 4}));
  expect_eager_bits([&](Tensor x) {
    w.assign(transpose(x));
    return matmul(x, w.read());
  });
}

TEST(Layouts, an_argument_lies_inside_as_it_does_outside) {
  const auto fn = [](Tensor x) { return std::pair(matmul(x, transpose(x)), transpose(x) * 1.f); };
  Function f = function("traced", fn);
  const Tensor tall = drawn({100, 4}, 3);
  const Tensor row = slice(tall, {2, 0}, {1, 4});
  const Tensors views{transpose(tall),
                      transpose(slice(tall, {1, 1}, {90, 3})),
                      slice(tall, {9, 3}, {4, 4}, {1, -1}),
                      broadcast_to(row, {3, 4}),
                      transpose(broadcast_to(row, {100, 4})),
                      slice(tall, {8, 0}, {4, 4})};
  for (int call = 0; call < 2; ++call) {
    for (const Tensor& x : views) {
      const auto [product, view] = f(x);
      const auto [eager_product, eager_view] = fn(x);
      EXPECT_EQ(bits_in(product), bits_in(eager_product)) << f.dump();
      EXPECT_EQ(bits_in(view), bits_in(eager_view)) << f.dump();
    }
  }
  ASSERT_EQ(f.traces().size(), views.size());
  EXPECT_EQ(f.traces().back().signature, "float32 [4, 100] with strides [1, 4]");
}

TEST(Layouts, an_argument_that_keeps_lying_otherwise_is_warned_of) {
  std::string warning;
  set_warning_sink([&](std::string_view text) { warning = text; });
  Function f = function("f", [](Tensor x) { return x * 2.f; }, {.most_traces = 1});
  const Tensor x = ones({3, 3});
  f(x);
  f(transpose(x));
  set_warning_sink({});
  EXPECT_HAS(warning, "argument 0 is a view that kept lying otherwise in memory");
}

TEST(Layouts, a_view_may_be_given_back_and_given_away) {
  Function same = function("same", [](Tensor x) { return transpose(x); });
  const Tensor x = transpose(drawn({3, 5}, 1));
  EXPECT_EQ(floats(same(x)), floats(transpose(x)));
  EXPECT_EQ(floats(same(slice(x, {4, 2}, {5, 3}, {-1, -1}))),
            floats(transpose(slice(x, {4, 2}, {5, 3}, {-1, -1}))));
  Function twice = function("twice", [](Tensor y) { return y * 2.f; });
  Tensor given = transpose(drawn({3, 5}, 1));
  EXPECT_EQ(floats(twice(donate(std::move(given)))), floats(x * 2.f));
}

TEST(Layouts, an_argument_of_any_size_is_row_major_inside) {
  const auto fn = [](Tensor x) { return matmul(x, transpose(x)); };
  Function f = function("traced", fn);
  f.input({dyn, 100});
  const Tensor x = transpose(drawn({100, 3}, 3));
  EXPECT_EQ(bits_in(f(x)), bits_in(fn(contiguous(x))));
}

TEST(Layouts, what_a_body_uses_from_outside_is_row_major_in_it) {
  const auto inside = [](const Tensor& x, const Tensor& y) {
    return cond(sum(x) > -1e9f, [&] { return matmul(x, y); }, [&] { return x; });
  };
  Function f = function("traced", [&](Tensor x) { return inside(x, transpose(x)); });
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Tensor x = drawn({4, 4}, seed);
    EXPECT_EQ(bits_in(f(x)), bits_in(inside(x, contiguous(transpose(x)))));
  }
}

// Draws a function of 4 by 4 matrices: views, what changes no number, and what reads them.
class DrawnLayouts {
 public:
  explicit DrawnLayouts(std::uint64_t seed) : random_(seed) {}

  Tensors operator()(const Tensors& in) {
    const bool differentiated = draw(3) == 0;
    std::optional<GradientTape> tape;
    if (differentiated) {
      tape.emplace();
      for (const Tensor& x : in) tape->watch(x);
    }
    pool_ = in;
    for (int steps = 4 + draw(16); steps > 0; --steps) pool_.push_back(next());
    Tensors results{pool_.back(), any(), reader()};
    if (!differentiated) return results;
    const Tensor loss = sum(results[2] * results[0]);
    for (Tensor& gradient :
         tape->gradient(loss, std::vector<Tensor>(in), {.zero_if_unconnected = true})) {
      results.push_back(std::move(gradient));
    }
    return results;
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  Tensor any() { return pool_[static_cast<std::size_t>(draw(static_cast<int>(pool_.size())))]; }

  Tensor next() {
    const int kind = draw(5);
    return kind < 2 ? view() : kind < 4 ? unchanged() : reader();
  }

  Tensor view() {
    const Tensor x = any();
    switch (draw(6)) {
      case 0:
        return slice(x, {3, 0}, {4, 4}, {-1, 1});
      case 1:
        return slice(pad(x, {{1, 0}, {0, 2}}), {1, 0}, {4, 4});
      case 2:
        return broadcast_to(slice(x, {draw(4), 0}, {1, 4}), {4, 4});
      case 3:
        return reshape(transpose(reshape(x, {2, 2, 4}), {1, 0, 2}), {4, 4});
      default:
        return transpose(x);
    }
  }

  Tensor unchanged() {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const Tensor x = any();
    switch (draw(14)) {
      case 0:
        return x * 1.f;
      case 1:
        return 1.f * x;
      case 2:
        return x / 1.f;
      case 3:
        return x - 0.f;
      case 4:
        return x + 0.f;
      case 5:
        return -(-x);
      case 6:
        return x.clone();
      case 7:
        return contiguous(x);
      case 8:
        return cast(x, DType::float32);
      case 9:
        return reshape(reshape(x, {16}), {4, 4});
      case 10:
        return concat({x}, 0);
      case 11:
        return pad(x, {{0, 0}, {0, 0}});
      case 12:
        return pow(x, 1.f);
      default:
        return clip(x, -inf, inf);
    }
  }

  Tensor reader() {
    const Tensor x = any(), y = any();
    switch (draw(6)) {
      case 0:
        return softmax(x);
      case 1:
        return broadcast_to(mean(x, {draw(2)}, {.keep_dims = true}), {4, 4});
      case 2:
        return reshape(
            conv2d(reshape(x, {1, 4, 4, 1}), reshape(slice(y, {0, 0}, {3, 3}), {3, 3, 1, 1}),
                   {.padding = Padding::same}),
            {4, 4});
      case 3:
        return reshape(matmul(reshape(x, {2, 2, 4}), y), {4, 4});
      default:
        return tanh(matmul(x, y, {.transpose_a = draw(2) == 0, .transpose_b = draw(2) == 0}));
    }
  }

  std::mt19937_64 random_;
  Tensors pool_;
};

TEST(Layouts, random_functions_of_views_give_the_bits_of_eager_code) {
  const Tensor held = transpose(drawn({4, 4}, 1));
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const auto fn = [&](Tensors in) {
      in.push_back(held);
      return DrawnLayouts(seed)(in);
    };
    Function f = function("drawn", fn);
    const Tensor other = drawn({4, 4}, 2 * seed + 1);
    const Tensors in{drawn({4, 4}, 2 * seed), seed % 2 == 0 ? other : transpose(other)};
    const Tensors eager = fn(in), traced = f(in);
    ASSERT_EQ(traced.size(), eager.size());
    for (std::size_t i = 0; i < eager.size(); ++i) {
      ASSERT_EQ(bits_in(traced[i]), bits_in(eager[i])) << "result " << i << "\n"
                                                       << f.dump() << f.dump({.optimised = true});
    }
  }
}

}  // namespace
}  // namespace tenure::testing
