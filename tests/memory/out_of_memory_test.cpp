// OutOfMemoryError: what holds the memory, and only what does.
#include "support/expect.h"

namespace tenure {
namespace {

using testing::here;
using testing::message_of;

constexpr std::int64_t kMiBOfFloats = 1 << 18;

// At most so many bytes more than are reserved when it is made.
class BudgetOfNow {
 public:
  explicit BudgetOfNow(std::size_t more) {
    trim_pool();
    set_memory_budget(memory().reserved_bytes + more);
  }
  ~BudgetOfNow() { set_memory_budget(0); }
};

std::string shortage(std::int64_t floats) {
  try {
    zeros({floats});
  } catch (const OutOfMemoryError& error) {
    return error.what();
  }
  return {};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(OutOfMemory, says_what_was_asked_for_where_and_what_there_is) {
  const BudgetOfNow budget(4 << 20);
  const Tensor big = zeros({2 * kMiBOfFloats}).set_name("big");
  const Tensor x = zeros({16});
  std::string text;
  const auto line = here().line() + 2;
  try {
    big + 1;
    FAIL() << "there was enough";
  } catch (const OutOfMemoryError& error) {
    text = error.what();
    EXPECT_EQ(error.requested(), std::size_t{2} << 20);
    EXPECT_EQ(error.largest().front().name, "big");
  }
  EXPECT_HAS(text, "2 MiB requested, the memory budget is");
  EXPECT_HAS(text, "used      out_of_memory_test.cpp:" + std::to_string(line) + "    add");
  EXPECT_HAS(text, "2 MiB  float32 [524288] \"big\"");
  EXPECT_HAS(text, "or raise the budget.");
  for (const char* part : {"views that hold", "saved by tapes", "kept by traced"}) {
    EXPECT_FALSE(has(text, part)) << text;
  }
}

TEST(OutOfMemory, of_a_read_names_the_line_that_reads) {
  const BudgetOfNow budget(4 << 20);
  const Tensor wide = broadcast_to(ones({1}), {std::int64_t{1} << 40});
  const std::string at = "used      out_of_memory_test.cpp:";
  int line = here().line() + 1;
  EXPECT_HAS(testing::whole_message_of<OutOfMemoryError>([&] { wide.view<float>(); }),
             at + std::to_string(line) + "    view");
  line = here().line() + 1;
  EXPECT_HAS(testing::whole_message_of<OutOfMemoryError>([&] { wide.read_async<float>(); }),
             at + std::to_string(line) + "    read_async");
}

TEST(OutOfMemory, names_the_small_view_that_holds_much) {
  const BudgetOfNow budget(4 << 20);
  const Tensor first = zeros({2 * kMiBOfFloats})[0];
  const std::string text = shortage(3 * kMiBOfFloats);
  EXPECT_HAS(text, "views that hold more than they use:\n         2 MiB  float32 [] (#");
  EXPECT_HAS(text, "uses 4 bytes of the 2 MiB it holds");
}

TEST(OutOfMemory, a_view_beside_the_whole_is_not_to_blame) {
  const BudgetOfNow budget(4 << 20);
  const Tensor whole = zeros({2 * kMiBOfFloats}), first = whole[0];
  EXPECT_FALSE(has(shortage(3 * kMiBOfFloats), "views that hold"));
}

TEST(OutOfMemory, names_the_tape_and_what_it_has_saved) {
  const BudgetOfNow budget(8 << 20);
  GradientTape tape({.name = "step"});
  Tensor x = ones({kMiBOfFloats});
  tape.watch(x);
  x = tanh(tanh(x));
  const std::string text = shortage(7 * kMiBOfFloats);
  EXPECT_HAS(text, "saved by tapes for their gradients:\n         2 MiB  tape \"step\" (made");
}

TEST(OutOfMemory, names_the_function_and_what_its_traces_keep) {
  auto scale = function("scale", [w = ones({kMiBOfFloats})](Tensor x) { return x * w; });
  scale(ones({1}));
  const BudgetOfNow budget(4 << 20);
  const std::string text = shortage(6 * kMiBOfFloats);
  EXPECT_HAS(text, "kept by traced functions:\n         1 MiB  function \"scale\" (made");
  EXPECT_HAS(text, "1 trace\n");
}

TEST(OutOfMemory, says_what_was_given_back_first) {
  const BudgetOfNow budget(4 << 20);
  {
    const Tensor gone = zeros({2 * kMiBOfFloats});
  }
  EXPECT_HAS(shortage(6 * kMiBOfFloats), "given back before this failed: 2 MiB of free memory");
}

TEST(OutOfMemory, of_a_session_tells_of_that_session_alone) {
  const Tensor outside = zeros({8 * kMiBOfFloats}).set_name("outside");
  Session session({.name = "small", .budget = 2 << 20});
  session.run([&] {
    const Tensor inside = zeros({kMiBOfFloats}).set_name("inside");
    const std::string text = shortage(2 * kMiBOfFloats);
    EXPECT_HAS(text, "the budget of session \"small\" is 2 MiB, 1 MiB live");
    EXPECT_HAS(text, "\"inside\"");
    EXPECT_FALSE(has(text, "\"outside\"")) << text;
  });
}

}  // namespace
}  // namespace tenure
