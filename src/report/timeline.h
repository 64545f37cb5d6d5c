// Live bytes over a run, by what they are for. Built once from the lives of the storages; then any
// moment is a search away.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "report/run.h"

namespace tenure::report {

using CategoryBytes = std::array<std::uint64_t, kCategories>;

std::uint64_t sum(const CategoryBytes& bytes);

struct Moment {
  std::int64_t time = 0;
  CategoryBytes live{};
};

class Timeline {
 public:
  explicit Timeline(const Run& run);

  const Moment& peak() const { return peak_; }  // the first moment of the most live bytes
  Moment end() const;
  Moment at(std::int64_t time) const;  // with everything that happened at `time`
  // The run in `count` parts of equal length: the most that was live in each, as a whole; parts
  // without an event repeat the level they begin with.
  std::vector<Moment> parts(std::size_t count) const;
  const std::vector<Moment>& moments() const { return moments_; }  // one per time of change

 private:
  std::int64_t length_ = 0;
  std::vector<Moment> moments_;
  Moment peak_;
};

}  // namespace tenure::report
