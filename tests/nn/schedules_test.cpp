// Each schedule against its formula.
#include "tenure/nn/schedules.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

TEST(Schedules, follow_their_formulas) {
  const double pi = std::acos(-1.0);
  const auto exponential = nn::ExponentialDecay(
      {.initial_learning_rate = 0.5, .decay_steps = 4, .decay_rate = 0.5, .staircase = true});
  const auto inverse =
      nn::InverseTimeDecay({.initial_learning_rate = 0.5, .decay_steps = 4, .decay_rate = 0.5});
  const auto pieces = nn::PiecewiseConstantDecay({{3, 5}, {1, 0.5, 0.25}});
  const auto polynomial = nn::PolynomialDecay(
      {.initial_learning_rate = 1, .decay_steps = 10, .end_learning_rate = 0.1, .power = 2});
  const auto cycle = nn::PolynomialDecay(
      {.initial_learning_rate = 1, .decay_steps = 10, .end_learning_rate = 0.1, .cycle = true});
  const auto cosine =
      nn::CosineDecay({.initial_learning_rate = 0.4, .decay_steps = 10, .alpha = 0.1});
  const auto warm = nn::CosineDecay({.initial_learning_rate = 0.1,
                                     .decay_steps = 10,
                                     .alpha = 0.1,
                                     .warmup_target = 0.5,
                                     .warmup_steps = 4});
  const auto restarts = nn::CosineDecayRestarts(
      {.initial_learning_rate = 0.4, .first_decay_steps = 5, .t_mul = 1.5, .m_mul = 0.5});
  for (int step = 0; step < 40; ++step) {
    EXPECT_NEAR(exponential.at(step), 0.5 * std::pow(0.5, step / 4), 1e-12);
    EXPECT_NEAR(inverse.at(step), 0.5 / (1 + 0.5 * step / 4.0), 1e-12);
    EXPECT_NEAR(pieces.at(step), step <= 3 ? 1 : step <= 5 ? 0.5 : 0.25, 1e-12);
    EXPECT_NEAR(polynomial.at(step), 0.9 * std::pow(1 - std::min(step, 10) / 10.0, 2) + 0.1, 1e-12);
    const double longer = 10.0 * std::max(1, (step + 9) / 10);
    EXPECT_NEAR(cycle.at(step), 0.9 * (1 - step / longer) + 0.1, 1e-12);
    const auto wave = [&](int at) { return 0.5 * (1 + std::cos(pi * std::min(at, 10) / 10.0)); };
    EXPECT_NEAR(cosine.at(step), 0.4 * (0.9 * wave(step) + 0.1), 1e-12);
    EXPECT_NEAR(warm.at(step), step < 4 ? 0.1 + 0.1 * step : 0.5 * (0.9 * wave(step - 4) + 0.1),
                1e-12);
    double start = 0, length = 5, height = 1;
    while (step >= start + length - 1e-9) {
      start += length;
      length *= 1.5;
      height *= 0.5;
    }
    EXPECT_NEAR(restarts.at(step),
                0.4 * height * 0.5 * (1 + std::cos(pi * (step - start) / length)), 1e-9);
  }
}

TEST(Schedules, bad_options_are_refused) {
  EXPECT_THROW(nn::ExponentialDecay({.decay_steps = 0}), ValueError);
  EXPECT_THROW(nn::PiecewiseConstantDecay({{1, 2}, {1, 2}}), ValueError);
  EXPECT_THROW(nn::PiecewiseConstantDecay({{2, 1}, {1, 2, 3}}), ValueError);
  EXPECT_THROW(nn::CosineDecayRestarts({.t_mul = 0.5}), ValueError);
  const nn::Schedule wide([](Tensor) { return ones({2}); });
  EXPECT_HAS(message_of<ShapeError>([&] { wide.at(0); }), "shape [2]");
  EXPECT_HAS(message_of<ValueError>([] {
               nn::detail::schedule_from_json(
                   {{"class_name", "Slower"}, {"config", nn::detail::Json::object()}});
             }),
             "there are: ExponentialDecay");
}

}  // namespace
}  // namespace tenure::testing
