// Where the machine's cores are right now.
//
// A virtual machine's cores may share a cache one second and sit on different chips the next. That
// changes what two threads can do by a factor of two or three, in either direction: apart they have
// more memory bandwidth, near they hand each other data faster. Times can only be compared when
// they were taken in the same place.
#pragma once

namespace bench {

enum class Cores { near, apart, unknown };

// Judges by how long a cache line takes from the first core to the second and back.
Cores where_cores_are();

}  // namespace bench
