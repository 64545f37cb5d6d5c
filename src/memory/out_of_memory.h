// OutOfMemoryError: what was asked for, what holds the memory, and what of it could be let go of.
#pragma once

#include <atomic>
#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "memory/session.h"
#include "tenure/error.h"

namespace tenure::detail {

struct Shortage {
  std::size_t requested = 0;
  SessionState* session = nullptr;    // whose budget it was; null: the process's, or the system's
  std::size_t pooled_given_back = 0;  // before the request failed
  std::size_t forms_given_back = 0;
};
[[noreturn]] void raise_out_of_memory(const Shortage& shortage);

// Adds the line of the operation that needed the memory, unless one within it did.
void add_use(OutOfMemoryError& error, std::source_location site, std::string_view op);

// Bytes that no tensor and no saved value holds: what traced functions keep. The layer that has
// them says how to list them.
struct KeptBytes {
  std::string text;  // function "step" (made train.cpp:12), 3 traces
  std::size_t bytes = 0;
};
inline std::atomic<void (*)(std::vector<KeptBytes>&)> list_functions{nullptr};

}  // namespace tenure::detail
