// The optimizers' formulas.
#include "core/raise.h"
#include "nn/optimizer_state.h"
#include "nn/parts.h"
#include "ops/adam.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, SGDOptions& o) { TENURE_FIELDS(visit, o, momentum, nesterov); }
void fields(Fields& visit, AdamOptions& o) {
  TENURE_FIELDS(visit, o, beta_1, beta_2, epsilon, amsgrad);
}
void fields(Fields& visit, AdamWOptions& o) {
  TENURE_FIELDS(visit, o, beta_1, beta_2, epsilon, amsgrad);
}
void fields(Fields& visit, AdamaxOptions& o) { TENURE_FIELDS(visit, o, beta_1, beta_2, epsilon); }
void fields(Fields& visit, RMSpropOptions& o) {
  TENURE_FIELDS(visit, o, rho, momentum, epsilon, centered);
}
void fields(Fields& visit, AdagradOptions& o) {
  TENURE_FIELDS(visit, o, initial_accumulator_value, epsilon);
}
void fields(Fields& visit, AdadeltaOptions& o) { TENURE_FIELDS(visit, o, rho, epsilon); }
void fields(Fields& visit, LionOptions& o) { TENURE_FIELDS(visit, o, beta_1, beta_2); }

namespace {

using Slots = std::vector<Tensor>;
using Numbers = std::vector<Tensor>;

// A factor of a running mean.
void check_decay(const char* optimizer, const char* option, double value) {
  if (!(value >= 0 && value < 1)) {
    raise<ValueError>("{}: {} must be at least 0 and below 1: {}", optimizer, option, value);
  }
}
template <class O>
void check_decays(const char* optimizer, const O& o) {
  check_decay(optimizer, "beta_1", o.beta_1);
  check_decay(optimizer, "beta_2", o.beta_2);
}

Tensor running_mean(const Tensor& mean, const Tensor& x, double decay) {
  return mean * decay + x * (1 - decay);
}
Tensor running_square(const Tensor& mean, const Tensor& x, double decay) {
  return mean * decay + x * x * (1 - decay);
}

class SGDOptimizer final : public ConfiguredOptimizer<SGDOptions> {
 public:
  explicit SGDOptimizer(SGDOptions options) : ConfiguredOptimizer(std::move(options)) {
    if (!(options_.momentum >= 0 && options_.momentum <= 1)) {
      raise<ValueError>("SGD: momentum must be between 0 and 1: {}", options_.momentum);
    }
  }
  const char* class_name() const override { return "SGD"; }
  std::vector<Slot> slots() const override {
    if (options_.momentum == 0) return {};
    return {{"momentum"}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor step = g * numbers[0];
    if (slots.empty()) return {value - step, {}};
    const Tensor momentum = slots[0] * options_.momentum - step;
    if (!options_.nesterov) return {value + momentum, {momentum}};
    return {value + (momentum * options_.momentum - step), {momentum}};
  }
};

// Adam and AdamW, which differ in a default. Both corrections of the bias go into the rate, a
// number, so that each element is touched no more than it must.
template <class O>
class AdamOptimizer final : public ConfiguredOptimizer<O> {
 public:
  AdamOptimizer(const char* class_name, O options)
      : ConfiguredOptimizer<O>(std::move(options)), class_name_(class_name) {
    check_decays(class_name, o());
  }
  const char* class_name() const override { return class_name_; }
  std::vector<OptimizerBase::Slot> slots() const override {
    if (o().amsgrad) return {{"m"}, {"v"}, {"vhat"}};
    return {{"m"}, {"v"}};
  }
  OptimizerBase::Prepared prepare(const OptimizerBase::Step& step) const override {
    return {{step.rate * sqrt(1.0 - pow(o().beta_2, step.number)) /
                 (1.0 - pow(o().beta_1, step.number)),
             full({}, o().epsilon, DType::float64)},
            {}};
  }
  OptimizerBase::Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                               const Numbers& numbers) const override {
    if (!o().amsgrad) {
      auto [next, mean, square] = ops::adam({value, slots[0], slots[1], g, numbers[0], numbers[1]},
                                            {o().beta_1, o().beta_2});
      return {std::move(next), {std::move(mean), std::move(square)}};
    }
    const Tensor mean = running_mean(slots[0], g, o().beta_1);
    const Tensor square = running_square(slots[1], g, o().beta_2);
    const Tensor largest = maximum(slots[2], square);
    return {value - mean * numbers[0] / (sqrt(largest) + numbers[1]), {mean, square, largest}};
  }

