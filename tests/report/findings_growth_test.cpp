#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "report/findings.h"
#include "report/made_run.h"
#include "report/names.h"

namespace tenure::report {
namespace {

using Ids = std::vector<std::uint32_t>;

// A training loop as it mostly is: some work, and a loss.
std::uint32_t train_step(MadeRun& b) {
  const std::uint32_t h = b.make(20, {.op = "matmul", .bytes = 4096});
  const std::uint32_t a = b.make(21, {.op = "tanh", .bytes = 4096});
  const std::uint32_t loss = b.make(22, {.op = "mean", .bytes = 4});
  b.die(h);
  b.die(a);
  return loss;
}

#define EXPECT_HEALTHY(builder)                                   \
  do {                                                            \
    const std::vector<Finding> found = findings((builder).run()); \
    EXPECT_TRUE(found.empty()) << texts(found);                   \
  } while (false)

TEST(Growth, every_loss_of_a_plain_loop_kept_is_found_at_its_line) {
  MadeRun b;
  Ids losses;
  for (int i = 0; i < 100; ++i) losses.push_back(train_step(b));
  b.die(losses);  // as main's locals
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(found[0].problem, Problem::growth);
  EXPECT_EQ(line_of(b.run(), found[0]), 22u);
  EXPECT_EQ(found[0].count, 100u);
  EXPECT_EQ(found[0].bytes, 400u);
  EXPECT_EQ(found[0].tensors, losses);
  EXPECT_EQ(found[0].title,
            "100 tensors from prog.cpp:22 (mean) alive together, 1 more with every turn of its "
            "loop: 400 B");
  // A recording may be of a program in any language: the remedy names no function of one.
  EXPECT_EQ(found[0].remedy.find('('), std::string::npos) << found[0].remedy;
}

TEST(Growth, a_step_that_leaves_four_is_told_the_rate_and_the_step) {
  MadeRun b;
  for (int i = 0; i < 32; ++i) {
    const std::uint32_t step = b.begin("step", "", 5);
    for (int k = 0; k < 4; ++k) b.make(9, {.op = "slice", .bytes = 256});
    b.die(train_step(b));
    b.end(step);
  }
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 9u);
  EXPECT_NE(found[0].title.find("128 tensors"), std::string::npos) << found[0].title;
  EXPECT_NE(found[0].title.find("4 more with every step"), std::string::npos) << found[0].title;
}

TEST(Growth, is_found_in_steps_though_they_are_a_small_part_of_the_run) {
  MadeRun b;
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t epoch = b.begin("epoch", "", 5);
    b.make(7);
    b.end(epoch);
  }
  b.work(50, 1000);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 7u);
}

TEST(Growth, every_tenth_of_a_line_that_stays_is_found) {
  MadeRun b;
  Ids kept;
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t loss = train_step(b);
    if (i % 10 == 0)
      kept.push_back(loss);
    else
      b.die(loss);
  }
  b.die(kept);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(found[0].count, 40u);
}

TEST(Growth, a_loop_that_is_one_line_is_found) {
  MadeRun b;
  Ids all;
  for (int i = 0; i < 100; ++i) all.push_back(b.make(3, {.op = "ones", .bytes = 4096}));
  b.die(all);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 3u);
}

// A third of the run leaves tensors behind, then comes other work; `uses` says when they are used.
Ids leaked_early(MadeRun& b, auto&& use_in_turn, auto&& use_later) {
  Ids leaked;
  for (int i = 0; i < 100; ++i) {
    b.work(4, 2);
    leaked.push_back(b.make(5, {.op = "square", .bytes = 4096}));
    use_in_turn(leaked.back());
    b.work(6, 1);
  }
  for (int i = 0; i < 600; ++i) {
    b.work(20, 1);
    use_later(leaked[i % leaked.size()]);
  }
  return leaked;
}

TEST(Growth, that_stopped_is_found_where_nothing_used_the_tensors_again) {
  for (const bool in_tidies : {false, true}) {
    MadeRun b;
    std::uint32_t tidy = kNone;
    const auto next_turn = [&](std::uint32_t tensor) {
      b.use(tensor);
      if (!in_tidies) return;
      if (tidy != kNone) b.end(tidy);
      tidy = b.begin("tidy", "turn", 3);
    };
    leaked_early(b, next_turn, [](std::uint32_t) {});
    if (in_tidies) b.end(tidy);
    std::vector<Finding> found = findings(b.run());
    std::erase_if(found, [](const Finding& each) { return each.problem != Problem::growth; });
    ASSERT_EQ(found.size(), 1u) << texts(found);
    EXPECT_EQ(line_of(b.run(), found[0]), 5u);
    EXPECT_GE(found[0].count, 99u);
    EXPECT_NE(found[0].remedy.find("nothing used them again"), std::string::npos);
  }
}

