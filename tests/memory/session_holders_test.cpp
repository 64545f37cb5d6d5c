// L36: what somebody holds when its session closes stays valid, and passes to the process.
#include <dlpack/dlpack.h>

#include <future>
#include <memory>
#include <thread>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;
using testing::message_of;

std::vector<std::string> owners(const SessionReport& report) {
  std::vector<std::string> names;
  for (const Holder& holder : report.passed_on) names.push_back(holder.owner);
  return names;
}

// Other memory, in the place of what was freed.
void write_over_freed_memory() {
  std::vector<Tensor> others;
  for (int i = 0; i < 64; ++i) others.push_back(full({3}, -1.f));
}

TEST(Contract, L36_a_closed_session_leaves_a_functions_captures_alive) {
  Function serve = function("serve", [](Tensor x) { return x * tensor({1.f, 2.f, 3.f}); });
  for (int request = 0; request < 3; ++request) {
    Session session({.name = "request"});
    const Tensor y = session.run([&] { return serve(full({3}, 2.f)); });
    EXPECT_EQ(session.run([&] { return floats(y); }), (Floats{2, 4, 6}));
    const SessionReport report = session.close();
    EXPECT_EQ(report.disposed.size(), 1u);
    if (request == 0) {
      EXPECT_EQ(owners(report), std::vector<std::string>{"function \"serve\""});
      EXPECT_HAS(report.text(), "passed on  saved value of float32 [3]");
    } else {
      EXPECT_TRUE(report.passed_on.empty()) << report;
    }
    EXPECT_EQ(session.memory().live_bytes, 0u);
    write_over_freed_memory();
  }
  EXPECT_EQ(memory().live_bytes, 12u) << "the capture is the process's now";
  EXPECT_EQ(floats(serve(ones({3}))), (Floats{1, 2, 3}));
}

TEST(Contract, L36_the_process_lends_its_variables_to_every_session) {
  Variable w(tensor({1.f, 2.f, 3.f}), {.name = "w"});
  Function serve = function("serve", [&](Tensor x) { return x * w; });
  Function learn = function("learn", [&](Tensor x) { w.assign(w + x); });
  serve(ones({3}));
  for (int request = 0; request < 3; ++request) {
    Session session({.name = "request"});
    session.run([&] {
      EXPECT_EQ(floats(serve(full({3}, 2.f))), (Floats{2, 4, 6}));
      EXPECT_EQ(floats(w * 2.f), (Floats{2, 4, 6}));
      GradientTape tape;
      const Tensor y = serve(full({3}, 2.f));
      EXPECT_EQ(floats(tape.gradient(y, w)), (Floats{2, 2, 2}));
      const std::string refused = "variable \"w\" belongs to the default session";
      EXPECT_HAS(message_of<InaccessibleTensorError>([&] { w.assign(zeros({3})); }), refused);
      EXPECT_HAS(message_of<InaccessibleTensorError>([&] { learn(ones({3})); }), refused);
    });
    EXPECT_TRUE(session.close().passed_on.empty());
    write_over_freed_memory();
  }
  learn(ones({3}));
  EXPECT_EQ(floats(w.read()), (Floats{2, 3, 4}));
  nn::Sequential model({nn::Dense({.units = 2, .kernel_initializer = "ones", .input_shape = {3}})});
  Session session({.name = "request"});
  session.run([&] {
    EXPECT_EQ(floats(model.predict(ones({1, 3}))), (Floats{3, 3}));
    EXPECT_EQ(floats(model(ones({1, 3}))), (Floats{3, 3}));
  });
}

TEST(Contract, L36_running_out_of_memory_after_a_close_is_an_error_like_any_other) {
  Function serve = function("serve", [](Tensor x) { return x * tensor({1.f, 2.f, 3.f}); });
  {
    Session session({.name = "request"});
    session.run([&] { serve(ones({3})); });
  }
  trim_pool();
  set_memory_budget(memory().reserved_bytes + (1 << 20));
  EXPECT_HAS(message_of<OutOfMemoryError>([] { zeros({1 << 20}); }), "function \"serve\"");
  set_memory_budget(0);
}

TEST(Contract, L36_a_closed_session_leaves_a_functions_constants_alive) {
  // A value computed when the function is built, beside one that is its result.
  Function serve = function("serve", [](Tensor x) {
    const Tensor table = linspace(0, 2, 3) * 2.f;
    return std::pair(x + table, table);
  });
  {
    Session session({.name = "request"});
    session.run([&] { EXPECT_EQ(floats(serve(ones({3})).first), (Floats{1, 3, 5})); });
    const std::vector<std::string> names = owners(session.close());
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) EXPECT_EQ(name, "function \"serve\"");
  }
  write_over_freed_memory();
  Session next({.name = "next"});
  next.run([&] {
    const auto [y, table] = serve(ones({3}));
    EXPECT_EQ(floats(y), (Floats{1, 3, 5}));
    EXPECT_EQ(floats(table), (Floats{0, 2, 4}));
    // The results are of the session that runs, bytes that the function holds are not.
    const MemoryInfo figures = next.memory();
    EXPECT_EQ(figures.tensors, 2u);
    EXPECT_EQ(figures.live_bytes, 12u);
    EXPECT_EQ(figures.other_bytes, 12u);
    EXPECT_EQ(figures.workspace_bytes, 0u);
  });
}

