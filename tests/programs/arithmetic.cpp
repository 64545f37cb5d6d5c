#include "arithmetic.h"

#include <algorithm>
#include <cmath>

namespace tenure::programs {

bool Num::has_derivatives() const {
  return std::any_of(at.begin() + 1, at.end(), [](double part) { return part != 0; });
}

Arithmetic::Arithmetic(DType dtype, int tapes)
    : tapes_(tapes), unit_(0), single_(dtype == DType::float32) {
  if (dtype == DType::float32) unit_ = 0x1p-24;
  if (dtype == DType::float64) unit_ = 0x1p-53;
}

double Arithmetic::rounded(double value) const {
  return single_ ? static_cast<double>(static_cast<float>(value)) : value;
}

Num Arithmetic::neg(const Num& a) const {
  Num y = a;
  for (double& part : y.at) part = -part;
  return y;
}

// What is derived is computed in another order by a runtime, so it is never exact.
Num Arithmetic::add(const Num& a, const Num& b) const {
  Num y;
  for (unsigned m = 0; m < 1u << tapes_; ++m) {
    y.at[m] = a.at[m] + b.at[m];
    y.error[m] = a.error[m] + b.error[m];
    if (m == 0) {
      y.at[0] = rounded(y.at[0]);
      if (y.error[0] != 0) y.error[0] += unit_ * std::abs(y.at[0]);
    } else if (y.at[m] != 0 || a.at[m] != 0) {
      y.error[m] += 2 * unit_ * (std::abs(a.at[m]) + std::abs(b.at[m]));
    }
  }
  return y;
}

Num Arithmetic::mul(const Num& a, const Num& b) const {
  Num y;
  for (unsigned m = 0; m < 1u << tapes_; ++m) {
    for (unsigned s = m;; s = (s - 1) & m) {
      const double product = a.at[s] * b.at[m ^ s];
      y.at[m] += product;
      y.error[m] += std::abs(a.at[s]) * b.error[m ^ s] + std::abs(b.at[m ^ s]) * a.error[s] +
                    a.error[s] * b.error[m ^ s];
      if (m != 0) y.error[m] += 4 * unit_ * std::abs(product);
      if (s == 0) break;
    }
  }
  y.at[0] = rounded(y.at[0]);
  if (y.error[0] != 0) y.error[0] += unit_ * std::abs(y.at[0]);
  return y;
}

Num Arithmetic::div(const Num& a, const Num& b) const {
  Num y = mul(a, reciprocal(b));
  if (a.is_exact() && b.is_exact()) {
    y.at[0] = rounded(a.at[0] / b.at[0]);
    y.error[0] = 0;
  }
  return y;
}

Num Arithmetic::with_infinitesimal(const Num& rest, const Num& factor, int tape) const {
  Num y = rest;
  const unsigned bit = 1u << tape;
  for (unsigned m = 0; m < Num::kCount; ++m) {
    if ((m & bit) != 0) continue;
    y.at[m | bit] = factor.at[m];
    y.error[m | bit] = factor.error[m] + 8 * unit_ * std::abs(factor.at[m]);
  }
  return y;
}

Num Arithmetic::derivative(const Num& x, int tape) {
  Num y;
  const unsigned bit = 1u << tape;
  for (unsigned m = 0; m < Num::kCount; ++m) {
    if ((m & bit) != 0) continue;
    y.at[m] = x.at[m | bit];
    y.error[m] = x.error[m | bit];
  }
  return y;
}

Num Arithmetic::primal(const Num& x, int tape) {
  Num y = x;
  const unsigned bit = 1u << tape;
  for (unsigned m = 0; m < Num::kCount; ++m) {
    if ((m & bit) != 0) y.at[m] = y.error[m] = 0;
  }
  return y;
}

Num Arithmetic::without_derivatives(const Num& x) {
  Num y(x.at[0]);
  y.error[0] = x.error[0];
  return y;
}

Num Arithmetic::tanh(const Num& x) const {
  return lift(
      x, [](double v) { return std::tanh(v); },
      [this](const Num& v) {
        const Num y = tanh(v);
        return sub(Num(1), mul(y, y));
      },
      8);
}

Num Arithmetic::sigmoid(const Num& x) const {
  return lift(
      x, [](double v) { return 1 / (1 + std::exp(-v)); },
      [this](const Num& v) {
        const Num y = sigmoid(v);
        return mul(y, sub(Num(1), y));
      },
      8);
}

Num Arithmetic::sin(const Num& x) const {
  return lift(x, [](double v) { return std::sin(v); }, [this](const Num& v) { return cos(v); }, 8);
}

Num Arithmetic::cos(const Num& x) const {
  return lift(
      x, [](double v) { return std::cos(v); }, [this](const Num& v) { return neg(sin(v)); }, 8);
}

Num Arithmetic::exp(const Num& x) const {
  return lift(x, [](double v) { return std::exp(v); }, [this](const Num& v) { return exp(v); }, 8);
}

Num Arithmetic::log(const Num& x) const {
  return lift(
      x, [](double v) { return std::log(v); }, [this](const Num& v) { return reciprocal(v); }, 8);
}

Num Arithmetic::sqrt(const Num& x) const {
  return lift_exact(
      x, [](double v) { return std::sqrt(v); },
      [this](const Num& v) { return mul(Num(0.5), reciprocal(sqrt(v))); });
}

Num Arithmetic::reciprocal(const Num& x) const {
  return lift(
      x, [](double v) { return 1 / v; },
      [this](const Num& v) {
        const Num y = reciprocal(v);
        return neg(mul(y, y));
      },
      2);
}

bool Arithmetic::less(const Num& a, const Num& b) {
  const double apart = std::abs(a.at[0] - b.at[0]), error = a.error[0] + b.error[0];
  if (error != 0 && apart <= 4 * error) throw Unsteady("a comparison hangs on a rounding error");
  return a.at[0] < b.at[0];
}

bool Arithmetic::equal(const Num& a, const Num& b) {
  less(a, b);
  return a.at[0] == b.at[0];
}

Num Arithmetic::larger(const Num& a, const Num& b) {
  if (a.at[0] == b.at[0] && (a.has_derivatives() || b.has_derivatives())) {
    throw Unsteady("a derivative at a kink");
  }
  return less(a, b) ? b : a;
}

Num Arithmetic::smaller(const Num& a, const Num& b) {
  if (a.at[0] == b.at[0] && (a.has_derivatives() || b.has_derivatives())) {
    throw Unsteady("a derivative at a kink");
  }
  return less(b, a) ? b : a;
}

Num Arithmetic::sum(const Num* terms, std::size_t count, std::size_t stride) const {
  Num y;
  double magnitude = 0;
  bool exact = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Num& term = terms[i * stride];
    magnitude += std::abs(term.at[0]);
    exact &= term.is_exact();
    for (unsigned m = 0; m < 1u << tapes_; ++m) {
      y.at[m] += term.at[m];
      y.error[m] += term.error[m];
      if (m != 0) y.error[m] += 4 * unit_ * static_cast<double>(count) * std::abs(term.at[m]);
    }
  }
  // Where all are multiples of the last place of the largest sum there can be, no order rounds.
  const bool is_number = magnitude != 0 && std::isfinite(magnitude);
  const double last_place = is_number ? std::ldexp(unit_, std::ilogb(magnitude) + 1) : 1;
  for (std::size_t i = 0; i < count && exact; ++i) {
    exact = unit_ == 0 || std::fmod(terms[i * stride].at[0], last_place) == 0;
  }
  y.at[0] = rounded(y.at[0]);
  if (!exact && count > 1) y.error[0] += 2 * unit_ * static_cast<double>(count) * magnitude;
  return y;
}

}  // namespace tenure::programs
