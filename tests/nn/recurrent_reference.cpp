#include "recurrent_reference.h"

namespace tenure::testing {

namespace {

struct Walker {
  const ReferenceOptions& o;
  const ReferenceInputs& in;
  int gates = o.kind == Kind::simple_rnn ? 1 : o.kind == Kind::lstm ? 4 : 3;

  static double at(const Doubles& values, int i) { return values[static_cast<std::size_t>(i)]; }

  double from_x(int row, int step, int gate, int unit) const {
    double sum = 0;
    const int column = gate * o.units + unit;
    for (int f = 0; f < o.features; ++f) {
      sum += at(in.x, (row * o.steps + step) * o.features + f) *
             at(in.kernel, f * gates * o.units + column);
    }
    return sum + at(in.bias, column);
  }
  double from_h(const Doubles& h, int gate, int unit) const {
    double sum = 0;
    for (int u = 0; u < o.units; ++u) {
      sum += at(h, u) * at(in.recurrent, u * gates * o.units + gate * o.units + unit);
    }
    return sum;
  }
  double recurrent_bias(int gate, int unit) const {
    return at(in.bias, gates * o.units + gate * o.units + unit);
  }

  // New states of a row.
  std::vector<Doubles> step(int row, int s, const std::vector<Doubles>& states) const {
    const Doubles& h = states[0];
    std::vector<Doubles> next(states.size(), Doubles(static_cast<std::size_t>(o.units)));
    Doubles reset(static_cast<std::size_t>(o.units));
    if (o.kind == Kind::gru_reset_before) {
      for (int u = 0; u < o.units; ++u) {
        reset[static_cast<std::size_t>(u)] =
            o.gate(from_x(row, s, 1, u) + from_h(h, 1, u)) * at(h, u);
      }
    }
    for (int u = 0; u < o.units; ++u) {
      const auto i = static_cast<std::size_t>(u);
      const auto x = [&](int gate) { return from_x(row, s, gate, u); };
      const auto r = [&](int gate) { return from_h(h, gate, u); };
      switch (o.kind) {
        case Kind::simple_rnn:
          next[0][i] = o.activation(x(0) + r(0));
          break;
        case Kind::gru: {
          const double z = o.gate(x(0) + r(0) + recurrent_bias(0, u));
          const double open = o.gate(x(1) + r(1) + recurrent_bias(1, u));
          const double candidate = o.activation(x(2) + open * (r(2) + recurrent_bias(2, u)));
          next[0][i] = z * h[i] + (1 - z) * candidate;
          break;
        }
        case Kind::gru_reset_before: {
          const double z = o.gate(x(0) + r(0));
          next[0][i] = z * h[i] + (1 - z) * o.activation(x(2) + from_h(reset, 2, u));
          break;
        }
        case Kind::lstm:
          next[1][i] =
              o.gate(x(1) + r(1)) * states[1][i] + o.gate(x(0) + r(0)) * o.activation(x(2) + r(2));
          next[0][i] = o.gate(x(3) + r(3)) * o.activation(next[1][i]);
          break;
      }
    }
    return next;
  }
};

}  // namespace

ReferenceResult reference_rnn(const ReferenceOptions& o, const ReferenceInputs& in) {
  const Walker walker{o, in};
  const auto units = static_cast<std::size_t>(o.units);
  const std::size_t count = o.kind == Kind::lstm ? 2 : 1;
  ReferenceResult result;
  result.states.resize(count);
  for (int row = 0; row < o.batch; ++row) {
    std::vector<Doubles> states(count, Doubles(units, 0.0));
    const auto offset = static_cast<std::ptrdiff_t>(row) * o.units;
    for (std::size_t i = 0; i < in.states.size(); ++i) {
      states[i].assign(in.states[i].begin() + offset, in.states[i].begin() + offset + o.units);
    }
    Doubles output(units, 0.0);
    for (int s = 0; s < o.steps; ++s) {
      const int at = o.go_backwards ? o.steps - 1 - s : s;
      if (o.mask.empty() || o.mask[static_cast<std::size_t>(row * o.steps + at)]) {
        states = walker.step(row, at, states);
        output = states[0];
      }
      result.sequence.insert(result.sequence.end(), output.begin(), output.end());
    }
    result.last.insert(result.last.end(), output.begin(), output.end());
    for (std::size_t i = 0; i < count; ++i) {
      result.states[i].insert(result.states[i].end(), states[i].begin(), states[i].end());
    }
  }
  return result;
}

std::vector<Doubles> difference_gradients(
    const std::function<double(const std::vector<Doubles>&)>& fn, std::vector<Doubles> at) {
  constexpr double kStep = 1e-5;
  std::vector<Doubles> gradients;
  for (std::size_t i = 0; i < at.size(); ++i) {
    Doubles gradient;
    for (std::size_t j = 0; j < at[i].size(); ++j) {
      const double value = at[i][j];
      at[i][j] = value + kStep;
      const double above = fn(at);
      at[i][j] = value - kStep;
      const double below = fn(at);
      at[i][j] = value;
      gradient.push_back((above - below) / (2 * kStep));
    }
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

}  // namespace tenure::testing
