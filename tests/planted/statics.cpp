// A program whose state is global: it is destroyed after main, and nothing of it is lost. With the
// bug, a list that is never destroyed takes one tensor of every frame.
// Finds: growth
#include <vector>

#include "planted.h"

static tn::Tensor background;
static std::vector<tn::Tensor> layers;

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    static auto* lost = new std::vector<tn::Tensor>;
    static const tn::Tensor table = tn::tidy("table", [] { return tn::sqrt(tn::ones({64})); });
    for (int i = 0; i < 4; ++i) layers.push_back(table * static_cast<float>(i));
    for (int i = 0; i < 50; ++i) {
      tn::tidy("frame", [&] {
        tn::Tensor noise = tn::random::uniform({64});
        tn::Tensor frame = noise * layers[0] + table;  // PLANTED
        background = tn::keep(frame);
        if (planted) lost->push_back(background);
      });
    }
    std::cout << tn::mean(background).item<float>() << "\n";
  });
}
