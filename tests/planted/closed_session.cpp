// A tensor is used after the session that owned it was closed.
// Finds: misused DisposedError
#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    tn::Tensor image;
    {
      tn::Session render({.name = "render"});
      image = render.run([&] { return tn::random::uniform({32, 32}); });
      if (!planted) tn::transfer(image, tn::Session::process());
      render.close();
    }
    tn::Tensor brighter = image * 2.f;  // PLANTED
    std::cout << tn::max(brighter).item<float>() << "\n";
  });
}
