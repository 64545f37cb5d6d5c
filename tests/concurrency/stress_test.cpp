// Eight threads that do everything to the same tensors, variables, functions, sessions and models,
// in an order that a seed decides (TENURE_TEST_SEED). Each verb may only fail as its list says;
// what is left at the end is nothing. Run under ThreadSanitizer and AddressSanitizer by make
// sanitize.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "memory/fork.h"
#include "support/child.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::floats;

#if defined(TENURE_TEST_TSAN)
constexpr int kSteps = 1000;  // of each thread
#elif defined(__SANITIZE_ADDRESS__)
constexpr int kSteps = 4000;
#else
constexpr int kSteps = 30000;
#endif
constexpr int kThreads = 8;

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

// How often each verb came to its end.
std::atomic<int>& completed(const char* verb) {
  static detail::ProcessMutex mutex;  // a fork waits for it: children count too
  static std::map<std::string, std::atomic<int>> counts;
  const std::lock_guard lock(mutex);
  return counts[verb];
}

// Runs fn, which may only throw one of these.
template <class... Allowed>
void attempt(const char* verb, const std::function<void()>& fn) {
  try {
    fn();
    ++completed(verb);
  } catch (const std::exception& error) {
    if ((... || (dynamic_cast<const Allowed*>(&error) != nullptr))) return;
    ADD_FAILURE() << verb << ": " << error.what();
  }
}

