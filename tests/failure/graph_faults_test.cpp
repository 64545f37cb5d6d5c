// Every allocation of tracing, planning, replaying, going back, giving away, computing again and
// looking on fails once.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "faults.h"
#include "memory/pages.h"

namespace tenure::testing {
namespace {

using GraphFaults = Faults;

Tensor input() { return tensor({1.F, 2.F, 3.F, 4.F, 5.F, 6.F}, {2, 3}); }

void append(Floats& all, const Tensor& more) {
  for (const float value : floats(more)) all.push_back(value);
}

// A function of a tensor, its argument and a variable that it reads and assigns.
template <class F>
struct Traced {
  explicit Traced(F fn) : f(function("f", fn)) {}
  Tensor x = input();
  Function<Tensor(Tensor)> f;
};

Tensor layers(const Tensor& x) {
  const Tensor w = tensor({0.1F, -0.2F, 0.3F, 0.4F, -0.5F, 0.6F}, {3, 2});
  const Tensor h = tanh(matmul(x, w) + 0.5);
  return mean(square(concat({h, transpose(slice(h, {0, 0}, {2, 2})) * 2.0}, 1)));
}

struct Forward : Traced<Tensor (*)(Tensor)> {
  Forward() : Traced([](Tensor in) { return layers(in); }) {}
};

TEST_F(GraphFaults, a_first_call_traces_plans_and_runs) {
  expect_survives_failures<Forward>({.make = [] { return std::make_unique<Forward>(); },
                                     .call = [](Forward& s) { return floats(s.f(s.x)); }});
}

TEST_F(GraphFaults, a_second_call_runs_what_was_planned) {
  const Forward warm;
  const Floats expected = floats(warm.f(warm.x));
  for (const Fails what : {Fails::operator_new, Fails::pool}) {
    for (long n = 1;; ++n) {
      const Counters before = Counters::now();
      const auto call = [&] { return floats(warm.f(warm.x)); };
      const FaultyRun run(what, n, call);
      ASSERT_EQ(Counters::now(), before) << n;
      ASSERT_EQ(call(), expected) << n;
      if (!run.reached) break;
    }
  }
}

struct Step {
  Variable w{tensor({0.1F, -0.2F, 0.3F, 0.4F, -0.5F, 0.6F}, {3, 2}), {.name = "w"}};
  Variable count{tensor(0.F), {.name = "count"}};
  Tensor x = input();
  Function<Tensor(Tensor)> f = function("step", [this](Tensor in) {
    GradientTape tape;
    const Tensor loss = mean(square(tanh(matmul(in, w))));
    const std::vector<Tensor> g = tape.gradient(loss, {w});
    w.assign(w - g[0] * 0.1);
    count.assign(count + 1);
    return loss;
  });

