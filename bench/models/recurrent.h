// Recurrent layers: with a dense layer on the last output, trained to foretell a number; and
// stateful, where each call goes on from where the one before left off.
#pragma once

#include <vector>

#include "models/training.h"

namespace bench::models {

struct RecurrentSizes {
  std::int64_t batch, steps, features, units;
};

// What both kinds have in common; `gates` products per unit.
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
    return {tenure::random::uniform({sizes_.batch, sizes_.steps, sizes_.features}),
            tenure::random::uniform({sizes_.batch, 1})};
  }

 protected:
  Variable zero_state() const {
    return Variable(tenure::zeros({sizes_.batch, sizes_.units}), {.name = {}, .trainable = false});
  }

  RecurrentSizes sizes_;
  Dense input_;
  Variable state_;
  Dense output_;
};

class Rnn : public Recurrent {
 public:
  explicit Rnn(const RecurrentSizes& sizes = {32, 100, 32, 128}) : Recurrent(sizes, 1) {}

  Tensor loss(const Tensor& x, const Tensor& y) const {
    const tenure::RecurrentResult all = simple_rnn(x, input_.kernel, state_, {.bias = input_.bias});
    return mean_square_error(output_(all.output), y);
  }
  Tensor predict(const Tensor& x) {
    tenure::RecurrentResult all =
        simple_rnn(x, input_.kernel, state_, {.bias = input_.bias, .initial_state = held_});
    held_.assign(all.state);
    return all.output;
  }

 private:
  Variable held_ = zero_state();
};

class Lstm : public Recurrent {
 public:
  explicit Lstm(const RecurrentSizes& sizes = {32, 50, 64, 128}) : Recurrent(sizes, 4) {}

  Tensor loss(const Tensor& x, const Tensor& y) const {
    const tenure::RecurrentResult all = lstm(x, input_.kernel, state_, {.bias = input_.bias});
    return mean_square_error(output_(all.output), y);
  }
  Tensor predict(const Tensor& x) {
    tenure::RecurrentResult all =
        lstm(x, input_.kernel, state_,
             {.bias = input_.bias, .initial_state = held_, .initial_cell = held_cell_});
    held_.assign(all.state);
    held_cell_.assign(all.cell);
    return all.output;
  }

 private:
  Variable held_ = zero_state(), held_cell_ = zero_state();
};

}  // namespace bench::models
