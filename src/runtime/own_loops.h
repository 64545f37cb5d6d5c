// The loops whose tasks this thread is running, one within the other.
#pragma once

namespace tenure::detail {

class RunningLoop {
 public:
  explicit RunningLoop(const void* loop);
  ~RunningLoop();
  RunningLoop(const RunningLoop&) = delete;
  RunningLoop& operator=(const RunningLoop&) = delete;

 private:
  friend bool runs_here(const void* loop);
  const void* loop_;
  RunningLoop* outer_;
};

bool runs_here(const void* loop);  // false for null

}  // namespace tenure::detail
