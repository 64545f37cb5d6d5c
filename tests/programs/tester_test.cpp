// The tester itself: what it would find, and how small it makes that.
#include <gtest/gtest.h>

#include <cmath>

#include "driver.h"
#include "interpreter.h"
#include "shrinker.h"
#include "statements.h"
#include "well_formed.h"

namespace tenure::programs {
namespace {

std::size_t statements_of(Program program) {
  std::size_t count = 0;
  each_block(program, [&count](Block& block) { count += block.statements.size(); });
  return count;
}

bool contains(const Block& block, std::string_view outer, std::string_view inner, bool inside) {
  for (const Statement& statement : block.statements) {
    if (inside && statement.row->name == inner) return true;
    for (const Block& deeper : statement.blocks) {
      if (contains(deeper, outer, inner, inside || statement.row->name == outer)) return true;
    }
  }
  return false;
}

TEST(RandomProgramsTester, a_seed_is_one_program) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Program first = Generator(seed, {}).program(), second = Generator(seed, {}).program();
    EXPECT_EQ(print(first), print(second));
    EXPECT_TRUE(is_well_formed(first)) << print(first);
  }
}

TEST(RandomProgramsTester, what_is_left_out_does_not_come_up) {
  GeneratorOptions options;
  options.without = {"while_loop", "gradient", "tanh"};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = print(Generator(seed, options).program());
    EXPECT_EQ(text.find("while_loop("), text.npos);
    EXPECT_EQ(text.find("= gradient("), text.npos);
    EXPECT_EQ(text.find("tanh("), text.npos);
  }
}

// A fault that takes an assignment inside a loop is shown with little else.
TEST(RandomProgramsTester, a_failing_program_becomes_small) {
  int shrunk = 0;
  for (std::uint64_t seed = 0; shrunk < 3; ++seed) {
    ASSERT_LT(seed, 200u);
    const auto fails = [](const Program& program) {
      return contains(program.body, "for_loop", "assign", false);
    };
    const Program program = Generator(seed, {}).program();
    if (!fails(program)) continue;
    ++shrunk;
    const Program small = shrink(program, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_TRUE(is_well_formed(small));
    EXPECT_LE(statements_of(small), 10u) << print(small);
  }
}

TEST(RandomProgramsTester, a_process_that_crashes_is_a_finding) {
  Program program;
  const StatementRow crash{"crash",
                           0,
                           nullptr,
                           [](Runner&, const Statement&) { std::abort(); },
                           [](Interpreter&, const Statement&) {},
                           nullptr};
  program.body.statements.emplace_back().row = &crash;
  const std::optional<Failure> failure = check_apart(program);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, "crash");
}

// d/dx of sin(x) / (1 + x^2), first and second, against what calculus says.
TEST(RandomProgramsTester, derivatives_are_carried_to_any_order) {
  const Arithmetic with(DType::float64, 2);
  const double at = 0.7;
  Num x(at);
  x.at[1] = x.at[2] = 1;
  const Num y = with.div(with.sin(x), with.add(Num(1), with.mul(x, x)));
  const auto f = [](double v) { return std::sin(v) / (1 + v * v); };
  const double h = 1e-4;
  EXPECT_NEAR(y.at[0], f(at), 1e-15);
  EXPECT_NEAR(y.at[1], (f(at + h) - f(at - h)) / (2 * h), 1e-7);
  EXPECT_NEAR(y.at[3], (f(at + h) - 2 * f(at) + f(at - h)) / (h * h), 1e-6);
  EXPECT_LT(y.error[3], 1e-12);
}

TEST(RandomProgramsTester, exact_is_what_no_order_of_adding_changes) {
  const Arithmetic with(DType::float32, 0);
  const Num whole[] = {1, 2.5, -3.75}, rounded[] = {Num(1), Num(0x1p-24), Num(0x1p-24)};
  EXPECT_TRUE(with.sum(whole, 3, 1).is_exact());
  EXPECT_FALSE(with.sum(rounded, 3, 1).is_exact());
}

}  // namespace
}  // namespace tenure::programs
