// A memory domain: name, budget, counters. The default session is the null pointer: its figures
// are the process's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include "memory/label.h"

namespace tenure::detail {

struct SessionState {
  std::atomic<std::uint32_t> refs{1};  // Session objects, and every holder born in it
  LabelRef label;
  std::atomic<std::size_t> budget{0};  // 0: none
  std::atomic<std::size_t> in_use{0};  // block bytes
  std::atomic<std::size_t> live{0};
  std::atomic<std::size_t> peak{0};
  std::atomic<bool> closed{false};
  std::atomic<int> running{0};                    // threads inside Session::run
  std::atomic<std::source_location> ran_at{};     // the last of these that began
  std::atomic<std::source_location> closed_at{};  // once it is

  void retain() noexcept { refs.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

std::string session_name(const SessionState* session);

}  // namespace tenure::detail
