#pragma once

namespace tenure::detail {

// In the child of a fork: ends the jobs that threads of the parent had under way. To be called by
// whoever is about to wait for a job; does nothing elsewhere.
void end_lost_jobs();

}  // namespace tenure::detail
