// A convolution is linear in its input and in its filter, and so are its two gradients in theirs:
// each of the three is a gradient of the others, which makes all further gradients.
//
// The ops take channels last. Channels first are transposed views on the way in and out: the copy
// that makes them row-major is the road's, and a chain of such convolutions needs none.
#include "tenure/conv.h"

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/convolution_attrs.h"
#include "ops/convolution_shapes.h"
#include "ops/families.h"
#include "ops/maths_attrs.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "ops/tracer.h"
#include "tensor/access.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

void infer_conv(Infer& infer) { infer.result(infer.attrs.as<ConvAttrs>().result, infer.dtype(0)); }

struct Trio {
  const OpDef* forward;
  const OpDef* input;
  const OpDef* filter;
};
template <bool kDepthwise>
const Trio& trio(int rank);

Tensor run(const OpDef& op, ConvAttrs attrs, const Shape& result, Tensor a, Tensor b,
           std::source_location site = std::source_location::current()) {
  attrs.result = result;
  attrs.activation = Activation::linear;
  return apply(op, ref(attrs), site, std::move(a), std::move(b));
}

// y = conv(x, filter)
template <bool kDepthwise>
Grads grad_of_conv(GradContext& g) {
  const auto& attrs = g.attrs_as<ConvAttrs>();
  const Trio& ops = trio<kDepthwise>(g.x_shape(0).rank());
  Tensor dx, dfilter;
  if (g.needs(0)) dx = run(*ops.input, attrs, g.x_shape(0), g.dy(), g.x(1));
  if (g.needs(1)) dfilter = run(*ops.filter, attrs, g.x_shape(1), g.x(0), g.dy());
  return {std::move(dx), std::move(dfilter)};
}

// dx = conv_grad_input(dy, filter)
template <bool kDepthwise>
Grads grad_of_grad_input(GradContext& g) {
  const auto& attrs = g.attrs_as<ConvAttrs>();
  const Trio& ops = trio<kDepthwise>(g.x_shape(0).rank());
  Tensor ddy, dfilter;
  if (g.needs(0)) ddy = run(*ops.forward, attrs, g.x_shape(0), g.dy(), g.x(1));
  if (g.needs(1)) dfilter = run(*ops.filter, attrs, g.x_shape(1), g.dy(), g.x(0));
  return {std::move(ddy), std::move(dfilter)};
}

// dfilter = conv_grad_filter(x, dy)
template <bool kDepthwise>
Grads grad_of_grad_filter(GradContext& g) {
  const auto& attrs = g.attrs_as<ConvAttrs>();
  const Trio& ops = trio<kDepthwise>(g.x_shape(0).rank());
  Tensor dx, ddy;
  if (g.needs(0)) dx = run(*ops.input, attrs, g.x_shape(0), g.x(1), g.dy());
  if (g.needs(1)) ddy = run(*ops.forward, attrs, g.x_shape(1), g.x(0), g.dy());
  return {std::move(dx), std::move(ddy)};
}

constexpr OpDef bilinear(const char* name, const char* tfjs, Grads (*grad)(GradContext&)) {
  return {.name = name,
          .infer = infer_conv,
          .inputs = 2,
          .tfjs = tfjs,
          .grad_keeps = {kInput1, kInput0},
          .grad = grad};
}

constinit const OpDef kConv1d = bilinear("conv1d", nullptr, grad_of_conv<false>);
constinit const OpDef kConv2d = bilinear("conv2d", "Conv2D", grad_of_conv<false>);
constinit const OpDef kConv3d = bilinear("conv3d", "Conv3D", grad_of_conv<false>);
constinit const OpDef kConv1dGradInput =
    bilinear("conv1d_grad_input", nullptr, grad_of_grad_input<false>);
constinit const OpDef kConv2dGradInput =
    bilinear("conv2d_grad_input", "Conv2DBackpropInput", grad_of_grad_input<false>);
constinit const OpDef kConv3dGradInput =
    bilinear("conv3d_grad_input", "Conv3DBackpropInputV2", grad_of_grad_input<false>);
constinit const OpDef kConv1dGradFilter =
    bilinear("conv1d_grad_filter", nullptr, grad_of_grad_filter<false>);
