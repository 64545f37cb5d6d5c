// A program's frame while a call uses it: it goes back when the call ends, and lets go of
// everything.
#pragma once

#include <memory>
#include <mutex>
#include <new>

#include "graph/program.h"

namespace tenure::graph {

class Program::FrameLease {
 public:
  explicit FrameLease(Program& program) : program_(program) {
    {
      const std::lock_guard lock(program.mutex_);
      if (!program.free_.empty()) {
        frame_ = std::move(program.free_.back());
        program.free_.pop_back();
      }
    }
    if (frame_ == nullptr) frame_ = program.new_frame();
  }
  ~FrameLease() {
    for (detail::Header* slot : frame_->pinned) unpin(*slot);
    frame_->pinned.clear();
    frame_->locks.clear();
    frame_->old.clear();
    frame_->held.clear();
    const std::lock_guard lock(program_.mutex_);
    try {
      program_.free_.push_back(std::move(frame_));
    } catch (const std::bad_alloc&) {  // the next call makes one of its own
    }
  }
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  Frame* operator->() const { return frame_.get(); }
  Frame& operator*() const { return *frame_; }

 private:
  Program& program_;
  std::unique_ptr<Frame> frame_;
};

}  // namespace tenure::graph