TEST(Growth, is_not_a_list_that_is_built_first_and_used_by_the_rest) {
  MadeRun b;
  leaked_early(
      b, [&](std::uint32_t tensor) { b.use(tensor); },
      [&](std::uint32_t tensor) { b.use(tensor); });
  EXPECT_HEALTHY(b);
}

TEST(Growth, that_stopped_is_not_claimed_where_uses_are_not_told) {
  MadeRun b;
  leaked_early(b, [](std::uint32_t) {}, [](std::uint32_t) {});
  EXPECT_HEALTHY(b);
}

TEST(Growth, that_stopped_is_not_claimed_of_a_part_of_a_program) {
  MadeRun b;
  leaked_early(b, [&](std::uint32_t tensor) { b.use(tensor); }, [](std::uint32_t) {});
  b.run().whole_process = false;
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_what_a_healthy_loop_holds) {
  MadeRun b;
  const std::uint32_t weights = b.make(2, {.op = "normal", .bytes = 1 << 16});
  std::uint32_t last = train_step(b);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t next = train_step(b);
    b.die(last);
    last = next;
  }
  b.die(last);
  b.die(weights);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_warm_up) {
  MadeRun b;
  Ids made;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t step = b.begin("step", "", 5);
    if (i < 20) made.push_back(b.make(8, {.op = "zeros", .bytes = 1024}));
    b.die(train_step(b));
    b.end(step);
  }
  b.die(made);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_cache_of_bounded_size) {
  MadeRun b;
  std::deque<std::uint32_t> cache;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t step = b.begin("tidy", "step", 5);
    cache.push_back(b.make(8, {.op = "predict", .bytes = 1024}));
    if (cache.size() > 32) {
      b.die(cache.front());
      cache.pop_front();
    }
    b.die(train_step(b));
    b.end(step);
  }
  b.die(Ids(cache.begin(), cache.end()));
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_cache_that_meets_new_keys_now_and_then) {
  MadeRun b;
  Ids cache;
  for (int i = 0; i < 300; ++i) {
    const bool is_new = i < 10 || (i < 60 && i % 5 == 0) || (i < 300 && i % 60 == 0);
    if (is_new) cache.push_back(b.make(8, {.op = "table", .bytes = 4096}));
    b.die(train_step(b));
  }
  b.die(cache);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_list_built_before_the_loop) {
  MadeRun b;
  Ids batches;
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t raw = b.make(3, {.op = "uniform", .bytes = 4096});
    batches.push_back(b.make(4, {.op = "reshape", .bytes = 4096}));
    b.die(raw);
  }
  for (int i = 0; i < 128; ++i) b.die(train_step(b));
  b.die(batches);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_list_built_in_tidies_before_the_loop) {
  MadeRun b;
  Ids batches;
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t scope = b.begin("tidy", "load", 3);
    batches.push_back(b.make(4, {.op = "reshape", .bytes = 4096}));
    b.end(scope);
  }
  for (int i = 0; i < 128; ++i) b.die(train_step(b));
  b.die(batches);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_list_that_is_put_together_in_the_end) {
  MadeRun b;
  Ids parts;
  for (int i = 0; i < 50; ++i) {
    b.work(10, 3);
    parts.push_back(b.make(12, {.op = "predict", .bytes = 400}));
  }
  const std::uint32_t all = b.make(14, {.op = "concat", .bytes = 50 * 400});
  b.die(parts);
  b.die(all);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_list_of_an_epoch_that_is_cleared_after_it) {
  MadeRun b;
  for (int epoch = 0; epoch < 3; ++epoch) {
    Ids losses;
    for (int i = 0; i < 50; ++i) {
      const std::uint32_t step = b.begin("step", "", 5);
      losses.push_back(train_step(b));
      b.end(step);
    }
    b.die(losses);
  }
  b.work(30, 1);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_list_that_is_disposed_one_by_one) {
  MadeRun b;
  Ids losses;
  for (int i = 0; i < 50; ++i) losses.push_back(train_step(b));
  for (const std::uint32_t loss : losses) b.die(loss, "disposed", 30);
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_model_with_many_layers) {
  MadeRun b;
  Ids weights;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t value = b.make(3, {.op = "normal", .bytes = 4096});
    weights.push_back(b.make(3, {.op = "normal",
                                 .bytes = 4096,
                                 .owner = "variable \"w" + std::to_string(i) + "\"",
                                 .category = Category::parameter}));
    b.die(value);
  }
  b.work(9, 4);
  EXPECT_HEALTHY(b);
}

TEST(Growth, models_made_in_a_loop_and_stored_are_found) {
  MadeRun b;
  for (int i = 0; i < 30; ++i) {
    for (int k = 0; k < 4; ++k) {
      b.make(6, {.op = "normal",
                 .bytes = 4096,
                 .owner = "variable \"dense_" + std::to_string(4 * i + k) + "\"",
                 .category = Category::parameter});
    }
    b.die(train_step(b));
  }
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 6u);
  EXPECT_NE(found[0].title.find("120 variables"), std::string::npos) << found[0].title;
  EXPECT_NE(found[0].title.find("4 more"), std::string::npos) << found[0].title;
}

