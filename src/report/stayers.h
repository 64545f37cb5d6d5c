// Which of the tensors that a line made are there to stay.
//
// When the last of them is born, others are alive: some are stored, some are parts of what that
// call is still working on (the batches of a prediction, before they are put together). One tensor
// alone does not tell which it is; those before it of its line and operation do. It stays when
// most of those that came to its age lived on, and goes when they died. What became of it in the
// end decides where they did both: the parts die first, what is stored dies with the store.
#pragma once

#include <cstdint>
#include <functional>

#include "report/activity.h"
#include "report/holdings.h"
#include "report/run.h"

namespace tenure::report {

// Of tensors of one line, by birth. `turn` is that of its loop which a tensor was born in: what the
// last two turns alone left is what they work with.
Tensors stayers_of(const Run& run, const Activity& activity, const Tensors& tensors,
                   const std::function<std::uint64_t(std::uint32_t)>& turn);

}  // namespace tenure::report