constinit const OpDef kConv2dGradFilter =
    bilinear("conv2d_grad_filter", "Conv2DBackpropFilter", grad_of_grad_filter<false>);
constinit const OpDef kConv3dGradFilter =
    bilinear("conv3d_grad_filter", "Conv3DBackpropFilterV2", grad_of_grad_filter<false>);
constinit const OpDef kDepthwiseConv2d =
    bilinear("depthwise_conv2d", "DepthwiseConv2dNative", grad_of_conv<true>);
constinit const OpDef kDepthwiseConv2dGradInput = bilinear(
    "depthwise_conv2d_grad_input", "DepthwiseConv2dNativeBackpropInput", grad_of_grad_input<true>);
constinit const OpDef kDepthwiseConv2dGradFilter =
    bilinear("depthwise_conv2d_grad_filter", "DepthwiseConv2dNativeBackpropFilter",
             grad_of_grad_filter<true>);

template <>
const Trio& trio<false>(int rank) {
  static constexpr Trio trios[] = {{&kConv1d, &kConv1dGradInput, &kConv1dGradFilter},
                                   {&kConv2d, &kConv2dGradInput, &kConv2dGradFilter},
                                   {&kConv3d, &kConv3dGradInput, &kConv3dGradFilter}};
  return trios[rank - 3];
}
template <>
const Trio& trio<true>(int) {
  static constexpr Trio only{&kDepthwiseConv2d, &kDepthwiseConv2dGradInput,
                             &kDepthwiseConv2dGradFilter};
  return only;
}

// The gradient before an activation whose slope its result tells.
Tensor before_activation(Tensor dy, const ConvAttrs& attrs, GradContext& g) {
  const auto passed = [&] { return cast(greater(g.y(), 0), g.x_dtype()); };
  switch (attrs.activation) {
    case Activation::relu:
      return dy * passed();
    case Activation::relu6:
      return dy * passed() * cast(less(g.y(), 6), g.x_dtype());
    case Activation::elu:
      return where(greater_equal(g.y(), 0), dy, dy * (g.y() + 1));
    case Activation::leaky_relu:
      return where(greater(g.y(), 0), dy, dy * attrs.alpha);
    case Activation::sigmoid:
      return dy * (g.y() * (1 - g.y()));
    case Activation::tanh:
      return dy * (1 - g.y() * g.y());
    case Activation::hard_sigmoid:
      return dy * 0.2 * passed() * cast(less(g.y(), 1), g.x_dtype());
    case Activation::linear:
    case Activation::prelu:
      break;
  }
  return dy;
}

// y = activation(conv(x, filter) + bias), where there may be no bias.
template <bool kDepthwise>
Grads grad_of_fused(GradContext& g) {
  const auto& attrs = g.attrs_as<ConvAttrs>();
  const Trio& ops = trio<kDepthwise>(g.x_shape(0).rank());
  const Tensor dz = before_activation(g.dy(), attrs, g);
  std::vector<Tensor> grads(g.inputs());
  if (g.needs(0)) grads[0] = run(*ops.input, attrs, g.x_shape(0), dz, g.x(1));
  if (g.needs(1)) grads[1] = run(*ops.filter, attrs, g.x_shape(1), g.x(0), dz);
  if (grads.size() > 2 && g.needs(2)) grads[2] = sum(dz, {0, 1, 2});
  return grads;
}

constexpr OpDef fused_op(const char* name, const char* tfjs, Grads (*grad)(GradContext&)) {
  return {.name = name,
          .infer = infer_conv,
          .inputs = OpDef::kVariadic,
          .tfjs = tfjs,
          .grad_keeps = {kInput1 | kOutput, kInput0 | kOutput, kOutput},
          .grad = grad};
}

constinit const OpDef kFusedConv2d = fused_op("fused_conv2d", "FusedConv2D", grad_of_fused<false>);
constinit const OpDef kFusedDepthwiseConv2d =
    fused_op("fused_depthwise_conv2d", "FusedDepthwiseConv2D", grad_of_fused<true>);

