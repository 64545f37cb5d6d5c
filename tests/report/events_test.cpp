// Each kind of event, as a run shows it.
#include <thread>

#include "memory/events.h"
#include "memory/pool.h"
#include "report/recorded.h"
#include "tenure/tenure.h"

namespace tenure::report {
namespace {

using testing::file;
using testing::line;
using testing::live_at;
using testing::named;
using testing::spans;
using testing::text;
using testing::values;

class Events : public testing::Recorded {};

std::vector<TensorLife> saved_for(const report::Run& run, const std::string& owner) {
  std::vector<TensorLife> found;
  for (const TensorLife& life : run.tensors) {
    if (life.owner != 0 && text(run, life.owner) == owner) found.push_back(life);
  }
  return found;
}

std::uint32_t lines(int line) { return static_cast<std::uint32_t>(line); }

TEST_F(Events, a_tape_saves_values_until_its_gradient) {
  int taped = 0;
  const report::Run run = record([&] {
    const Tensor x = ones({4});
    taped = __LINE__ + 1;
    GradientTape tape({.name = "step"});
    tape.watch(x);
    Tensor y = x * x;
    std::vector<Tensor> gradients = tape.gradient(y, {x});
    gradients[0].set_name("gradient");
  });
  const auto saved = saved_for(run, "tape \"step\"");
  ASSERT_FALSE(saved.empty());
  for (const TensorLife& life : saved) {
    EXPECT_NE(life.died, kNever);
    ASSERT_NE(life.storage, kNone);
    EXPECT_EQ(category_at(run.storages[life.storage], life.born), Category::saved_for_backward);
  }
  const auto tapes = spans(run, "tape");
  ASSERT_EQ(tapes.size(), 1u);
  EXPECT_EQ(text(run, tapes[0].name), "step");
  EXPECT_EQ(line(run, tapes[0].site), lines(taped));
  EXPECT_NE(tapes[0].end, kNever);
  const auto gradient = named(run, "gradient");
  ASSERT_EQ(gradient.size(), 1u);
  EXPECT_EQ(category_at(run.storages[gradient[0].storage], gradient[0].died), Category::gradient);
  EXPECT_HAS(text(run, gradient[0].op), "gradient of");
}

TEST_F(Events, a_variable_is_a_saved_value_of_its_kind) {
  const report::Run run = record([&] {
    const Variable w(ones({4}), {.name = "w"});
    const Variable m(zeros({4}), {.name = "m", .kind = Category::optimizer_state});
    const Variable cut(reshape(ones({4, 4}), {16}), {.name = "cut"});
  });
  const auto w = saved_for(run, "variable \"w\""), m = saved_for(run, "variable \"m\"");
  ASSERT_EQ(w.size(), 1u);
  ASSERT_EQ(m.size(), 1u);
  EXPECT_EQ(category_at(run.storages[w[0].storage], run.length), Category::parameter);
  EXPECT_EQ(category_at(run.storages[m[0].storage], run.length), Category::optimizer_state);
}

TEST_F(Events, a_variable_of_a_part_of_a_tensor_holds_bytes_of_its_own) {
  const report::Run run = record([&] {
    Tensor x = ones({4, 4});
    x.set_name("x");
    const Variable w(slice(x, {0, 0}, {1, 4}), {.name = "w"});
  });
  const auto w = saved_for(run, "variable \"w\"");
  ASSERT_EQ(w.size(), 1u);
  EXPECT_NE(w[0].storage, named(run, "x").at(0).storage);
  EXPECT_GE(w[0].born, run.storages[w[0].storage].born);
  EXPECT_EQ(run.storages[w[0].storage].nbytes, 16u);
}

TEST_F(Events, tidies_nest) {
  const report::Run run =
      record([&] { tidy("outer", [&] { tidy("inner", [&] { ones({1}); }); }); });
  const auto tidies = spans(run, "tidy");
  ASSERT_EQ(tidies.size(), 2u);
  EXPECT_EQ(text(run, tidies[0].name), "outer");
  EXPECT_EQ(tidies[0].parent, kNone);
  ASSERT_NE(tidies[1].parent, kNone);
  EXPECT_EQ(text(run, run.spans[tidies[1].parent].name), "outer");
  EXPECT_LE(tidies[0].begin, tidies[1].begin);
  EXPECT_LE(tidies[1].end, tidies[0].end);
}

TEST_F(Events, a_tidy_around_the_recording_is_known) {
  report::Run run;
  tidy("around", [&] { run = record([&] { ones({1}).set_name("x"); }); });
  const auto tidies = spans(run, "tidy");
  ASSERT_EQ(tidies.size(), 1u);
  EXPECT_EQ(tidies[0].begin, 0);
  EXPECT_EQ(tidies[0].end, kNever);
  EXPECT_EQ(text(run, run.spans.at(named(run, "x").at(0).scope).name), "around");
}

TEST_F(Events, a_traced_function_is_traced_once_and_its_steps_have_their_lines) {
  int made = 0, traced = 0;
  const report::Run run = record([&] {
    traced = __LINE__ + 1;
    const Function<Tensor(Tensor)> fn("f", [](const Tensor& x) { return matmul(x, x); });
    const Tensor x = ones({8, 8});
    for (int i = 0; i < 3; ++i) {
      made = __LINE__ + 1;
      fn(x).set_name("result");
    }
  });
  EXPECT_EQ(spans(run, "trace").size(), 1u);
  const auto calls = spans(run, "call");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(text(run, calls[0].name), "f");
  EXPECT_EQ(line(run, calls[0].site), lines(made));
  int ran = 0;
  for (const OpRun& op : run.ops) {
    if (text(run, op.op) != "matmul") continue;
    ++ran;
    EXPECT_EQ(line(run, op.site), lines(traced));
    EXPECT_EQ(text(run, run.spans.at(op.span).kind), "call");
    EXPECT_EQ(op.bytes, 256u);
  }
  EXPECT_EQ(ran, 3);
  const auto results = named(run, "result");
  ASSERT_EQ(results.size(), 3u);
  for (const TensorLife& life : results) EXPECT_FALSE(life.is_view);
  int symbolic = 0;
  for (const TensorLife& life : run.tensors) {
    if (life.storage != kNone) continue;
    ++symbolic;
    EXPECT_NE(life.died, kNever);
  }
  EXPECT_GT(symbolic, 0);
}

TEST_F(Events, functions_of_one_name_are_told_apart) {
  const report::Run run = record([] {
    const auto twice = [](Tensor x) { return x * 2; };
    const auto first = function("step", twice), second = function("step", twice);
    const Tensor x = ones({2});
    for (const auto& each : {first, second, first}) each(x);
  });
  const std::vector<report::Span> calls = spans(run, "call"), traces = spans(run, "trace");
  ASSERT_EQ(calls.size(), 3u);
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_NE(calls[0].of, 0u);
  EXPECT_NE(calls[0].of, calls[1].of);
  EXPECT_EQ(calls[0].of, calls[2].of);
  EXPECT_EQ(traces[0].of, calls[0].of);
  EXPECT_EQ(traces[1].of, calls[1].of);
}

TEST_F(Events, a_variable_assigned_by_a_traced_function_goes_on_in_new_bytes) {
  const report::Run run = record([&] {
    Variable w(ones({64}), {.name = "w"});
    const Function<Tensor(Tensor)> fn("f", [&](const Tensor& x) {
      w.assign(w + x);
      return sum(w.read());
    });
    const Tensor held = w.read();
    fn(held);
  });
  const auto lives = saved_for(run, "variable \"w\"");
  ASSERT_EQ(lives.size(), 2u);
  EXPECT_NE(lives[0].storage, lives[1].storage);
  EXPECT_EQ(lives[0].died, lives[1].born);
  EXPECT_EQ(text(run, lives[0].cause), "assigned");
  EXPECT_EQ(category_at(run.storages[lives[1].storage], lives[1].born), Category::parameter);
}

TEST_F(Events, errors_about_lifetimes_are_told_with_the_place_of_use) {
  int disposed = 0, symbolic = 0, tape_line = 0;
  std::uint64_t id = 0;
  const report::Run run = record([&] {
    Tensor x = ones({4});
    id = x.id();
    x.dispose();
    disposed = __LINE__ + 1;
    EXPECT_THROW(add(x, x), DisposedError);
    Tensor leaked;
    const Function<Tensor(Tensor)> fn("f", [&](const Tensor& y) { return leaked = y + 1; });
    fn(ones({2}));
    symbolic = __LINE__ + 1;
    EXPECT_THROW(leaked.to_vector<float>(), InaccessibleTensorError);
    const Tensor z = ones({4});
    GradientTape tape;
    tape.watch(z);
    const Tensor y = z * z;
    tape.gradient(y, {z});
    tape_line = __LINE__ + 1;
    EXPECT_THROW(tape.gradient(y, {z}), TapeError);
    EXPECT_THROW(zeros({std::int64_t{1} << 46}), OutOfMemoryError);
    EXPECT_THROW(Recording(at("second")), BusyError);
  });
  ASSERT_EQ(run.raised.size(), 5u);
  EXPECT_EQ(text(run, run.raised[0].type), "DisposedError");
  EXPECT_EQ(text(run, run.raised[0].op), "add");
  EXPECT_HAS(text(run, run.raised[0].problem), "was disposed");
  EXPECT_FALSE(text(run, run.raised[0].remedy).empty());
  EXPECT_HAS(text(run, run.raised[0].text), "DisposedError: add");
  EXPECT_EQ(line(run, run.raised[0].site), lines(disposed));
  EXPECT_EQ(run.raised[0].tensor, id);
  EXPECT_EQ(text(run, run.raised[1].type), "InaccessibleTensorError");
  EXPECT_EQ(line(run, run.raised[1].site), lines(symbolic));
  EXPECT_EQ(text(run, run.raised[2].type), "TapeError");
  EXPECT_EQ(line(run, run.raised[2].site), lines(tape_line));
  EXPECT_EQ(text(run, run.raised[3].type), "OutOfMemoryError");
  EXPECT_EQ(text(run, run.raised[4].type), "BusyError");
}

TEST_F(Events, a_disposed_variable_that_is_read_is_told) {
  int used = 0;
  const report::Run run = record([&] {
    Variable v(ones({4}), {.name = "v"});
    v.dispose();
    used = __LINE__ + 1;
    EXPECT_THROW(v.read(), DisposedError);
  });
  ASSERT_EQ(run.raised.size(), 1u);
  EXPECT_HAS(text(run, run.raised[0].text), "variable \"v\" was disposed");
  EXPECT_EQ(line(run, run.raised[0].site), lines(used));
}

TEST_F(Events, a_session_destroyed_while_it_runs_raises_nothing) {
  const report::Run run = record([] {
    auto session = std::make_unique<Session>();
    session->run([&] { session.reset(); });
  });
  EXPECT_TRUE(run.raised.empty()) << text(run, run.raised[0].text);
}

TEST_F(Events, the_pool_and_the_budget_are_told_when_they_change) {
  trim_pool();
  const std::size_t budget = memory_budget();
  std::size_t reserved = 0;
  const report::Run run = record([&] {
    set_memory_budget(std::size_t{1} << 30);
    const Tensor x = zeros({1 << 20});
    reserved = memory().reserved_bytes;
  });
  set_memory_budget(budget);
  EXPECT_EQ(run.budget, std::size_t{1} << 30);
  ASSERT_GE(run.pool.size(), 2u);
  EXPECT_EQ(run.pool.back().reserved, reserved);
  EXPECT_LT(run.pool.front().reserved, reserved);
}

TEST_F(Events, memory_from_outside_counts_for_nothing) {
  const std::vector<float> numbers(100, 1.f);
  const report::Run run = record([&] {
    Tensor x = from_buffer(numbers.data(), {100}, DType::float32, {});
    x.set_name("outside");
  });
  const auto lives = named(run, "outside");
  ASSERT_EQ(lives.size(), 1u);
  EXPECT_EQ(lives[0].nbytes, 400u);
  EXPECT_EQ(run.storages.at(lives[0].storage).nbytes, 0u);
  EXPECT_EQ(run.storages.at(lives[0].storage).capacity, 0u);
}

// The bytes alive at the moments when `check` was called are what memory() said then.
TEST_F(Events, storages_balance_at_every_moment) {
  const auto check = [] {
    detail::events::value("live", 0, static_cast<double>(memory().live_bytes));
  };
  const Tensor before = ones({1000});
  Variable w(ones({32, 32}), {.name = "w"});
  const Function<Tensor(Tensor)> fn("f", [&](const Tensor& x) {
    return sum(matmul(x, w.read()) + tensor({1.f, 2.f}, {2, 1}) * 3);
  });
  fn(ones({2, 32}));  // its constants are bytes that no tensor holds
  const report::Run run = record([&] {
    check();
    for (int i = 1; i < 20; ++i) {
      const Tensor kept = tidy([&] {
        check();
        Tensor y = ones({i * 10});
        for (int j = 0; j < 3; ++j) y = std::move(y) * 2;
        const Tensor view = slice(y, {0}, {5});
        check();
        return relu(view);
      });
      check();
      fn(ones({2, 32}));
      check();
      GradientTape tape({.persistent = true});
      const Tensor loss = sum(w * w);
      w.assign(w * 0.5);
      check();
      tape.gradient(loss, {w});
      check();
    }
    std::thread([&] {
      const Tensor x = ones({300});
      check();
    }).join();
    check();
  });
  const auto moments = values(run, "live");
  ASSERT_GT(moments.size(), 100u);
  for (const Value& moment : moments) {
    ASSERT_EQ(static_cast<double>(live_at(run, moment.time)), moment.value) << moment.time;
  }
}

TEST_F(Events, threads_that_hand_memory_to_each_other_are_in_order) {
  constexpr int kRounds = 200;
  const report::Run run = record([&] {
    std::atomic<Tensor*> box{nullptr};
    const auto put = [&](Tensor* x) {
      Tensor* empty = nullptr;
      while (!box.compare_exchange_weak(empty, x)) {
        empty = nullptr;
        std::this_thread::yield();
      }
    };
    std::thread maker([&] {
      for (int i = 0; i < kRounds; ++i) {
        auto* x = new Tensor(full({7 + i % 3}, i));
        x->set_name("passed");
        put(x);
      }
    });
    std::thread breaker([&] {
      for (int i = 0; i < kRounds;) {
        if (Tensor* x = box.exchange(nullptr)) {
          delete x;
          full({8}, i);  // may get the same bytes
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
    maker.join();
    breaker.join();
  });
  const auto passed = named(run, "passed");
  ASSERT_EQ(passed.size(), static_cast<std::size_t>(kRounds));
  for (const TensorLife& life : passed) {
    const StorageLife& bytes = run.storages.at(life.storage);
    ASSERT_GE(life.born, bytes.born);
    ASSERT_GT(life.died, life.born);
    ASSERT_GE(bytes.freed, life.died);
    ASSERT_FALSE(life.is_view);
    ASSERT_FALSE(life.reused);
  }
  std::size_t alive = 0;
  for (const StorageLife& life : run.storages) alive += life.born > 0 && life.freed == kNever;
  EXPECT_EQ(alive, 0u);
  for (std::size_t i = 1; i < run.tensors.size(); ++i) {
    ASSERT_LE(run.tensors[i - 1].born, run.tensors[i].born);
  }
}

TEST_F(Events, a_program_can_tell_of_its_own_steps_and_values) {
  int line_of_step = 0;
  const RecordedSpan before("step");  // nothing is recorded yet
  record_value("loss", 9);
  const report::Run run = record([&] {
    for (int i = 0; i < 3; ++i) {
      line_of_step = __LINE__ + 1;
      const RecordedSpan step(std::string("step"), "mine");
      record_value("loss", 0.5 * i, static_cast<std::uint64_t>(i));
      ones({2}).set_name("x");
    }
  });
  const auto steps = spans(run, "step");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(text(run, steps[2].name), "mine");
  EXPECT_EQ(line(run, steps[2].site), lines(line_of_step));
  EXPECT_NE(steps[2].end, kNever);
  const auto losses = values(run, "loss");
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses[2].value, 1);
  EXPECT_EQ(losses[2].step, 2u);
}

TEST_F(Events, the_state_of_a_layer_has_its_name) {
  const report::Run run = record([&] {
    const nn::Sequential model({nn::LSTM(
        {.units = 3, .stateful = true, .name = "memory", .batch_input_shape = {2, 4, 3}})});
    model.predict(ones({2, 4, 3}));
  });
  int states = 0;
  for (const TensorLife& life : run.tensors) {
    if (life.owner == 0 || life.storage == kNone) continue;
    const StorageLife& storage = run.storages[life.storage];
    if (category_at(storage, storage.born) != Category::layer_state) continue;
    ++states;
    EXPECT_HAS(text(run, life.owner), "variable \"memory/");
  }
  EXPECT_EQ(states, 2);
}

TEST_F(Events, a_fit_has_epochs_steps_and_losses) {
  int line_of_fit = 0;
  nn::History history;
  const report::Run run = record([&] {
    const nn::Sequential model(
        {nn::Dense({.units = 4, .activation = "relu"}), nn::Dense({.units = 1})},
        {.name = "small"});
    model.compile({.optimizer = "adam", .loss = "mean_squared_error", .metrics = {"mae"}});
    const Tensor x = ones({16, 3}), y = zeros({16, 1});
    line_of_fit = __LINE__ + 1;
    history = model.fit(
        x, y,
        {.batch_size = 4, .epochs = 2, .verbose = nn::Verbose::silent, .validation_split = 0.25});
    model.predict(x);
    model.evaluate(x, y);
  });
  const auto fits = spans(run, "fit");
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_EQ(text(run, fits[0].name), "small");
  EXPECT_EQ(line(run, fits[0].site), lines(line_of_fit));
  const auto epochs = spans(run, "epoch"), steps = spans(run, "step");
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_EQ(text(run, epochs[1].name), "2");
  EXPECT_EQ(text(run, run.spans.at(epochs[0].parent).kind), "fit");
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(text(run, run.spans.at(steps[0].parent).kind), "epoch");
  EXPECT_EQ(spans(run, "evaluate").size(), 3u);
  EXPECT_EQ(spans(run, "predict").size(), 1u);
  const auto step_losses = values(run, "step_loss");
  ASSERT_EQ(step_losses.size(), 6u);
  EXPECT_EQ(step_losses[5].step, 6u);
  for (const char* name : {"loss", "mae", "val_loss", "val_mae"}) {
    const auto told = values(run, name);
    ASSERT_EQ(told.size(), 2u) << name;
    EXPECT_EQ(told[1].value, history[name].at(1)) << name;
    EXPECT_EQ(told[1].step, 6u);
  }
  EXPECT_EQ(values(run, "evaluate_loss").size(), 1u);
}

}  // namespace
}  // namespace tenure::report
