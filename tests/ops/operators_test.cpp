// Operators are their functions, and the compound ones make another tensor in the same bytes.
#include "case.h"

namespace tenure::testing {
namespace {

TEST(Operators, give_the_bits_of_their_functions) {
  const Tensor a = tensor({7.f, -2.5f}), b = tensor({2.f, 3.f});
  EXPECT_EQ(bits_of(a + b), bits_of(add(a, b)));
  EXPECT_EQ(bits_of(a - b), bits_of(sub(a, b)));
  EXPECT_EQ(bits_of(a * b), bits_of(mul(a, b)));
  EXPECT_EQ(bits_of(a / b), bits_of(div(a, b)));
  EXPECT_EQ(bits_of(-a), bits_of(neg(a)));
}

struct Compound {
  const char* name;
  Tensor& (*run)(Tensor& a, Arg b);
  Tensor (*function)(Arg a, Arg b);
};
void PrintTo(const Compound& compound, std::ostream* out) { *out << compound.name; }

struct CompoundOperator : ::testing::TestWithParam<Compound> {
  const Tensor b = tensor({2.f, 3.f});
};

TEST_P(CompoundOperator, makes_another_tensor_in_the_bytes_of_the_old_one) {
  Tensor a = tensor({7.f, -2.5f});
  const Tensor expected = GetParam().function(a, b);
  const std::uint64_t id = a.id();
  const std::byte* bytes = bytes_of(a);
  EXPECT_EQ(&GetParam().run(a, b), &a);
  EXPECT_EQ(bits_of(a), bits_of(expected));
  EXPECT_EQ(bytes_of(a), bytes);
  EXPECT_NE(a.id(), id);
}

TEST_P(CompoundOperator, leaves_other_handles_and_clones_alone) {
  Tensor a = tensor({7.f, -2.5f});
  const Tensor handle = a, clone = a.clone();
  GetParam().run(a, b);
  EXPECT_EQ(floats(handle), (Floats{7.f, -2.5f}));
  EXPECT_EQ(floats(clone), (Floats{7.f, -2.5f}));
}

TEST_P(CompoundOperator, takes_itself_and_numbers_and_wider_shapes) {
  Tensor a = tensor({7.f, -2.5f});
  Tensor expected = GetParam().function(a, a);
  GetParam().run(a, a);
  EXPECT_EQ(bits_of(a), bits_of(expected));
  expected = GetParam().function(a, 2);
  GetParam().run(a, 2);
  EXPECT_EQ(bits_of(a), bits_of(expected));
  expected = GetParam().function(a, ones({3, 2}));
  GetParam().run(a, ones({3, 2}));
  EXPECT_EQ(a.shape(), (Shape{3, 2}));
  EXPECT_EQ(bits_of(a), bits_of(expected));
}

TEST_P(CompoundOperator, has_the_gradient_of_its_function) {
  const Tensor x = tensor({7.f, -2.5f});
  const auto gradient_of = [&](auto&& fn) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = fn();
    return bits_of(tape.gradient(y, x));
  };
  const auto by_compound = gradient_of([&] {
    Tensor a = square(x);
    return GetParam().run(a, b);
  });
  EXPECT_EQ(by_compound, gradient_of([&] { return GetParam().function(square(x), b); }));
}

INSTANTIATE_TEST_SUITE_P(Ops, CompoundOperator,
                         ::testing::Values(Compound{"plus", operator+=, add},
                                           Compound{"minus", operator-=, sub},
                                           Compound{"times", operator*=, mul},
                                           Compound{"over", operator/=, div}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tenure::testing
