// A watch on a loop that should leave nothing behind.
//
//   tenure::GrowthWatch watch({.iterations = 10, .name = "training"});
//   for (const Batch& batch : batches) {
//     step(batch);
//     watch.step();      // warns, once, when memory has risen ten times in a row
//   }
//
// A step looks at two counters. Only when they have risen several times in a row does it look at
// the live tensors, and finds the lines whose tensors grow in number. What fills up and stops
// (caches, first steps, prefetched batches) and what rises and falls is no growth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "tenure/export.h"

namespace tenure {

struct GrowthWatchOptions {
  int iterations = 10;  // memory must rise this often in a row; at least 2
  int warm_up = 2;      // steps before that, which are not looked at
  std::string name = {};
};

// A line whose tensors, or values saved for somebody, became more.
struct GrowingSite {
  std::source_location site;
  std::string op;
  std::string owner;  // of saved values: tape "step"; "" for tensors
  double tensors_per_iteration = 0;
  double bytes_per_iteration = 0;  // of storages that were not held before
  std::size_t tensors = 0;         // alive now
  std::size_t bytes = 0;
  bool small_views = false;  // each uses only a part of what it holds
  std::string remedy;
};

struct GrowthReport {
  std::string name;
  bool growing = false;
  std::uint64_t iterations = 0;  // steps so far
  int rising = 0;                // how often in a row memory has risen, up to now
  double bytes_per_iteration = 0;
  std::size_t live_bytes = 0;
  std::vector<GrowingSite> sites;  // those that grow most first; only while growing

  TENURE_API std::string text() const;
};
TENURE_API std::ostream& operator<<(std::ostream& out, const GrowthReport& report);

// Looks at the session that is current where it is made. Holds no tensor.
class TENURE_API GrowthWatch {
 public:
  explicit GrowthWatch(GrowthWatchOptions options = {});
  ~GrowthWatch();
  GrowthWatch(const GrowthWatch&) = delete;
  GrowthWatch& operator=(const GrowthWatch&) = delete;

  void step();           // at the end of each iteration, always at the same place
  bool growing() const;  // for as long as memory goes on rising
  GrowthReport report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenure
