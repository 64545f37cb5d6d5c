// The rows of training.cpp in libtorch: the same models with autograd and torch::optim::Adam. A
// step lets go of the gradients of the one before, which is faster than clearing them.
#include <ATen/ATen.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "counting_allocator.h"
#include "libtorch_rows.h"

namespace bench::peers {
namespace {

using at::Tensor;

// A parameter, uniform within 1 / sqrt(fan_in).
Tensor weights(at::IntArrayRef shape, std::int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return at::empty(shape).uniform_(-bound, bound).set_requires_grad(true);
}

struct Linear {
  Linear(std::int64_t inputs, std::int64_t units)
      : weight(weights({units, inputs}, inputs)), bias(weights({units}, inputs)) {}
  Tensor operator()(const Tensor& x) const { return at::linear(x, weight, bias); }
  Tensor weight, bias;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual Tensor loss() const = 0;
  std::vector<Tensor> parameters;

 protected:
  void own(const Linear& layer) {
    parameters.push_back(layer.weight);
    parameters.push_back(layer.bias);
  }
};

class Mlp final : public Model {
 public:
  explicit Mlp(std::int64_t inputs = 784, std::int64_t units = 512)
      : layers_{{inputs, units}, {units, units}, {units, 10}}, x_(at::rand({64, inputs})) {
    for (const Linear& layer : layers_) own(layer);
  }
  Tensor loss() const override {
    const Tensor hidden = at::relu(layers_[1](at::relu(layers_[0](x_))));
    return at::cross_entropy_loss(layers_[2](hidden), classes_);
  }

 private:
  std::vector<Linear> layers_;
  Tensor x_;
  Tensor classes_ = at::randint(0, 10, {64}, at::kLong);
};

// libtorch's own recurrent layers, with time first, which they prefer.
class Recurrent : public Model {
 protected:
  Recurrent(std::int64_t steps, std::int64_t features, std::int64_t gates)
      : input_(features, gates * kUnits),
        state_(kUnits, gates * kUnits),
        x_(at::rand({steps, kBatch, features})) {
    for (const Linear* layer : {&input_, &state_, &output_}) own(*layer);
  }
  std::vector<Tensor> cell() const {
    return {input_.weight, state_.weight, input_.bias, state_.bias};
  }
  Tensor loss_of(const Tensor& states) const { return at::mse_loss(output_(states[-1]), wanted_); }
  static Tensor zero_state() { return at::zeros({1, kBatch, kUnits}); }

  static constexpr std::int64_t kBatch = 32, kUnits = 128;
  Linear input_, state_, output_{kUnits, 1};
  Tensor x_;
  Tensor wanted_ = at::rand({kBatch, 1});
};

class Rnn final : public Recurrent {
 public:
  Rnn() : Recurrent(100, 32, 1) {}
  Tensor loss() const override {
    return loss_of(
        std::get<0>(at::rnn_tanh(x_, zero_state(), cell(), true, 1, 0, true, false, false)));
  }
};

class Lstm final : public Recurrent {
 public:
  Lstm() : Recurrent(50, 64, 4) {}
  Tensor loss() const override {
    return loss_of(std::get<0>(
        at::lstm(x_, {zero_state(), zero_state()}, cell(), true, 1, 0, true, false, false)));
  }
};

class Cnn final : public Model {
 public:
  explicit Cnn(at::MemoryFormat format)
      : first_(filter(1, 32, format)),
        second_(filter(32, 64, format)),
        x_(at::rand({64, 1, 28, 28}).contiguous(format)) {
    parameters = {first_, first_bias_, second_, second_bias_};
    own(hidden_);
    own(output_);
  }
  Tensor loss() const override {
    Tensor x = at::max_pool2d(at::relu(at::conv2d(x_, first_, first_bias_)), {2, 2});
    x = at::max_pool2d(at::relu(at::conv2d(x, second_, second_bias_)), {2, 2});
    x = at::relu(hidden_(x.reshape({64, 1600})));
    return at::cross_entropy_loss(output_(x), classes_);
  }

 private:
  static Tensor filter(std::int64_t in, std::int64_t out, at::MemoryFormat format) {
    return weights({out, in, 3, 3}, 9 * in).detach().contiguous(format).set_requires_grad(true);
  }

  Tensor first_, first_bias_ = weights({32}, 9);
  Tensor second_, second_bias_ = weights({64}, 288);
  Linear hidden_{1600, 128}, output_{128, 10};
  Tensor x_;
  Tensor classes_ = at::randint(0, 10, {64}, at::kLong);
};

class Transformer final : public Model {
 public:
  Transformer() {
    for (const Linear* layer : {&project_, &merge_, &widen_, &narrow_}) own(*layer);
    parameters.insert(parameters.end(), {scale1_, offset1_, scale2_, offset2_});
  }
  Tensor loss() const override {
    Tensor x = at::layer_norm(x_ + attention(x_), {kWidth}, scale1_, offset1_);
    x = at::layer_norm(x + narrow_(at::relu(widen_(x))), {kWidth}, scale2_, offset2_);
    return at::mse_loss(x, wanted_);
  }

