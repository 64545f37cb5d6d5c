// Threads that use, drop and dispose the same tensors. Run under ThreadSanitizer by make sanitize.
#include <atomic>
#include <barrier>
#include <optional>
#include <thread>

#include "support/expect.h"
#include "support/race.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;
using testing::race;

TEST(Contract, L35_a_use_that_races_with_dispose_completes_or_throws) {
  int completed = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    Tensor x = full({256}, 2.f);
    Tensor mine = x, theirs = x;
    std::atomic<bool> ok{true}, threw{false};
    race(
        [&] {
          try {
            const Tensor y = square(mine);
            ok = floats(y) == Floats(256, 4.f);
          } catch (const DisposedError&) {
            threw = true;
          }
        },
        [&] { theirs.dispose(); });
    ASSERT_TRUE(ok);
    (threw ? refused : completed) += 1;
    ASSERT_TRUE(x.is_disposed());
    ASSERT_EQ(x.story().death->cause, Cause::disposed);
  }
  EXPECT_EQ(completed + refused, 300);
}

TEST(Contract, L35_two_disposes_leave_one_record) {
  for (int round = 0; round < 300; ++round) {
    Tensor x = ones({8});
    Tensor a = x, b = x;
    race([&] { a.dispose(); }, [&] { b.dispose(); },
         [&] {
           const Story story = x.story();  // whole, whenever it is read
           if (story.death) {
             EXPECT_EQ(story.death->cause, Cause::disposed);
           }
         });
    ASSERT_TRUE(x.is_disposed());
  }
}

TEST(Contract, L35_handles_drop_on_any_thread) {
  for (int round = 0; round < 300; ++round) {
    Tensor x = ones({8});
    const Tensor view = slice(x, {0}, {4});
    Tensor a = x, b = x.clone();
    x = Tensor();
    race([&] { a = Tensor(); }, [&] { b = Tensor(); }, [&] { EXPECT_EQ(floats(view)[0], 1.f); });
  }
}

TEST(Contract, L35_a_scope_ends_while_others_use_and_drop_its_tensors) {
  for (int round = 0; round < 200; ++round) {
    std::barrier handed(2);
    Tensor shared;
    std::thread other([&] {
      handed.arrive_and_wait();
      Tensor mine = shared;
      handed.arrive_and_wait();  // the tidy may end now
      try {
        const Tensor y = mine + 1.0;
        EXPECT_EQ(floats(y), Floats(16, 3.f));
      } catch (const DisposedError& e) {
        EXPECT_EQ(e.story().death->cause, Cause::scope_exit);
      }
    });
    tidy("race", [&] {
      Tensor x = full({16}, 2.f);
      shared = x;
      handed.arrive_and_wait();
      handed.arrive_and_wait();
    });
    other.join();
    shared = Tensor();
  }
}

TEST(Contract, L35_the_last_handle_drops_as_its_scope_ends) {
  for (int round = 0; round < 300; ++round) {
    std::barrier start(2);
    Tensor handed;
    std::thread other;
    tidy([&] {
      handed = ones({4});
      other = std::thread([&] {
        start.arrive_and_wait();
        handed = Tensor();
      });
      start.arrive_and_wait();
    });
    other.join();
  }
}

TEST(Contract, L35_a_moved_tensor_is_reused_or_refused_as_its_scope_ends) {
  for (int round = 0; round < 300; ++round) {
    std::barrier start(2);
    Tensor handed, result;
    std::thread other;
    tidy([&] {
      handed = full({64}, 3.f);
      other = std::thread([&] {
        start.arrive_and_wait();
        try {
          result = square(std::move(handed));
        } catch (const DisposedError&) {
        }
      });
      start.arrive_and_wait();
    });
    other.join();
    if (result.defined()) {
      ASSERT_EQ(floats(result), Floats(64, 9.f));
    }
  }
}

TEST(Contract, L35_listing_races_with_births_and_deaths) {
  std::atomic<bool> stop{false};
  race(
      [&] {
        for (int i = 0; i < 2000; ++i) {
          const Tensor x = ones({8});
          Tensor y = relu(x.clone() + 1.0);
          y.set_name("y");
        }
        stop = true;
      },
      [&] {
        const Tensor mine = ones({8});
        const LeakCheck check;
        while (!stop) {
          memory();
          why_alive(mine);
          check.survivors();
        }
      });
}

TEST(Contract, L35_a_variable_is_read_and_assigned_from_several_threads) {
  Variable v(full({64}, 1.f), {.name = "v"});
  race(
      [&] {
        for (int i = 0; i < 500; ++i) v.assign(full({64}, static_cast<float>(i)));
      },
      [&] {
        for (int i = 0; i < 500; ++i) {
          const Floats values = floats(v.read());
          ASSERT_EQ(values, Floats(64, values[0])) << "never half of one value";
        }
      },
      [&] {
        for (int i = 0; i < 100; ++i) why_alive(v.read());
      });
}

