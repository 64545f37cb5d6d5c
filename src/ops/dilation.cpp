// Grayscale dilation, TensorFlow's dilation2d. Its gradients go to the first of equal sums.
#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/pooling.h"
#include "ops/promote.h"
#include "tensor/access.h"

namespace tenure {
namespace ops {
namespace {

// The output's shape, from the image's (input `image`).
template <int image>
void dilated(Infer& infer) {
  const auto& attrs = infer.attrs.as<PoolAttrs>();
  infer.result(with_sizes(infer.shape(image), attrs.out, attrs), infer.dtype(0));
}
template <int like>
void shaped_like(Infer& infer) {
  infer.result(infer.shape(like), infer.dtype(0));
}

extern constinit const OpDef kBackpropInput;
extern constinit const OpDef kBackpropFilter;
extern constinit const OpDef kPickInput;
extern constinit const OpDef kPickFilter;

// `op` of the output's gradient, of x and of the filter.
template <const OpDef* op, int first>
Tensor again(GradContext& g) {
  const auto& attrs = g.attrs_as<PoolAttrs>();
  return apply(*op, ref(attrs), std::source_location::current(), g.dy(), g.x(first),
               g.x(first + 1));
}

// Of an op whose inputs are values, x and filter, and which is linear in the values.
template <const OpDef* op>
Grads of_values(GradContext& g) {
  std::vector<Tensor> grads(3);
  if (g.needs(0)) grads[0] = again<op, 1>(g);
  return grads;
}

constexpr Keep kBoth = kInput0 | kInput1;
constexpr Keep kImageAndFilter{2 | 4, 0};

constinit const OpDef kDilation2d{.name = "dilation2d",
                                  .infer = dilated<0>,
                                  .inputs = 2,
                                  .tfjs = "Dilation2D",
                                  .grad_keeps = kBoth,
                                  .grad = [](GradContext& g) -> Grads {
                                    Tensor of_x, of_filter;
                                    if (g.needs(0)) of_x = again<&kBackpropInput, 0>(g);
                                    if (g.needs(1)) of_filter = again<&kBackpropFilter, 0>(g);
                                    return {std::move(of_x), std::move(of_filter)};
                                  }};

constinit const OpDef kBackpropInput{.name = "dilation2d_backprop_input",
                                     .infer = shaped_like<1>,
                                     .inputs = 3,
                                     .tfjs = "Dilation2DBackpropInput",
                                     .grad_keeps = {kImageAndFilter, kNothing},
                                     .grad = of_values<&kPickInput>};

constinit const OpDef kBackpropFilter{.name = "dilation2d_backprop_filter",
                                      .infer = shaped_like<2>,
                                      .inputs = 3,
                                      .tfjs = "Dilation2DBackpropFilter",
                                      .grad_keeps = {kImageAndFilter, kNothing},
                                      .grad = of_values<&kPickFilter>};

// What `values`, shaped like x, has where the largest sum of each window takes its element.
constinit const OpDef kPickInput{.name = "dilation2d_pick_input",
                                 .infer = dilated<1>,
                                 .inputs = 3,
                                 .grad_keeps = {kImageAndFilter, kNothing},
                                 .grad = of_values<&kBackpropInput>};

// The same for `values` shaped like the filter.
constinit const OpDef kPickFilter{.name = "dilation2d_pick_filter",
                                  .infer = dilated<1>,
                                  .inputs = 3,
                                  .grad_keeps = {kImageAndFilter, kNothing},
                                  .grad = of_values<&kBackpropFilter>};

}  // namespace

Family dilation_ops() {
  static constexpr const OpDef* ops[] = {&kDilation2d, &kBackpropInput, &kBackpropFilter,
                                         &kPickInput, &kPickFilter};
  return ops;
}

}  // namespace ops

using namespace ops;

Tensor dilation2d(Arg x, Arg filter, const DilationOptions& options) {
  const detail::UserLine site(x.site());
  std::array<Tensor, 2> in;
  unify("dilation2d", std::array{&x, &filter}, in, true);
  const Shape& window = in[1].shape();
  const Shape& image = in[0].shape();
  if (window.rank() != 3 || image.rank() < 3 || image.rank() > 4 || window[2] != image[-1]) {
    raise<ShapeError>(
        "dilation2d: a filter [height, width, channels] goes over [batch, height, width, "
        "channels], or without a batch: {} and {}",
        window, image);
  }
  const PoolAttrs attrs = pool_attrs(
      "dilation2d", image, {window[0], window[1]},
      {.strides = options.strides, .padding = options.padding, .dilations = options.dilations});
  Tensor out;
  apply_into(kDilation2d, in, ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace tenure
