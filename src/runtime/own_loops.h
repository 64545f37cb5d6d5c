// The loops whose tasks this thread is running, one within the other.
#pragma once

#include "memory/context.h"

namespace tenure::detail {

class RunningLoop {
 public:
  explicit RunningLoop(const void* loop);

 private:
  friend bool runs_here(const void* loop);
  const void* loop_;
  Meanwhile<RunningLoop*> innermost_;
};

bool runs_here(const void* loop);  // false for null

}  // namespace tenure::detail
