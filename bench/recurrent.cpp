// What does it cost to feed a sequence to a stateful model?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

namespace {

void predict_row(Runner& runner, const char* name, const Shape& input,
                 const std::function<nn::Layer()>& layer) {
  runner.row(name, [&](Row& row) {
    const nn::Sequential model({layer()});
    const Tensor x = random::normal(input);
    row.measure([&] { use(model.predict(x)); });
  });
}

}  // namespace

void recurrent(Runner& runner) {
  predict_row(runner, "rnn_predict_small", {1, 16, 4}, [] {
    return nn::SimpleRNN({.units = 10, .stateful = true, .batch_input_shape = {1, 16, 4}});
  });
  predict_row(runner, "rnn_predict", {1, 100, 32}, [] {
    return nn::SimpleRNN({.units = 128, .stateful = true, .batch_input_shape = {1, 100, 32}});
  });
  predict_row(runner, "lstm_predict", {1, 50, 64}, [] {
    return nn::LSTM({.units = 128, .stateful = true, .batch_input_shape = {1, 50, 64}});
  });
}

}  // namespace bench
