// The models that are trained here, each with a batch: layers of nn, compiled and trained as users
// do.
#pragma once

#include "harness.h"
#include "tenure/tenure.h"

namespace bench::models {

struct Trained {
  tenure::nn::Model model;
  tenure::nn::Loss loss;
  tenure::Tensor x, y;

  const Trained& compile(bool eager = false) const {
    model.compile({.optimizer = tenure::nn::Adam(), .loss = loss, .eager = eager});
    return *this;
  }
  void operator()() const { use(model.train_on_batch(x, y)); }
};

Trained mlp(std::int64_t examples = 64);
Trained small_mlp();  // 64-128-128-10
Trained rnn();
Trained lstm();
Trained cnn();
Trained transformer();

struct Named {
  const char* name;
  Trained (*make)();
};
inline constexpr Named kAll[] = {{"mlp", [] { return mlp(); }},
                                 {"rnn", rnn},
                                 {"lstm", lstm},
                                 {"cnn", cnn},
                                 {"transformer", transformer}};

}  // namespace bench::models
