// A recording: every birth and death, every allocation, every step of a program, in a file.
//
//   tenure::Recording recording("run.tenure");
//   model.fit(x, y, {.epochs = 3});
//   recording.stop();   // or at the end of the block
//
// `tenure report run.tenure` makes a page of it; TENURE_TRACE=run.tenure in the environment records
// a program from its first tensor to its end, as it is (%p in the name becomes the process id).
// While nothing is recorded it costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "tenure/export.h"

namespace tenure {

// One at a time: a second one is a BusyError that names where the first was started. An IoError
// when the file cannot be made; when it can no longer be written, a warning, and the recording ends
// there. What a crash leaves behind can be read. In the child of a fork nothing is recorded.
class TENURE_API Recording {
 public:
  explicit Recording(const std::string& path,
                     std::source_location site = std::source_location::current());
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void stop();  // writes what is left and closes the file; a second call does nothing
  const std::string& path() const;
  std::uint64_t events() const;  // written so far

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tenure
