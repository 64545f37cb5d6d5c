// What does a small model cost when it is applied in a loop?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void dense(Runner& runner) {
  runner.row("dense_apply", [](Row& row) {
    const nn::Sequential model({nn::Dense({.units = 10, .input_shape = {10}})});
    const Tensor x = random::normal({1000, 10});
    row.measure([&] { use(model(x)); });
  });
}

}  // namespace bench
