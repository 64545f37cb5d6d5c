#include "tenure/nn/schedules.h"

#include <cmath>
#include <numbers>

#include "core/raise.h"
#include "nn/eager_scope.h"
#include "nn/parts.h"
#include "nn/training_parts.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure::nn {

using detail::Json;

namespace {

Schedule schedule(const char* class_name, Json config, std::function<Tensor(Tensor)> call) {
  config["name"] = nullptr;
  return Schedule(Named<Tensor(Tensor)>{class_name, config.dump(), std::move(call)});
}

void check_steps(const char* schedule, const char* option, double steps) {
  if (!(steps > 0)) raise<ValueError>("{}: {} must be above 0: {}", schedule, option, steps);
}

Tensor constant(double value) { return full({}, value, DType::float64); }

}  // namespace

Tensor Schedule::operator()(const Tensor& step, std::source_location site) const {
  if (!given()) raise<ValueError>("schedule: there is none");
  const tenure::detail::CallScope call("schedule", site);
  const Tensor at = cast(step, DType::float64);
  const Tensor rate = [&] {
    std::optional<tenure::detail::CallbackScope> users;
    if (class_name().empty()) users.emplace();
    return function()(at);
  }();
  if (rate.numel() != 1) {
    raise<ShapeError>("schedule: gives the rate as a scalar, not as a tensor of shape {}",
                      rate.shape());
  }
  return reshape(cast(rate, DType::float64), {});
}

double Schedule::at(std::int64_t step, std::source_location site) const {
  const tenure::detail::CallScope call("schedule", site);
  const detail::EagerScope eager;
  return (*this)(constant(static_cast<double>(step))).item<double>();
}

Schedule ExponentialDecay(ExponentialDecayOptions o) {
  check_steps("ExponentialDecay", "decay_steps", o.decay_steps);
  return schedule("ExponentialDecay",
                  {{"initial_learning_rate", o.initial_learning_rate},
                   {"decay_steps", o.decay_steps},
                   {"decay_rate", o.decay_rate},
                   {"staircase", o.staircase}},
                  [o](Tensor step) {
                    Tensor done = step / o.decay_steps;
                    if (o.staircase) done = floor(done);
                    return pow(o.decay_rate, done) * o.initial_learning_rate;
                  });
}

Schedule InverseTimeDecay(InverseTimeDecayOptions o) {
  check_steps("InverseTimeDecay", "decay_steps", o.decay_steps);
  return schedule("InverseTimeDecay",
                  {{"initial_learning_rate", o.initial_learning_rate},
                   {"decay_steps", o.decay_steps},
                   {"decay_rate", o.decay_rate},
                   {"staircase", o.staircase}},
                  [o](Tensor step) {
                    Tensor done = step / o.decay_steps;
                    if (o.staircase) done = floor(done);
                    return o.initial_learning_rate / (done * o.decay_rate + 1.0);
                  });
}

Schedule PiecewiseConstantDecay(PiecewiseConstantDecayOptions o) {
  if (o.values.size() != o.boundaries.size() + 1) {
    raise<ValueError>(
        "PiecewiseConstantDecay: takes one more value than boundaries: {} values, {} boundaries",
        o.values.size(), o.boundaries.size());
  }
  for (std::size_t i = 1; i < o.boundaries.size(); ++i) {
    if (!(o.boundaries[i - 1] < o.boundaries[i])) {
      raise<ValueError>("PiecewiseConstantDecay: boundaries must rise: {}, then {}",
                        o.boundaries[i - 1], o.boundaries[i]);
    }
  }
  return schedule("PiecewiseConstantDecay", {{"boundaries", o.boundaries}, {"values", o.values}},
                  [o](Tensor step) {
                    Tensor rate = constant(o.values.back());
                    for (std::size_t i = o.boundaries.size(); i-- > 0;) {
                      rate = where(step <= o.boundaries[i], constant(o.values[i]), rate);
                    }
                    return rate;
                  });
}

Schedule PolynomialDecay(PolynomialDecayOptions o) {
  check_steps("PolynomialDecay", "decay_steps", o.decay_steps);
  return schedule("PolynomialDecay",
                  {{"initial_learning_rate", o.initial_learning_rate},
                   {"decay_steps", o.decay_steps},
                   {"end_learning_rate", o.end_learning_rate},
                   {"power", o.power},
                   {"cycle", o.cycle}},
                  [o](Tensor step) {
                    Tensor done = step / o.decay_steps;
                    done = o.cycle ? done / maximum(ceil(done), 1.0) : minimum(done, 1.0);
                    return pow(1.0 - done, o.power) *
                               (o.initial_learning_rate - o.end_learning_rate) +
                           o.end_learning_rate;
                  });
}

