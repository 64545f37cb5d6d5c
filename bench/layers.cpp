// How fast are single layers of the networks that people deploy on small machines?
#include "layers.h"

#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void layers(Runner& runner) {
  for (const Layer& layer : kLayers) {
    runner.row(layer.name(), [&layer](Row& row) {
      const Tensor x = random::uniform({1, layer.size, layer.size, layer.in});
      const FusedOptions fused{.bias = random::uniform({layer.columns()}),
                               .activation = Activation::relu6};
      const ConvOptions options{.strides = {layer.stride}, .padding = Padding::same};
      if (layer.is_depthwise()) {
        const Tensor w = random::uniform({layer.kernel, layer.kernel, layer.in, 1});
        row.measure([&] { use(fused_depthwise_conv2d(x, w, fused, options)); });
      } else {
        const Tensor w = random::uniform({layer.kernel, layer.kernel, layer.in, layer.out});
        row.measure([&] { use(fused_conv2d(x, w, fused, options)); });
      }
    });
  }
}

}  // namespace bench
