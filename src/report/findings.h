// What is wrong with a run, worst first: what outlived its scope, what grew with every step, what
// holds more than it uses. Facts from the recording only; a healthy run has none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/run.h"

namespace tenure::report {

enum class Problem : std::uint8_t {
  growth,    // live tensors or bytes of one site rise step after step
  outlived,  // alive when the recording ended, though its scope or its step had ended
  pinned,    // a small view alone holds a large storage
  misused,   // an error about a tensor's life was raised
};

struct Finding {
  Problem problem = Problem::growth;
  std::string title;           // 128 tensors from loop.cpp:12 still alive, 4 more with every step
  std::string remedy;          // what to do, in a sentence
  std::uint32_t site = kNone;  // the line to look at
  std::uint64_t bytes = 0;     // held together at the worst moment
  std::uint64_t count = 0;     // tensors; of an error or of traces: times
  std::vector<std::uint32_t> tensors;  // all that it is about: indices into Run::tensors, by birth
};

// At most so many of them: the first, the last, and some between.
std::vector<std::uint32_t> some_of(const std::vector<std::uint32_t>& tensors, std::size_t most);

std::vector<Finding> findings(const Run& run);

}  // namespace tenure::report