TEST(Contract, L36_bytes_that_another_session_shows_pass_on_too) {
  Session a({.name = "a"}), b({.name = "b"});
  Tensor table;
  {
    Function f = function("table", [](Tensor) { return linspace(0, 2, 3) * 2.f; });
    a.run([&] { f(ones({1})); });
    table = b.run([&] { return f(ones({1})); });
  }
  EXPECT_EQ(a.memory().live_bytes, 12u) << "charged to where the constant was made";
  EXPECT_TRUE(a.close().empty());
  EXPECT_EQ(a.memory().live_bytes, 0u);
  EXPECT_EQ(b.run([&] { return floats(table); }), (Floats{0, 2, 4}));
  EXPECT_EQ(b.close().disposed.size(), 1u);
  EXPECT_EQ(memory().live_bytes, 0u);
}

TEST(Contract, L33_why_alive_names_the_function_whose_constant_it_is) {
  Function table = function("table", [](Tensor) { return arange(4) * 2.f; });
  const Tensor held = table(ones({1}));
  std::vector<std::string> names;
  for (const Holder& holder : why_alive(held)) names.push_back(holder.owner);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"", "function \"table\""}));
}

TEST(Contract, L36_a_closed_session_leaves_a_span_alive) {
  Session session({.name = "a"});
  const Tensor x = session.run([] { return tensor({1.f, 2.f, 3.f}).set_name("x"); });
  auto span = session.run([&] { return std::optional(x.view<float>()); });
  EXPECT_EQ(owners(session.close()), std::vector<std::string>{"span \"x\""});
  EXPECT_TRUE(x.is_disposed());
  EXPECT_EQ(session.memory().live_bytes, 0u);
  EXPECT_EQ(memory().live_bytes, 12u);
  write_over_freed_memory();
  EXPECT_EQ(Floats(span->begin(), span->end()), (Floats{1, 2, 3}));
  span.reset();
  EXPECT_EQ(memory().live_bytes, 0u);
}

TEST(Contract, L36_a_closed_session_leaves_a_dlpack_export_alive) {
  Session session({.name = "a"});
  DLManagedTensor* exported =
      session.run([] { return to_dlpack(tensor({1.f, 2.f, 3.f}).set_name("x")); });
  EXPECT_EQ(owners(session.close()), std::vector<std::string>{"DLPack export \"x\""});
  write_over_freed_memory();
  EXPECT_EQ(floats(from_dlpack(exported)), (Floats{1, 2, 3}));
}

// Keeps every background thread busy.
class BusyCrew {
 public:
  BusyCrew() {
    for (int i = 0; i < 64; ++i) {
      jobs_.push_back(start_job<void>([open = open_](JobControl&) { open.wait(); }));
    }
  }
  ~BusyCrew() { let_go(); }
  void let_go() {
    if (jobs_.empty()) return;
    gate_.set_value();
    for (Job<void>& job : jobs_) job.get();
    jobs_.clear();
  }

 private:
  std::promise<void> gate_;
  std::shared_future<void> open_ = gate_.get_future().share();
  std::vector<Job<void>> jobs_;
};

TEST(Contract, L36_a_closed_session_leaves_a_read_in_flight_alive) {
  BusyCrew crew;
  Session session({.name = "a"});
  Job<Floats> read =
      session.run([] { return tensor({1.f, 2.f, 3.f}).set_name("x").read_async<float>(); });
  EXPECT_EQ(owners(session.close()), std::vector<std::string>{"read in flight \"x\""});
  write_over_freed_memory();
  crew.let_go();
  EXPECT_EQ(read.get(), (Floats{1, 2, 3}));
}

TEST(Contract, L36_a_closed_session_leaves_a_tape_alive) {
  Session session({.name = "a"});
  std::optional<GradientTape> tape;
  Tensor x, y;
  session.run([&] {
    tape.emplace(TapeOptions{.name = "step"});
    x = tensor({1.f, 2.f, 3.f});
    tape->watch(x);
    y = square(x);
  });
  EXPECT_EQ(owners(session.close()), std::vector<std::string>{"tape \"step\""});
  write_over_freed_memory();
  EXPECT_EQ(floats(tape->gradient(y, x)), (Floats{2, 4, 6}));
}

