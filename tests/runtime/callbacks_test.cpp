// The user's code that the library calls: it may ask the library anything.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "support/child.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::floats;

// For the time of a test.
class WarningSink {
 public:
  explicit WarningSink(std::function<void(std::string_view)> sink) {
    set_warning_sink(std::move(sink));
  }
  ~WarningSink() { set_warning_sink(nullptr); }
  WarningSink(const WarningSink&) = delete;
  WarningSink& operator=(const WarningSink&) = delete;
};

// Whatever a program may want to know when it is warned.
void ask_everything() {
  (void)memory();
  EXPECT_EQ(floats(ones({3}) * 2)[0], 2.f);
  tidy([] { (void)ones({3}); });
  GradientTape tape;
  const Variable w(ones({2}));
  EXPECT_EQ(floats(tape.gradient(sum(square(w)), w))[0], 2.f);
  EXPECT_EQ(ones({2}).read_async<float>().get()[0], 1.f);
  std::thread([] { (void)(ones({3}) + 1); }).join();
  EXPECT_EQ(floats(function("inner", [](Tensor x) { return x + 1; })(ones({2})))[0], 2.f);
}

TEST(Callbacks, a_warning_sink_may_ask_the_function_that_warns) {
  auto twice = function("twice", [](Tensor x) { return x * 2; }, {.most_traces = 2});
  int warnings = 0;
  const WarningSink sink([&](std::string_view) {
    ++warnings;
    ask_everything();
    EXPECT_FALSE(twice.traces().empty());
    EXPECT_EQ(floats(twice(ones({2})))[0], 2.f);
  });
  for (int n = 1; n < 6; ++n) twice(ones({n}));
  EXPECT_EQ(warnings, 1);
}

