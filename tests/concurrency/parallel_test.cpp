// The pool of threads that kernels share: everything is done once, whoever comes to help.
#include "backend/cpu/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace tenure::cpu {
namespace {

class Parallel : public ::testing::Test {
 protected:
  ~Parallel() override { set_num_threads(0); }
};

// Each index is seen once.
class Seen {
 public:
  explicit Seen(std::int64_t count) : times_(static_cast<std::size_t>(count)) {}
  void operator()(std::int64_t index) { times_[static_cast<std::size_t>(index)] += 1; }
  bool all_once() const {
    return std::ranges::all_of(times_, [](const std::atomic<int>& n) { return n == 1; });
  }

 private:
  std::vector<std::atomic<int>> times_;
};

TEST_F(Parallel, every_element_is_in_one_range) {
  for (const int threads : {1, 2, 3, 7, 16, 64, 200}) {
    set_num_threads(threads);
    for (const std::int64_t count : {0, 1, 15, 16, 17, 100, 1000, 4099, 100000}) {
      for (const std::int64_t grain : {1, 16, 1000}) {
        Seen seen(count);
        parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_EQ(begin % 16, 0);
          for (std::int64_t i = begin; i < end; ++i) seen(i);
        });
        EXPECT_TRUE(seen.all_once()) << threads << " threads, " << count << " by " << grain;
      }
    }
  }
}

TEST_F(Parallel, every_piece_is_done_once) {
  for (const int threads : {1, 2, 5, 16, 64}) {
    set_num_threads(threads);
    for (const std::int64_t count : {0, 1, 2, 3, 31, 64, 1000, 5000}) {
      Seen seen(count);
      parallel_each(count, [&](std::int64_t index) { seen(index); });
      EXPECT_TRUE(seen.all_once()) << threads << " threads, " << count << " pieces";
    }
  }
}

TEST_F(Parallel, a_seat_is_taken_by_one_thread_at_a_time) {
  set_num_threads(8);
  for (const std::int64_t most : {1, 2, 5, 8, 100}) {
    std::vector<std::atomic<bool>> taken(8);
    Seen seen(300);
    for (int round = 0; round < 20; ++round) {
      parallel_seated(300, most, [&](std::int64_t index, std::int64_t seat) {
        ASSERT_LT(seat, std::min<std::int64_t>(most, 8));
        auto& mine = taken[static_cast<std::size_t>(seat)];
        EXPECT_FALSE(mine.exchange(true));
        if (round == 0) seen(index);
        mine = false;
      });
    }
    EXPECT_TRUE(seen.all_once());
  }
}

TEST_F(Parallel, work_inside_work_stays_on_its_thread) {
  set_num_threads(4);
  std::atomic<int> done{0};
  parallel_each(32, [&](std::int64_t) {
    const auto self = std::this_thread::get_id();
    parallel_each(16, [&](std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      ++done;
    });
  });
  EXPECT_EQ(done, 32 * 16);
}

TEST_F(Parallel, hosts_at_the_same_time_do_not_meet) {
  set_num_threads(6);
  std::vector<std::thread> hosts;
  for (int host = 0; host < 24; ++host) {  // more than there are regions
    hosts.emplace_back([host] {
      for (int round = 0; round < 200; ++round) {
        const std::int64_t count = 1 + (host * 37 + round * 11) % 500;
        Seen seen(count);
        parallel_each(count, [&](std::int64_t index) { seen(index); });
        ASSERT_TRUE(seen.all_once());
      }
    });
  }
  for (std::thread& host : hosts) host.join();
}

// A host goes on while the others change how many threads there may be.
TEST_F(Parallel, the_number_of_threads_may_change_at_any_time) {
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    for (int threads = 1; !stop; threads = threads % 9 + 1) set_num_threads(threads);
  });
  for (int round = 0; round < 500; ++round) {
    Seen seen(333);
    parallel_for(333, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) seen(i);
    });
    EXPECT_TRUE(seen.all_once());
  }
  stop = true;
  changes.join();
}

// What one thread wrote in one region, all see in the next.
TEST_F(Parallel, a_region_sees_what_the_one_before_wrote) {
  set_num_threads(4);
  std::vector<std::int64_t> values(4096, 0);
  for (std::int64_t round = 0; round < 300; ++round) {
    parallel_for(4096, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto from = static_cast<std::size_t>(4095 - i), to = static_cast<std::size_t>(i);
        if (i % 2 == round % 2) values[to] = values[from] + 1;  // 4095 - i is of the other kind
      }
    });
  }
  EXPECT_EQ(std::set(values.begin(), values.end()), (std::set<std::int64_t>{299, 300}));
}

}  // namespace
}  // namespace tenure::cpu
