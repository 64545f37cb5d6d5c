// SimpleRNN, GRU and LSTM in plain double precision, one number at a time, with gradients by
// differences.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

namespace tenure::testing {

enum class Kind { simple_rnn, gru, gru_reset_before, lstm };

using Doubles = std::vector<double>;

struct ReferenceOptions {
  Kind kind = Kind::simple_rnn;
  int batch = 2, steps = 4, features = 3, units = 5;
  bool go_backwards = false;
  std::vector<bool> mask = {};  // [batch, steps]; empty: all true
  std::function<double(double)> activation = [](double v) { return std::tanh(v); };
  std::function<double(double)> gate = [](double v) { return 1 / (1 + std::exp(-v)); };
};

// [x, states..., kernel, recurrent kernel, bias]; states may be missing: zeros.
struct ReferenceInputs {
  Doubles x;
  std::vector<Doubles> states;
  Doubles kernel, recurrent, bias;
};

struct ReferenceResult {
  Doubles sequence;  // [batch, steps, units], in the order of the steps taken
  Doubles last;
  std::vector<Doubles> states;
};

ReferenceResult reference_rnn(const ReferenceOptions& o, const ReferenceInputs& in);

// Of a function of all of `at`, by central differences.
std::vector<Doubles> difference_gradients(
    const std::function<double(const std::vector<Doubles>&)>& fn, std::vector<Doubles> at);

}  // namespace tenure::testing
