// What a second run holds, makes and takes that a first one did not, line by line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/run.h"

namespace tenure::report {

struct Amount {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  bool operator==(const Amount&) const = default;
};

struct SiteChange {
  std::string site;  // path and line, which both runs have
  std::string op;
  Amount first;
  Amount second;
};

struct OpChange {
  std::string op;
  std::uint64_t first_calls = 0;
  std::uint64_t second_calls = 0;
  std::int64_t first_time = 0;
  std::int64_t second_time = 0;
};

struct Comparison {
  std::vector<SiteChange> at_end;   // storages alive when the recordings ended; most gained first
  std::vector<SiteChange> at_peak;  // each at the peak of its own run
  std::vector<OpChange> ops;        // all of both runs, largest change of time first
  std::uint64_t first_end = 0, second_end = 0;
  std::uint64_t first_peak = 0, second_peak = 0;

  // More bytes or more storages of some line alive at the end, or a higher peak.
  bool holds_more() const;
};

Comparison compare(const Run& first, const Run& second);

}  // namespace tenure::report