 private:
  const O& o() const { return this->options_; }
  const char* class_name_;
};

class AdamaxOptimizer final : public ConfiguredOptimizer<AdamaxOptions> {
 public:
  explicit AdamaxOptimizer(AdamaxOptions options) : ConfiguredOptimizer(std::move(options)) {
    check_decays("Adamax", options_);
  }
  const char* class_name() const override { return "Adamax"; }
  std::vector<Slot> slots() const override { return {{"m"}, {"u"}}; }
  OptimizerBase::Prepared prepare(const Step& step) const override {
    return {{step.rate / (1.0 - pow(options_.beta_1, step.number))}, {}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor mean = running_mean(slots[0], g, options_.beta_1);
    const Tensor largest = maximum(slots[1] * options_.beta_2, abs(g));
    return {value - mean * numbers[0] / (largest + options_.epsilon), {mean, largest}};
  }
};

class NadamOptimizer final : public ConfiguredOptimizer<NadamOptions> {
 public:
  explicit NadamOptimizer(NadamOptions options) : ConfiguredOptimizer(std::move(options)) {
    check_decays("Nadam", options_);
  }
  const char* class_name() const override { return "Nadam"; }
  std::vector<Slot> slots() const override { return {{"m"}, {"v"}}; }
  std::vector<Slot> shared_slots() const override { return {{"u_product", 1}}; }
  OptimizerBase::Prepared prepare(const Step& step) const override {
    const auto momentum = [&](const Tensor& number) {
      return (1.0 - pow(0.96, number) * 0.5) * options_.beta_1;
    };
    const Tensor now = momentum(step.number), next = momentum(step.number + 1.0);
    const Tensor product = step.shared[0] * now;
    const Tensor of_mean = step.rate * next / (1.0 - product * next);
    const Tensor of_gradient = step.rate * (1.0 - now) / (1.0 - product);
    const Tensor of_square = 1.0 / (1.0 - pow(options_.beta_2, step.number));
    return {{of_mean, of_gradient, of_square}, {product}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor mean = running_mean(slots[0], g, options_.beta_1);
    const Tensor square = running_square(slots[1], g, options_.beta_2);
    const Tensor ahead = mean * numbers[0] + g * numbers[1];
    return {value - ahead / (sqrt(square * numbers[2]) + options_.epsilon), {mean, square}};
  }
};

class RMSpropOptimizer final : public ConfiguredOptimizer<RMSpropOptions> {
 public:
  explicit RMSpropOptimizer(RMSpropOptions options) : ConfiguredOptimizer(std::move(options)) {
    check_decay("RMSprop", "rho", options_.rho);
  }
  const char* class_name() const override { return "RMSprop"; }
  std::vector<Slot> slots() const override {
    std::vector<Slot> all{{"velocity"}};
    if (options_.momentum > 0) all.push_back({"momentum"});
    if (options_.centered) all.push_back({"average_gradient"});
    return all;
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    Update update;
    update.slots.push_back(running_square(slots[0], g, options_.rho));
    Tensor spread = update.slots[0], mean;
    if (options_.centered) {
      mean = running_mean(slots.back(), g, options_.rho);
      spread = spread - square(mean);
    }
    Tensor step = g * numbers[0] / sqrt(spread + options_.epsilon);
    if (options_.momentum > 0) {
      step = slots[1] * options_.momentum + step;
      update.slots.push_back(step);
    }
    if (options_.centered) update.slots.push_back(mean);
    update.value = value - step;
    return update;
  }
};

class AdagradOptimizer final : public ConfiguredOptimizer<AdagradOptions> {
 public:
  explicit AdagradOptimizer(AdagradOptions options) : ConfiguredOptimizer(std::move(options)) {
    if (!(options_.initial_accumulator_value >= 0)) {
      raise<ValueError>("Adagrad: initial_accumulator_value must not be negative: {}",
                        options_.initial_accumulator_value);
    }
  }
  const char* class_name() const override { return "Adagrad"; }
  std::vector<Slot> slots() const override {
    return {{"accumulator", options_.initial_accumulator_value}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor squares = slots[0] + g * g;
    return {value - g * numbers[0] / sqrt(squares + options_.epsilon), {squares}};
  }
};

class AdadeltaOptimizer final : public ConfiguredOptimizer<AdadeltaOptions> {
 public:
  explicit AdadeltaOptimizer(AdadeltaOptions options) : ConfiguredOptimizer(std::move(options)) {
    check_decay("Adadelta", "rho", options_.rho);
  }
  const char* class_name() const override { return "Adadelta"; }
  std::vector<Slot> slots() const override {
    return {{"accumulated_grad"}, {"accumulated_delta_var"}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const auto root = [&](const Tensor& squares) { return sqrt(squares + options_.epsilon); };
    const Tensor squares = running_square(slots[0], g, options_.rho);
    const Tensor step = root(slots[1]) * g / root(squares);
    return {value - step * numbers[0], {squares, running_square(slots[1], step, options_.rho)}};
  }
};

class LionOptimizer final : public ConfiguredOptimizer<LionOptions> {
 public:
  explicit LionOptimizer(LionOptions options) : ConfiguredOptimizer(std::move(options)) {
    check_decays("Lion", options_);
  }
  const char* class_name() const override { return "Lion"; }
  std::vector<Slot> slots() const override { return {{"m"}}; }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor direction = sign(running_mean(slots[0], g, options_.beta_1));
    return {value - direction * numbers[0], {running_mean(slots[0], g, options_.beta_2)}};
  }
};

template <class T, class O>
Optimizer optimizer_of(Fields& settings) {
  O options;
  optimizer_fields(settings, options);
  return T(std::move(options));
}

constexpr Row<Optimizer> kOptimizers[] = {
    {"adadelta", optimizer_of<Adadelta, AdadeltaOptions>},
    {"adagrad", optimizer_of<Adagrad, AdagradOptions>},
    {"adam", optimizer_of<Adam, AdamOptions>},
    {"adamax", optimizer_of<Adamax, AdamaxOptions>},
    {"adamw", optimizer_of<AdamW, AdamWOptions>},
    {"lion", optimizer_of<Lion, LionOptions>},
    {"nadam", optimizer_of<Nadam, NadamOptions>},
    {"rmsprop", optimizer_of<RMSprop, RMSpropOptions>},
    {"sgd", optimizer_of<SGD, SGDOptions>, " momentum "},  // TensorFlow.js has two
};

}  // namespace

Optimizer optimizer_named(const std::string& name, Fields&& settings) {
  return make_named("optimizer", kOptimizers, name, settings);
}

}  // namespace detail

Optimizer::Optimizer(const char* name, std::source_location site)
    : Optimizer(std::string(name), site) {}
Optimizer::Optimizer(const std::string& name, std::source_location site)
    : Optimizer([&] {
        const tenure::detail::CallScope call("optimizer", site);
        return detail::optimizer_named(name, detail::Unwritten());
      }()) {}

SGD::SGD(SGDOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::SGDOptimizer>(std::move(options)), site) {}
Adam::Adam(AdamOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::AdamOptimizer<AdamOptions>>("Adam", std::move(options)),
                site) {}
AdamW::AdamW(AdamWOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::AdamOptimizer<AdamWOptions>>("AdamW", std::move(options)),
                site) {}
Adamax::Adamax(AdamaxOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::AdamaxOptimizer>(std::move(options)), site) {}
Nadam::Nadam(NadamOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::NadamOptimizer>(std::move(options)), site) {}
RMSprop::RMSprop(RMSpropOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::RMSpropOptimizer>(std::move(options)), site) {}
Adagrad::Adagrad(AdagradOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::AdagradOptimizer>(std::move(options)), site) {}
Adadelta::Adadelta(AdadeltaOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::AdadeltaOptimizer>(std::move(options)), site) {}
Lion::Lion(LionOptions options, std::source_location site)
    : Optimizer(std::make_shared<detail::LionOptimizer>(std::move(options)), site) {}

}  // namespace tenure::nn