TEST(Contract, L36_a_tape_gives_no_gradient_of_an_open_session_elsewhere) {
  Session session({.name = "a"});
  GradientTape tape({.name = "step"});
  Tensor x, y;
  session.run([&] {
    x = tensor({1.f, 2.f, 3.f});
    tape.watch(x);
    y = square(x);
  });
  const std::string text = message_of<InaccessibleTensorError>([&] { tape.gradient(y, x); });
  EXPECT_HAS(text, "a value saved for tape \"step\" belongs to session \"a\"");
}

TEST(Contract, L36_bytes_that_many_hold_pass_on_once) {
  Session session({.name = "a"});
  std::optional<Function<Tensor(Tensor)>> first, second;
  std::optional<TensorSpan<float>> span;
  session.run([&] {
    const Tensor x = tensor({1.f, 2.f, 3.f});
    first.emplace(function("first", [x](Tensor a) { return a + x; }));
    second.emplace(function("second", [top = slice(x, {0}, {2})](Tensor a) { return a + top; }));
    (*first)(x);
    (*second)(slice(x, {1}, {2}));
    span.emplace(x.view<float>());
  });
  const SessionReport report = session.close();
  EXPECT_EQ(report.passed_on.size(), 3u) << report;
  EXPECT_EQ(session.memory().live_bytes, 0u);
  EXPECT_EQ(session.memory().reserved_bytes, 0u);
  EXPECT_EQ(memory().live_bytes, 12u);
  first.reset();
  span.reset();
  EXPECT_EQ(floats((*second)(zeros({2}))), (Floats{1, 2}));
}

TEST(Contract, L36_captures_of_the_process_serve_every_session) {
  const Tensor table = tensor({1.f, 2.f});
  Function warm = function("warm", [&](Tensor x) { return x * table; });
  Function cold = function("cold", [&](Tensor x) { return warm(x) + table; });
  warm(ones({2}));
  Session a({.name = "a"}), b({.name = "b"});
  for (Session* session : {&a, &b}) {
    session->run([&] {
      const Tensor x = full({2}, 3.f);
      EXPECT_EQ(floats(warm(x)), (Floats{3, 6}));
      EXPECT_EQ(floats(cold(x)), (Floats{4, 8}));  // traced in a, while that is open
      GradientTape tape;
      tape.watch(x);
      EXPECT_EQ(floats(tape.gradient(cold(x), x)), (Floats{1, 2}));
      EXPECT_THROW(x * table, InaccessibleTensorError) << "a tensor is its session's alone";
    });
  }
  EXPECT_TRUE(a.close().empty());
  EXPECT_TRUE(b.close().empty());
}

TEST(Contract, L36_captures_of_an_open_session_are_refused_elsewhere) {
  Session a({.name = "a"}), b({.name = "b"});
  const auto scale = [](Tensor x) { return x * tensor({1.f, 2.f}); };
  Function plain = function("scale", scale);
  Function block = checkpoint("scale", scale);
  Function around = function("around", [&](Tensor x) { return plain(x) + 1.f; });
  a.run([&] {
    plain(ones({2}));
    block(ones({2}));
  });
  const Tensor x = b.run([] { return ones({2}); });
  const auto taped = [&](const auto& fn) {
    GradientTape tape;
    tape.watch(x);
    return fn(x);
  };
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { plain(x); }, [&] { block(x); }, [&] { taped(plain); }, [&] { taped(block); },
           [&] { around(x); }}) {
    const std::string text = message_of<InaccessibleTensorError>([&] { b.run(call); });
    EXPECT_HAS(text,
               "function \"scale\": a value saved for function \"scale\" belongs to session "
               "\"a\" and was used in session \"b\"");
    EXPECT_HAS(text, "used      session_holders_test.cpp:");
  }
  a.close();
  b.run([&] {
    EXPECT_EQ(floats(plain(x)), (Floats{1, 2}));
    EXPECT_EQ(floats(taped(block)), (Floats{1, 2}));
    EXPECT_EQ(floats(around(x)), (Floats{2, 3}));
  });
}

TEST(Contract, L36_a_result_that_is_a_capture_is_the_sessions_and_its_bytes_are_not) {
  const Tensor table = tensor({1.f, 2.f});
  Function f = function("f", [&](Tensor x) { return std::pair(x + 1.f, table); });
  f(ones({2}));
  Session a({.name = "a", .budget = 256});
  a.run([&] {
    const auto [y, same] = f(ones({2}));
    const MemoryInfo figures = a.memory();
    EXPECT_EQ(figures.tensors, 2u);
    EXPECT_EQ(figures.live_bytes, 8u);
    EXPECT_EQ(figures.other_bytes, 8u);
    EXPECT_EQ(floats(same + 1.f), (Floats{2, 3}));
    const std::string text = message_of<OutOfMemoryError>([] { zeros({1024}); });
    EXPECT_EQ(text.find(same.story().title()), text.npos) << text;
  });
}

}  // namespace
}  // namespace tenure
