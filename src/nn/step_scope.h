// The step that is being made on this thread: what train_step and test_step of a model, and the
// functions that they are made of, find their model's settings by.
#pragma once

#include "memory/context.h"
#include "nn/model_state.h"

namespace tenure::nn::detail {

enum class StepKind { train, accumulate, test };

class StepScope {
 public:
  StepScope(ModelBase& model, Compiled& parts, StepKind what, std::source_location where);

  // Null outside of any, and in a trace within it (of a loop's body, or of an operation that is
  // computed again): what is collected there may not leave it.
  static StepScope* current();
  static StepScope* of(const ModelBase& model);
  // `what` is what the user called: a ValueError outside of a step of the model.
  static StepScope& needed(const ModelBase& model, const char* what, std::source_location site);

  Compiled::Told& told() const {
    return kind == StepKind::test ? compiled.testing : compiled.training;
  }

  ModelBase& base;
  Compiled& compiled;
  const StepKind kind;
  const std::source_location site;
  const tenure::detail::UserCall call;
  std::vector<Tensor> added;  // what layers added to the loss, and nobody has taken
  std::vector<Tensor> masks;  // of the model's outputs
  bool built_in = false;      // the built-in training step was made

 private:
  const ops::Tracer* trace_;
  tenure::detail::Meanwhile<StepScope*> current_;
};

}  // namespace tenure::nn::detail
