// A slice of what was looked up is kept, and holds all of it: what grows is the whole.
// Finds: growth
// Finds: pinned
// Counts: 40
// Bytes: 10485760
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    const tn::Tensor table = tn::random::normal({1000, 256});
    std::vector<tn::Tensor> kept;
    for (int i = 0; i < 40; ++i) {
      tn::Tensor ids = tn::random::randint({256}, 0, 1000);
      tn::Tensor found = tn::gather(table, ids);
      tn::Tensor first = found[0];  // PLANTED
      tn::mean(first);
      if (planted) kept.push_back(first);
    }
    std::cout << kept.size() << " kept\n";
  });
}
