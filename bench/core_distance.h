// How far apart the machine's cores are right now.
//
// A virtual machine's cores may share a cache one second and sit on different chips the next. That
// changes what two threads can do by a factor of two or three, in either direction: apart they have
// more memory bandwidth, together they hand each other data faster. Times can only be compared
// when they were taken in the same place.
#pragma once

namespace bench {

// The shortest time in which a cache line went from the first core to the second and back; 0 where
// there is only one core.
double core_round_trip_ns();

}  // namespace bench
