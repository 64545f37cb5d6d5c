// Who holds which storage, and how many bytes a choice of tensors holds together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/run.h"

namespace tenure::report {

using Tensors = std::vector<std::uint32_t>;  // indices into Run::tensors, by birth

// A holder of a storage comes or goes.
struct HolderChange {
  std::int64_t time = 0;
  bool is_death = false;
  std::uint32_t tensor = kNone;
};

class Holdings {
 public:
  explicit Holdings(const Run& run);

  // All that ever held a storage, saved values too, by birth.
  std::span<const std::uint32_t> of(std::uint32_t storage) const;
  // In order of time; what is handed on within a moment is not let go in between.
  std::vector<HolderChange> changes(const std::vector<std::uint32_t>& storages) const;

  // What these held at the worst moment. A storage that nobody else holds is theirs as a whole,
  // however little of it they see; of one that others hold as well they hold what they see.
  std::uint64_t most_held(const Tensors& tensors) const;

 private:
  const Run& run_;
  std::vector<std::uint32_t> first_;    // of each storage, in holders_; and the end
  std::vector<std::uint32_t> holders_;  // tensors
};

}  // namespace tenure::report