// What one thread ends and replaces while others use it.
template <class T>
class Replaced {
 public:
  explicit Replaced(T first) : value_(std::move(first)) {}
  T take() {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void put(T next) {  // whoever took the last one has it still
    const std::lock_guard lock(mutex_);
    std::swap(value_, next);
  }

 private:
  std::mutex mutex_;
  T value_;
};

std::shared_ptr<Session> short_session() {
  return std::make_shared<Session>(SessionOptions{.name = "short"});
}

nn::Sequential short_model() {
  const nn::Sequential model(
      {nn::Dense({.units = 2, .input_shape = {3, 4}}), nn::SimpleRNN({.units = 2})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

Tensor doubled(const Tensor& x) {
  return custom_gradient(
      [](const std::vector<Tensor>& in) {
        return CustomResult{in[0] * 2, [](Tensor dy) { return std::vector<Tensor>{dy * 2}; }};
      },
      {x});
}

// Ends as x * 4 + 16.
Tensor through_control_flow(const Tensor& x) {
  const Tensor twice = cond(sum(x) > -1e9f, [&] { return x * 2; }, [&] { return x - 1; });
  const auto [steps, four] = while_loop([](Tensor i, Tensor) { return less(i, 1); },
                                        [](Tensor i, Tensor v) { return std::pair(i + 1, v * 2); },
                                        std::pair(tensor(0), twice));
  const Tensor more = for_loop(2, [](Tensor, Tensor v) { return v + 4; }, four);
  const auto [last, all] =
      scan([](Tensor s, Tensor row) { return std::pair(s + row, s); }, more, ones({8, 16}));
  return last;
}

// What the threads share. A handle object is used under its lock, as any other object would be.
class World {
 public:
  World()
      : twice(function("twice", [](Tensor x) { return x * 2 + 1; }, {.most_traces = 4})),
        blend(function("blend",
                       [w = variables[0]](Tensor x) mutable {
                         w.assign(w * 0.5 + x * 0.5);
                         return w.read() + x;
                       })),
        part(checkpoint("part", [](Tensor x) { return tanh(x) * 2; })),
        control(function("control", [](Tensor x) { return through_control_flow(x); })),
        custom(function("custom",
                        [](Tensor x) {
                          GradientTape inside;
                          inside.watch(x);
                          return inside.gradient(sum(doubled(x)), x);
                        })),
        model({nn::Dense({.units = 8, .activation = "tanh", .input_shape = {4}}),
               nn::Dropout({.rate = 0.2}), nn::Dense({.units = 2})}),
        tape(std::make_unique<GradientTape>(TapeOptions{.persistent = true})) {
    model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
    for (Slot& slot : slots_) slot.tensor = ones({16});
    tape->watch(fixed);
    squared = square(fixed);
    std::string name = (std::filesystem::temp_directory_path() / "tenure-stress-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    model.save_weights(at("weights.safetensors"));
    io::save_npy(at("x.npy"), fixed);
  }
  ~World() { std::filesystem::remove_all(folder); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::string at(const char* name) const { return folder + "/" + name; }

  Tensor take(Random& random) {
    Slot& slot = slots_[below(random, slots_.size())];
    const std::lock_guard lock(slot.mutex);
    return slot.tensor;
  }
  void put(Random& random, Tensor tensor) {
    Slot& slot = slots_[below(random, slots_.size())];
    const std::lock_guard lock(slot.mutex);
    std::swap(slot.tensor, tensor);
  }

  std::array<Variable, 3> variables{Variable(ones({16}), {.name = "a"}),
                                    Variable(ones({16}), {.name = "b"}),
                                    Variable(ones({16}), {.name = "c"})};
  Function<Tensor(Tensor)> twice;
  Function<Tensor(Tensor)> blend;
  Function<Tensor(Tensor)> part;
  Function<Tensor(Tensor)> control;
  Function<Tensor(Tensor)> custom;
  nn::Sequential model;
  Replaced<std::shared_ptr<Session>> session{short_session()};
  Replaced<nn::Sequential> passing{short_model()};
  std::string folder;
  nn::Optimizer optimizer = nn::Adam({.learning_rate = 0.01});
  nn::Metric metric = nn::Metric("mse");
  std::array<Session, 2> sessions{Session({.name = "left"}), Session({.name = "right"})};
  Tensor fixed = full({16}, 3.f);
  Tensor squared;
  std::unique_ptr<GradientTape> tape;

 private:
  struct Slot {
    std::mutex mutex;
    Tensor tensor;
  };
  std::array<Slot, 24> slots_;
};

struct Verb {
  const char* name;
  void (*run)(const char* name, World& world, Random& random);
};

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all{
      {"make",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           world.put(random, full({16}, static_cast<float>(below(random, 9))).set_name("made"));
         });
       }},
      {"compute",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           Tensor a = world.take(random);
           world.put(random, tanh(a * world.take(random) + 1));
           world.put(random, std::move(a) * 0.5);
         });
       }},
      {"dispose", [](const char* name, World& world,
                     Random& random) { attempt<>(name, [&] { world.take(random).dispose(); }); }},
      {"read",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           const Tensor x = world.take(random);
           EXPECT_EQ(x.to_vector<float>().size(), 16u);
           EXPECT_EQ(x.view<float>().size(), 16u);
           (void)x[3].item<float>();
         });
       }},
      {"read_async",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(
             name, [&] { EXPECT_EQ(world.take(random).read_async<float>().get().size(), 16u); });
       }},
      {"ask",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           const Tensor x = world.take(random);
           EXPECT_EQ(x.shape(), Shape({16}));
           (void)x.is_disposed();
           (void)x.story().text();
           (void)x.name();
           (void)why_alive(x);
           std::ostringstream printed;
           printed << x << memory();
           (void)LeakCheck().survivors();
         });
       }},
      {"name",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] { world.take(random).set_name("named"); });
       }},
      {"view",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           const Tensor x = world.take(random);
           const Tensor rows = reshape(x, {4, 4});
           world.put(random, reshape(transpose(rows), {16}));
           world.put(random, x.clone());
           (void)slice(x, {2}, {5});
         });
       }},
      {"tidy",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           world.put(random, tidy("outer", [&] {
                       const Tensor x = world.take(random) + 1;
                       const Tensor kept = keep(x * 2);
                       return tidy("inner", [&] { return x + kept; });
                     }));
         });
       }},
      {"variable",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           Variable w = world.variables[below(random, 3)];
           (void)(w + 1);
           w.assign(w * 0.5 + 0.5);
           w.assign(world.take(random));
           EXPECT_FALSE(w.is_disposed());
         });
       }},
      {"gradient",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           const Variable w = world.variables[below(random, 3)];
           GradientTape tape;
           Tensor x = world.take(random);
           tape.watch(x);
           Tensor loss = mean(square(w * x));
           if (below(random, 2) == 0) x.dispose();
           EXPECT_EQ(tape.gradient(loss, w).numel(), 16);
         });
       }},
      {"shared tape",
       [](const char* name, World& world, Random&) {
         attempt<TapeError>(name, [&] {
           EXPECT_EQ(floats(world.tape->gradient(world.squared, world.fixed))[0], 6.f);
           (void)world.tape->saved_bytes();
         });
       }},
      {"function",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           world.put(random, world.twice(world.take(random)));
           (void)world.twice(ones({static_cast<std::int64_t>(below(random, 6)) + 1}));
           (void)world.twice.traces();
         });
       }},
      {"function that assigns",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] { world.put(random, world.blend(world.take(random))); });
       }},
      {"donate",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] { (void)world.twice(donate(full({16}, 2.f))); });
         attempt<DisposedError, ValueError>(
             name, [&] { world.put(random, world.twice(donate(world.take(random)))); });
       }},
      {"session",
       [](const char* name, World& world, Random& random) {
         attempt<>(name,
                   [&] { world.sessions[below(random, 2)].run([] { (void)(ones({8}) * 2); }); });
         attempt<DisposedError, InaccessibleTensorError>(name, [&] {
           const Tensor foreign = world.take(random);
           world.sessions[0].run([&] { (void)(foreign * 2); });
         });
         attempt<>(name, [&] {
           Session own({.name = "own", .budget = 1 << 20});
           Tensor inside, moved = ones({8});
           own.run([&] { inside = ones({8}); });
           transfer(moved, own);
           own.run([&] { (void)(inside + moved); });
           // Or more: whoever lists what lives holds each for a moment.
           EXPECT_GE(own.close().disposed.size(), 2u);
           EXPECT_TRUE(inside.is_disposed());
         });
       }},
      {"task",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           const Tensor x = world.take(random);
           const auto work = [x]() -> Task<std::size_t> {
             const Tensor y = co_await tidy("task", [&]() -> Task<Tensor> {
               co_await next_turn();
               co_return x * 2;
             });
             Job<std::vector<float>> values = y.read_async<float>();
             co_return (co_await values).size();
           };
           EXPECT_EQ(below(random, 2) == 0 ? run(work) : start(work).get(), 16u);
         });
         attempt<CancelledError>(name, [&] {
           Job<void> job = start([]() -> Task<> {
             for (int i = 0; i < 1000; ++i) co_await next_turn();
           });
           job.cancel();
           job.get();
         });
       }},
      {"predict",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           EXPECT_EQ(world.model.predict(ones({3, 4})).shape(), Shape({3, 2}));
           if (below(random, 4) == 0) (void)world.model.predict_async(ones({3, 4})).get();
           (void)world.model.get_weights();
         });
         attempt<BusyError>(name, [&] { (void)world.model.evaluate(ones({3, 4}), ones({3, 2})); });
       }},
      {"train",
       [](const char* name, World& world, Random& random) {
         attempt<BusyError>(name, [&] {
           if (below(random, 3) == 0) {
             world.model.fit(ones({8, 4}), ones({8, 2}),
                             {.batch_size = 4, .verbose = nn::Verbose::silent});
           } else {
             (void)world.model.train_on_batch(ones({4, 4}), ones({4, 2}));
           }
         });
         attempt<BusyError>(name, [&] {
           Job<nn::History> job = world.model.fit_async(
               ones({8, 4}), ones({8, 2}), {.epochs = 3, .verbose = nn::Verbose::silent});
           if (below(random, 2) == 0) job.cancel();
           (void)job.get();
         });
       }},
      {"set_weights",
       [](const char* name, World& world, Random&) {
         attempt<>(name, [&] { world.model.set_weights(world.model.get_weights()); });
       }},
      {"own model",
       [](const char* name, World&, Random&) {
         attempt<>(name, [&] {
           const nn::Sequential own({nn::LSTM({.units = 3, .input_shape = {2, 3}})});
           const nn::WeakModel weak = own.weak();
           (void)own.predict(ones({1, 2, 3}));
           own.dispose();
           EXPECT_TRUE(weak.expired());
         });
       }},
      {"optimizer and metric",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           const Variable w = world.variables[below(random, 3)];
           world.optimizer.apply({ones({16})}, {w});
           (void)world.optimizer.iterations();
           world.metric.update(ones({2, 2}), zeros({2, 2}));
           (void)world.metric.result();
         });
       }},
      {"dataset",
       [](const char* name, World&, Random& random) {
         attempt<>(name, [&] {
           const nn::Dataset batches =
               nn::Dataset::from_tensors(ones({6, 2}), ones({6, 1})).shuffle().batch(2).prefetch(1);
           for (nn::Batch& batch : batches) {
             EXPECT_EQ(batch.x.front().numel(), 4);
             if (below(random, 3) == 0) break;
           }
         });
       }},
      {"memory from outside",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           auto values = std::make_shared<std::vector<float>>(16, 1.f);
           world.put(random, from_buffer(values->data(), {16}, [values] { (void)memory(); }));
         });
       }},
      {"checkpoint",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           const Tensor x = world.take(random);
           GradientTape tape;
           tape.watch(x);
           EXPECT_EQ(tape.gradient(sum(world.part(world.part(x))), x).numel(), 16);
         });
       }},
      {"control flow",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           (void)world.control(world.take(random));
           const Tensor x = full({16}, 2.f);
           EXPECT_EQ(floats(world.control(x))[3], 24.f);
           if (below(random, 8) != 0) return;
           GradientTape tape;
           tape.watch(x);
           EXPECT_EQ(floats(tape.gradient(sum(through_control_flow(x)), x))[3], 4.f);
         });
       }},
      {"custom_gradient",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           const Tensor x = world.take(random);
           GradientTape tape;
           tape.watch(x);
           EXPECT_EQ(floats(tape.gradient(sum(doubled(x)), x))[0], 2.f);
           EXPECT_EQ(floats(world.custom(x))[0], 2.f);
         });
       }},
      {"DLPack",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           Tensor x = world.take(random);
           DLManagedTensor* theirs = to_dlpack(x);
           if (below(random, 2) == 0) x.dispose();
           world.put(random, from_dlpack(theirs));
         });
       }},
      {"save and load",
       [](const char* name, World& world, Random& random) {
         if (below(random, 4) != 0) return;
         attempt<DisposedError>(name, [&] {
           if (below(random, 2) == 0) io::save_npy(world.at("x.npy"), world.take(random));
           EXPECT_EQ(io::load_npy(world.at("x.npy")).numel(), 16);
         });
         attempt<BusyError>(name,
                            [&] { world.model.save_weights(world.at("weights.safetensors")); });
         attempt<BusyError>(name,
                            [&] { world.model.load_weights(world.at("weights.safetensors")); });
       }},
      {"record",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           const RecordedSpan span("phase", "of a thread");
           record_value("loss", 1.0);
         });
         if (below(random, 32) != 0) return;
         attempt<BusyError>(name, [&] {
           Recording recording(world.at("run.tenure"));
           (void)(ones({16}) * 2);
           recording.stop();
         });
       }},
      {"profile",
       [](const char* name, World& world, Random& random) {
         attempt<DisposedError>(name, [&] {
           const Tensor x = world.take(random);
           auto [y, told] = profile([&] { return tanh(x + 1); });
           EXPECT_GE(told.ops.size(), 2u);
           world.put(random, y);
         });
       }},
      {"settings",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           set_memory_budget(below(random, 2) == 0 ? 0 : std::size_t{1} << 40);
           (void)memory_budget();
           set_num_threads(static_cast<int>(1 + below(random, 4)));
           (void)num_threads();
           if (below(random, 8) == 0) {  // more than one thread's worth
             EXPECT_EQ(sum(ones({200'000})).item<float>(), 200'000.f);
             EXPECT_EQ(matmul(ones({96, 96}), ones({96, 96}))[95][95].item<float>(), 96.f);
           }
           world.put(random, ones({16}));
         });
       }},
      {"random numbers",
       [](const char* name, World& world, Random& random) {
         attempt<>(name, [&] {
           if (below(random, 4) == 0) set_seed(random());
           world.put(random, random::normal({16}));
           world.put(random, random::uniform({16}));
           EXPECT_EQ(random::multinomial(zeros({4}), 3).numel(), 3);
           EXPECT_EQ(random::shuffle(ones({16})).numel(), 16);
         });
       }},
      {"session that others close",
       [](const char* name, World& world, Random& random) {
         const std::shared_ptr<Session> session = world.session.take();
         Job<std::vector<float>> read = ones({1}).read_async<float>();
         Tensor tensor;
         attempt<DisposedError>(name, [&] {
           session->run([&] {
             tensor = full({16}, 5.f);
             read = tensor.read_async<float>();
             Variable w(ones({16}), {.name = "of the session"});
             w.assign(w * tensor);
             EXPECT_EQ(floats(w.read())[0], 5.f);
             const auto f = function("of the session", [&](Tensor x) { return x * tensor; });
             EXPECT_EQ(floats(f(tensor))[0], 25.f);
           });
           EXPECT_EQ(read.get(), testing::Floats(16, 5.f)) << "whoever closed it meanwhile";
         });
         attempt<DisposedError>(name, [&] { transfer(ones({4}), *session); });
         attempt<>(name, [&] { (void)session->memory(); });
         if (below(random, 4) != 0) return;
         attempt<BusyError>(name, [&] {
           const SessionReport report = session->close();
           // Nothing is told by a close that finds another under way.
           EXPECT_TRUE(report.empty() || !tensor.defined() || tensor.is_disposed());
           world.session.put(short_session());
         });
       }},
      {"model that others dispose",
       [](const char* name, World& world, Random& random) {
         const nn::Sequential model = world.passing.take();
         const Tensor x = ones({2, 3, 4}), y = ones({2, 2});
         attempt<DisposedError>(name, [&] { EXPECT_EQ(model.predict(x).shape(), Shape({2, 2})); });
         attempt<DisposedError, BusyError>(name, [&] { (void)model.train_on_batch(x, y); });
         attempt<DisposedError>(name, [&] { model.set_weights(model.get_weights()); });
         attempt<>(name, [&] {
           (void)model.is_disposed();
           (void)model.weak().lock();
         });
         if (below(random, 8) != 0) return;
         attempt<BusyError>(name, [&] {
           (void)model.dispose();
           EXPECT_TRUE(model.is_disposed());
           world.passing.put(short_model());
         });
       }},
      {"trim", [](const char* name, World&, Random&) { attempt<>(name, [] { trim_pool(); }); }},
  };
  return all;
}

