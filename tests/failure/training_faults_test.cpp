// Every allocation of training, judging, saving and loading a model fails once. The files' JSON is
// the exception: its values allocate when they are freed, which cannot fail, so only the pool does.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "faults.h"

namespace tenure::testing {
namespace {

namespace fs = std::filesystem;

struct Trained {
  Tensor x = tensor({0.F, 0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F}, {4, 2});
  Tensor y = tensor({0.F, 1.F, 0.F, 1.F}, {4, 1});
  nn::Sequential model{{nn::Dense({.units = 2,
                                   .activation = "tanh",
                                   .kernel_initializer = nn::Constant({.value = 0.25}),
                                   .kernel_regularizer = "l2",
                                   .name = "hidden"}),
                        nn::Dense({.units = 1, .kernel_initializer = "ones", .name = "out"})},
                       {.name = "trained"}};
  explicit Trained(bool eager = false) {
    model.compile({.optimizer = nn::Adam({.learning_rate = 0.1}),
                   .loss = "mse",
                   .metrics = {"mae"},
                   .eager = eager});
  }

  // What training changes: the weights, and what the optimizer keeps of each.
  Floats state() const {
    Floats all;
    if (!model.is_built()) return all;
    for (const Tensor& weight : model.get_weights()) append(all, weight);
    for (const Variable& slot : model.optimizer().variables()) {
      const Tensor value = slot.read();
      append(all, value.dtype() == DType::float32 ? value : cast(value, DType::float32));
    }
    return all;
  }
  Floats logs_and_state(const nn::Logs& logs) const {
    Floats all;
    for (const auto& [name, value] : logs) all.push_back(static_cast<float>(value));
    for (const float value : state()) all.push_back(value);
    return all;
  }
  static void append(Floats& all, const Tensor& more) {
    for (const float value : floats(more)) all.push_back(value);
  }
};

std::unique_ptr<Trained> fresh() { return std::make_unique<Trained>(); }
std::unique_ptr<Trained> tested() {
  auto trained = fresh();
  trained->model.test_on_batch(trained->x, trained->y);
  return trained;
}
std::unique_ptr<Trained> warm() {
  auto trained = tested();
  trained->model.train_on_batch(trained->x, trained->y);
  return trained;
}

class TrainingFaults : public Faults {
 protected:
  TrainingFaults() { fs::create_directories(folder_); }
  ~TrainingFaults() override { fs::remove_all(folder_); }
  std::string at(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("tenure-training-faults-{}", getpid());
};

// The logs are made after the step: one that fails there has been made as a whole.
Floats one_step(Trained& s) {
  const nn::Logs logs = s.model.train_on_batch(s.x, s.y);
  disarm();
  return s.logs_and_state(logs);
}

TEST_F(TrainingFaults, a_first_step_traces_and_updates_all_or_nothing) {
  expect_survives_failures<Trained>({.make = tested,
                                     .call = one_step,
                                     .unchanged = [](Trained& s) { return s.state(); },
                                     .tells_afterwards = true});
}

TEST_F(TrainingFaults, a_warm_step_updates_all_or_nothing) {
  expect_survives_failures<Trained>({.make = warm,
                                     .call = one_step,
                                     .unchanged = [](Trained& s) { return s.state(); },
                                     .tells_afterwards = true});
}

TEST_F(TrainingFaults, a_step_that_runs_operation_by_operation_updates_all_or_nothing) {
  expect_survives_failures<Trained>({.make =
                                         [] {
                                           auto trained = std::make_unique<Trained>(true);
                                           trained->model.train_on_batch(trained->x, trained->y);
                                           return trained;
                                         },
                                     .call = one_step,
                                     .unchanged = [](Trained& s) { return s.state(); },
                                     .tells_afterwards = true});
}

// Whoever holds a weight makes the step write it to new bytes, which may not be there.
TEST_F(TrainingFaults, a_step_with_every_weight_held_updates_all_or_nothing) {
  struct Held : Trained {
    std::vector<Tensor> held;
    Held() : Trained(true) {
      model.train_on_batch(x, y);
      held = model.get_weights();
      for (const Variable& slot : model.optimizer().variables()) held.push_back(slot.read());
    }
  };
  expect_survives_failures<Held>({.make = [] { return std::make_unique<Held>(); },
                                  .call = [](Held& s) { return one_step(s); },
                                  .unchanged = [](Held& s) { return s.state(); },
                                  .tells_afterwards = true});
}

TEST_F(TrainingFaults, a_model_that_could_not_be_built_is_built_by_the_next_call) {
  expect_survives_failures<Trained>(
      {.make = fresh,
       .call = [](Trained& s) { return floats(s.model.predict(s.x)); },
       .builds_for_good = true});
}

TEST_F(TrainingFaults, what_could_not_be_compiled_is_compiled_by_the_next_call) {
  expect_survives_failures<Trained>({.make = fresh,
                                     .call =
                                         [](Trained& s) {
                                           const nn::Logs logs = s.model.test_on_batch(s.x, s.y);
                                           disarm();
                                           return s.logs_and_state(logs);
                                         },
                                     .builds_for_good = true});
}

TEST_F(TrainingFaults, evaluate_changes_no_weight) {
  expect_survives_failures<Trained>({.make = warm,
                                     .call =
                                         [](Trained& s) {
                                           const nn::Logs logs =
                                               s.model.evaluate(s.x, s.y, {.batch_size = 2});
                                           disarm();
                                           return s.logs_and_state(logs);
                                         },
                                     .unchanged = [](Trained& s) { return s.state(); }});
}

// A fit that fails has made some of its steps, each as a whole; another one then goes on.
TEST_F(TrainingFaults, a_fit_that_failed_can_be_followed_by_another) {
  const auto fit = [](Trained& s) {
    const nn::History history = s.model.fit(s.x, s.y,
                                            {.batch_size = 2,
                                             .epochs = 2,
                                             .verbose = nn::Verbose::silent,
                                             .validation_split = 0.5,
                                             .shuffle = false});
    return static_cast<float>(history["loss"].back());
  };
  const auto once = [](Trained& s) {
    const Tensor x = slice(s.x, {0, 0}, {2, 2}), y = slice(s.y, {0, 0}, {2, 1});
    s.model.train_on_batch(x, y);
    s.model.test_on_batch(x, y);
  };
  const auto ready = [&] {  // with traces for the batches of the fit
    auto trained = fresh();
    once(*trained);
    return trained;
  };
  std::vector<Floats> after_steps;  // all states that whole steps lead to
  {
    const auto trained = ready();
    after_steps.push_back(trained->state());
    for (int i = 0; i < 2; ++i) {
      once(*trained);
      after_steps.push_back(trained->state());
    }
  }
  for (const Fails what : {Fails::operator_new, Fails::pool}) {
    for (long n = 1;; ++n) {
      const auto trained = ready();
      const Counters before = Counters::now();
      const auto call = [&] { return fit(*trained); };
      const FaultyRun run(what, n, call);
      if (run.result) {
        EXPECT_EQ(trained->state(), after_steps.back());
      } else {
        EXPECT_EQ(Counters::now(), before) << n;
        EXPECT_NE(std::ranges::find(after_steps, trained->state()), after_steps.end()) << n;
        fit(*trained);
      }
      if (!run.reached || HasFailure()) break;
    }
  }
}

TEST_F(TrainingFaults, weights_are_loaded_all_or_none) {
  {
    auto other = warm();
    other->model.train_on_batch(other->x, other->y);
    other->model.save_weights(at("w.safetensors"));
  }
  expect_survives_failures<Trained>({.make = warm,
                                     .call =
                                         [&](Trained& s) {
                                           s.model.load_weights(at("w.safetensors"));
                                           disarm();
                                           return s.state();
                                         },
                                     .unchanged = [](Trained& s) { return s.state(); }});
}

TEST_F(TrainingFaults, weights_are_set_all_or_none) {
  expect_survives_failures<Trained>({.make = warm,
                                     .call =
                                         [](Trained& s) {
                                           std::vector<Tensor> values;
                                           for (const Tensor& weight : s.model.get_weights())
                                             values.push_back(weight * 2.0);
                                           s.model.set_weights(values);
                                           disarm();
                                           return s.state();
                                         },
                                     .unchanged = [](Trained& s) { return s.state(); }});
}

// What each of them refuses on its own, all refuse.
TEST_F(TrainingFaults, values_of_which_one_is_refused_change_no_weight) {
  auto trained = warm();
  const Floats before = trained->state();
  std::vector<Tensor> values;
  for (const Tensor& weight : trained->model.get_weights()) values.push_back(weight * 2.0);
  const std::vector<Tensor> good = values;
  values.back() = cast(values.back(), DType::float64);
  EXPECT_THROW(trained->model.set_weights(values), DtypeError);
  EXPECT_EQ(trained->state(), before);
  values = good;
  values.back().dispose();
  EXPECT_THROW(trained->model.set_weights(values), DisposedError);
  EXPECT_EQ(trained->state(), before);
}

// A state that lasts from batch to batch, and gradients of two batches in one step.
struct Stateful {
  Tensor x = tensor({0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F}, {1, 3, 2});
  Tensor y = tensor({1.F}, {1, 1});
  nn::Sequential model{
      {nn::SimpleRNN({.units = 2,
                      .kernel_initializer = nn::Constant({.value = 0.5}),
                      .recurrent_initializer = nn::Constant({.value = 0.25}),
                      .stateful = true,
                      .batch_input_shape = {1, 3, 2}}),
       nn::BatchNormalization(),
       nn::Dense({.units = 1, .kernel_initializer = "ones", .kernel_constraint = nn::NonNeg()})}};
  explicit Stateful(bool eager = false) {
    model.compile({.optimizer = nn::SGD({.learning_rate = 0.1, .momentum = 0.9}),
                   .loss = "mse",
                   .metrics = {"mae", "mse"},
                   .accumulate = 2,
                   .eager = eager});
    for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
  }
  Floats state() const {
    Floats all;
    for (const Tensor& value : model.get_weights()) Trained::append(all, value);
    for (const Tensor& value : model.get_states()) Trained::append(all, value);
    for (const Variable& slot : model.optimizer().variables()) {
      Trained::append(all, cast(slot.read(), DType::float32));
    }
    return all;
  }
};

TEST_F(TrainingFaults, a_state_and_a_step_of_two_batches_change_together) {
  for (const bool eager : {false, true}) {
    expect_survives_failures<Stateful>({.make = [=] { return std::make_unique<Stateful>(eager); },
                                        .call =
                                            [](Stateful& s) {
                                              const nn::Logs logs =
                                                  s.model.train_on_batch(s.x, s.y);
                                              disarm();
                                              Floats all = s.state();
                                              all.push_back(static_cast<float>(logs[0].second));
                                              return all;
                                            },
                                        .unchanged = [](Stateful& s) { return s.state(); },
                                        .tells_afterwards = true});
  }
}

TEST_F(TrainingFaults, a_prediction_with_a_state_changes_it_as_a_whole) {
  for (const bool eager : {false, true}) {
    expect_survives_failures<Stateful>({.make = [=] { return std::make_unique<Stateful>(eager); },
                                        .call =
                                            [](Stateful& s) {
                                              const Tensor y = s.model.predict(s.x);
                                              disarm();
                                              Floats all = s.state();
                                              Trained::append(all, y);
                                              return all;
                                            },
                                        .unchanged = [](Stateful& s) { return s.state(); }});
  }
}

// Whoever holds them makes the load write to new bytes, which may not be there.
TEST_F(TrainingFaults, weights_that_are_held_are_loaded_all_or_none) {
  struct Held : Trained {
    std::vector<Tensor> held;
    Held() : Trained(true) {
      model.train_on_batch(x, y);
      held = model.get_weights();
    }
  };
  {
    auto other = warm();
    other->model.train_on_batch(other->x, other->y);
    other->model.save_weights(at("held.safetensors"));
  }
  expect_survives_failures<Held>({.make = [] { return std::make_unique<Held>(); },
                                  .call =
                                      [&](Held& s) {
                                        s.model.load_weights(at("held.safetensors"));
                                        disarm();
                                        return s.state();
                                      },
                                  .unchanged = [](Held& s) { return s.state(); }});
}

TEST_F(TrainingFaults, batches_of_a_dataset) {
  const Tensor x = Trained().x, y = Trained().y;
  expect_survives_failures<Nothing>({.make = [] { return std::make_unique<Nothing>(); },
                                     .call =
                                         [&](Nothing&) {
                                           Floats all;
                                           const nn::Dataset data = nn::Dataset::from_tensors(x, y)
                                                                        .shuffle(3, {.seed = 7})
                                                                        .map([](nn::Batch batch) {
                                                                          batch.x[0] =
                                                                              batch.x[0] * 2.0;
                                                                          return batch;
                                                                        })
                                                                        .batch(3)
                                                                        .repeat(2);
                                           for (nn::Batch& batch : data) {
                                             Trained::append(all, batch.x[0]);
                                           }
                                           return all;
                                         }});
}

TEST_F(TrainingFaults, a_model_is_loaded_or_not_there) {
  warm()->model.save(at("m.safetensors"));
  const Tensor x = Trained().x;
  expect_survives_failures<Nothing>({.make = [] { return std::make_unique<Nothing>(); },
                                     .call =
                                         [&](Nothing&) {
                                           const nn::Model model =
                                               nn::load_model(at("m.safetensors"));
                                           disarm();
                                           return floats(model.predict(x));
                                         },
                                     .pool_only = true});
}

TEST_F(TrainingFaults, disposing_a_model_frees_its_weights) {
  expect_survives_failures<Trained>({.make = warm,
                                     .call =
                                         [](Trained& s) {
                                           const nn::Disposal d = s.model.dispose();
                                           disarm();
                                           return Floats{static_cast<float>(d.variables)};
                                         },
                                     .unchanged = [](Trained& s) { return s.state(); }});
}

}  // namespace
}  // namespace tenure::testing