TEST(Contract, L35_sessions_close_while_their_tensors_are_used) {
  for (int round = 0; round < 100; ++round) {
    Session session({.name = "racing"});
    const Tensor x = session.run([] { return full({16}, 2.f); });
    race(
        [&] {
          try {
            session.run([&] { EXPECT_EQ(floats(x * 2.0), Floats(16, 4.f)); });
          } catch (const DisposedError&) {  // closed before it ran
          }
        },
        [&] {
          try {
            session.close();
          } catch (const BusyError&) {
          }
        });
  }
}

// Whoever clones, reads or takes a view meanwhile has the whole old value, or none.
TEST(Contract, L27_a_donation_takes_nothing_that_others_use) {
  Function grow = function("grow", [](Tensor x) { return x * 2.f; });
  grow(donate(full({512}, 1.f)));
  const Floats old(512, 1.f), grown(512, 2.f);
  int given = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    const Tensor x = full({512}, 1.f);
    Tensor result;
    const auto use = [&](const auto& read) {
      for (int i = 0; i < 20; ++i) {
        try {
          EXPECT_EQ(read(x), old);
        } catch (const DisposedError& error) {
          EXPECT_EQ(error.story().death->cause, Cause::donated);
          return;
        }
      }
    };
    race([&] { use([](const Tensor& t) { return floats(t.clone()); }); },
         [&] { use([](const Tensor& t) { return floats(reshape(t, {2, 256})); }); },
         [&] {
           try {
             result = grow(donate(x));
           } catch (const ValueError& error) {
             EXPECT_HAS(error.what(), "does not own its bytes alone");
           }
         });
    (result.defined() ? given : refused) += 1;
    ASSERT_EQ(x.is_disposed(), result.defined());
    ASSERT_EQ(floats(result.defined() ? result : x), result.defined() ? grown : old);
  }
  EXPECT_EQ(given + refused, 400);
}

TEST(Contract, L27_a_clone_made_meanwhile_keeps_its_bytes) {
  Function grow = function("grow", [](Tensor x) { return x * 2.f; });
  for (int round = 0; round < 400; ++round) {
    const Tensor x = full({512}, 1.f);
    Tensor copy, result;
    race(
        [&] {
          try {
            copy = x.clone();
          } catch (const DisposedError&) {
          }
        },
        [&] {
          try {
            result = grow(donate(x));
          } catch (const ValueError&) {
          }
        });
    ASSERT_NE(copy.defined(), result.defined());
    if (copy.defined()) {
      ASSERT_EQ(floats(copy), Floats(512, 1.f));
    }
  }
}

TEST(Contract, L27_two_calls_that_are_given_the_same_tensors_share_nothing) {
  Function both = function("both", [](Tensor a, Tensor b) { return std::pair(a + b, a - b); });
  for (int round = 0; round < 200; ++round) {
    const Tensor x = full({64}, 3.f), y = full({64}, 1.f);
    std::atomic<int> done{0};
    const auto call = [&](const Tensor& a, const Tensor& b) {
      try {
        const auto [sum, difference] = both(donate(a), donate(b));
        ++done;
        EXPECT_EQ(floats(sum), Floats(64, 4.f));
      } catch (const ValueError&) {
      } catch (const DisposedError&) {
      }
    };
    race([&] { call(x, y); }, [&] { call(y, x); });
    ASSERT_LE(done.load(), 1);
    ASSERT_EQ(x.is_disposed(), done == 1);
    ASSERT_EQ(y.is_disposed(), done == 1);
  }
}

TEST(Contract, L35_a_background_read_races_with_dispose) {
  std::vector<Job<Floats>> jobs;
  for (int i = 0; i < 200; ++i) {
    Tensor x = full({64}, static_cast<float>(i));
    jobs.push_back(x.read_async<float>());
    x.dispose();
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(jobs[static_cast<std::size_t>(i)].get(), Floats(64, static_cast<float>(i)));
  }
}

TEST(Threads, each_has_its_own_scopes_and_tapes) {
  const Tensor x = full({32}, 0.5f);
  race(
      [&] {
        for (int i = 0; i < 200; ++i) {
          tidy([&] {
            GradientTape tape;
            tape.watch(x);
            const Tensor y = sum(tanh(x) * x);
            EXPECT_TRUE(tape.gradient(y, x).defined());
          });
        }
      },
      [&] {
        for (int i = 0; i < 200; ++i) {
          const Tensor y = tidy([&] { return exp(x); });
          EXPECT_FALSE(y.is_disposed());
        }
      });
}