// The operands as floating-point tensors of one dtype, all of them alive.
template <std::size_t n>
std::array<Tensor, n> operands(const char* op, const std::array<Arg*, n>& args,
                               std::source_location site) {
  std::array<Tensor, n> in;
  unify(op, args, in, true);
  for (std::size_t i = 0; i < n; ++i) {
    const auto index = static_cast<int>(i);
    check_alive(op, index, in[i], site);
    if (!is_floating(in[i].dtype())) {
      in[i] = operand_as(op, index, std::move(in[i]), DType::float32, site);
    }
  }
  return in;
}

// A tensor as the ops take it (with a batch, channels last), and a result as the user wants it.
Tensor as_taken(Tensor x, int axes, bool channels_first) {
  if (x.rank() == axes + 1) x = expand_dims(std::move(x), 0);
  return channels_first ? transpose(std::move(x), to_last(axes + 2)) : x;
}
Tensor as_wanted(Tensor y, bool channels_first, bool batched) {
  const int rank = y.rank();
  if (channels_first) y = transpose(std::move(y), to_first(rank));
  return batched ? y : squeeze(std::move(y), {0});
}

ConvShapes shapes_for(const char* op, int axes, bool depthwise, const Tensor& x,
                      const Tensor& filter, const ConvOptions& options) {
  if (Tracer* trace = detail::context().trace) {  // at other sizes, windows may not fit
    trace->chosen_by(std::array{x, filter}, [=](std::span<const Shape> shapes) {
      conv_shapes(op, axes, depthwise, shapes[0], shapes[1], options);
      return true;
    });
  }
  return conv_shapes(op, axes, depthwise, x.shape(), filter.shape(), options);
}

Tensor conv(const OpDef& op, int axes, bool depthwise, Arg& x, Arg& filter,
            const ConvOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(op.name, site);
  auto [image, weights] = operands(op.name, std::array{&x, &filter}, site);
  const ConvShapes shapes = shapes_for(op.name, axes, depthwise, image, weights, options);
  const bool batched = image.rank() == axes + 2;
  Tensor y =
      run(op, shapes.attrs, shapes.y, as_taken(std::move(image), axes, options.channels_first),
          std::move(weights), site);
  return as_wanted(std::move(y), options.channels_first, batched);
}

// The shape that a convolution's result has to the user.
Shape wanted_shape(const ConvShapes& shapes, bool channels_first, bool batched) {
  const Shape shape = as_given(shapes.y, channels_first);
  return batched ? shape : Shape(shape.dims().subspan(1));
}

Tensor grad_input(const OpDef& op, const char* name, int axes, bool depthwise, Arg& dy, Arg& filter,
                  const Shape& x_shape, const ConvOptions& options) {
  const detail::UserLine site(dy.site());
  const detail::CallScope call(name, site);
  auto [gradient, weights] = operands(name, std::array{&dy, &filter}, site);
  const ConvShapes shapes = conv_shapes(name, axes, depthwise, x_shape, weights.shape(), options);
  const bool batched = x_shape.rank() == axes + 2;
  const Shape expected = wanted_shape(shapes, options.channels_first, batched);
  if (gradient.shape() != expected) {
    raise<ShapeError>("{}: a convolution of {} with {} gives {}, not {}", name, x_shape,
                      weights.shape(), expected, gradient.shape());
  }
  Tensor dx =
      run(op, shapes.attrs, shapes.x, as_taken(std::move(gradient), axes, options.channels_first),
          std::move(weights), site);
  return as_wanted(std::move(dx), options.channels_first, batched);
}

Tensor grad_filter(const OpDef& op, int axes, bool depthwise, Arg& x, Arg& dy,
                   const Shape& filter_shape, const ConvOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(op.name, site);
  auto [image, gradient] = operands(op.name, std::array{&x, &dy}, site);
  const ConvShapes shapes =
      conv_shapes(op.name, axes, depthwise, image.shape(), filter_shape, options);
  const Shape expected = wanted_shape(shapes, options.channels_first, image.rank() == axes + 2);
  if (gradient.shape() != expected) {
    raise<ShapeError>("{}: a convolution of {} with {} gives {}, not {}", op.name, image.shape(),
                      filter_shape, expected, gradient.shape());
  }
  return run(op, shapes.attrs, filter_shape,
             as_taken(std::move(image), axes, options.channels_first),
             as_taken(std::move(gradient), axes, options.channels_first), site);
}