Schedule CosineDecay(CosineDecayOptions o) {
  check_steps("CosineDecay", "decay_steps", o.decay_steps);
  if (o.warmup_steps < 0) {
    raise<ValueError>("CosineDecay: warmup_steps must not be negative: {}", o.warmup_steps);
  }
  return schedule(
      "CosineDecay",
      {{"initial_learning_rate", o.initial_learning_rate},
       {"decay_steps", o.decay_steps},
       {"alpha", o.alpha},
       {"warmup_target", o.warmup_target ? Json(*o.warmup_target) : Json(nullptr)},
       {"warmup_steps", o.warmup_steps}},
      [o](Tensor step) {
        const bool warms = o.warmup_target && o.warmup_steps > 0;
        const double highest = o.warmup_target.value_or(o.initial_learning_rate);
        const Tensor done = clip((warms ? step - o.warmup_steps : step) / o.decay_steps, 0.0, 1.0);
        const Tensor wave = (cos(done * std::numbers::pi) + 1.0) * 0.5;
        Tensor falling = (wave * (1 - o.alpha) + o.alpha) * highest;
        if (!warms) return falling;
        const Tensor rising =
            step * ((highest - o.initial_learning_rate) / o.warmup_steps) + o.initial_learning_rate;
        return where(step < o.warmup_steps, rising, falling);
      });
}

Schedule CosineDecayRestarts(CosineDecayRestartsOptions o) {
  check_steps("CosineDecayRestarts", "first_decay_steps", o.first_decay_steps);
  if (!(o.t_mul >= 1)) {
    raise<ValueError>("CosineDecayRestarts: t_mul must be at least 1: {}", o.t_mul);
  }
  return schedule("CosineDecayRestarts",
                  {{"initial_learning_rate", o.initial_learning_rate},
                   {"first_decay_steps", o.first_decay_steps},
                   {"t_mul", o.t_mul},
                   {"m_mul", o.m_mul},
                   {"alpha", o.alpha}},
                  [o](Tensor step) {
                    // So that a period's first step is not taken for the last one's last.
                    constexpr double kRounding = 1e-9;
                    const Tensor done = step / o.first_decay_steps;
                    Tensor restarts, within;
                    if (o.t_mul == 1) {
                      restarts = floor(done + kRounding);
                      within = done - restarts;
                    } else {
                      restarts =
                          floor(log(done * (o.t_mul - 1) + 1.0) / std::log(o.t_mul) + kRounding);
                      const Tensor longer = pow(o.t_mul, restarts);
                      within = (done - (longer - 1.0) / (o.t_mul - 1)) / longer;
                    }
                    const Tensor wave = (cos(within * std::numbers::pi) + 1.0) * 0.5;
                    const Tensor part = wave * pow(o.m_mul, restarts) * (1 - o.alpha) + o.alpha;
                    return part * o.initial_learning_rate;
                  });
}

namespace detail {

namespace {

double number_at(const std::string& schedule, const Json& config, const char* key) {
  if (!config.contains(key)) raise<ValueError>("{}: there is no {}", schedule, key);
  return number_in(config, key, 0);
}

bool flag_in(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() && found->get<bool>();
}

std::vector<double> numbers_at(const std::string& schedule, const Json& config, const char* key) {
  const auto found = config.find(key);
  std::vector<double> numbers;
  if (found != config.end() && found->is_array()) {
    for (const Json& each : *found) {
      if (!each.is_number()) break;
      numbers.push_back(each.get<double>());
    }
  }
  if (found == config.end() || !found->is_array() || numbers.size() != found->size()) {
    raise<ValueError>("{}: {} should be a list of numbers", schedule, key);
  }
  return numbers;
}

}  // namespace

Schedule schedule_from_json(const Json& json) {
  const auto [name, config] = named_config(json, "schedule");
  const auto number = [&](const char* key) { return number_at(name, config, key); };
  const std::string plain = plain_name(name);
  if (plain == "exponentialdecay" || plain == "inversetimedecay") {
    const ExponentialDecayOptions options{number("initial_learning_rate"), number("decay_steps"),
                                          number("decay_rate"), flag_in(config, "staircase")};
    return plain == "exponentialdecay" ? ExponentialDecay(options) : InverseTimeDecay(options);
  }
  if (plain == "piecewiseconstantdecay") {
    return PiecewiseConstantDecay(
        {numbers_at(name, config, "boundaries"), numbers_at(name, config, "values")});
  }
  if (plain == "polynomialdecay") {
    return PolynomialDecay({number("initial_learning_rate"), number("decay_steps"),
                            number_in(config, "end_learning_rate", 0.0001),
                            number_in(config, "power", 1), flag_in(config, "cycle")});
  }
  if (plain == "cosinedecay") {
    CosineDecayOptions options{number("initial_learning_rate"), number("decay_steps"),
                               number_in(config, "alpha", 0)};
    if (config.contains("warmup_target") && !config["warmup_target"].is_null()) {
      options.warmup_target = number("warmup_target");
    }
    options.warmup_steps = number_in(config, "warmup_steps", 0);
    return CosineDecay(options);
  }
  if (plain == "cosinedecayrestarts") {
    return CosineDecayRestarts({number("initial_learning_rate"), number("first_decay_steps"),
                                number_in(config, "t_mul", 2), number_in(config, "m_mul", 1),
                                number_in(config, "alpha", 0)});
  }
  raise<ValueError>(
      "schedule: no such one: \"{}\" (there are: ExponentialDecay, InverseTimeDecay, "
      "PiecewiseConstantDecay, PolynomialDecay, CosineDecay, CosineDecayRestarts)",
      name);
}

Json to_json(const Schedule& schedule) {
  if (schedule.class_name().empty()) {
    raise<UnsupportedError>("learning_rate: a function of your own cannot be written to a file");
  }
  return {{"class_name", schedule.class_name()}, {"config", Json::parse(schedule.config())}};
}

}  // namespace detail
}  // namespace tenure::nn
