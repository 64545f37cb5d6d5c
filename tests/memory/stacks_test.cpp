// Call stacks on request. The functions whose names are looked for lie outside the library's
// namespace, whose frames are left out.
#include "support/expect.h"

namespace stacks_test {

[[gnu::noinline]] tenure::Tensor make_activations(const tenure::Tensor& x) {
  tenure::Tensor y = tenure::tanh(x);
  return y;
}

[[gnu::noinline]] tenure::Tensor run_forward(const tenure::Tensor& x) {
  tenure::Tensor y = make_activations(x);
  y.set_name("h");
  return y;
}

[[gnu::noinline]] void clean_up(tenure::Tensor& x) {
  x.dispose();
  asm volatile("");
}

}  // namespace stacks_test

namespace tenure {
namespace {

class Stacks : public ::testing::Test {
 protected:
  void SetUp() override { set_call_stacks(true); }
  void TearDown() override { set_call_stacks(false); }
};

std::string joined(const CallStack& stack) {
  std::string text;
  for (const std::string& line : stack.lines()) text += line + "\n";
  return text;
}

TEST_F(Stacks, a_story_tells_how_its_birth_and_its_death_were_reached) {
  const Tensor x = ones({2});
  Tensor y = stacks_test::run_forward(x);
  stacks_test::clean_up(y);
  const Story story = y.story();
  const std::string birth = joined(story.birth_stack), death = joined(story.death_stack);
  EXPECT_HAS(birth, "stacks_test::make_activations(tenure::Tensor const&)");
  EXPECT_HAS(birth, "stacks_test::run_forward(tenure::Tensor const&)");
  EXPECT_LT(birth.find("make_activations"), birth.find("run_forward"));
  EXPECT_HAS(birth, "stacks_test.cpp:8 ");
  EXPECT_HAS(death, "stacks_test::clean_up(tenure::Tensor&)");
  EXPECT_EQ(birth.find("new_tensor"), std::string::npos);  // the library's own are left out
  EXPECT_HAS(story.text(), "birth stack");
  EXPECT_HAS(story.text(), "death stack");
}

TEST_F(Stacks, an_error_tells_them_too) {
  Tensor y = stacks_test::run_forward(ones({2}));
  stacks_test::clean_up(y);
  const std::string text = testing::message_of<DisposedError>([&] { y + 1; });
  EXPECT_HAS(text, "run_forward");
  EXPECT_HAS(text, "clean_up");
}

TEST_F(Stacks, a_saved_value_keeps_the_stack_of_the_birth) {
  Tensor y = stacks_test::run_forward(ones({2}));
  const Variable v(y, {.name = "v"});
  y = {};
  const std::vector<Holder> holders = why_alive(v.read());
  ASSERT_EQ(holders.size(), 2u);
  const auto saved = std::ranges::find(holders, false, &Holder::is_tensor);
  EXPECT_HAS(joined(saved->story.birth_stack), "run_forward");
}

TEST_F(Stacks, one_born_before_has_the_stack_of_its_death_alone) {
  set_call_stacks(false);
  Tensor y = stacks_test::run_forward(ones({2}));
  set_call_stacks(true);
  stacks_test::clean_up(y);
  EXPECT_TRUE(y.story().birth_stack.empty());
  EXPECT_HAS(joined(y.story().death_stack), "clean_up");
}

TEST(StacksOff, there_are_none) {
  EXPECT_FALSE(call_stacks());
  Tensor y = stacks_test::run_forward(ones({2}));
  stacks_test::clean_up(y);
  EXPECT_TRUE(y.story().birth_stack.empty());
  EXPECT_TRUE(y.story().death_stack.empty());
  EXPECT_TRUE(y.story().birth_stack.lines().empty());
  EXPECT_EQ(y.story().text().find("birth stack"), std::string::npos);
}

}  // namespace
}  // namespace tenure
