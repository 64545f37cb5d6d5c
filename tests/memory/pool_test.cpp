// A pool by itself, over a source that counts what is asked of it.
#include "memory/pool.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "memory/pages.h"
#include "support/expect.h"

namespace tenure {
namespace {

using detail::MemorySource;
using detail::Pool;
using detail::Storage;

std::atomic<std::int64_t> g_calls{0};
std::atomic<std::int64_t> g_maps{0};
std::atomic<std::int64_t> g_mapped{0};  // bytes

std::byte* counted_map(std::size_t bytes) noexcept {
  g_calls.fetch_add(1);
  g_maps.fetch_add(1);
  g_mapped.fetch_add(static_cast<std::int64_t>(bytes));
  return detail::map_pages(bytes);
}
void counted_unmap(std::byte* base, std::size_t bytes) noexcept {
  g_calls.fetch_add(1);
  g_mapped.fetch_sub(static_cast<std::int64_t>(bytes));
  detail::unmap_pages(base, bytes);
}
std::byte* counted_resize(std::byte* base, std::size_t from, std::size_t to) noexcept {
  g_calls.fetch_add(1);
  g_mapped.fetch_add(static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from));
  return detail::resize_pages(base, from, to);
}
void counted_empty(std::byte* base, std::size_t bytes) noexcept {
  g_calls.fetch_add(1);
  detail::empty_pages(base, bytes);
}

// The system calls of what it is made before.
class Calls {
 public:
  std::int64_t count() const { return g_calls.load() - before_; }

 private:
  std::int64_t before_ = g_calls.load();
};

class PoolTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (Storage* storage : held_) pool_.free(storage);
    pool_.trim();
    EXPECT_EQ(pool_.reserved_bytes(), 0u);
    EXPECT_EQ(pool_.live_bytes(), 0u);
    EXPECT_EQ(g_mapped.load(), 0);
  }
  Storage* hold(std::size_t nbytes) { return held_.emplace_back(pool_.allocate(nbytes)); }
  void drop_all() {
    for (Storage* storage : held_) pool_.free(storage);
    held_.clear();
  }
  // Nothing is lost between what is used, what is free and what rounding takes.
  void expect_sums() {
    std::size_t used = 0;
    for (const Storage* storage : held_) used += Pool::class_bytes(storage->size_class);
    EXPECT_EQ(used + pool_.tail_bytes() + pool_.pooled_bytes(), pool_.reserved_bytes());
  }

  Pool pool_{Device{}, MemorySource{counted_map, counted_unmap, counted_resize, counted_empty}};
  std::vector<Storage*> held_;
};

TEST_F(PoolTest, a_steady_load_makes_no_system_calls) {
  const auto step = [&] {
    for (int i = 0; i < 4; ++i) hold(std::size_t{4} << 20);
    for (int i = 0; i < 1000; ++i) hold(64 + static_cast<std::size_t>(i) * 40);
    for (int i = 0; i < 3; ++i) hold(std::size_t{300} << 10);
    drop_all();
    for (int i = 0; i < 7; ++i) hold(std::size_t{3} << 20);
    drop_all();
  };
  step();
  step();
  const Calls calls;
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(calls.count(), 0);
}

// As the layers of a network do: each value is a little smaller than the one before it, which lives
// until it is made. Blocks of all these sizes together would be more than the pool may keep.
TEST_F(PoolTest, a_steady_load_of_many_sizes_makes_no_system_calls) {
  const auto step = [&] {
    for (std::size_t nbytes = std::size_t{64} << 20; nbytes >= std::size_t{1} << 20;
         nbytes -= nbytes / 10) {
      hold(nbytes);
      expect_sums();
      if (held_.size() < 3) continue;
      pool_.free(held_.front());
      held_.erase(held_.begin());
    }
    drop_all();
  };
  step();
  step();
  const Calls calls;
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(calls.count(), 0);
}