 private:
  static constexpr std::int64_t kBatch = 8, kTokens = 128, kWidth = 256, kHeads = 4;
  static constexpr std::int64_t kEach = kWidth / kHeads;

  // As torch::nn::MultiheadAttention does it: one projection, and batches of heads.
  Tensor attention(const Tensor& x) const {
    const std::vector<Tensor> parts = project_(x).chunk(3, -1);
    const auto by_head = [](const Tensor& part) {
      return part.view({kBatch, kTokens, kHeads, kEach}).transpose(1, 2);
    };
    const Tensor query = by_head(parts[0] / std::sqrt(static_cast<double>(kEach)));
    const Tensor scores = at::matmul(query, by_head(parts[1]).transpose(-2, -1));
    const Tensor mixed = at::matmul(at::softmax(scores, -1), by_head(parts[2]));
    return merge_(mixed.transpose(1, 2).reshape({kBatch, kTokens, kWidth}));
  }

  Linear project_{kWidth, 3 * kWidth}, merge_{kWidth, kWidth};
  Linear widen_{kWidth, 1024}, narrow_{1024, kWidth};
  Tensor scale1_ = at::ones({kWidth}).set_requires_grad(true);
  Tensor offset1_ = at::zeros({kWidth}).set_requires_grad(true);
  Tensor scale2_ = at::ones({kWidth}).set_requires_grad(true);
  Tensor offset2_ = at::zeros({kWidth}).set_requires_grad(true);
  Tensor x_ = at::rand({kBatch, kTokens, kWidth});
  Tensor wanted_ = at::rand({kBatch, kTokens, kWidth});
};

class Training {
 public:
  explicit Training(std::unique_ptr<Model> model)
      : model_(std::move(model)), adam_(model_->parameters, torch::optim::AdamOptions(1e-3)) {}

  void drop_gradients() {
    for (Tensor& parameter : model_->parameters) parameter.mutable_grad().reset();
  }
  void step() {
    drop_gradients();
    model_->loss().backward();
    adam_.step();
  }

 private:
  std::unique_ptr<Model> model_;
  torch::optim::Adam adam_;
};

double seconds(Training& training) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    training.step();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

// The most bytes of tensors alive in a step beyond those alive before it: parameters, the
// optimizer's state and the batch.
double peak_bytes(Training& training, CountingAllocator& allocator) {
  training.step();
  training.drop_gradients();
  allocator.restart();
  training.step();
  return static_cast<double>(allocator.peak());
}

using Make = std::function<std::unique_ptr<Model>()>;

// Each row is about the variant that does best in it.
void train_row(Runner& runner, const std::string& name, const std::vector<Make>& variants) {
  runner.row(name, [&](Row& row) {
    std::unique_ptr<Training> best;
    double least = std::numeric_limits<double>::infinity();
    for (const Make& make : variants) {
      auto training = std::make_unique<Training>(make());
      if (const double taken = seconds(*training); taken < least) {
        least = taken;
        best = std::move(training);
      }
    }
    row.measure([&] { best->step(); });
  });
}

void rows_of(Runner& runner, const std::string& name, const std::vector<Make>& variants) {
  train_row(runner, name + "_train", variants);
  runner.row("plan_" + name, [&](Row& row) {
    row.report([&]() -> Row::Figures {
      CountingAllocator& allocator = CountingAllocator::install();
      double least = std::numeric_limits<double>::infinity();
      for (const Make& make : variants) {
        Training training(make());
        least = std::min(least, peak_bytes(training, allocator));
      }
      return {{"peak_bytes", least}};
    });
  });
}

template <class M, class... A>
Make make(A... args) {
  return [=] { return std::make_unique<M>(args...); };
}

}  // namespace

void training(Runner& runner) {
  rows_of(runner, "mlp", {make<Mlp>()});
  train_row(runner, "mlp_train_fit", {make<Mlp>()});
  train_row(runner, "small_train", {make<Mlp>(64, 128)});
  rows_of(runner, "rnn", {make<Rnn>()});
  rows_of(runner, "lstm", {make<Lstm>()});
  rows_of(runner, "cnn",
          {make<Cnn>(at::MemoryFormat::Contiguous), make<Cnn>(at::MemoryFormat::ChannelsLast)});
  rows_of(runner, "transformer", {make<Transformer>()});
}

}  // namespace bench::peers