TEST(Callbacks, a_warning_sink_may_set_another) {
  auto twice = function("twice", [](Tensor x) { return x * 2; }, {.most_traces = 1});
  int first = 0, second = 0;
  const WarningSink sink([&](std::string_view) {
    ++first;
    set_warning_sink([&](std::string_view) { ++second; });
  });
  for (int n = 1; n < 4; ++n) twice(ones({n}));
  auto again = function("again", [](Tensor x) { return x * 2; }, {.most_traces = 1});
  for (int n = 1; n < 4; ++n) again(ones({n}));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(Callbacks, what_a_warning_sink_throws_goes_no_further) {
  static float values[4] = {};
  const WarningSink sink([](std::string_view) { throw std::runtime_error("sink"); });
  ::testing::internal::CaptureStderr();
  Tensor outside = from_buffer(values, {4}, [] { throw std::runtime_error("deleter"); });
  outside.dispose();
  auto twice = function("twice", [](Tensor x) { return x * 2; }, {.most_traces = 1});
  for (int n = 1; n < 4; ++n) twice(ones({n}));
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_HAS(told, "deleter");
  EXPECT_HAS(told, "the warning sink failed: sink");
}

TEST(Callbacks, a_warning_sink_that_warns_is_not_called_again) {
  int warnings = 0;
  const WarningSink sink([&](std::string_view) {
    ++warnings;
    auto inner = function("inner", [](Tensor x) { return x * 2; }, {.most_traces = 1});
    for (int n = 1; n < 4; ++n) inner(ones({n}));
  });
  auto twice = function("twice", [](Tensor x) { return x * 2; }, {.most_traces = 1});
  for (int n = 1; n < 4; ++n) twice(ones({n}));
  EXPECT_EQ(warnings, 1);
}

TEST(Callbacks, a_warning_sink_called_in_a_trace_works_outside_of_it) {
  int warnings = 0;
  Tensor made;
  const WarningSink sink([&](std::string_view) {
    ++warnings;
    ask_everything();
    made = ones({4});
  });
  Tensor escaped;
  auto leaks = function("leaks",
                        [&](Tensor x) {
                          escaped = x + 1;
                          return x * 2;
                        },
                        {.check_escapes = true});
  tidy([&] {
    GradientTape tape;
    EXPECT_EQ(floats(leaks(ones({2})))[0], 2.f);
  });
  EXPECT_EQ(warnings, 1);
  EXPECT_FALSE(made.is_disposed());
}

TEST(Callbacks, a_sink_that_is_replaced_may_use_the_library_while_it_goes) {
  struct Last {
    ~Last() {
      set_warning_sink(nullptr);
      (void)ones({2});
    }
  };
  set_warning_sink([last = std::make_shared<Last>()](std::string_view) {});
  set_warning_sink(nullptr);
}

// In a process of its own, before it has used the library.
std::atomic<int> g_start_warnings = 0;
const bool g_sink_of_start = [] {
  if (std::getenv("TENURE_TEST_START") == nullptr) return false;
  set_warning_sink([](std::string_view) {
    ++g_start_warnings;
    ask_everything();
  });
  return true;
}();

TEST(Start, a_warning_reaches_a_sink_that_asks) {
  if (!g_sink_of_start)
    GTEST_SKIP() << "run by Callbacks.a_warning_of_the_start_may_be_asked_about";
  EXPECT_EQ(g_start_warnings, 1);
  set_warning_sink(nullptr);
}

TEST(Callbacks, a_warning_of_the_start_may_be_asked_about) {
  testing::in_child([] {
    setenv("TENURE_MEMORY_BUDGET", "nonsense", 1);
    setenv("TENURE_TEST_START", "1", 1);
    execl("/proc/self/exe", "test", "--gtest_filter=Start.*", "--gtest_brief=1", nullptr);
  });
}

TEST(Callbacks, deleters_may_use_the_library) {
  static const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int deleted = 0;
  auto scale = function("scale", [](Tensor x) { return x * 2; });
  const auto given = [&] {
    return from_buffer(values, {8}, [&] {
      ++deleted;
      ask_everything();
      (void)scale(ones({3}));
    });
  };
  {
    const Tensor dropped = given();
  }
  Tensor disposed = given();
  disposed.dispose();
  tidy([&] { (void)given(); });
  {
    Session session;
    session.run([&] {
      const Tensor x = given();
      session.run([&] { EXPECT_EQ(floats(x)[0], 1.f); });
    });
  }
  {
    const Variable w(given());
  }
  EXPECT_EQ(deleted, 5);
}

TEST(Callbacks, deleters_of_captures_may_use_the_function_that_lets_go_of_them) {
  static const float values[2] = {1, 2};
  int deleted = 0;
  std::optional<Function<Tensor(Tensor)>> adds;
  std::vector<Tensor> bias;
  for (int i = 0; i < 4; ++i) {
    bias.push_back(from_buffer(values, {2}, [&] {
      ++deleted;
      (void)adds->traces();
      (void)(*adds)(ones({5, 2}));
    }));
  }
  adds.emplace(
      "adds", [&](Tensor x) { return x + bias[static_cast<std::size_t>(x.dim(0)) % 4]; },
      FunctionOptions{.most_traces = 2});
  const WarningSink sink([](std::string_view) {});
  (*adds)(ones({4, 2}));
  (*adds)(ones({5, 2}));
  bias[0] = Tensor();
  (*adds)(ones({6, 2}));
  (*adds)(ones({7, 2}));
  EXPECT_EQ(deleted, 1);
  for (Tensor& each : bias) each = Tensor();
  auto last = std::move(*adds);
  adds.reset();
  adds.emplace("other", [](Tensor x) { return x; });
}

TEST(Callbacks, generators_maps_and_callbacks_may_use_the_library) {
  struct Asks : nn::CallbackBase {
    void on_train_batch_end(nn::Training& training, const nn::Logs&) override {
      ask_everything();
      (void)training.model().predict(ones({1, 2}));
      (void)training.model().get_weights();
      (void)training.model().summary();
    }
  };
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const nn::Dataset batches = nn::Dataset::from_generator([&] {
                                ask_everything();
                                return [left = 2]() mutable -> std::optional<nn::Batch> {
                                  ask_everything();
                                  if (left-- == 0) return std::nullopt;
                                  return nn::Batch{{ones({2, 2})}, {ones({2, 1})}, {}};
                                };
                              })
                                  .map([&](nn::Batch batch) {
                                    (void)model.predict(ones({1, 2}));
                                    return batch;
                                  })
                                  .prefetch(1);
  model.fit(batches, {.verbose = nn::Verbose::silent, .callbacks = {nn::make_callback<Asks>()}});
}

TEST(Callbacks, a_layer_may_ask_the_model_that_it_is_added_to) {
  struct Curious : nn::LayerBase {
    const char* class_name() const override { return "Curious"; }
    Tensor call(const Tensor& x, const nn::Call&) override {
      if (model != nullptr) (void)model->summary();
      return x;
    }
    const nn::Model* model = nullptr;
  };
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  const nn::Layer layer = nn::make_layer<Curious>();
  layer.as<Curious>()->model = &model;
  model.add(layer);
  EXPECT_EQ(model.layers().size(), 2u);
  layer.as<Curious>()->model = nullptr;
}

}  // namespace
}  // namespace tenure
