// Ways to hold many tensors that are no leak, one per name. Each is a program of its own as far as
// a recording goes: patterns <name>; without a name it lists them.
#include <tenure/tenure.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace tn = tenure;
namespace nn = tenure::nn;

namespace {

// Batches made once, each used once, for little.
void list_before_the_work() {
  std::vector<tn::Tensor> batches;
  for (int i = 0; i < 60; ++i) {
    tn::Tensor raw = tn::random::uniform({8, 4});
    batches.push_back(raw * 2.f - 1.f);
  }
  float total = 0;
  for (const tn::Tensor& batch : batches) total += tn::sum(tn::tanh(batch)).item<float>();
  std::cout << total << "\n";
}

void replay_buffer() {
  std::deque<tn::Tensor> buffer;
  for (int i = 0; i < 200; ++i) {
    tn::tidy("act", [&] {
      tn::Tensor state = tn::random::normal({8});
      buffer.push_back(tn::keep(tn::tanh(state)));
    });
    if (buffer.size() > 32) buffer.pop_front();
    tn::mean(buffer[static_cast<std::size_t>(i) % buffer.size()]);
  }
}

void predictions_put_together() {
  const tn::Variable w(tn::random::normal({8, 2}));
  std::vector<tn::Tensor> parts;
  for (int i = 0; i < 40; ++i) {
    tn::Tensor x = tn::random::normal({4, 8});
    parts.push_back(tn::matmul(x, w));
  }
  std::cout << tn::concat(parts).shape() << "\n";
}

void unrolled_network() {
  const tn::Variable w(0.1f * tn::random::normal({8, 8}));
  tn::GradientTape tape;
  tn::Tensor h = tn::zeros({1, 8});
  std::vector<tn::Tensor> outputs;
  for (int t = 0; t < 50; ++t) {
    tn::Tensor x = tn::random::normal({1, 8});
    h = tn::tanh(tn::matmul(h, w) + x);
    outputs.push_back(h);
  }
  tn::Tensor loss = tn::mean(tn::stack(outputs));
  std::cout << tn::sum(tape.gradient(loss, w)).item<float>() << "\n";
}

void training_by_hand() {
  tn::Variable w(tn::random::normal({8, 1})), m(tn::zeros({8, 1})), v(tn::zeros({8, 1}));
  std::vector<float> losses;
  for (int i = 0; i < 100; ++i) {
    tn::tidy("step", [&] {
      tn::GradientTape tape;
      tn::Tensor x = tn::random::normal({16, 8});
      tn::Tensor loss = tn::mean(tn::square(tn::matmul(x, w) - 1.f));
      tn::Tensor slope = tape.gradient(loss, w);
      m.assign(0.9f * m + 0.1f * slope);
      v.assign(0.99f * v + 0.01f * tn::square(slope));
      w.assign(w - 0.01f * m / (tn::sqrt(v) + 1e-6f));
      losses.push_back(loss.item<float>());
    });
  }
  std::cout << losses.back() << "\n";
}

void best_weights_so_far() {
  tn::Variable w(tn::random::normal({8}));
  tn::Tensor best = w.read();
  std::vector<tn::Tensor> three_best;
  for (int i = 0; i < 100; ++i) {
    w.assign(w + 0.01f * tn::random::normal({8}));
    if (i % 7 == 0) best = w.read();
    if (i % 10 == 0) three_best.push_back(w.read());
    if (three_best.size() > 3) three_best.erase(three_best.begin());
  }
  std::cout << tn::sum(best).item<float>() << "\n";
}

void cache_of_keys_and_values() {
  tn::Tensor keys = tn::random::normal({1, 16});
  std::vector<tn::Tensor> values{tn::random::normal({1, 16})};
  for (int token = 0; token < 40; ++token) {
    tn::Tensor q = tn::random::normal({1, 16});
    keys = tn::concat({keys, q});
    values.push_back(q * 2.f);
    tn::Tensor scores = tn::softmax(tn::matmul(q, tn::transpose(keys)));
    tn::Tensor out = tn::matmul(scores, tn::concat(values));
  }
}

void memory_of_answers() {
  std::map<int, tn::Tensor> known;
  unsigned seed = 1;
  for (int i = 0; i < 400; ++i) {
    seed = seed * 1103515245u + 12345u;
    const int key = static_cast<int>(seed >> 16) % 20;
    if (!known.contains(key)) known[key] = tn::sqrt(tn::ones({32}) * static_cast<float>(key + 1));
    tn::Tensor answer = known[key] + 1.f;
  }
}

void several_models_kept() {
  std::vector<nn::Model> ensemble;
  tn::Tensor x = tn::random::normal({16, 4}), y = tn::random::normal({16, 1});
  for (int i = 0; i < 5; ++i) {
    nn::Sequential model({nn::Dense({.units = 8, .activation = "tanh"}), nn::Dense({.units = 1})});
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.fit(x, y, {.epochs = 2, .verbose = nn::Verbose::silent});
    ensemble.push_back(model);
  }
  tn::Tensor mean = ensemble[0].predict(x);
  for (std::size_t i = 1; i < ensemble.size(); ++i) mean = mean + ensemble[i].predict(x);
}

void fit_evaluate_predict() {
  nn::Sequential model({nn::Dense({.units = 8, .activation = "relu"}), nn::Dropout({.rate = 0.2}),
                        nn::Dense({.units = 1})});
  model.compile({.optimizer = "rmsprop", .loss = "mse", .metrics = {"mae"}});
  tn::Tensor x = tn::random::normal({128, 4});
  tn::Tensor y = tn::sum(x, {1}, {.keep_dims = true});
  model.fit(x, y, {.epochs = 16, .verbose = nn::Verbose::silent, .validation_split = 0.25});
  for (int i = 0; i < 20; ++i) model.predict(x);
  model.evaluate(x, y);
}

void steps_in_eager_mode() {
  nn::Sequential model(
      {nn::SimpleRNN({.units = 6, .stateful = true, .batch_input_shape = {4, 5, 2}}),
       nn::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse", .eager = true});
  tn::Tensor x = tn::random::normal({64, 5, 2}), y = tn::random::normal({64, 1});
  model.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = nn::Verbose::silent});
  for (int i = 0; i < 16; ++i) model.predict(x, {.batch_size = 4});
}

void losses_of_an_epoch() {
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<tn::Tensor> losses;
    for (int i = 0; i < 30; ++i) {
      tn::Tensor x = tn::random::normal({16});
      losses.push_back(tn::mean(tn::square(x)));
    }
    float sum = 0;
    for (const tn::Tensor& loss : losses) sum += loss.item<float>();
    std::cout << sum << "\n";
  }
}