std::uint32_t seed() {
  const char* text = std::getenv("TENURE_TEST_SEED");
  return text != nullptr ? static_cast<std::uint32_t>(std::atoi(text)) : 1;
}

void act(World& world, std::uint32_t thread, int steps, const std::atomic<bool>* stop = nullptr) {
  Random random(seed() * 1000 + thread);
  for (int i = 0; i < steps && (stop == nullptr || !*stop); ++i) {
    const Verb& verb = verbs()[below(random, verbs().size())];
    verb.run(verb.name, world, random);
  }
}

class Stress : public ::testing::Test {
 protected:
  Stress() {
    set_warning_sink([](std::string_view) {});  // of functions with many traces
  }
  ~Stress() override {
    set_warning_sink(nullptr);
    set_num_threads(threads_);
    set_memory_budget(budget_);
  }

 private:
  int threads_ = num_threads();
  std::size_t budget_ = memory_budget();
};

TEST_F(Stress, L35_eight_threads_do_everything_to_the_same_things) {
  SCOPED_TRACE("TENURE_TEST_SEED=" + std::to_string(seed()));
  {
    World world;
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&world, t] { act(world, t, kSteps); });
    }
  }
  for (const Verb& verb : verbs()) EXPECT_GT(completed(verb.name), 0) << verb.name;
}

TEST_F(Stress, children_of_a_process_whose_threads_do_everything_do_everything_too) {
  if (!testing::kCanForkAmongThreads) GTEST_SKIP() << "the sanitizer knows no such children";
  World world;
  const std::vector<Variable> variables(world.variables.begin(), world.variables.end());
  const Function<Tensor(Tensor)> twice = world.twice;
  const nn::Sequential model = world.model;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] { act(world, t, 1'000'000, &stop); });
  }
  for (std::uint32_t i = 0; i < 8 && !HasFailure(); ++i) {
    testing::in_child([&] {
      {
        World own;
        act(own, 100 + i, 150);
        std::vector<std::jthread> more;
        for (std::uint32_t t = 0; t < 3; ++t) {
          more.emplace_back([&own, t] { act(own, 200 + t, 100); });
        }
      }
      for (Variable w : variables) w.assign(w.read() * 0.5);
      (void)twice(ones({16}));
      (void)model.predict(ones({3, 4}));
      attempt<BusyError>("train", [&] { model.train_on_batch(ones({4, 4}), ones({4, 2})); });
    });
  }
  stop = true;
}

}  // namespace
}  // namespace tenure
