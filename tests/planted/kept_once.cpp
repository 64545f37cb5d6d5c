// A result is kept for something that lives for ever and is forgotten there.
// Finds: outlived
#include "planted.h"

struct Screen {
  tn::Tensor shown;
};

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    auto* screen = new Screen;
    for (int i = 0; i < 20; ++i) {
      tn::tidy("draw", [&] {
        tn::Tensor pixels = tn::random::uniform({64, 64});
        tn::Tensor picture = tn::sqrt(pixels);  // PLANTED
        screen->shown = tn::keep(picture);
      });
    }
    std::cout << tn::mean(screen->shown).item<float>() << "\n";
    if (!planted) delete screen;
  });
}
