#include "tenure/nn/schedules.h"

#include <cmath>
#include <numbers>

#include "core/raise.h"
#include "nn/bounds.h"
#include "nn/eager_scope.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, ExponentialDecayOptions& o) {
  visit.need({"initial_learning_rate", "decay_steps", "decay_rate"});
  TENURE_FIELDS(visit, o, initial_learning_rate, decay_steps, decay_rate, staircase);
}
void fields(Fields& visit, PiecewiseConstantDecayOptions& o) {
  visit.need({"boundaries", "values"});
  TENURE_FIELDS(visit, o, boundaries, values);
}
void fields(Fields& visit, PolynomialDecayOptions& o) {
  visit.need({"initial_learning_rate", "decay_steps"});
  TENURE_FIELDS(visit, o, initial_learning_rate, decay_steps, end_learning_rate, power, cycle);
}
void fields(Fields& visit, CosineDecayOptions& o) {
  visit.need({"initial_learning_rate", "decay_steps"});
  TENURE_FIELDS(visit, o, initial_learning_rate, decay_steps, alpha, warmup_target, warmup_steps);
}
void fields(Fields& visit, CosineDecayRestartsOptions& o) {
  visit.need({"initial_learning_rate", "first_decay_steps"});
  TENURE_FIELDS(visit, o, initial_learning_rate, first_decay_steps, t_mul, m_mul, alpha);
}

}  // namespace detail

namespace {

using detail::made_by;

constexpr detail::Row<Schedule> kSchedules[] = {
    {"ExponentialDecay", made_by<ExponentialDecay>},
    {"InverseTimeDecay", made_by<InverseTimeDecay>},
    {"PiecewiseConstantDecay", made_by<PiecewiseConstantDecay>},
    {"PolynomialDecay", made_by<PolynomialDecay>},
    {"CosineDecay", made_by<CosineDecay>},
    {"CosineDecayRestarts", made_by<CosineDecayRestarts>},
};

template <class O>
Schedule schedule(const char* class_name, O options, std::function<Tensor(Tensor)> call) {
  std::string config = detail::written([&](detail::Fields& visit) {
    fields(visit, options);
    std::optional<std::string> none;
    visit("name", none);
  });
  return Schedule(Named<Tensor(Tensor)>{class_name, std::move(config), std::move(call)});
}

// What all that decay have.
void check_decay(const char* schedule, double rate, const char* option, double steps) {
  detail::check_at_least(schedule, "initial_learning_rate", rate, 0.0);
  detail::check_above(schedule, option, steps, 0);
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

Schedule ExponentialDecay(ExponentialDecayOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  check_decay("ExponentialDecay", o.initial_learning_rate, "decay_steps", o.decay_steps);
  detail::check_at_least("ExponentialDecay", "decay_rate", o.decay_rate, 0.0);
  return schedule("ExponentialDecay", o, [o](Tensor step) {
    Tensor done = step / o.decay_steps;
    if (o.staircase) done = floor(done);
    return pow(o.decay_rate, done) * o.initial_learning_rate;
  });
}

Schedule InverseTimeDecay(InverseTimeDecayOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  check_decay("InverseTimeDecay", o.initial_learning_rate, "decay_steps", o.decay_steps);
  detail::check_at_least("InverseTimeDecay", "decay_rate", o.decay_rate, 0.0);
  return schedule("InverseTimeDecay", o, [o](Tensor step) {
    Tensor done = step / o.decay_steps;
    if (o.staircase) done = floor(done);
    return o.initial_learning_rate / (done * o.decay_rate + 1.0);
  });
}

Schedule PiecewiseConstantDecay(PiecewiseConstantDecayOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
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
  for (const double value : o.values) {
    detail::check_at_least("PiecewiseConstantDecay", "a value", value, 0.0);
  }
  return schedule("PiecewiseConstantDecay", o, [o](Tensor step) {
    Tensor rate = constant(o.values.back());
    for (std::size_t i = o.boundaries.size(); i-- > 0;) {
      rate = where(step <= o.boundaries[i], constant(o.values[i]), rate);
    }
    return rate;
  });
}

Schedule PolynomialDecay(PolynomialDecayOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  check_decay("PolynomialDecay", o.initial_learning_rate, "decay_steps", o.decay_steps);
  detail::check_at_least("PolynomialDecay", "end_learning_rate", o.end_learning_rate, 0.0);
  detail::check_at_least("PolynomialDecay", "power", o.power, 0.0);
  return schedule("PolynomialDecay", o, [o](Tensor step) {
    Tensor done = step / o.decay_steps;
    done = o.cycle ? done / maximum(ceil(done), 1.0) : minimum(done, 1.0);
    return pow(1.0 - done, o.power) * (o.initial_learning_rate - o.end_learning_rate) +
           o.end_learning_rate;
  });
}

Schedule CosineDecay(CosineDecayOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  check_decay("CosineDecay", o.initial_learning_rate, "decay_steps", o.decay_steps);
  detail::check_at_least("CosineDecay", "alpha", o.alpha, 0.0);
  detail::check_at_least("CosineDecay", "warmup_target", o.warmup_target.value_or(0), 0.0);
  detail::check_at_least("CosineDecay", "warmup_steps", o.warmup_steps, 0.0);
  return schedule("CosineDecay", o, [o](Tensor step) {
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

Schedule CosineDecayRestarts(CosineDecayRestartsOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  check_decay("CosineDecayRestarts", o.initial_learning_rate, "first_decay_steps",
              o.first_decay_steps);
  detail::check_at_least("CosineDecayRestarts", "t_mul", o.t_mul, 1.0);
  detail::check_at_least("CosineDecayRestarts", "m_mul", o.m_mul, 0.0);
  detail::check_at_least("CosineDecayRestarts", "alpha", o.alpha, 0.0);
  return schedule("CosineDecayRestarts", o, [o](Tensor step) {
    // So that a period's first step is not taken for the last one's last.
    constexpr double kRounding = 1e-9;
    const Tensor done = step / o.first_decay_steps;
    Tensor restarts, within;
    if (o.t_mul == 1) {
      restarts = floor(done + kRounding);
      within = done - restarts;
    } else {
      restarts = floor(log(done * (o.t_mul - 1) + 1.0) / std::log(o.t_mul) + kRounding);
      const Tensor longer = pow(o.t_mul, restarts);
      within = (done - (longer - 1.0) / (o.t_mul - 1)) / longer;
    }
    const Tensor wave = (cos(within * std::numbers::pi) + 1.0) * 0.5;
    const Tensor part = wave * pow(o.m_mul, restarts) * (1 - o.alpha) + o.alpha;
    return part * o.initial_learning_rate;
  });
}

Schedule detail::schedule_named(const std::string& name, Fields&& settings) {
  return make_named("schedule", kSchedules, name, settings);
}

}  // namespace tenure::nn