TEST(Growth, a_tape_that_records_on_through_all_steps_is_named_by_its_own_line) {
  MadeRun b;
  const std::uint32_t tape = b.begin("tape", "outer", 4);
  Ids saved;
  for (int i = 0; i < 40; ++i) {
    for (const int line : {7, 8}) {
      const std::uint32_t value = b.make(line, {.op = "tanh", .bytes = 512});
      saved.push_back(b.make(line, {.op = "tanh",
                                    .bytes = 512,
                                    .owner = "tape \"outer\"",
                                    .category = Category::saved_for_backward}));
      b.die(value);
    }
  }
  b.die(saved);
  b.end(tape);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 4u);
  EXPECT_EQ(found[0].count, 80u);
  EXPECT_EQ(
      found[0].title,
      "tape \"outer\" (prog.cpp:4) holds 80 saved values, 2 more with every turn of its loop: "
      "40.0 KiB, most of it from prog.cpp:8");
}

TEST(Growth, is_not_what_a_tape_saves_of_an_unrolled_loop_before_its_gradient) {
  MadeRun b;
  const std::uint32_t tape = b.begin("tape", "", 4);
  Ids saved;
  for (int i = 0; i < 100; ++i) {
    b.work(6, 1);
    saved.push_back(b.make(
        7,
        {.op = "tanh", .bytes = 512, .owner = "tape", .category = Category::saved_for_backward}));
  }
  for (auto at = saved.rbegin(); at != saved.rend(); ++at) {
    b.die(*at);
    b.work(12, 1);
  }
  b.end(tape);
  EXPECT_HEALTHY(b);
}

TEST(Growth, a_tensor_that_only_becomes_larger_is_found_when_memory_ran_out) {
  MadeRun b;
  std::uint32_t all = b.make(5, {.op = "concat", .bytes = 4096});
  for (int i = 2; i < 40; ++i) {
    b.work(4, 1);
    const std::uint32_t next = b.make(5, {.op = "concat", .bytes = 4096ull * i});
    b.die(all);
    all = next;
  }
  b.die(all);
  EXPECT_HEALTHY(b);
  b.raise(5, {"OutOfMemoryError", "concat", "163840 bytes"});
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 2u) << texts(found);
  EXPECT_EQ(found[0].problem, Problem::misused);
  EXPECT_EQ(found[1].problem, Problem::growth);
  EXPECT_EQ(line_of(b.run(), found[1]), 5u);
}

TEST(Growth, a_function_traced_for_nearly_every_call_is_found) {
  MadeRun b;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t call = b.begin("call", "step", 9);
    const std::uint32_t trace = b.begin("trace", "step", 9);
    b.die(b.make(4, {.op = "mul", .is_symbolic = true}));
    b.make(3, {.op = "tensor", .bytes = 100, .owner = "function \"step\""});
    b.end(trace);
    b.end(call);
  }
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(found[0].problem, Problem::growth);
  EXPECT_EQ(line_of(b.run(), found[0]), 9u);
  EXPECT_EQ(found[0].title,
            "function \"step\" was traced 40 times in 40 calls; its traces hold 3.9 KiB");
}

TEST(Growth, a_trace_that_the_run_ended_in_counts_with_what_it_holds) {
  MadeRun b;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t trace = b.begin("trace", "step", 9);
    b.make(4, {.op = "mul", .is_symbolic = true});
    b.make(3, {.op = "tensor", .bytes = 100, .owner = "function \"step\""});
    if (i < 39) b.end(trace);
  }
  const std::vector<Finding> found = findings(b.run());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].bytes, 4000u) << texts(found);
}

TEST(Growth, is_not_many_functions_of_one_name_each_traced_once) {
  MadeRun b;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    const std::uint32_t call = b.begin("call", "step", 9, i);
    const std::uint32_t trace = b.begin("trace", "step", 9, i);
    b.die(b.make(4, {.op = "mul", .is_symbolic = true}));
    b.end(trace);
    b.end(call);
  }
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_function_whose_one_trace_serves_every_size) {
  MadeRun b;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t call = b.begin("call", "step", 9);
    const std::uint32_t trace = b.begin("trace", "step", 9);
    if (i == 0) b.die(b.make(4, {.op = "mul", .is_symbolic = true}));
    b.end(trace);
    b.end(call);
  }
  EXPECT_HEALTHY(b);
}

TEST(Growth, is_not_a_function_with_thirty_traces_in_a_thousand_calls) {
  MadeRun b;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t call = b.begin("call", "step", 9);
    if (i % 30 == 0) {
      const std::uint32_t trace = b.begin("trace", "step", 9);
      b.die(b.make(4, {.op = "mul", .is_symbolic = true}));
      b.end(trace);
    }
    b.work(10, 1);
    b.end(call);
  }
  EXPECT_HEALTHY(b);
}

}  // namespace
}  // namespace tenure::report
