// What do lifetimes cost? The same rows against a library built without records, scopes, counters
// and holders: one operation, and a training step in which they should drown.
#include <cmath>
#include <utility>
#include <vector>

#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

namespace {

constexpr std::int64_t kBatch = 64;
constexpr std::int64_t kClasses = 10;

// Adam, with the two moments of one parameter beside it.
class Parameter {
 public:
  explicit Parameter(Tensor value)
      : value_(std::move(value)),
        mean_(zeros(value_.shape()), {.trainable = false}),
        variance_(zeros(value_.shape()), {.trainable = false}) {}

  const Variable& value() const { return value_; }

  void update(const Tensor& gradient, int step) {
    mean_.assign(mean_ * 0.9 + gradient * 0.1);
    variance_.assign(variance_ * 0.999 + square(gradient) * 0.001);
    const double rate = 0.001 * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
    value_.assign(value_ - mean_ * rate / (sqrt(variance_) + 1e-7));
  }

 private:
  Variable value_;
  Variable mean_;
  Variable variance_;
};

struct Dense {
  Dense(std::int64_t inputs, std::int64_t units)
      : weights(random::normal({inputs, units}, {.deviation = 0.05})), bias(zeros({units})) {}
  Tensor operator()(Tensor x) const {
    return tenure::matmul(std::move(x), weights.value()) + bias.value();
  }
  Parameter weights;
  Parameter bias;
};

Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Tensor shifted = logits - stop_gradient(max(logits, {-1}, {.keep_dims = true}));
  const Tensor norm = log(sum(exp(shifted), {-1}, {.keep_dims = true}));
  return mean(sum(labels * (norm - shifted), {-1}));
}

// 784-512-512-10 with relu.
class Mlp {
 public:
  void train_step(const Tensor& images, const Tensor& labels) {
    tidy("step", [&] {
      GradientTape tape;
      Tensor x = images;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        x = layers_[i](std::move(x));
        if (i + 1 < layers_.size()) x = relu(std::move(x));
      }
      const Tensor loss = softmax_cross_entropy(x, labels);
      std::vector<Source> sources;
      for (const Dense& layer : layers_) {
        sources.emplace_back(layer.weights.value());
        sources.emplace_back(layer.bias.value());
      }
      const std::vector<Tensor> gradients = tape.gradient(loss, sources);
      ++step_;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        layers_[i].weights.update(gradients[2 * i], step_);
        layers_[i].bias.update(gradients[2 * i + 1], step_);
      }
    });
  }

 private:
  std::vector<Dense> layers_{{784, 512}, {512, 512}, {512, kClasses}};
  int step_ = 0;
};

}  // namespace

void lifetime_cost(Runner& runner) {
  runner.row("lifetime_cost_op", [](Row& row) {
    const Tensor a = tensor({1.0F});
    const Tensor b = tensor({2.0F});
    row.measure([&] { use(a + b); });
  });
  runner.row("lifetime_cost_mlp", [](Row& row) {
    Mlp mlp;
    const Tensor images = random::uniform({kBatch, 784});
    const Tensor classes = random::randint({kBatch, 1}, 0, kClasses);
    const Tensor labels = cast(equal(classes, arange(kClasses)), DType::float32);
    row.measure([&] { mlp.train_step(images, labels); });
  });
}

}  // namespace bench
