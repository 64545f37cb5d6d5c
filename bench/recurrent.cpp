// What does it cost to feed a sequence to a stateful recurrent layer, traced?
#include "models/recurrent.h"
#include "rows.h"

namespace bench {

using namespace tenure;

namespace {

template <class Model>
void predict_row(Runner& runner, const char* name, const models::RecurrentSizes& sizes) {
  runner.row(name, [&](Row& row) {
    Model model(sizes);
    const Function predict = function("predict", [&](Tensor x) { return model.predict(x); });
    const Tensor x = model.random_batch().x;
    row.measure([&] { use(predict(x)); });
  });
}

}  // namespace

void recurrent(Runner& runner) {
  predict_row<models::Rnn>(runner, "rnn_predict_small", {1, 16, 4, 10});
  predict_row<models::Rnn>(runner, "rnn_predict", {1, 100, 32, 128});
  predict_row<models::Lstm>(runner, "lstm_predict", {1, 50, 64, 128});
}

}  // namespace bench
