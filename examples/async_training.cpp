// A model is trained in the background while another one answers in the foreground: progress,
// cancelling, what a busy model refuses, inputs that are disposed meanwhile, and the same with
// coroutines.
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include <tenure/tenure.h>

namespace tn = tenure;
namespace nn = tenure::nn;

static nn::Sequential make_model(const std::string& name) {
  return nn::Sequential(
      {nn::Dense({.units = 16, .activation = "tanh", .input_shape = {4}}), nn::Dense({.units = 1})},
      {.name = name});
}

// The sum of four numbers is what the models learn.
struct Data {
  tn::Tensor x = tn::random::normal({512, 4});
  tn::Tensor y = tn::sum(x, {1}, {.keep_dims = true});
};

static const char* yes(bool answer) { return answer ? "yes" : "no"; }

static bool fell(const nn::History& history) {
  return history["loss"].back() < history["loss"].front();
}

static void serve_while_training() {
  std::cout << "One model is trained, another one serves\n";
  const Data data;
  const nn::Sequential serving = make_model("serving"), training = make_model("training");
  const tn::Tensor question = tn::ones({1, 4});
  const float answer = serving.predict(question).item<float>();

  training.compile({.optimizer = nn::Adam({.learning_rate = 0.01}), .loss = "mse"});
  tn::Job<nn::History> job = training.fit_async(data.x, data.y, {.epochs = 40});
  bool steady = true;
  for (const double part : {0.25, 0.5, 0.75, 1.0}) {
    do {
      steady = steady && serving.predict(question).item<float>() == answer;
    } while (job.progress() < part);
    std::cout << "  " << part * 100 << " % are done; the same answers? " << yes(steady) << "\n";
  }
  const nn::History history = job.get();
  std::cout << "  " << history.epochs.size() << " epochs, the loss fell? " << yes(fell(history))
            << "\n";
}

static void refuse_while_training() {
  std::cout << "\nA model that is trained is busy, and says who trains it\n";
  Data data;
  const nn::Sequential model = make_model("m");
  model.compile({.optimizer = "sgd", .loss = "mse"});
  tn::Job<nn::History> job = model.fit_async(data.x, data.y, {.epochs = 1'000'000});
  try {
    model.fit(data.x, data.y);
  } catch (const tn::BusyError& error) {
    std::cout << "  " << error.what() << "\n";
  }
  try {
    model.dispose();
  } catch (const tn::BusyError& error) {
    std::cout << "  " << error.what() << "\n";
  }

  // The fit holds what it reads: its inputs may go.
  data.x.dispose();
  data.y.dispose();
  const double seen = job.progress();
  while (job.progress() <= seen) model.predict(tn::ones({1, 4}));
  std::cout << "  its inputs are disposed, and it goes on\n";

  job.cancel();
  const nn::History history = job.get();
  std::cout << "  cancelled? " << yes(history.cancelled) << ", with the weights of its last step\n";
  const Data more;
  std::cout
      << "  it can be trained on: "
      << model.fit(more.x, more.y, {.epochs = 2, .verbose = nn::Verbose::silent}).epochs.size()
      << " epochs\n";
}

// A coroutine in place of get(): nobody waits. The options of fit_async make a temporary that GCC
// 12 would destroy twice inside a co_await, so the job gets a name first.
static tn::Task<bool> train(nn::Model model, Data data) {
  model.compile({.optimizer = nn::Adam({.learning_rate = 0.01}), .loss = "mse"});
  tn::Job<nn::History> fit = model.fit_async(data.x, data.y, {.epochs = 20});
  const nn::History history = co_await std::move(fit);
  co_return fell(history);
}

static tn::Task<int> serve(nn::Model model, int times) {
  int answers = 0;
  for (int i = 0; i < times; ++i) {
    tn::Job<tn::Tensor> asked = model.predict_async(tn::ones({1, 4}));
    const tn::Tensor answer = co_await std::move(asked);
    answers += answer.numel() == 1 ? 1 : 0;
    co_await tn::next_turn();
  }
  co_return answers;
}

static void in_coroutines() {
  std::cout << "\nThe same as tasks, in turns on one thread\n";
  const nn::Sequential serving = make_model("serving"), training = make_model("training");
  const auto [learnt, answers] = tn::run_all(train(training, Data()), serve(serving, 100));
  std::cout << "  the loss fell? " << yes(learnt) << ", " << answers << " answers\n";

  std::cout << "\nA task that is cancelled cancels the fit it waits for\n";
  const nn::Sequential model = make_model("m");
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Data data;
  std::optional<tn::Job<nn::History>> fit;
  tn::Job<void> task = tn::start([&]() -> tn::Task<void> {
    fit = model.fit_async(data.x, data.y, {.epochs = 1'000'000});
    tn::Job<nn::History> mine = *fit;
    tn::JobControl& control = co_await tn::this_task();
    control.set_progress(0.5);
    co_await std::move(mine);
  });
  while (task.progress() == 0) serving.predict(tn::ones({1, 4}));
  task.cancel();
  try {
    task.get();
  } catch (const tn::CancelledError& error) {
    std::cout << "  " << error.what() << "\n";
  }
  std::cout << "  the fit was cancelled? " << yes(fit->get().cancelled) << "\n";
}

int main() {
  tn::set_seed(7);
  serve_while_training();
  refuse_while_training();
  in_coroutines();
  const bool clean = tn::memory().live_bytes == 0 && tn::memory().tensors == 0;
  std::cout << "\n" << (clean ? "nothing is left" : "something is left") << "\n";
  return clean ? 0 : 1;
}
