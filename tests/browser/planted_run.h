// Runs made by hand, for the page to show: what is in them is known.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "report/findings.h"
#include "report/run.h"

namespace tenure::report {

using Planted = std::pair<Run, std::vector<Finding>>;

// Training of a sequence model of about `events` events, with a tensor kept by mistake every few
// steps at train.cpp:52, a view that pins its storage, and one error.
Planted training_run(std::uint64_t events);

// Three storages and three operations in ten milliseconds: every figure follows by hand.
Planted known_run();

// Every text that a recording can hold tries to be markup.
Planted hostile_run();

// Nothing at all.
Planted empty_run();

}  // namespace tenure::report
