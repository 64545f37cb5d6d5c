// Looks at the plan of every program that is built while the tests run.
#pragma once

#include <string>

#include "graph/program.h"

namespace tenure::testing {

// What is wrong with a plan, by the steps of its program alone; empty if nothing is.
std::string fault_of(const graph::PlanView& plan);

void check_every_plan();

}  // namespace tenure::testing