TEST(Threads, kernels_give_the_same_bits_on_any_number_of_threads) {
  set_seed(5);
  const Tensor x = random::normal({300, 401});
  const int threads = num_threads();
  std::vector<Floats> runs;
  for (const int n : {1, 2, 3}) {
    set_num_threads(n);
    set_seed(9);
    Floats values = floats(sum(tanh(x) * sigmoid(x), {0}));
    values.push_back(sum(exp(x)).item<float>());
    for (const float v : floats(random::normal({70000}))) values.push_back(v);
    for (const float v : floats(random::truncated_normal({40000}))) values.push_back(v);
    runs.push_back(std::move(values));
  }
  set_num_threads(threads);
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
}

// Calls of traced functions, each with an arena of its own, and variables written where they lie.
TEST(Threads, a_read_sees_all_of_what_a_traced_function_assigned_or_nothing_of_it) {
  Variable w(zeros({3000}));
  Function step = function("step", [&](Tensor x) { w.assign(w + x); });
  const Tensor one = ones({3000});
  const auto train = [&] {
    for (int i = 0; i < 200; ++i) step(one);
  };
  const auto look = [&] {
    for (int i = 0; i < 200; ++i) {
      const Floats seen = floats(w.read());
      EXPECT_EQ(seen, Floats(seen.size(), seen[0]));
    }
  };
  race(train, train, look);
  const float last = w.read()[0].item<float>();
  EXPECT_GE(last, 200);
  EXPECT_LE(last, 400);
}

TEST(Threads, traced_control_flow_runs_on_several_threads_at_once) {
  Function f = function("loop", [](Tensor x) {
    const Tensor y =
        while_loop([](Tensor v) { return sum(v) < 1000.f; }, [](Tensor v) { return v * 1.5f; }, x);
    return cond(sum(x) > 5.f, [&] { return y + 1.f; }, [&] { return y - 1.f; });
  });
  const Tensor a = ones({3}), b = full({4}, 2.f);
  const Floats of_a = floats(f(a)), of_b = floats(f(b));
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(floats(f(a)), of_a);
      EXPECT_EQ(floats(f(b)), of_b);
    }
  };
  race(work, work, work);
}

// A filter of one tap and weights that are all the same: the result says which value it saw, and a
// form of another value would show.
TEST(Threads, a_prepared_weight_is_never_that_of_another_value) {
  const Tensor x = ones({1, 4, 4, 8});
  Variable w(full({1, 1, 4, 8}, 1.f));
  const auto convolve = [](const Tensor& in, const Arg& filter) {
    return conv2d_transpose(in, filter, {1, 4, 4, 4});
  };
  Function predict = function("predict", [&](Tensor in) { return convolve(in, w); });
  Function update = function("update", [&](Tensor by) { w.assign(w + by); });
  const Tensor one = ones({1});
  predict(x);
  const auto whole = [](const Floats& seen) {
    EXPECT_EQ(seen, Floats(seen.size(), seen[0]));
    return seen[0] / 8;
  };
  const auto look = [&] {
    float last = 0;
    for (int i = 0; i < 400; ++i) {
      const Tensor value = w.read();
      EXPECT_EQ(whole(floats(convolve(x, value))), value[0][0][0][0].item<float>());
      const float seen = whole(floats(predict(x)));
      EXPECT_GE(seen, last);
      last = seen;
    }
  };
  const auto write_in_place = [&] {
    for (int i = 0; i < 100; ++i) update(one);
  };
  const auto count = [&] {
    for (int i = 0; i < 100; ++i) (void)memory();
  };
  race(look, look, write_in_place, count);
  EXPECT_EQ(whole(floats(predict(x))), 101);
}

TEST(Threads, forms_race_with_assign_dispose_and_the_last_handle) {
  const Tensor x = ones({1, 4, 4, 8});
  for (int round = 0; round < 100; ++round) {
    std::optional<Variable> w(full({1, 1, 4, 8}, 1.f));
    Variable reader = *w;
    auto look = [&, value = w->read()]() mutable {
      for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(floats(conv2d_transpose(x, value, {1, 4, 4, 4})), Floats(64, 8.f));
      }
      value = Tensor();
    };
    auto again = look;
    race(look, again, [&] {
      reader.assign(full({1, 1, 4, 8}, 2.f));
      if (round % 2 == 0) reader.dispose();
      w.reset();
    });
    if (round % 2 != 0) {
      EXPECT_EQ(floats(conv2d_transpose(x, reader, {1, 4, 4, 4})), Floats(64, 16.f));
    }
    EXPECT_EQ(memory().workspace_bytes, 0u);
  }
}

TEST(Threads, two_host_threads_run_large_kernels_at_once) {
  const Tensor x = full({1 << 17}, 1.5f);
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      const Tensor y = square(x) + x;
      EXPECT_EQ(y[12345].item<float>(), 3.75f);
    }
  };
  race(work, work);
}

}  // namespace
}  // namespace tenure