bool broadcasts_to(const Shape& values, const Shape& shape) {
  bool fits = values.rank() <= shape.rank();
  for (int back = 1; fits && back <= values.rank(); ++back) {
    fits = values[-back] == 1 || values[-back] == shape[-back];
  }
  return fits;
}

// A bias or the weights of prelu that broadcast to `y`: with channels first, a vector stands for
// the channels all the same. An empty handle stays one.
Tensor per_channel(const char* op, const char* what, Tensor values, const Shape& y, bool first) {
  if (!values.defined()) return values;
  const bool vector = first && values.rank() == 1;
  const Shape shape = vector ? Shape{values.dim(0), 1, 1} : values.shape();
  if (!broadcasts_to(shape, y)) {
    raise<ShapeError>("{}: {} {} does not broadcast to {}", op, what, values.shape(), y);
  }
  return vector ? reshape(std::move(values), shape) : values;
}

Tensor finished(Tensor z, const FusedOptions& fused, Tensor prelu_weights) {
  switch (fused.activation) {
    case Activation::leaky_relu:
      return where(greater(z, 0), z, z * fused.leaky_relu_alpha);
    case Activation::prelu:
      return where(greater(z, 0), z, z * std::move(prelu_weights));
    default:
      return activated(fused.activation, std::move(z));
  }
}

// The two operands, bias and weights of prelu; the latter empty where there are none.
std::array<Tensor, 4> fused_operands(const char* op, Arg& a, Arg& b, const FusedOptions& fused,
                                     std::source_location site) {
  if ((fused.activation == Activation::prelu) != fused.prelu_weights.has_value()) {
    raise<ValueError>("{}: prelu and its weights go together", op);
  }
  // Copies, because operands are moved from.
  std::optional<Arg> bias = fused.bias;
  std::optional<Arg> prelu = fused.prelu_weights;
  if (bias && prelu) {
    return operands(op, std::array{&a, &b, &*bias, &*prelu}, site);
  }
  if (!bias && !prelu) {
    auto [x, y] = operands(op, std::array{&a, &b}, site);
    return {std::move(x), std::move(y), {}, {}};
  }
  auto [x, y, z] = operands(op, std::array{&a, &b, bias ? &*bias : &*prelu}, site);
  if (bias) return {std::move(x), std::move(y), std::move(z), {}};
  return {std::move(x), std::move(y), {}, std::move(z)};
}

// The bias as the kernel adds it, one value per channel; an empty handle where it is not such.
Tensor channel_vector(const Tensor& bias, std::int64_t channels, bool first) {
  if (!bias.defined()) return {};
  if (bias.numel() == 1) return broadcast_to(reshape(bias, {1}), {channels});
  const int axis = first ? -3 : -1;
  const bool along = bias.rank() >= -axis && bias.dim(axis) == channels;
  return along && bias.numel() == channels ? reshape(bias, {channels}) : Tensor();
}

Tensor fused_conv(const OpDef& op, const OpDef& plain, bool depthwise, Arg& x, Arg& filter,
                  const FusedOptions& fused, const ConvOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(op.name, site);
  std::array<Tensor, 4> in = fused_operands(op.name, x, filter, fused, site);
  auto& [image, weights, bias, prelu_weights] = in;
  const ConvShapes shapes = shapes_for(op.name, 2, depthwise, image, weights, options);
  const bool first = options.channels_first;
  const bool batched = image.rank() == 4;
  const Shape wanted = wanted_shape(shapes, first, batched);
  bias = per_channel(op.name, "the bias", std::move(bias), wanted, first);
  prelu_weights = per_channel(op.name, "prelu's weights", std::move(prelu_weights), wanted, first);

  // The kernel does what its gradient can undo; the rest follows.
  Tensor vector = channel_vector(bias, shapes.y[3], first);
  const bool bias_follows = bias.defined() && !vector.defined();
  if (vector.defined()) bias = std::move(vector);
  const bool activation_follows =
      bias_follows || fused.activation == Activation::prelu ||
      (fused.activation == Activation::leaky_relu && !(fused.leaky_relu_alpha >= 0));
  ConvAttrs attrs = shapes.attrs;
  attrs.result = shapes.y;
  if (!activation_follows) attrs.activation = fused.activation;
  if (attrs.activation == Activation::leaky_relu) attrs.alpha = fused.leaky_relu_alpha;
  std::optional<RoundOnce> rounded;
  if (activation_follows) rounded.emplace(op.name, in, site);
  image = as_taken(std::move(image), 2, first);
  Tensor y;
  if (bias.defined() && !bias_follows) {
    y = apply(op, ref(attrs), site, std::move(image), std::move(weights), std::move(bias));
  } else {
    const bool linear = attrs.activation == Activation::linear;
    y = apply(linear ? plain : op, ref(attrs), site, std::move(image), std::move(weights));
  }
  y = as_wanted(std::move(y), first, batched);
  if (!activation_follows) return y;
  if (bias_follows) y = add(std::move(y), std::move(bias));
  return (*rounded)(finished(std::move(y), fused, std::move(prelu_weights)));
}

