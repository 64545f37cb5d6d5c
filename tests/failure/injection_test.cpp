// Every allocation fails once: the pool's, and operator new's. Nothing leaks, nothing crashes, and
// the next run gives the right numbers.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "faults.h"
#include "memory/event_rings.h"
#include "memory/events.h"
#include "memory/ledger.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::disarm;
using testing::fail_nth_new;
using testing::Floats;
using testing::floats;
using testing::kCountNews;
using testing::news;

class InjectionTest : public ::testing::Test {
 protected:
  void TearDown() override {
    disarm();
    trim_pool();
  }

  // A forward and backward pass with views, reuse, a scope, saved values, broadcasting, a variable
  // and second order.
  Floats program() {
    return tidy("step", [&] {
      const Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
      GradientTape outer;
      outer.watch(x);
      GradientTape tape;
      Tensor h = tanh(matmul(x, w_) + bias_);
      h = concat({h, transpose(x)[0] * 2.0 + slice(h, {0, 0}, {2, 2})}, 1);
      const Tensor loss = mean(square(std::move(h))) + sum(maximum(x, 2.5)) * 0.1;
      std::vector<Tensor> g = tape.gradient(loss, {w_, bias_});
      const Tensor second = outer.gradient(sum(square(g[0])), x);
      w_.assign(w_ - g[0] * 0.0);
      Floats values = floats(g[0]);
      for (const float v : floats(g[1])) values.push_back(v);
      for (const float v : floats(second)) values.push_back(v);
      for (const float v : floats(w_.read())) values.push_back(v);
      return values;
    });
  }

  Variable w_{tensor({0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f}, {3, 2}), {.name = "w"}};
  Variable bias_{tensor({0.1f, 0.2f}), {.name = "bias"}};
};

TEST_F(InjectionTest, every_pool_allocation_may_fail) {
  const Floats expected = program();
  const MemoryInfo before = memory();
  detail::fail_nth_allocation(-1);  // counts, never fails
  program();
  const std::int64_t requests = detail::allocation_count();
  ASSERT_GT(requests, 20);
  for (std::int64_t n = 1; n <= requests; ++n) {
    SCOPED_TRACE(n);
    detail::fail_nth_allocation(n);
    EXPECT_THROW(program(), OutOfMemoryError);
    detail::fail_nth_allocation(0);
    const MemoryInfo after = memory();
    ASSERT_EQ(after.tensors, before.tensors);
    ASSERT_EQ(after.live_bytes, before.live_bytes);
    ASSERT_EQ(after.saved_bytes, 0u);
    ASSERT_EQ(program(), expected);
  }
}

TEST_F(InjectionTest, every_operator_new_may_fail) {
  const Floats expected = program();
  const MemoryInfo before = memory();
  long n = 1;
  for (;; ++n) {
    fail_nth_new(n);
    bool failed = false;
    try {
      program();
    } catch (const OutOfMemoryError&) {  // of a read, for what it gives
      failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    disarm();
    const MemoryInfo after = memory();
    ASSERT_EQ(after.tensors, before.tensors) << "allocation " << n;
    ASSERT_EQ(after.live_bytes, before.live_bytes) << "allocation " << n;
    if (!failed) break;
    ASSERT_EQ(program(), expected) << "allocation " << n;
  }
  EXPECT_GT(n, 20);
}

TEST_F(InjectionTest, growing_slabs_and_pools_may_fail) {
  // Many tensors alive at once, so that headers, storages and spans must be made anew.
  const auto grow = [] {
    std::vector<Tensor> held;
    held.reserve(3000);
    for (int i = 0; i < 3000; ++i) held.push_back(zeros({i % 50 + 1}));
    return held.size();
  };
  const MemoryInfo before = memory();
  for (long n = 1; n < 400; ++n) {
    trim_pool();
    fail_nth_new(n);
    try {
      grow();
    } catch (const std::bad_alloc&) {
    }
    disarm();
    ASSERT_EQ(memory().live_bytes, before.live_bytes) << "allocation " << n;
    ASSERT_EQ(memory().tensors, before.tensors) << "allocation " << n;
  }
  EXPECT_EQ(grow(), 3000u);
}

// The thread that drains has nobody to tell that there is no memory.
TEST_F(InjectionTest, draining_the_events_of_a_recording_allocates_nothing) {
  namespace events = detail::events;
  struct Count final : events::RecordVisitor {
    void visit(const events::Record&, std::uint32_t) noexcept override { ++records; }
    int records = 0;
  } count;
  events::start_rings();
  for (int i = 0; i < 3; ++i) {
    std::thread([] { events::value("loss", 1, 0.5); }).join();  // leaves a ring to be taken away
    events::value("loss", 1, 0.5);
  }
  fail_nth_new(kCountNews);
  events::drain(count);
  events::turn_off();
  events::finish_rings(count);
  disarm();
  EXPECT_EQ(news(), 0);
  EXPECT_EQ(count.records, 6);
  EXPECT_EQ(events::ring_bytes(), 0u);
}

TEST_F(InjectionTest, every_allocation_of_files_may_fail) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("tenure-failure-{}", getpid());
  fs::create_directories(folder);
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  std::ofstream(folder / "x.csv") << "a,b\n1,2\n3,4\n";
  const auto files = [&] {
    const io::NamedTensors given{{"x", x}, {"t", transpose(x)}};
    io::save_safetensors(folder / "x.safetensors", given, {{"k", "v"}});
    io::save_npz(folder / "x.npz", given, {.compress = true});
    io::save_npy(folder / "x.npy", transpose(x));
    const io::SafetensorsReader reader(folder / "x.safetensors");
    Floats values = floats(reader.map("t"));
    for (const Tensor& read :
         {io::load_safetensors(folder / "x.safetensors")["x"], io::load_npz(folder / "x.npz")["t"],
          io::load_npy(folder / "x.npy"), io::map_npy(folder / "x.npy"),
          io::read_csv(folder / "x.csv").values}) {
      for (const float value : floats(read)) values.push_back(value);
    }
    return values;
  };
  const auto count = [](const fs::path& of) {
    return std::distance(fs::directory_iterator(of), fs::directory_iterator());
  };
  const Floats expected = files();
  const MemoryInfo before = memory();
  const auto open_files = count("/proc/self/fd");
  const auto check = [&](std::int64_t n) {
    const MemoryInfo after = memory();
    ASSERT_EQ(after.tensors, before.tensors) << "allocation " << n;
    ASSERT_EQ(after.live_bytes, before.live_bytes) << "allocation " << n;
    ASSERT_EQ(after.external_bytes, before.external_bytes) << "allocation " << n;
    ASSERT_EQ(count("/proc/self/fd"), open_files) << "allocation " << n;
    ASSERT_EQ(count(folder), 4) << "a temporary is left by allocation " << n;
  };
  for (long n = 1;; ++n) {
    fail_nth_new(n);
    try {
      files();
    } catch (const OutOfMemoryError&) {  // of a read, for what it gives
    } catch (const std::bad_alloc&) {
    }
    disarm();
    check(n);
    if (HasFatalFailure() || news() < n) break;  // some failures are borne without an error
  }
  for (std::int64_t n = 1;; ++n) {
    detail::fail_nth_allocation(n);
    bool failed = false;
    try {
      files();
    } catch (const OutOfMemoryError&) {
      failed = true;
    }
    detail::fail_nth_allocation(0);
    check(n);
    if (HasFatalFailure() || !failed) break;
  }
  EXPECT_EQ(files(), expected);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tenure
