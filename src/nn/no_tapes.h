// Updates of optimizers and metrics are not something that a tape should keep anything for.
#pragma once

#include <utility>

#include "memory/context.h"

namespace tenure::nn::detail {

class NoTapes {
 public:
  NoTapes() : context_(tenure::detail::context()), outer_(std::exchange(context_.tapes, nullptr)) {}
  ~NoTapes() { context_.tapes = outer_; }
  NoTapes(const NoTapes&) = delete;
  NoTapes& operator=(const NoTapes&) = delete;

 private:
  tenure::detail::Context& context_;
  ops::Recorder* outer_;
};

}  // namespace tenure::nn::detail