constexpr Composite kConvolutionComposites[] = {
    {"separable_conv2d", nullptr, "depthwise_conv2d, conv2d"},
    {"conv1d_transpose", nullptr, "conv1d_grad_input"},
    {"conv2d_transpose", nullptr, "conv2d_grad_input"},
    {"conv3d_transpose", nullptr, "conv3d_grad_input"},
    {"fused_matmul", "_FusedMatMul", "matmul, add, where, relu, relu6, elu, sigmoid"},
};

}  // namespace

Family convolution_ops() {
  static constexpr const OpDef* ops[] = {&kConv1d,
                                         &kConv2d,
                                         &kConv3d,
                                         &kConv1dGradInput,
                                         &kConv2dGradInput,
                                         &kConv3dGradInput,
                                         &kConv1dGradFilter,
                                         &kConv2dGradFilter,
                                         &kConv3dGradFilter,
                                         &kDepthwiseConv2d,
                                         &kDepthwiseConv2dGradInput,
                                         &kDepthwiseConv2dGradFilter,
                                         &kFusedConv2d,
                                         &kFusedDepthwiseConv2d};
  return {ops, kConvolutionComposites};
}

}  // namespace ops

Tensor conv1d(Arg x, Arg filter, const ConvOptions& options) {
  return ops::conv(ops::kConv1d, 1, false, x, filter, options);
}
Tensor conv2d(Arg x, Arg filter, const ConvOptions& options) {
  return ops::conv(ops::kConv2d, 2, false, x, filter, options);
}
Tensor conv3d(Arg x, Arg filter, const ConvOptions& options) {
  return ops::conv(ops::kConv3d, 3, false, x, filter, options);
}
Tensor depthwise_conv2d(Arg x, Arg filter, const ConvOptions& options) {
  return ops::conv(ops::kDepthwiseConv2d, 2, true, x, filter, options);
}

Tensor separable_conv2d(Arg x, Arg depthwise, Arg pointwise, const ConvOptions& options) {
  constexpr const char* kName = "separable_conv2d";
  const detail::UserLine site(x.site());
  const detail::CallScope call(kName, site);
  auto in = ops::operands(kName, std::array{&x, &depthwise, &pointwise}, site);
  auto& [image, each, all] = in;
  const Shape shape = all.shape();
  if (shape.rank() != 4 || shape[0] != 1 || shape[1] != 1) {
    raise<ShapeError>("{}: the pointwise filter is not [1, 1, channels in, channels out]: {}",
                      kName, shape);
  }
  const ops::ConvShapes shapes = ops::shapes_for(kName, 2, true, image, each, options);
  if (shape[2] != shapes.y[3]) {
    raise<ShapeError>(
        "{}: the depthwise filter gives {} channels, the pointwise one takes {}: {} "
        "and {}",
        kName, shapes.y[3], shape[2], each.shape(), shape);
  }
  const ops::RoundOnce rounded(kName, in, site);
  Tensor between = depthwise_conv2d(std::move(image), std::move(each), options);
  return rounded(
      conv2d(std::move(between), std::move(all), {.channels_first = options.channels_first}));
}

