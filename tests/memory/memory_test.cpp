#include <cstdlib>
#include <future>
#include <optional>
#include <sstream>
#include <thread>

#include "memory/ledger.h"
#include "memory/pool.h"
#include "memory/warn.h"
#include "runtime/settings.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::bytes_of;
using testing::here;
using testing::message_of;

std::size_t categories(const MemoryInfo& m) {
  return m.parameter_bytes + m.gradient_bytes + m.optimizer_bytes + m.layer_state_bytes +
         m.saved_bytes + m.workspace_bytes + m.other_bytes;
}

void expect_sums(const MemoryInfo& m) {
  EXPECT_EQ(categories(m), m.live_bytes);
  EXPECT_EQ(m.live_bytes + m.slack_bytes + m.pooled_bytes, m.reserved_bytes);
}

// Rounding recomputed from the blocks themselves, beside the counters.
std::size_t slack_by_listing() {
  std::map<const detail::Storage*, std::size_t> slack;
  detail::for_each_holder([&](detail::Header& header) {
    slack[header.storage] = header.storage->capacity - header.storage->nbytes;
  });
  std::size_t sum = detail::pool({}).tail_bytes();
  for (const auto& [storage, bytes] : slack) sum += bytes;
  return sum;
}

TEST(Contract, L29_memory_tells_exactly_what_lives) {
  const MemoryInfo before = memory();
  const Tensor a = zeros({100});
  const Tensor b = a.clone();
  const Tensor small = slice(zeros({1 << 18}), {0}, {10});
  const MemoryInfo after = memory();
  EXPECT_EQ(after.tensors - before.tensors, 3u);
  EXPECT_EQ(after.storages - before.storages, 2u);
  EXPECT_EQ(after.live_bytes - before.live_bytes, 400u + (1u << 20));
  EXPECT_EQ(after.view_held_bytes - before.view_held_bytes, 1u << 20);
  expect_sums(after);
  EXPECT_EQ(after.slack_bytes, slack_by_listing());
}

TEST(Contract, L29_bytes_by_category_sum_to_live) {
  const Variable w(random::normal({16, 16}), {.name = "w"});
  const Tensor x = ones({4, 16});
  GradientTape tape;
  const Tensor h = tanh(matmul(x, w));
  const Tensor loss = mean(square(h));
  MemoryInfo m = memory();
  expect_sums(m);
  EXPECT_EQ(m.parameter_bytes, 1024u);
  EXPECT_GE(m.saved_bytes, 4u * 16 * 4) << "tanh keeps its output";
  const Tensor g = tape.gradient(loss, w);
  m = memory();
  expect_sums(m);
  EXPECT_EQ(m.gradient_bytes, 1024u);
  EXPECT_EQ(m.saved_bytes, 0u);
}

TEST(Contract, L29_peak_is_the_highest_live) {
  reset_peak();
  const std::size_t live = memory().live_bytes;
  {
    const Tensor big = zeros({1 << 20});
  }
  EXPECT_EQ(memory().peak_bytes, live + (4u << 20));
  EXPECT_EQ(memory().live_bytes, live);
  reset_peak();
  EXPECT_EQ(memory().peak_bytes, live);
}

class Budget : public ::testing::Test {
 protected:
  void SetUp() override { trim_pool(); }
  void TearDown() override { set_memory_budget(0); }
};

TEST_F(Budget, L30_out_of_memory_tells_the_request_the_budget_and_the_largest) {
  Tensor big = zeros({1 << 20});
  big.set_name("big");
  const Tensor small = zeros({10});
  set_memory_budget(memory().reserved_bytes + (1 << 20));
  try {
    zeros({1 << 20});
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemoryError& e) {
    EXPECT_EQ(e.requested(), 4u << 20);
    EXPECT_EQ(e.budget(), memory_budget());
    ASSERT_GE(e.largest().size(), 2u);
    EXPECT_EQ(e.largest()[0].name, "big");
    EXPECT_HAS(e.what(), "4 MiB requested");
    EXPECT_HAS(e.what(), "4 MiB  float32 [1048576] \"big\"");
    EXPECT_HAS(e.what(), ", other, born memory_test.cpp:");
  }
  EXPECT_EQ(big.numel(), 1 << 20);
  EXPECT_FALSE(big.is_disposed()) << "pressure disposes nothing";
  big.dispose();
  EXPECT_EQ(zeros({1 << 20}).numel(), 1 << 20) << "the program goes on";
}

