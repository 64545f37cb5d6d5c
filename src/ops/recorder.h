// What the one road tells a gradient tape. The tape implements this.
#pragma once

#include <span>

#include "ops/op_def.h"
#include "tenure/tensor.h"

namespace tenure::ops {

class Recorder {
 public:
  virtual ~Recorder() = default;

  // Before the kernel runs and any buffer is reused: takes the inputs the gradient keeps. False
  // when no input is watched; then nothing else is called.
  virtual bool before(const OpDef& op, std::span<const Tensor> in, AttrsRef attrs) = 0;
  virtual void after(std::span<const Tensor> out) = 0;
  virtual void abandon() noexcept = 0;         // the op failed between the two
  virtual void read(const Tensor& value) = 0;  // a trainable variable was read

  Recorder* outer = nullptr;
  bool pending = false;  // between before and after
};

}  // namespace tenure::ops
