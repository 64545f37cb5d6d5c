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

// What the program itself knows, for a recording; nothing while there is none.
//
//   for (int i = 0; i < steps; ++i) {
//     tenure::RecordedSpan step("step");
//     tenure::record_value("loss", train(batch()), i);
//   }

// From here to the end of the block. "step" marks the steps of a loop of your own.
class TENURE_API RecordedSpan {
 public:
  explicit RecordedSpan(std::string_view kind, std::string_view name = {},
                        std::source_location site = std::source_location::current());
  ~RecordedSpan();
  RecordedSpan(const RecordedSpan&) = delete;
  RecordedSpan& operator=(const RecordedSpan&) = delete;

 private:
  bool begun_;
};

TENURE_API void record_value(std::string_view name, double value, std::uint64_t step = 0);

}  // namespace tenure