// As many bytes of each size as may be live at once, in turn: more than the pool may keep.
TEST_F(PoolTest, keeps_no_more_than_the_load_was_seen_to_need) {
  std::size_t most_reserved = 0;
  for (std::size_t nbytes = std::size_t{1} << 10; nbytes <= std::size_t{32} << 20;
       nbytes += nbytes / 8) {
    for (std::size_t live = 0; live + nbytes <= std::size_t{32} << 20; live += nbytes) hold(nbytes);
    most_reserved = std::max(most_reserved, pool_.reserved_bytes());
    expect_sums();
    drop_all();
    expect_sums();
  }
  EXPECT_LE(most_reserved, (std::size_t{32} << 20) * 3 / 2 + (std::size_t{12} << 20));
}

TEST_F(PoolTest, a_load_that_has_shrunk_keeps_no_more_than_it_needs_now) {
  for (int i = 0; i < 16; ++i) hold(std::size_t{64} << 20);
  drop_all();
  EXPECT_EQ(pool_.pooled_bytes(), std::size_t{1} << 30) << "until the load is seen to be another";
  const std::size_t needed = std::size_t{128} << 20;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t nbytes = std::size_t{1} << 20; nbytes <= needed; nbytes += nbytes / 8) {
      for (std::size_t live = 0; live + nbytes <= needed; live += nbytes) hold(nbytes);
      drop_all();
    }
  }
  EXPECT_LE(pool_.reserved_bytes(), needed * 3 / 2 + (std::size_t{12} << 20));
}

// Sizes that are near to each other, one after another: next to nothing is mapped for them.
TEST_F(PoolTest, sizes_that_vary_use_the_same_pages_again) {
  std::mt19937 random(2);
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      Storage* storage = hold((std::size_t{10} << 20) + random() % (std::size_t{9} << 20));
      ASSERT_NE(storage, nullptr);
      storage->data[0] = std::byte{1};
      storage->data[storage->nbytes - 1] = std::byte{2};
      if (held_.size() == 8) drop_all();
      expect_sums();
    }
  };
  run(400);
  const std::int64_t maps = g_maps.load();
  run(500);
  EXPECT_LE(g_maps.load() - maps, 25);
}

// Pages whose blocks are all free go back even where their neighbours are in use.
TEST_F(PoolTest, small_blocks_give_their_pages_back_one_by_one) {
  constexpr int kBlocks = 1 << 20;
  for (int i = 0; i < kBlocks; ++i) hold(1);
  const std::size_t full = pool_.reserved_bytes();
  EXPECT_EQ(full, std::size_t{kBlocks} * 64);
  std::vector<Storage*> kept;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (i % 1000 == 0) {
      kept.push_back(held_[i]);
    } else {
      pool_.free(held_[i]);
    }
  }
  held_ = kept;
  expect_sums();
  EXPECT_LE(pool_.reserved_bytes(), (std::size_t{20} << 20) + kept.size() * detail::kPage);
}

TEST_F(PoolTest, blocks_never_overlap) {
  std::mt19937 random(7);
  std::vector<std::byte> marks;
  for (int i = 0; i < 20000; ++i) {
    if (held_.size() > 300 || (random() % 3 == 0 && !held_.empty())) {
      const std::size_t at = random() % held_.size();
      Storage* storage = held_[at];
      const std::byte mark = marks[at];
      for (const std::size_t offset : {std::size_t{0}, storage->nbytes / 2, storage->nbytes - 1}) {
        ASSERT_EQ(storage->data[offset], mark);
      }
      pool_.free(storage);
      held_[at] = held_.back();
      marks[at] = marks.back();
      held_.pop_back();
      marks.pop_back();
      continue;
    }
    const std::size_t nbytes = 1 + random() % (std::size_t{1} << (random() % 20));
    Storage* storage = hold(nbytes);
    ASSERT_NE(storage, nullptr);
    marks.push_back(static_cast<std::byte>(random()));
    std::fill_n(storage->data, nbytes, marks.back());
    if (i % 1000 == 0) pool_.trim();
  }
  expect_sums();
}

TEST_F(PoolTest, the_peak_starts_again_where_it_is_told_to) {
  hold(1000);
  hold(3000);
  EXPECT_EQ(pool_.live_bytes(), 4000u);
  pool_.free(held_.back());
  held_.pop_back();
  pool_.trim();
  EXPECT_EQ(pool_.peak_bytes(), 4000u) << "giving memory back does not change what was";
  pool_.reset_peak();
  EXPECT_EQ(pool_.peak_bytes(), 1000u);
}

}  // namespace
}  // namespace tenure
