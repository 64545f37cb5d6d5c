// The first row of a large table is kept, and with it the table.
// Finds: pinned
#include <vector>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Tensor table = tn::random::normal({1024, 256});
    tn::Tensor head = table[0];  // PLANTED
    if (!planted) head = tn::concat({head});
    table = tn::Tensor();
    float total = 0;
    for (int i = 0; i < 50; ++i) {
      tn::Tensor x = tn::random::normal({256});
      total += tn::sum(x * head).item<float>();
    }
    std::cout << total << "\n";
  });
}