TEST_F(Budget, L30_what_only_a_tape_holds_is_named_too) {
  GradientTape tape;
  const Tensor x = ones({10});
  tape.watch(x);
  {
    const Tensor y = exp(broadcast_to(reshape(x, {10, 1}), {10, 1 << 17}));
  }
  set_memory_budget(memory().reserved_bytes);
  const std::string text = message_of<OutOfMemoryError>([] { zeros({1 << 22}); });
  EXPECT_HAS(text, "5 MiB  float32 [10, 131072]");
  EXPECT_HAS(text, "saved for backward, born memory_test.cpp:");
}

TEST_F(Budget, L30_pooled_memory_is_returned_before_giving_up) {
  {
    const Tensor freed = zeros({1 << 20});
  }
  const std::size_t reserved = memory().reserved_bytes;
  set_memory_budget(reserved + (1 << 20));
  const Tensor other_size = zeros({(1 << 20) + (1 << 18)});
  EXPECT_EQ(other_size.numel(), (1 << 20) + (1 << 18));
  EXPECT_LE(memory().reserved_bytes, memory_budget());
}

TEST_F(Budget, the_budget_bounds_reserved_memory_at_every_size) {
  std::vector<Tensor> held;
  set_memory_budget(memory().reserved_bytes + (256 << 10));
  EXPECT_THROW(for (int i = 1; i < 100000; ++i) held.push_back(zeros({i % 300 + 1})),
               OutOfMemoryError);
  EXPECT_LE(memory().reserved_bytes, memory_budget());
  EXPECT_GT(held.size(), 100u);
}

TEST(Contract, L32_leak_check_sees_what_a_thread_makes_that_was_at_work_before) {
  std::promise<void> begun;
  std::promise<void> checking;
  Tensor leak;
  std::thread other([&] {
    const Tensor before = ones({1});
    begun.set_value();
    checking.get_future().wait();
    leak = ones({7});
  });
  begun.get_future().wait();
  const LeakCheck check;
  checking.set_value();
  other.join();
  const std::vector<Story> survivors = check.survivors();
  ASSERT_EQ(survivors.size(), 1u);
  EXPECT_EQ(survivors[0].id, leak.id());
}

TEST(Contract, L32_leak_check_names_what_survives) {
  const Tensor before = ones({1});
  const LeakCheck check;
  EXPECT_TRUE(check.survivors().empty());
  const int line = here().line() + 1;
  Tensor leak = ones({7});
  leak.set_name("leak");
  const Tensor view = slice(leak, {0}, {2});
  const std::vector<Story> survivors = check.survivors();
  ASSERT_EQ(survivors.size(), 2u);
  EXPECT_EQ(survivors[0].name, "leak");
  EXPECT_EQ(survivors[0].birth.site.line(), line);
  EXPECT_EQ(survivors[0].handles, 1u);
  EXPECT_EQ(why_alive(leak)[1].story.handles, 1u);
  ASSERT_EQ(survivors[0].other_holders.size(), 1u);
  EXPECT_HAS(survivors[0].other_holders[0], "view float32 [2]");
  EXPECT_HAS(check.report(), "2 tensors born since the check still alive");
}

TEST(Contract, L33_why_alive_names_every_holder_small_views_first) {
  Tensor big = zeros({1000});
  big.set_name("big");
  const Tensor clone = big.clone();
  GradientTape tape({.name = "training"});
  tape.watch(big);
  const Tensor y = square(big);
  const Tensor view = slice(big, {0}, {1});
  const auto span = big.view<float>();
  const std::vector<Holder> holders = why_alive(big);
  ASSERT_EQ(holders.size(), 5u);
  EXPECT_TRUE(holders[0].is_small_view);
  EXPECT_HAS(holders[0].text, "uses 4 bytes of the 4000 bytes it holds");
  int tensors = 0, saved_by_tape = 0, spans = 0;
  for (const Holder& holder : holders) {
    tensors += holder.is_tensor;
    saved_by_tape += holder.owner == "tape \"training\"";
    spans += holder.owner == "span \"big\"";
  }
  EXPECT_EQ(tensors, 3);
  EXPECT_EQ(saved_by_tape, 1);
  EXPECT_EQ(spans, 1);
  big.dispose();
  EXPECT_TRUE(why_alive(big).empty());
  EXPECT_EQ(why_alive(clone).size(), 4u);
}

