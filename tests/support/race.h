// Threads that begin together.
#pragma once

#include <barrier>
#include <thread>
#include <vector>

namespace tenure::testing {

// Runs each function on a thread of its own, all let go at once.
template <class... Fs>
void race(Fs&&... fns) {
  std::barrier start(sizeof...(Fs));
  std::vector<std::jthread> threads;
  threads.reserve(sizeof...(Fs));
  (threads.emplace_back([&start, &fns] {
    start.arrive_and_wait();
    fns();
  }),
   ...);
}

}  // namespace tenure::testing
