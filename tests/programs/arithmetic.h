// The interpreter's numbers: a value, its derivatives, and how far a correct runtime may be off.
//
// Derivatives are carried forward, as coefficients of infinitesimals e0, e1, e2 whose squares are
// zero, one for each tape that is recording: nothing here resembles the backward pass it judges.
// Coefficient m belongs to the product of the e whose bits are set in m; coefficient 0 is the
// value.
//
// An error of 0 says that the value is the one and only: all operations that led to it round
// correctly, so a runtime must give these bits.
#pragma once

#include <array>
#include <stdexcept>

#include "tenure/dtype.h"

namespace tenure::programs {

inline constexpr int kMostTapes = 3;

// The program's result hangs on a rounding error, or is out of all bounds: nothing to compare.
struct Unsteady : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Num {
  static constexpr unsigned kCount = 1u << kMostTapes;
  std::array<double, kCount> at{};
  std::array<double, kCount> error{};

  Num() = default;
  Num(double value) { at[0] = value; }
  double value() const { return at[0]; }
  bool is_exact() const { return error[0] == 0; }
  bool has_derivatives() const;
};

// Arithmetic as it is done for one dtype, while some tapes record.
class Arithmetic {
 public:
  Arithmetic(DType dtype, int tapes);

  int tapes() const { return tapes_; }
  double unit() const { return unit_; }
  double rounded(double value) const;

  Num add(const Num& a, const Num& b) const;
  Num sub(const Num& a, const Num& b) const { return add(a, neg(b)); }
  Num mul(const Num& a, const Num& b) const;
  Num div(const Num& a, const Num& b) const;
  Num neg(const Num& a) const;
  // f(x): `f` on plain numbers, `slope` its derivative on Nums.
  template <class F, class Slope> Num lift(const Num& x, F f, Slope slope, double units) const {
    Num y = lift_exact(x, f, slope);
    y.error[0] += units * unit_ * std::max(1e-30, y.at[0] < 0 ? -y.at[0] : y.at[0]);
    return y;
  }
  // The same for an f that rounds correctly.
  template <class F, class Slope> Num lift_exact(const Num& x, F f, Slope slope) const;

  Num tanh(const Num& x) const;
  Num sigmoid(const Num& x) const;
  Num sin(const Num& x) const;
  Num cos(const Num& x) const;
  Num exp(const Num& x) const;
  Num log(const Num& x) const;
  Num sqrt(const Num& x) const;
  Num reciprocal(const Num& x) const;

  // Whether a < b, or an Unsteady where errors could turn it round.
  static bool less(const Num& a, const Num& b);
  static bool equal(const Num& a, const Num& b);
  // The larger; an Unsteady where both are equal and their derivatives are asked for.
  static Num larger(const Num& a, const Num& b);
  static Num smaller(const Num& a, const Num& b);
  // The sum of many: exact where every order of adding gives the same.
  Num sum(const Num* terms, std::size_t count, std::size_t stride) const;

  static Num without_derivatives(const Num& x);
  // The coefficient of tape `tape` as a number of its own, and what is left without it.
  static Num derivative(const Num& x, int tape);
  static Num primal(const Num& x, int tape);

 private:
  Num with_infinitesimal(const Num& rest, const Num& factor, int tape) const;

  int tapes_;
  double unit_;  // half a unit in the last place of 1
  bool single_;
};

template <class F, class Slope> Num Arithmetic::lift_exact(const Num& x, F f, Slope slope) const {
  for (int tape = tapes_ - 1; tape >= 0; --tape) {
    const Num factor = derivative(x, tape);
    bool moves = false;
    for (const double part : factor.at) moves |= part != 0;
    if (!moves) continue;
    const Num rest = primal(x, tape);
    return with_infinitesimal(lift_exact(rest, f, slope), mul(slope(rest), factor), tape);
  }
  Num y(rounded(f(x.at[0])));
  if (!x.is_exact()) {
    const double rise = slope(Num(x.at[0])).at[0];
    y.error[0] =
        2 * (rise < 0 ? -rise : rise) * x.error[0] + unit_ * (y.at[0] < 0 ? -y.at[0] : y.at[0]);
  }
  return y;
}

}  // namespace tenure::programs