Tensor conv1d_transpose(Arg x, Arg filter, const Shape& output_shape, const ConvOptions& options) {
  return ops::grad_input(ops::kConv1dGradInput, "conv1d_transpose", 1, false, x, filter,
                         output_shape, options);
}
Tensor conv2d_transpose(Arg x, Arg filter, const Shape& output_shape, const ConvOptions& options) {
  return ops::grad_input(ops::kConv2dGradInput, "conv2d_transpose", 2, false, x, filter,
                         output_shape, options);
}
Tensor conv3d_transpose(Arg x, Arg filter, const Shape& output_shape, const ConvOptions& options) {
  return ops::grad_input(ops::kConv3dGradInput, "conv3d_transpose", 3, false, x, filter,
                         output_shape, options);
}

Tensor conv1d_grad_input(Arg dy, Arg filter, const Shape& x_shape, const ConvOptions& options) {
  return ops::grad_input(ops::kConv1dGradInput, "conv1d_grad_input", 1, false, dy, filter, x_shape,
                         options);
}
Tensor conv2d_grad_input(Arg dy, Arg filter, const Shape& x_shape, const ConvOptions& options) {
  return ops::grad_input(ops::kConv2dGradInput, "conv2d_grad_input", 2, false, dy, filter, x_shape,
                         options);
}
Tensor conv3d_grad_input(Arg dy, Arg filter, const Shape& x_shape, const ConvOptions& options) {
  return ops::grad_input(ops::kConv3dGradInput, "conv3d_grad_input", 3, false, dy, filter, x_shape,
                         options);
}
Tensor depthwise_conv2d_grad_input(Arg dy, Arg filter, const Shape& x_shape,
                                   const ConvOptions& options) {
  return ops::grad_input(ops::kDepthwiseConv2dGradInput, "depthwise_conv2d_grad_input", 2, true, dy,
                         filter, x_shape, options);
}
Tensor conv1d_grad_filter(Arg x, Arg dy, const Shape& filter_shape, const ConvOptions& options) {
  return ops::grad_filter(ops::kConv1dGradFilter, 1, false, x, dy, filter_shape, options);
}
Tensor conv2d_grad_filter(Arg x, Arg dy, const Shape& filter_shape, const ConvOptions& options) {
  return ops::grad_filter(ops::kConv2dGradFilter, 2, false, x, dy, filter_shape, options);
}
Tensor conv3d_grad_filter(Arg x, Arg dy, const Shape& filter_shape, const ConvOptions& options) {
  return ops::grad_filter(ops::kConv3dGradFilter, 3, false, x, dy, filter_shape, options);
}
Tensor depthwise_conv2d_grad_filter(Arg x, Arg dy, const Shape& filter_shape,
                                    const ConvOptions& options) {
  return ops::grad_filter(ops::kDepthwiseConv2dGradFilter, 2, true, x, dy, filter_shape, options);
}

Tensor fused_conv2d(Arg x, Arg filter, const FusedOptions& fused, const ConvOptions& options) {
  return ops::fused_conv(ops::kFusedConv2d, ops::kConv2d, false, x, filter, fused, options);
}
Tensor fused_depthwise_conv2d(Arg x, Arg filter, const FusedOptions& fused,
                              const ConvOptions& options) {
  return ops::fused_conv(ops::kFusedDepthwiseConv2d, ops::kDepthwiseConv2d, true, x, filter, fused,
                         options);
}

Tensor fused_matmul(Arg a, Arg b, const FusedOptions& fused, const MatmulOptions& options) {
  constexpr const char* kName = "fused_matmul";
  const detail::UserLine site(a.site());
  const detail::CallScope call(kName, site);
  std::array<Tensor, 4> in = ops::fused_operands(kName, a, b, fused, site);
  auto& [left, right, bias, prelu_weights] = in;
  const bool only_product = !bias.defined() && fused.activation == Activation::linear;
  std::optional<ops::RoundOnce> rounded;
  if (!only_product) rounded.emplace(kName, in, site);
  Tensor y = matmul(std::move(left), std::move(right), options);
  bias = ops::per_channel(kName, "the bias", std::move(bias), y.shape(), false);
  prelu_weights =
      ops::per_channel(kName, "prelu's weights", std::move(prelu_weights), y.shape(), false);
  if (only_product) return y;
  if (bias.defined()) y = add(std::move(y), std::move(bias));
  return (*rounded)(ops::finished(std::move(y), fused, std::move(prelu_weights)));
}

}  // namespace tenure
