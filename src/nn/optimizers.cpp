// The optimizers' formulas.
#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/loss_functions.h"
#include "nn/optimizer_state.h"
#include "nn/parts.h"
#include "ops/adam.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

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
void fields(Fields& visit, FtrlOptions& o) {
  TENURE_FIELDS(visit, o, learning_rate_power, initial_accumulator_value,
                l1_regularization_strength, l2_regularization_strength,
                l2_shrinkage_regularization_strength, beta);
}
void fields(Fields& visit, AdafactorOptions& o) {
  TENURE_FIELDS(visit, o, beta_2_decay, epsilon_1, epsilon_2, clip_threshold, relative_step);
}
void fields(Fields& visit, LambOptions& o) { TENURE_FIELDS(visit, o, beta_1, beta_2, epsilon); }
void fields(Fields& visit, LionOptions& o) { TENURE_FIELDS(visit, o, beta_1, beta_2); }

namespace {

using Slots = std::vector<Tensor>;
using Numbers = std::vector<Tensor>;

template <class O>
void check_epsilon(const char* optimizer, const O& o) {
  check_at_least(optimizer, "epsilon", o.epsilon, 0.0);
}
template <class O>
void check_decays(const char* optimizer, const O& o) {
  check_part(optimizer, "beta_1", o.beta_1);
  check_part(optimizer, "beta_2", o.beta_2);
  if constexpr (requires { o.epsilon; }) check_epsilon(optimizer, o);
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
    check_between("SGD", "momentum", options_.momentum, 0, 1);
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
    check_part("RMSprop", "rho", options_.rho);
    check_between("RMSprop", "momentum", options_.momentum, 0, 1);
    check_epsilon("RMSprop", options_);
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
    check_at_least("Adagrad", "initial_accumulator_value", options_.initial_accumulator_value, 0.0);
    check_epsilon("Adagrad", options_);
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
    check_part("Adadelta", "rho", options_.rho);
    check_epsilon("Adadelta", options_);
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

// The weights are what minimises all gradients so far, as if they had been linear, with a quadratic
// that keeps them near: `linear` and `accumulator` are all that this needs of the past.
class FtrlOptimizer final : public ConfiguredOptimizer<FtrlOptions> {
 public:
  explicit FtrlOptimizer(FtrlOptions options) : ConfiguredOptimizer(std::move(options)) {
    const auto check = [](const char* what, double value) {
      check_at_least("Ftrl", what, value, 0.0);
    };
    if (!(options_.learning_rate_power <= 0)) {
      raise<ValueError>("Ftrl: learning_rate_power must be at most 0: {}",
                        options_.learning_rate_power);
    }
    check("initial_accumulator_value", options_.initial_accumulator_value);
    check("l1_regularization_strength", options_.l1_regularization_strength);
    check("l2_regularization_strength", options_.l2_regularization_strength);
    check("l2_shrinkage_regularization_strength", options_.l2_shrinkage_regularization_strength);
    check("beta", options_.beta);
  }
  const char* class_name() const override { return "Ftrl"; }
  std::vector<Slot> slots() const override {
    return {{"accumulator", options_.initial_accumulator_value}, {"linear"}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor& rate = numbers[0];
    const Tensor squares = slots[0] + g * g;
    const Tensor spread = root(squares);
    Tensor slope = g;
    if (options_.l2_shrinkage_regularization_strength > 0) {
      slope = slope + value * (2 * options_.l2_shrinkage_regularization_strength);
    }
    const Tensor linear = slots[1] + slope - (spread - root(slots[0])) / rate * value;
    const double l1 = options_.l1_regularization_strength;
    const Tensor curve = (spread + options_.beta) / rate + 2 * options_.l2_regularization_strength;
    // Where nothing has come yet, 0 / 0.
    const Tensor moved = (clip(linear, -l1, l1) - linear) / curve;
    return {where(abs(linear) > l1, moved, 0.0), {squares, linear}};
  }

 private:
  Tensor root(const Tensor& squares) const {
    const double power = -options_.learning_rate_power;
    return power == 0.5 ? sqrt(squares) : pow(squares, power);
  }
};

// The mean square of each element of a matrix is taken for the product of its row's and its
// column's; of what is no matrix each is kept, as other optimizers do.
class AdafactorOptimizer final : public ConfiguredOptimizer<AdafactorOptions> {
 public:
  explicit AdafactorOptimizer(AdafactorOptions options) : ConfiguredOptimizer(std::move(options)) {
    if (!(options_.beta_2_decay <= 0)) {
      raise<ValueError>("Adafactor: beta_2_decay must be at most 0: {}", options_.beta_2_decay);
    }
    check_at_least("Adafactor", "epsilon_1", options_.epsilon_1, 0.0);
    check_at_least("Adafactor", "epsilon_2", options_.epsilon_2, 0.0);
    check_above("Adafactor", "clip_threshold", options_.clip_threshold, 0);
  }
  const char* class_name() const override { return "Adafactor"; }
  std::vector<Slot> slots() const override {
    const auto factor = [](int dropped) {
      return [dropped](const Shape& variable) {
        Shape shape;
        for (int i = 0; i < variable.rank() && variable.rank() > 1; ++i) {
          if (i != variable.rank() - dropped) shape.push_back(variable[i]);
        }
        return shape;
      };
    };
    const auto whole = [](const Shape& variable) {
      return variable.rank() > 1 ? Shape() : variable;
    };
    return {{"rows", 0, factor(1)}, {"columns", 0, factor(2)}, {"velocity", 0, whole}};
  }
  OptimizerBase::Prepared prepare(const Step& step) const override {
    const Tensor most = 1.0 / sqrt(step.number);
    return {{options_.relative_step ? minimum(step.rate, most) : step.rate,
             1.0 - pow(step.number, options_.beta_2_decay)},
            {}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor squares = g * g + options_.epsilon_1;
    const auto running = [&](const Tensor& slot, const Tensor& now) {
      return slot * numbers[1] + now * (1.0 - numbers[1]);
    };
    Update next;
    Tensor step;
    if (shape_of(value, "apply").rank() > 1) {
      const Tensor rows = running(slots[0], mean(squares, {-1}));
      const Tensor columns = running(slots[1], mean(squares, {-2}));
      const Tensor shares = rows / mean(rows, {-1}, {.keep_dims = true});
      // By one after the other: where there is no gradient their product would be 0.
      step = g / sqrt(expand_dims(shares, -1)) / sqrt(expand_dims(columns, -2));
      next.slots = {rows, columns, slots[2]};
    } else {
      const Tensor spread = running(slots[2], squares);
      step = g / sqrt(spread);
      next.slots = {slots[0], slots[1], spread};
    }
    const auto size = [](const Tensor& x) { return sqrt(mean(square(x))); };
    const Tensor length = maximum(size(value), options_.epsilon_2) * numbers[0];
    const Tensor shorter = maximum(size(step) / options_.clip_threshold, 1.0);
    next.value = value - step * (length / shorter);
    return next;
  }
};

class LambOptimizer final : public ConfiguredOptimizer<LambOptions> {
 public:
  explicit LambOptimizer(LambOptions options) : ConfiguredOptimizer(std::move(options)) {
    check_decays("Lamb", options_);
  }
  const char* class_name() const override { return "Lamb"; }
  std::vector<Slot> slots() const override { return {{"m"}, {"v"}}; }
  OptimizerBase::Prepared prepare(const Step& step) const override {
    return {{step.rate, 1.0 / (1.0 - pow(options_.beta_1, step.number)),
             1.0 / (1.0 - pow(options_.beta_2, step.number))},
            {}};
  }
  Update update(const Tensor& value, const Tensor& g, const Slots& slots,
                const Numbers& numbers) const override {
    const Tensor mean = running_mean(slots[0], g, options_.beta_1);
    const Tensor square = running_square(slots[1], g, options_.beta_2);
    const Tensor step = mean * numbers[1] / (sqrt(square * numbers[2]) + options_.epsilon);
    const Tensor of_value = norm(value), of_step = norm(step);
    const Tensor both = logical_and(of_value > 0.0, of_step > 0.0);
    const Tensor ratio = where(both, of_value / of_step, 1.0);
    return {value - step * (ratio * numbers[0]), {mean, square}};
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
    {"adafactor", optimizer_of<Adafactor, AdafactorOptions>},
    {"adagrad", optimizer_of<Adagrad, AdagradOptions>},
    {"adam", optimizer_of<Adam, AdamOptions>},
    {"adamax", optimizer_of<Adamax, AdamaxOptions>},
    {"adamw", optimizer_of<AdamW, AdamWOptions>},
    {"ftrl", optimizer_of<Ftrl, FtrlOptions>},
    {"lamb", optimizer_of<Lamb, LambOptions>},
    {"lion", optimizer_of<Lion, LionOptions>},
    {"nadam", optimizer_of<Nadam, NadamOptions>},
    {"rmsprop", optimizer_of<RMSprop, RMSpropOptions>},
    {"sgd", optimizer_of<SGD, SGDOptions>, " momentum "},  // TensorFlow.js has two
};

// Settings that are refused are so on the user's line.
template <class T, class... A>
std::shared_ptr<OptimizerBase> made(std::source_location site, A&&... args) {
  const tenure::detail::UserLine line(site);
  return std::make_shared<T>(std::forward<A>(args)...);
}

}  // namespace

std::string optimizer_names() { return names_of(kOptimizers); }
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
    : Optimizer(detail::made<detail::SGDOptimizer>(site, std::move(options)), site) {}
Adam::Adam(AdamOptions options, std::source_location site)
    : Optimizer(detail::made<detail::AdamOptimizer<AdamOptions>>(site, "Adam", std::move(options)),
                site) {}
AdamW::AdamW(AdamWOptions options, std::source_location site)
    : Optimizer(
          detail::made<detail::AdamOptimizer<AdamWOptions>>(site, "AdamW", std::move(options)),
          site) {}
Adamax::Adamax(AdamaxOptions options, std::source_location site)
    : Optimizer(detail::made<detail::AdamaxOptimizer>(site, std::move(options)), site) {}
Nadam::Nadam(NadamOptions options, std::source_location site)
    : Optimizer(detail::made<detail::NadamOptimizer>(site, std::move(options)), site) {}
RMSprop::RMSprop(RMSpropOptions options, std::source_location site)
    : Optimizer(detail::made<detail::RMSpropOptimizer>(site, std::move(options)), site) {}
Adagrad::Adagrad(AdagradOptions options, std::source_location site)
    : Optimizer(detail::made<detail::AdagradOptimizer>(site, std::move(options)), site) {}
Adadelta::Adadelta(AdadeltaOptions options, std::source_location site)
    : Optimizer(detail::made<detail::AdadeltaOptimizer>(site, std::move(options)), site) {}
Ftrl::Ftrl(FtrlOptions options, std::source_location site)
    : Optimizer(detail::made<detail::FtrlOptimizer>(site, std::move(options)), site) {}
Adafactor::Adafactor(AdafactorOptions options, std::source_location site)
    : Optimizer(detail::made<detail::AdafactorOptimizer>(site, std::move(options)), site) {}
Lamb::Lamb(LambOptions options, std::source_location site)
    : Optimizer(detail::made<detail::LambOptimizer>(site, std::move(options)), site) {}
Lion::Lion(LionOptions options, std::source_location site)
    : Optimizer(detail::made<detail::LionOptimizer>(site, std::move(options)), site) {}

}  // namespace tenure::nn