  Floats variables() {
    Floats all = floats(w.read());
    append(all, count.read());
    return all;
  }
  Floats run() {
    Floats all = floats(f(x));
    for (const float value : variables()) all.push_back(value);
    return all;
  }
};

TEST_F(GraphFaults, a_traced_step_changes_all_its_variables_or_none) {
  expect_survives_failures<Step>({.make = [] { return std::make_unique<Step>(); },
                                  .call =
                                      [](Step& s) {
                                        const Tensor loss = s.f(s.x);
                                        disarm();  // what reads them is not the call's
                                        Floats all = floats(loss);
                                        for (const float value : s.variables()) {
                                          all.push_back(value);
                                        }
                                        return all;
                                      },
                                  .unchanged = [](Step& s) { return s.variables(); }});
}

TEST_F(GraphFaults, a_warm_step_changes_all_its_variables_or_none) {
  expect_survives_failures<Step>({.make =
                                      [] {
                                        auto step = std::make_unique<Step>();
                                        step->run();
                                        return step;
                                      },
                                  .call =
                                      [](Step& s) {
                                        const Tensor loss = s.f(s.x);
                                        disarm();
                                        Floats all = floats(loss);
                                        for (const float value : s.variables()) {
                                          all.push_back(value);
                                        }
                                        return all;
                                      },
                                  .unchanged = [](Step& s) { return s.variables(); }});
}

// Headers are made by the thousand: whatever number there is already, the one of the result is
// found before a variable is written.
TEST_F(GraphFaults, a_step_that_finds_no_header_for_its_result_writes_nothing) {
  Step step;
  step.run();
  std::vector<Tensor> held;
  held.reserve(100'000);
  int failures = 0;
  for (int i = 0; failures == 0 && i < 100'000; ++i) {
    const Floats before = step.variables();
    held.push_back(step.x.clone());  // takes the last one there is, at some time
    detail::no_object_pages = true;
    try {
      step.f(step.x);
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    detail::no_object_pages = false;
    if (failures != 0) {
      ASSERT_EQ(step.variables(), before) << i;
    }
  }
  EXPECT_GT(failures, 0);
}

struct Control : Traced<Tensor (*)(Tensor)> {
  Control()
      : Traced([](Tensor in) {
          GradientTape tape;
          tape.watch(in);
          const Tensor chosen =
              cond(greater(sum(in), 3), [&] { return in * 2.0; }, [&] { return in - 1.0; });
          const auto [count, grown] =
              while_loop([](Tensor i, Tensor) { return less(i, 3); },
                         [](Tensor i, Tensor v) { return std::pair(i + 1, v * 1.5); },
                         std::pair(tensor(0), chosen));
          const auto [last, all] = scan(
              [](Tensor s, Tensor row) { return std::pair(s + row, s * row); }, zeros({3}), grown);
          return tape.gradient(sum(last) + sum(all), in);
        }) {}
};

TEST_F(GraphFaults, branches_loops_and_their_gradients) {
  expect_survives_failures<Control>({.make = [] { return std::make_unique<Control>(); },
                                     .call = [](Control& s) { return floats(s.f(s.x)); }});
}

struct Donating {
  Tensor x = input();
  Function<Tensor(Tensor)> f = function("f", [](Tensor in) { return in * 2.0 + 1.0; });
};

TEST_F(GraphFaults, what_was_given_to_a_call_that_failed_is_not_lost) {
  expect_survives_failures<Donating>({.make = [] { return std::make_unique<Donating>(); },
                                      .call =
                                          [](Donating& s) {
                                            const Tensor y = s.f(donate(s.x));
                                            disarm();
                                            return floats(y);
                                          },
                                      .unchanged = [](Donating& s) { return floats(s.x); },
                                      .builds_for_good = true});
}

struct Recomputing {
  Tensor x = input();
  Function<Tensor(Tensor)> part = checkpoint("part", [](Tensor in) { return tanh(in * 2.0); });
};

TEST_F(GraphFaults, what_is_computed_again_for_a_gradient) {
  expect_survives_failures<Recomputing>({.make = [] { return std::make_unique<Recomputing>(); },
                                         .call =
                                             [](Recomputing& s) {
                                               GradientTape tape;
                                               tape.watch(s.x);
                                               const Tensor y = sum(s.part(s.part(s.x)));
                                               return floats(tape.gradient(y, s.x));
                                             }});
}

struct Sized {
  Tensor small = input(), large = zeros({5, 3});
  Function<Tensor(Tensor)> f = function("f", [](Tensor in) { return sum(tanh(in) * 2.0, {0}); });
  Sized() { f.input({dyn, 3}); }
};

TEST_F(GraphFaults, a_trace_for_any_size) {
  expect_survives_failures<Sized>({.make = [] { return std::make_unique<Sized>(); },
                                   .call =
                                       [](Sized& s) {
                                         Floats all = floats(s.f(s.small));
                                         append(all, s.f(s.large));
                                         return all;
                                       },
                                   .builds_for_good = true});
}

TEST_F(GraphFaults, a_persistent_tape_gives_its_gradients_again) {
  expect_survives_failures<Nothing>({.make = [] { return std::make_unique<Nothing>(); },
                                     .call =
                                         [](Nothing&) {
                                           const Tensor x = input();
                                           GradientTape tape({.persistent = true});
                                           tape.watch(x);
                                           const Tensor y = square(x), z = y * y;
                                           Floats all = floats(tape.gradient(sum(z), x));
                                           append(all, tape.gradient(sum(y), x));
                                           return all;
                                         }});
}

TEST_F(GraphFaults, memory_from_outside_is_given_back_once) {
  int given_back = 0;
  const Floats values{1, 2, 3};
  expect_survives_failures<Nothing>(
      {.make =
           [&] {
             given_back = 0;
             return std::make_unique<Nothing>();
           },
       .call =
           [&](Nothing&) {
             Floats all;
             {
               const Tensor x =
                   from_buffer(values.data(), {3}, DType::float32, [&] { ++given_back; });
               const Tensor y = from_dlpack(to_dlpack(x));
               all = floats(y * 2.0);
             }
             all.push_back(static_cast<float>(std::exchange(given_back, 0)));
             return all;
           },
       .unchanged = [&](Nothing&) {  // once, if the call had it
         EXPECT_LE(given_back, 1);
         given_back = 0;
         return Floats();
       }});
}

TEST_F(GraphFaults, a_read_in_the_background) {
  expect_survives_failures<Nothing>(
      {.make = [] { return std::make_unique<Nothing>(); },
       .call = [](Nothing&) { return tanh(input()).read_async<float>().get(); }});
}

struct Domain {
  Session session{{.name = "domain"}};
  std::vector<Tensor> held;
  Domain() {
    session.run([&] {
      for (int i = 0; i < 5; ++i) held.push_back(full({4}, static_cast<float>(i)));
    });
  }
  ~Domain() { held.clear(); }
};

TEST_F(GraphFaults, a_session_is_closed_or_stays_open) {
  expect_survives_failures<Domain>({.make = [] { return std::make_unique<Domain>(); },
                                    .call =
                                        [](Domain& s) {
                                          const SessionReport report = s.session.close();
                                          disarm();
                                          return Floats{static_cast<float>(report.disposed.size())};
                                        },
                                    .unchanged =
                                        [](Domain& s) {
                                          return s.session.run([&] {
                                            Floats all;
                                            for (const Tensor& each : s.held) append(all, each);
                                            return all;
                                          });
                                        }});
}

TEST_F(GraphFaults, a_session_is_made_run_and_dropped) {
  expect_survives_failures<Nothing>({.make = [] { return std::make_unique<Nothing>(); },
                                     .call =
                                         [](Nothing&) {
                                           Session session({.name = "short", .budget = 1 << 20});
                                           return session.run(
                                               [] { return floats(tanh(input()) + input()); });
                                         }});
}

TEST_F(GraphFaults, those_who_look_on) {
  const Tensor x = input().set_name("x");
  const Tensor view = slice(x, {0, 0}, {1, 3});
  expect_survives_failures<Nothing>(
      {.make = [] { return std::make_unique<Nothing>(); },
       .call =
           [&](Nothing&) {
             const LeakCheck leaks;
             const Tensor y = tidy("look", [&] { return tanh(x) * 2.0; });
             Floats seen{static_cast<float>(leaks.survivors().size()),
                         static_cast<float>(why_alive(view).size()),
                         static_cast<float>(y.story().text().empty()),
                         static_cast<float>(to_string(y).size())};
             // Of an operation for which there is no memory the profile does not tell.
             for (const ProfiledOp& op : profile([&] { (void)(y + 1.0); }).ops) {
               EXPECT_EQ(op.op, "add");
               EXPECT_EQ(op.count, 1U);
             }
             append(seen, y);
             return seen;
           }});
}

TEST_F(GraphFaults, a_recording_that_cannot_start_leaves_none) {
  namespace fs = std::filesystem;
  const fs::path path =
      fs::temp_directory_path() / fmt::format("tenure-faults-{}.tenure", getpid());
  expect_survives_failures<Nothing>({.make = [] { return std::make_unique<Nothing>(); },
                                     .call =
                                         [&](Nothing&) {
                                           Recording recording(path.string());
                                           disarm();  // its own thread writes; and so may this one
                                           Floats values = floats(tanh(input()));
                                           recording.stop();
                                           return values;
                                         }});
  fs::remove(path);
}

}  // namespace
}  // namespace tenure::testing
