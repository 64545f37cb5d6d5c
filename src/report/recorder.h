// The thread that writes what the hooks leave in their rings, from start to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>

#include "report/writer.h"

namespace tenure::report {

// How a recording is started by those who have a sink of their own; tenure::Recording has a file.
class Recorder {
 public:
  // BusyError while another one records. Hooks record when this returns, and what lives already has
  // been told.
  Recorder(std::unique_ptr<Sink> sink, std::source_location site);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void stop() noexcept;
  // Waits until all that happened so far is in the file, for a second at most.
  void flush() noexcept;
  std::uint64_t events() const;

 private:
  class Drain;
  Drain* drain_;  // kept in the child of a fork, where its thread is not
  int process_;
  bool stopped_ = false;
};

// BusyError if one is recording: before a file is made that would be another's.
void check_not_recording(std::source_location site);

}  // namespace tenure::report