void two_threads() {
  const auto work = [] {
    for (int i = 0; i < 100; ++i) {
      tn::tidy("work", [&] {
        tn::Tensor x = tn::random::normal({64});
        return tn::sum(tn::tanh(x));
      });
    }
  };
  std::thread other(work);
  work();
  other.join();
}

void two_gradients_per_step() {
  tn::Variable w(tn::random::normal({4, 4}));
  for (int i = 0; i < 60; ++i) {
    tn::GradientTape tape({.persistent = true});
    tn::Tensor y = tn::tanh(tn::matmul(tn::random::normal({2, 4}), w));
    tn::Tensor first = tape.gradient(tn::mean(y), w);
    tn::Tensor second = tape.gradient(tn::sum(y * y), w);
    w.assign(w - 0.1f * first - 0.1f * second);
  }
}

void a_few_shapes() {
  tn::Function f = tn::function("f", [](tn::Tensor x) { return tn::mean(tn::tanh(x), {0}); });
  for (int i = 0; i < 200; ++i) f(tn::random::normal({1 + i % 20, 4}));
}

void rows_of_a_table() {
  std::vector<tn::Tensor> rows;
  {
    tn::Tensor table = tn::random::normal({64, 512});
    rows = tn::unstack(table);
  }
  float total = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const tn::Tensor& row : rows) total += tn::mean(tn::exp(row)).item<float>();
  }
  std::cout << total << "\n";
}

void many_layers_by_hand() {
  std::vector<tn::Variable> layers;
  for (int i = 0; i < 30; ++i) {
    tn::Tensor value = tn::random::normal({8, 8});
    layers.emplace_back(value * 0.3f);
  }
  for (int i = 0; i < 2; ++i) {
    tn::Tensor x = tn::random::normal({4, 8});
    for (const tn::Variable& layer : layers) x = tn::relu(tn::matmul(x, layer));
    std::cout << tn::sum(x).item<float>() << "\n";
  }
}

void deep_model() {
  nn::Sequential model;
  for (int i = 0; i < 40; ++i) model.add(nn::Dense({.units = 8, .activation = "relu"}));
  model.predict(tn::random::normal({2, 8}));
}

void pipeline() {
  tn::Tensor x = tn::random::normal({256, 4}), y = tn::random::normal({256, 1});
  nn::Dataset data = nn::Dataset::from_tensors(x, y).shuffle(64).batch(16).prefetch(2);
  nn::Sequential model({nn::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(data, {.epochs = 4, .verbose = nn::Verbose::silent});
}

nn::Model* forever() {
  static nn::Model* model = new nn::Sequential(
      {nn::LSTM({.units = 4, .stateful = true, .batch_input_shape = {1, 3, 2}})});
  return model;
}

void a_model_that_is_never_destroyed() {
  for (int i = 0; i < 30; ++i) {
    tn::tidy("predict", [] { forever()->predict(tn::random::normal({1, 3, 2})); });
  }
}

const std::map<std::string, std::function<void()>> kPatterns{
    {"a_few_shapes", a_few_shapes},
    {"a_model_that_is_never_destroyed", a_model_that_is_never_destroyed},
    {"best_weights_so_far", best_weights_so_far},
    {"cache_of_keys_and_values", cache_of_keys_and_values},
    {"deep_model", deep_model},
    {"fit_evaluate_predict", fit_evaluate_predict},
    {"list_before_the_work", list_before_the_work},
    {"losses_of_an_epoch", losses_of_an_epoch},
    {"many_layers_by_hand", many_layers_by_hand},
    {"memory_of_answers", memory_of_answers},
    {"pipeline", pipeline},
    {"predictions_put_together", predictions_put_together},
    {"replay_buffer", replay_buffer},
    {"rows_of_a_table", rows_of_a_table},
    {"several_models_kept", several_models_kept},
    {"steps_in_eager_mode", steps_in_eager_mode},
    {"training_by_hand", training_by_hand},
    {"two_gradients_per_step", two_gradients_per_step},
    {"two_threads", two_threads},
    {"unrolled_network", unrolled_network},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    kPatterns.at(argv[1])();
    return 0;
  }
  for (const auto& [name, pattern] : kPatterns) std::cout << name << "\n";
}
