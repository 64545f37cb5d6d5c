// keep() in every step, and nobody who disposes what was kept.
// Finds: growth
#include <deque>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    static std::deque<tn::Tensor> recent;
    for (int i = 0; i < 80; ++i) {
      tn::tidy("frame", [&] {
        tn::Tensor frame = tn::random::uniform({16, 16});
        tn::Tensor edges = tn::relu(frame - 0.5f);  // PLANTED
        recent.push_back(tn::keep(edges));
      });
      if (!planted && recent.size() > 5) {
        recent.front().dispose();
        recent.pop_front();
      }
    }
    std::cout << recent.size() << " frames\n";
  });
}
