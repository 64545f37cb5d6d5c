// Recurrent layers, unrolled, with a dense layer on the last state: trained to foretell a number.
// Inputs come with time first; all of them are projected by one product before the loop.
#pragma once

#include <vector>

#include "models/training.h"

namespace bench::models {

struct RecurrentSizes {
  std::int64_t batch, steps, features, units;
};

// What both have in common; `gates` products per unit.
class Recurrent {
 public:
  Recurrent(const RecurrentSizes& sizes, std::int64_t gates)
      : sizes_(sizes),
        input_(sizes.features, gates * sizes.units),
        state_(weights({sizes.units, gates * sizes.units}, sizes.units)),
        output_(sizes.units, 1) {}

  std::vector<Variable> parameters() const {
    std::vector<Variable> all{state_};
    input_.add_to(all);
    output_.add_to(all);
    return all;
  }
  Batch random_batch() const {
    return {tenure::random::uniform({sizes_.steps, sizes_.batch, sizes_.features}),
            tenure::random::uniform({sizes_.batch, 1})};
  }

 protected:
  // One [batch, gates * units] per step.
  std::vector<Tensor> projected(const Tensor& x) const {
    const Tensor all = input_(reshape(x, {-1, sizes_.features}));
    return unstack(reshape(all, {sizes_.steps, sizes_.batch, -1}));
  }
  Tensor zero_state() const { return tenure::zeros({sizes_.batch, sizes_.units}); }

  RecurrentSizes sizes_;
  Dense input_;
  Variable state_;
  Dense output_;
};

class Rnn : public Recurrent {
 public:
  explicit Rnn(const RecurrentSizes& sizes = {32, 100, 32, 128}) : Recurrent(sizes, 1) {}

  Tensor loss(const Tensor& x, const Tensor& y) const {
    Tensor h = zero_state();
    for (const Tensor& input : projected(x)) h = tanh(input + matmul(h, state_));
    return mean_square_error(output_(h), y);
  }
};

class Lstm : public Recurrent {
 public:
  explicit Lstm(const RecurrentSizes& sizes = {32, 50, 64, 128}) : Recurrent(sizes, 4) {}

  Tensor loss(const Tensor& x, const Tensor& y) const {
    Tensor h = zero_state(), c = zero_state();
    for (const Tensor& input : projected(x)) {
      const std::vector<Tensor> gates = split(input + matmul(h, state_), 4, 1);
      c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
      h = output_of_cell_(sigmoid(gates[3]), c);
    }
    return mean_square_error(output_(h), y);
  }

 private:
  // The backward pass has c anyway: tanh(c) is computed again instead of kept for every step.
  tenure::Function<Tensor(Tensor, Tensor)> output_of_cell_ =
      tenure::checkpoint("output", [](Tensor gate, Tensor c) { return gate * tanh(c); });
};

}  // namespace bench::models
