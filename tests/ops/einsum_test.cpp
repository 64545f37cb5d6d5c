// The order einsum multiplies in, what it copies, and its words.
#include "case.h"
#include "ops/einsum_plan.h"

namespace tenure::testing {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

Pairs order_of(const char* equation, const std::vector<Shape>& shapes) {
  return ops::contraction_order(ops::read_equation(equation, shapes));
}

TEST(Einsum, multiplies_in_the_order_that_costs_least) {
  EXPECT_EQ(order_of("ij,jk,k->i", {{100, 100}, {100, 100}, {100}}), (Pairs{{1, 2}, {0, 1}}));
  EXPECT_EQ(order_of("i,ij,jk->k", {{100}, {100, 100}, {100, 100}}), (Pairs{{0, 1}, {0, 1}}));
  EXPECT_EQ(order_of("ij,jk,kl,lm->im", {{2, 90}, {90, 3}, {3, 90}, {90, 2}}),
            (Pairs{{0, 1}, {0, 1}, {0, 1}}));
}

TEST(Einsum, takes_the_cheapest_pair_of_many_operands) {
  const std::vector<Shape> shapes{{2, 50}, {50, 50}, {50, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}};
  const Pairs order = order_of("ab,bc,cd,de,ef,fg,gh->ah", shapes);
  EXPECT_EQ(order.size(), 6u);
  EXPECT_EQ(order.front(), (std::pair<std::size_t, std::size_t>{3, 4}));
}

TEST(Einsum, a_diagonal_or_a_transpose_is_a_view) {
  const Tensor x = ones({64, 64});
  const std::size_t before = memory().live_bytes;
  const Tensor diagonal = einsum("ii->i", x), turned = einsum("ij->ji", x);
  EXPECT_EQ(memory().live_bytes, before);
}

TEST(Einsum, attention_copies_no_operand) {
  const Tensor q = ones({2, 16, 3, 8}), k = ones({2, 12, 3, 8});
  const auto peak_of = [](auto&& run) {
    reset_peak();
    const std::size_t before = memory().live_bytes;
    const Tensor result = run();
    EXPECT_EQ(result.shape(), (Shape{2, 3, 16, 12}));
    return memory().peak_bytes - before;
  };
  const std::size_t of_product = peak_of([&] {
    const Tensor rows = contiguous(transpose(q, {0, 2, 1, 3}));
    const Tensor columns = contiguous(transpose(k, {0, 2, 1, 3}));
    return matmul(rows, columns, {.transpose_b = true});
  });
  EXPECT_EQ(peak_of([&] { return einsum("bqhd,bkhd->bhqk", q, k); }),
            of_product - q.nbytes() - k.nbytes());
}

TEST(Einsum, small_integers_are_widened) {
  const Tensor x = full({300}, 1, DType::uint8);
  const Tensor y = einsum("i,i->", x, x);
  EXPECT_EQ(y.dtype(), DType::int32);
  EXPECT_EQ(y.item<std::int32_t>(), 300);
  EXPECT_EQ(einsum("i->", cast(x, DType::boolean)).item<std::int32_t>(), 300);
}

TEST(Einsum, numbers_and_mixed_dtypes_are_operands) {
  const Tensor x = ones({2}, DType::float64);
  EXPECT_EQ(to_array(einsum(",i->i", 3, x)).data, (std::vector<double>{3, 3}));
  EXPECT_EQ(einsum("i,i->i", x, ones({2}, DType::int32)).dtype(), DType::float64);
}

TEST(Einsum, says_what_is_wrong_with_an_equation) {
  const Tensor x = ones({2, 3});
  const auto words = [&](const char* equation) {
    return message_of<ValueError>([&] { einsum(equation, x, x); });
  };
  EXPECT_EQ(words("ij,i?->j"), "einsum: '?' is neither a letter nor one ellipsis: \"ij,i?->j\"");
  EXPECT_EQ(words("ij,...i...->j"),
            "einsum: '.' is neither a letter nor one ellipsis: \"ij,...i...->j\"");
  EXPECT_EQ(words("ij->j"), "einsum: 2 operands for the 1 of \"ij->j\"");
  EXPECT_EQ(words("ij,ij->k"), "einsum: label k of the output is in no operand: \"ij,ij->k\"");
  EXPECT_EQ(words("ij,ij->ii"), "einsum: label i stands twice in the output: \"ij,ij->ii\"");
  EXPECT_EQ(message_of<ShapeError>([&] { einsum("ij,jk->ik", x, x); }),
            "einsum: label j is both 3 and 2: input 1 is [2, 3]: \"ij,jk->ik\"");
  EXPECT_EQ(message_of<ShapeError>([&] { einsum("...i,...i->i", x, ones({3, 3})); }),
            "einsum: label ... is both 2 and 3: input 1 is [3, 3]: \"...i,...i->i\"");
  EXPECT_EQ(message_of<ShapeError>([&] { einsum("i,ij->ij", x, x); }),
            "einsum: \"i\" does not fit input 0, which is [2, 3]: \"i,ij->ij\"");
}

}  // namespace
}  // namespace tenure::testing