// What somebody was looking at when its owner dropped it is nobody's, in everything that is told.
TEST(Contract, L29_looking_at_what_lives_keeps_nothing_alive) {
  Session session({.name = "looked at"});
  const LeakCheck leaks;
  std::optional<TensorSpan<float>> span;
  Tensor x, view;
  session.run([&] {
    x = full({16}, 1.f);
    view = reshape(x, {4, 4});
    span.emplace(x.view<float>());
  });
  SessionReport report;
  int looks = 0;
  detail::for_each_header([&](detail::Header& header) {
    if (header.session.load() == nullptr) return;
    EXPECT_EQ(header.owners(), 1u);
    if (++looks < 3) return;
    // A second look at the last of the three, while there is the first.
    x = view = {};
    span.reset();
    EXPECT_EQ(session.memory().tensors, 0u);
    EXPECT_TRUE(leaks.survivors().empty());
    report = session.close();
  });
  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(report.empty()) << report;
  EXPECT_EQ(session.memory().reserved_bytes, 0u);
}

TEST(Contract, L34_records_are_on_by_default) {
  const int line = here().line() + 1;
  const Tensor x = ones({1});
  EXPECT_EQ(x.story().birth.site.line(), line);
  EXPECT_TRUE(detail::kLifetimes);
}

TEST(Pool, size_classes_cover_every_size_with_bounded_waste) {
  using detail::Pool;
  for (std::size_t n = 1; n < (std::size_t{1} << 34); n += n / 7 + 1) {
    const std::uint16_t size_class = Pool::size_class(n);
    const std::size_t bytes = Pool::class_bytes(size_class);
    ASSERT_GE(bytes, n);
    ASSERT_EQ(bytes % 64, 0u);
    if (size_class > 0) {
      ASSERT_LT(Pool::class_bytes(static_cast<std::uint16_t>(size_class - 1)), n);
    }
    if (n > 512) {
      ASSERT_LE(static_cast<double>(bytes), 1.26 * static_cast<double>(n));
    }
    if (n > (1 << 20)) {
      ASSERT_LE(static_cast<double>(bytes), 1.13 * static_cast<double>(n));
    }
  }
}

TEST(Pool, trim_gives_free_spans_back) {
  {
    const Tensor x = zeros({1 << 20});
  }
  const MemoryInfo before = memory();
  ASSERT_GE(before.pooled_bytes, 4u << 20);
  const std::size_t returned = trim_pool();
  const MemoryInfo after = memory();
  EXPECT_GE(returned, 4u << 20);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes - returned);
  expect_sums(after);
}

TEST(Pool, impossible_sizes_are_errors) {
  EXPECT_THROW(zeros({std::int64_t{1} << 50}), OutOfMemoryError);
  EXPECT_THROW(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), ShapeError);
  EXPECT_THROW(zeros({-1}), ShapeError);
}

TEST(Settings, budget_text_is_parsed_or_refused) {
  using detail::parse_bytes;
  EXPECT_EQ(parse_bytes("512MiB"), 512u << 20);
  EXPECT_EQ(parse_bytes("1.5 GiB"), std::size_t{3} << 29);
  EXPECT_EQ(parse_bytes("1000"), 1000u);
  EXPECT_EQ(parse_bytes("64MB"), 64000000u);
  EXPECT_FALSE(parse_bytes("lots"));
  EXPECT_FALSE(parse_bytes("-1"));
  EXPECT_FALSE(parse_bytes("5 parsecs"));
  EXPECT_FALSE(parse_bytes(""));
}

// Run by itself with TENURE_MEMORY_BUDGET set (tests/CMakeLists.txt).
TEST(Environment, the_budget_comes_from_it) {
  const char* text = std::getenv("TENURE_MEMORY_BUDGET");
  if (text == nullptr) GTEST_SKIP() << "TENURE_MEMORY_BUDGET is not set";
  EXPECT_EQ(memory_budget(), detail::parse_bytes(text));
  EXPECT_THROW(zeros({1 << 26}), OutOfMemoryError);
}

TEST(Settings, warnings_go_to_the_users_sink) {
  std::vector<std::string> heard;
  set_warning_sink([&](std::string_view message) { heard.emplace_back(message); });
  detail::warn("the sky is low");
  set_warning_sink({});
  EXPECT_EQ(heard, std::vector<std::string>{"the sky is low"});
  EXPECT_THROW(set_num_threads(0), ValueError);
  EXPECT_EQ(version(), TENURE_VERSION);
}

TEST(MemoryInfo, prints_as_a_table) {
  const Tensor x = zeros({1 << 20});
  std::ostringstream out;
  out << memory();
  EXPECT_HAS(out.str(), "live (peak ");
  EXPECT_HAS(out.str(), "reserved ");
}

}  // namespace
}  // namespace tenure
