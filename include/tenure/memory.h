// What lives, what it costs, who holds it.
//
//   tenure::LeakCheck leaks;
//   step();
//   for (const tenure::Story& s : leaks.survivors()) std::cout << s;
//   std::cout << tenure::memory();
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tenure/export.h"
#include "tenure/story.h"

namespace tenure {

class Tensor;

struct MemoryInfo {
  std::size_t tensors = 0;
  std::size_t storages = 0;
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;  // highest live_bytes since the start, or since reset_peak()
  // live_bytes by what they are for; these add up to it.
  std::size_t parameter_bytes = 0;
  std::size_t gradient_bytes = 0;
  std::size_t optimizer_bytes = 0;
  std::size_t layer_state_bytes = 0;
  std::size_t saved_bytes = 0;  // for a backward pass
  std::size_t workspace_bytes = 0;
  std::size_t other_bytes = 0;
  // live_bytes + slack_bytes + pooled_bytes == reserved_bytes.
  std::size_t slack_bytes = 0;   // rounding to size classes and pages
  std::size_t pooled_bytes = 0;  // free, kept for the next allocation
  std::size_t reserved_bytes = 0;
  std::size_t view_held_bytes = 0;  // of storages that only smaller views still hold
  std::size_t external_bytes = 0;   // borrowed through from_buffer or DLPack; in none of the above
};

TENURE_API MemoryInfo memory();  // of the process
TENURE_API std::ostream& operator<<(std::ostream& out, const MemoryInfo& info);
TENURE_API void reset_peak();        // peak_bytes starts again at live_bytes
TENURE_API std::size_t trim_pool();  // gives free memory back to the system; returns the bytes

// At most this many bytes are ever reserved; 0 for no bound. Also TENURE_MEMORY_BUDGET=512MiB.
TENURE_API void set_memory_budget(std::size_t bytes);
TENURE_API std::size_t memory_budget();

// Every holder of a tensor's bytes, a small view of a large storage first.
struct Holder {
  std::string text;  // view float32 [1] (#7), born loop.cpp:12 slice, holds 4194304 bytes
  bool is_tensor = true;
  bool is_small_view = false;
  Story story;
  std::string owner;  // of a saved value: tape "..." or variable "w"
};
TENURE_API std::vector<Holder> why_alive(const Tensor& tensor);  // empty for a disposed one

// The tensors born since this object was made that are still alive.
class TENURE_API LeakCheck {
 public:
  LeakCheck();
  std::vector<Story> survivors() const;
  std::string report() const;  // empty when there are none

 private:
  std::uint64_t first_id_;
};

}  // namespace tenure
