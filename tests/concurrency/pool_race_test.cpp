// Memory that is there is never refused, whatever other threads do with theirs.
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "memory/context.h"
#include "memory/forms.h"
#include "memory/ledger.h"
#include "memory/pages.h"
#include "memory/pool.h"
#include "support/expect.h"

namespace tenure {
namespace {

using detail::MemorySource;
using detail::Pool;
using detail::Storage;

// Runs work(0), work(1), ... each on a thread, all beginning together.
template <class Work>
void together(int threads, Work work) {
  std::latch start(threads);
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
}

class PoolRace : public ::testing::Test {
 protected:
  void TearDown() override {
    pool_.trim();
    EXPECT_EQ(pool_.reserved_bytes(), 0u);
    EXPECT_EQ(pool_.live_bytes(), 0u);
  }
  // Makes a block and frees it.
  void use(std::size_t nbytes) {
    Storage* storage = pool_.allocate(nbytes);
    if (storage == nullptr) {
      ++refused_;
    } else {
      pool_.free(storage);
    }
  }

  Pool pool_{Device{}, MemorySource{detail::map_pages, detail::unmap_pages, detail::resize_pages,
                                    detail::empty_pages}};
  std::atomic<int> refused_{0};
};

// One thread is growing the pool; another has seen that and is about to ask for memory.
std::atomic<bool> g_growing{false};
std::atomic<bool> g_asking{false};
std::byte* told_map(std::size_t bytes) noexcept {
  std::byte* base = detail::map_pages(bytes);
  g_growing = true;
  while (!g_asking) std::this_thread::yield();
  return base;
}

// While one thread grows the pool to all that the budget allows, another asks for the same again
// and again.
TEST_F(PoolRace, what_a_thread_grows_no_other_takes_from_it) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  Pool pool(Device{},
            MemorySource{told_map, detail::unmap_pages, detail::resize_pages, detail::empty_pages});
  pool.set_budget(kBytes);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    g_growing = g_asking = false;
    std::atomic<bool> done{false};
    std::jthread other([&] {
      while (!g_growing) std::this_thread::yield();
      g_asking = true;
      while (!done) {
        if (Storage* storage = pool.allocate(kBytes)) pool.free(storage);
      }
    });
    Storage* storage = pool.allocate(kBytes);
    refused += storage == nullptr ? 1 : 0;
    done = true;
    other.join();
    if (storage != nullptr) pool.free(storage);
    pool.trim();
  }
  EXPECT_EQ(refused, 0);
}

TEST_F(PoolRace, each_thread_gets_what_it_grows_while_others_give_theirs_back) {
  together(3, [&](int) {
    for (int i = 0; i < 10000; ++i) {
      use(std::size_t{64} << 10);
      if (i % 2 == 0) pool_.trim();
    }
  });
  EXPECT_EQ(refused_.load(), 0);
}

// There is room for all that is held at once, in blocks of two sizes: what the other thread has
// pooled, or is about to give back, is no reason to fail.
TEST_F(PoolRace, a_budget_that_holds_all_that_lives_never_refuses) {
  constexpr std::size_t kSizes[] = {std::size_t{256} << 10, std::size_t{320} << 10};
  pool_.set_budget(kSizes[1] * 2);
  together(2, [&](int thread) {
    for (int i = 0; i < 20000; ++i) use(kSizes[(i + thread) % 2]);
  });
  EXPECT_EQ(refused_.load(), 0);
}

TEST_F(PoolRace, small_and_large_blocks_come_and_go_on_all_threads) {
  together(4, [&](int thread) {
    std::vector<Storage*> held;
    std::uint32_t random = 17 + static_cast<std::uint32_t>(thread);
    for (int i = 0; i < 20000; ++i) {
      random = random * 1664525 + 1013904223;
      if (held.size() == 50) {
        for (Storage* storage : held) {
          ASSERT_EQ(storage->data[0], static_cast<std::byte>(thread));
          ASSERT_EQ(storage->data[storage->nbytes - 1], static_cast<std::byte>(thread));
          pool_.free(storage);
        }
        held.clear();
        if (i % 1000 == 0) pool_.trim();
      }
      const std::size_t nbytes = 1 + (random >> 8) % (std::size_t{1} << (random >> 27) % 22);
      Storage* storage = held.emplace_back(pool_.allocate(nbytes));
      ASSERT_NE(storage, nullptr);
      storage->data[0] = storage->data[nbytes - 1] = static_cast<std::byte>(thread);
    }
    for (Storage* storage : held) pool_.free(storage);
  });
}

// Two threads need what one form holds: whoever is second finds it given back.
TEST(Contract, L30_forms_give_way_to_two_threads_at_once) {
  constexpr std::size_t kFormBytes = std::size_t{1} << 20;
  std::atomic<int> refused{0};
  for (int round = 0; round < 1000; ++round) {
    Storage* value = detail::allocate_storage(Device{}, 64, nullptr);
    detail::enter_slot(*value);
    const detail::FormKey key{.made_by = 1};
    detail::find_form(*value, key);
    ASSERT_TRUE(detail::find_form(*value, key).make);
    {
      const detail::StorageRef form(detail::allocate_storage(Device{}, kFormBytes, nullptr));
      detail::keep_form(*value, key, form);
    }
    trim_pool();
    set_memory_budget(memory().reserved_bytes);
    together(2, [&](int) {
      try {
        const detail::StorageRef half(detail::allocate_storage(Device{}, kFormBytes / 2, nullptr));
      } catch (const OutOfMemoryError&) {
        ++refused;
      }
    });
    set_memory_budget(0);
    detail::leave_slot(*value);
    detail::release(value);
  }
  EXPECT_EQ(refused.load(), 0);
}

// One thread asks for more than the process has, another for what fits, in one session.
TEST(Contract, L36_a_refused_request_takes_no_room_in_its_session) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  Session session({.name = "shared", .budget = 10 * kMiB});
  detail::SessionState* state = nullptr;
  session.run([&] { state = detail::context().session; });
  trim_pool();
  set_memory_budget(memory().reserved_bytes + 5 * kMiB);
  const auto is_refused = [&](std::size_t nbytes) {
    try {
      const detail::StorageRef bytes(detail::allocate_storage(Device{}, nbytes, state));
      return false;
    } catch (const OutOfMemoryError&) {
      return true;
    }
  };
  std::atomic<int> refused{0};
  std::atomic<bool> done{false};
  together(2, [&](int thread) {
    if (thread == 0) {
      for (int i = 0; i < 3000; ++i) EXPECT_TRUE(is_refused(8 * kMiB));
      done = true;
    } else {
      while (!done) refused += is_refused(3 * kMiB) ? 1 : 0;
    }
  });
  set_memory_budget(0);
  EXPECT_EQ(refused.load(), 0);
  EXPECT_EQ(session.memory().live_bytes, 0u);
}

// Waves of tensors, so that pages of headers come and go while they are listed.
TEST(Contract, L35_listing_races_with_headers_whose_pages_are_given_back) {
  std::atomic<bool> stop{false};
  std::jthread lister([&] {
    while (!stop) memory();
  });
  const Tensor x = ones({8});
  for (int wave = 0; wave < 6; ++wave) {
    std::vector<Tensor> clones;
    for (int i = 0; i < 40000; ++i) clones.push_back(x.clone());
    clones.clear();
  }
  stop = true;
}

}  // namespace
}  // namespace tenure
