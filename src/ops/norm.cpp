// Batch and layer normalisation, each one op forward and one backward, and what is made of them.
//
// The backward ops take everything their gradient reads as inputs, so that gradients of gradients
// come from the same function in public ops (differentiate.h).
#include "tenure/norm.h"

#include <algorithm>
#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/differentiate.h"
#include "ops/families.h"
#include "ops/lrn.h"
#include "ops/norm_attrs.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "tensor/access.h"

namespace tenure {
namespace ops {
namespace {

std::source_location here() { return std::source_location::current(); }

constexpr Keep kEverything{0xffff, 0};

// What is one value per feature, with ones for the other axes.
Tensor per_feature(Tensor values, const Shape& shape, int axis) {
  Shape wide = Shape::filled(shape.rank(), 1);
  wide[axis] = shape[axis];
  return reshape(std::move(values), wide);
}

Axes but(const Shape& shape, int axis) {
  Axes others;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) others.push_back(i);
  }
  return others;
}

double count_per_feature(const Shape& shape, int axis) {
  return static_cast<double>(shape.numel()) / static_cast<double>(shape[axis]);
}

// Inputs `from` on are one value per feature.
void check_features(const Infer& infer, std::size_t from,
                    std::initializer_list<const char*> names) {
  const std::int64_t features = infer.shape(0)[infer.attrs.as<BatchNormAttrs>().axis];
  auto name = names.begin();
  for (std::size_t i = from; i < infer.in.size(); ++i, ++name) {
    if (infer.shape(i) != Shape{features}) {
      raise<ShapeError>("{}: the {} is {}, for {} features of {}", infer.op, *name, infer.shape(i),
                        features, infer.shape(0));
    }
  }
}

// Of a backward op: dy, x and further inputs give dx, and gradients of a scale and an offset.
void infer_gradients(Infer& infer, const Shape& parameter) {
  if (infer.shape(0) != infer.shape(1)) {
    raise<ShapeError>("{}: the input is {}, its result's gradient {}", infer.op, infer.shape(1),
                      infer.shape(0));
  }
  infer.result(infer.shape(1), infer.dtype(1));
  infer.result(parameter, infer.dtype(1), 1);
  infer.result(parameter, infer.dtype(1), 2);
}

// The gradients of x, and of the scale and the offset if there are any, from a backward op.
Grads gradients(const OpDef& backward, GradContext& g, std::vector<Tensor> in, bool scaled,
                bool shifted) {
  if (scaled) in.push_back(g.x(1));
  std::array<Tensor, 3> out;
  apply_into(backward, in, g.attrs(), here(), out);
  std::vector<Tensor> grads{std::move(out[0])};
  if (scaled) grads.push_back(std::move(out[1]));
  if (shifted) grads.push_back(std::move(out[2]));
  return grads;
}

// Batch normalisation of a batch by its own moments.

// What follows dy and x: mean, variance and their gradients, and the scale if there is one.
// With c = x - mean and a = scale / deviation,
//   dx = a (dy - mean(dy) - c mean(dy c) / variance) + dmean / n + 2 c dvariance / n
std::vector<Tensor> batch_gradient(const BatchNormAttrs& attrs, const std::vector<Tensor>& in) {
  const Tensor& dy = in[0];
  const Tensor& x = in[1];
  const Shape& shape = x.shape();
  const Axes others = but(shape, attrs.axis);
  const double n = count_per_feature(shape, attrs.axis);
  const auto wide = [&](Tensor values) {
    return per_feature(std::move(values), shape, attrs.axis);
  };
  const Tensor centred = x - wide(in[2]);
  const Tensor inverse = 1 / sqrt(in[3] + attrs.epsilon);
  const Tensor a = attrs.scaled ? in[6] * inverse : inverse;
  const Tensor sum_dy = sum(dy, others);
  const Tensor sum_product = sum(dy * centred, others);
  const Tensor slope = (in[5] * 2 - a * square(inverse) * sum_product) / n;
  Tensor dx = wide(a) * dy + wide(slope) * centred + wide((in[4] - a * sum_dy) / n);
  return {std::move(dx), sum_product * inverse, sum_dy};
}

// The op of a gradient that `formula` gives, which its own gradient differentiates.
template <class Attrs, std::vector<Tensor> (*formula)(const Attrs&, const std::vector<Tensor>&)>
consteval OpDef gradient_op(const char* name, void (*infer)(Infer&)) {
  return {.name = name,
          .infer = infer,
          .inputs = OpDef::kVariadic,
          .outputs = 3,
          .may_overwrite = input(0),
          .grad_keeps = kEverything,
          .grad = [](GradContext& g) -> Grads {
            return differentiate(
                g, [&](const std::vector<Tensor>& in) { return formula(g.attrs_as<Attrs>(), in); });
          }};
}

constinit const OpDef kBatchNormGrad =
    gradient_op<BatchNormAttrs, batch_gradient>("batch_norm_grad", [](Infer& infer) {
      infer_gradients(infer, {infer.shape(1)[infer.attrs.as<BatchNormAttrs>().axis]});
      check_features(infer, 2,
                     {"mean", "variance", "mean's gradient", "variance's gradient", "scale"});
    });

constinit const OpDef kBatchNormTraining{
    .name = "batch_norm_training",
    .infer =
        [](Infer& infer) {
          const auto& attrs = infer.attrs.as<BatchNormAttrs>();
          if (infer.in.size() == 2) {
            check_features(infer, 1, {attrs.scaled ? "scale" : "offset"});
          } else {
            check_features(infer, 1, {"scale", "offset"});
          }
          const Shape features{infer.shape(0)[attrs.axis]};
          infer.result(infer.shape(0), infer.dtype(0));
          infer.result(features, infer.dtype(0), 1);
          infer.result(features, infer.dtype(0), 2);
        },
    .inputs = OpDef::kVariadic,
    .outputs = 3,
    .tfjs = "FusedBatchNorm",
    .grad_keeps = Keep{0b11, 0b110},
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<BatchNormAttrs>();
      return gradients(kBatchNormGrad, g, {g.dy(), g.x(), g.y(1), g.y(2), g.dy(1), g.dy(2)},
                       attrs.scaled, attrs.shifted);
    }};

// Batch normalisation by given moments: x, mean, variance, scale and offset.
constinit const OpDef kBatchNorm{
    .name = "batch_norm",
    .infer =
        [](Infer& infer) {
          const bool scaled = infer.attrs.as<BatchNormAttrs>().scaled;
          check_features(infer, 1, {"mean", "variance", scaled ? "scale" : "offset", "offset"});
          infer.result(infer.shape(0), infer.dtype(0));
        },
    .inputs = OpDef::kVariadic,
    .tfjs = "FusedBatchNorm",
    .may_overwrite = input(0),
    .grad_keeps = Keep{0b1111, 0},
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<BatchNormAttrs>();
      const Shape shape = g.x_shape();
      const Axes others = but(shape, attrs.axis);
      const Tensor dy = g.dy();
      const Tensor inverse = 1 / sqrt(g.x(2) + attrs.epsilon);
      const Tensor a = attrs.scaled ? g.x(3) * inverse : inverse;
      std::vector<Tensor> grads(g.inputs());
      if (g.needs(0)) grads[0] = dy * per_feature(a, shape, attrs.axis);
      const Tensor sum_dy = sum(dy, others);
      if (g.needs(1)) grads[1] = -(sum_dy * a);
      const Tensor product =
          sum(dy * (g.x(0) - per_feature(g.x(1), shape, attrs.axis)), others) * inverse;
      if (g.needs(2)) grads[2] = product * a * inverse * -0.5;
      if (attrs.scaled) grads[3] = product;
      if (attrs.shifted) grads.back() = sum_dy;
      return grads;
    }};

// Layer normalisation over the last axes.

Shape last_axes(const Shape& shape, int count) {
  return Shape(shape.dims().last(static_cast<std::size_t>(count)));
}

Axes range(int begin, int end) {
  Axes axes;
  for (int axis = begin; axis < end; ++axis) axes.push_back(axis);
  return axes;
}

void check_normalised(const Infer& infer, std::size_t i, const char* name, const Shape& wanted) {
  if (infer.shape(i) == wanted) return;
  raise<ShapeError>("{}: the {} is {}, the normalised axes {} of {}", infer.op, name,
                    infer.shape(i), wanted, infer.shape(0));
}

// Of dy, x and the scale if there is one. With z the normalised x and h = dy scale,
//   dx = (h - mean(h) - z mean(h z)) / deviation
std::vector<Tensor> layer_gradient(const LayerNormAttrs& attrs, const std::vector<Tensor>& in) {
  const Tensor& dy = in[0];
  const Tensor& x = in[1];
  const int rank = x.rank();
  const Axes inner = range(rank - attrs.axes, rank), outer = range(0, rank - attrs.axes);
  const ReduceOptions keep{.keep_dims = true};
  const Tensor centred = x - mean(x, inner, keep);
  const Tensor inverse = 1 / sqrt(mean(square(centred), inner, keep) + attrs.epsilon);
  const Tensor z = centred * inverse;
  const Tensor h = attrs.scaled ? dy * in[2] : dy;
  Tensor dx = inverse * (h - mean(h, inner, keep) - z * mean(h * z, inner, keep));
  return {std::move(dx), sum(dy * z, outer), sum(dy, outer)};
}

constinit const OpDef kLayerNormGrad =
    gradient_op<LayerNormAttrs, layer_gradient>("layer_norm_grad", [](Infer& infer) {
      const auto& attrs = infer.attrs.as<LayerNormAttrs>();
      const Shape normalised = last_axes(infer.shape(1), attrs.axes);
      infer_gradients(infer, normalised);
      if (attrs.scaled) check_normalised(infer, 2, "scale", normalised);
    });

constinit const OpDef kLayerNorm{
    .name = "layer_norm",
    .infer =
        [](Infer& infer) {
          const auto& attrs = infer.attrs.as<LayerNormAttrs>();
          const Shape normalised = last_axes(infer.shape(0), attrs.axes);
          if (attrs.scaled) check_normalised(infer, 1, "scale", normalised);
          if (attrs.shifted) check_normalised(infer, infer.in.size() - 1, "offset", normalised);
          infer.result(infer.shape(0), infer.dtype(0));
        },
    .inputs = OpDef::kVariadic,
    .may_overwrite = input(0),
    .grad_keeps = Keep{0b11, 0},
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<LayerNormAttrs>();
      return gradients(kLayerNormGrad, g, {g.dy(), g.x()}, attrs.scaled, attrs.shifted);
    }};

// The operands as tensors of x's dtype (float32 for integers), and scale and offset after them.
// Each is alive: what is made of them later would count its inputs otherwise than the user.
std::vector<Tensor> operands(const char* op, std::initializer_list<Arg*> args,
                             const std::optional<KeptArg>& scale,
                             const std::optional<KeptArg>& offset) {
  std::vector<Tensor> out;
  out.reserve(args.size() + 2);
  const auto add = [&](Arg arg) {
    const auto input = static_cast<int>(out.size());
    const std::source_location site = arg.site();
    if (!arg.scalar()) check_alive(op, input, arg);
    if (input == 0) {
      out.push_back(as_float(op, std::move(arg)));
    } else if (arg.scalar()) {
      out.push_back(scalar_tensor(op, *arg.scalar(), out[0].dtype(), site));
    } else {
      out.push_back(operand_as(op, input, std::move(arg).tensor(), out[0].dtype(), site));
    }
  };
  for (Arg* arg : args) add(std::move(*arg));
  if (scale) add(*scale);
  if (offset) add(*offset);
  return out;
}

void check_epsilon(const char* op, double epsilon) {
  if (!(epsilon >= 0)) raise<ValueError>("{}: an epsilon below zero: {}", op, epsilon);
}

BatchNormAttrs batch_attrs(const char* op, const Tensor& x, const BatchNormOptions& options) {
  check_epsilon(op, options.epsilon);
  return {normal_axis(op, options.axis, x.shape()), options.epsilon, options.scale.has_value(),
          options.offset.has_value()};
}

Tensor batch_norm(Arg& x, Arg& mean, Arg& variance, const BatchNormOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("batch_norm", site);
  std::vector<Tensor> in =
      operands("batch_norm", {&x, &mean, &variance}, options.scale, options.offset);
  const BatchNormAttrs attrs = batch_attrs("batch_norm", in[0], options);
  const bool vectors =
      std::all_of(in.begin() + 1, in.end(), [](const Tensor& each) { return each.rank() == 1; });
  if (vectors) {
    Tensor out;
    apply_into(kBatchNorm, in, ref(attrs), site, {&out, 1});
    return out;
  }
  const RoundOnce rounded("batch_norm", in, site);
  Tensor y = (in[0] - in[1]) / sqrt(in[2] + options.epsilon);
  if (attrs.scaled) y = std::move(y) * in[3];
  if (attrs.shifted) y = std::move(y) + in.back();
  return rounded(std::move(y));
}

Tensor layer_norm(Arg& x, const LayerNormOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("layer_norm", site);
  std::vector<Tensor> in = operands("layer_norm", {&x}, options.scale, options.offset);
  check_epsilon("layer_norm", options.epsilon);
  const int rank = in[0].rank();
  const Axes axes = normal_axes("layer_norm", options.axes, in[0].shape());
  if (axes.rank() == 0) raise<ShapeError>("layer_norm: no axes to normalise of {}", in[0].shape());
  const LayerNormAttrs attrs{axes.rank(), options.epsilon, options.scale.has_value(),
                             options.offset.has_value()};
  const bool last = axes[0] == rank - axes.rank();
  Axes back = in[0].shape();
  if (!last) {
    Axes order;
    for (int axis = 0; axis < rank; ++axis) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
    }
    for (const std::int64_t axis : axes) order.push_back(axis);
    for (int i = 0; i < rank; ++i) back[static_cast<int>(order[i])] = i;
    in[0] = transpose(std::move(in[0]), order);
  }
  Tensor out;
  apply_into(kLayerNorm, in, ref(attrs), site, {&out, 1});
  return last ? out : transpose(std::move(out), back);
}

Tensor rms_norm(Arg& x, const RmsNormOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("rms_norm", site);
  std::vector<Tensor> in = operands("rms_norm", {&x}, options.scale, {});
  const RoundOnce rounded("rms_norm", in, site);
  check_epsilon("rms_norm", options.epsilon);
  const Shape shape = in[0].shape();
  const Axes axes = normal_axes("rms_norm", options.axes, shape);
  Tensor y = in[0] / sqrt(mean(square(in[0]), axes, {.keep_dims = true}) + options.epsilon);
  if (in.size() == 1) return rounded(std::move(y));
  Shape wide = Shape::filled(shape.rank(), 1), normalised;
  for (const std::int64_t axis : axes) {
    wide[static_cast<int>(axis)] = shape[static_cast<int>(axis)];
    normalised.push_back(shape[static_cast<int>(axis)]);
  }
  if (in[1].shape() != normalised) {
    raise<ShapeError>("rms_norm: the scale is {}, the normalised axes {} of {}", in[1].shape(),
                      normalised, shape);
  }
  return rounded(std::move(y) * reshape(in[1], wide));
}

// By layer_norm, with the features of a group next to the axes it is normalised over.
Tensor group_norm(Arg& x, std::int64_t groups, const BatchNormOptions& options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("group_norm", site);
  std::vector<Tensor> in = operands("group_norm", {&x}, options.scale, options.offset);
  const RoundOnce rounded("group_norm", in, site);
  const Shape shape = in[0].shape();
  const BatchNormAttrs attrs = batch_attrs("group_norm", in[0], options);
  const std::int64_t features = shape[attrs.axis];
  if (attrs.axis == 0) {
    raise<ShapeError>("group_norm: axis 0 of {} counts samples, not features", shape);
  }
  if (groups < 1 || features % groups != 0) {
    raise<ShapeError>("group_norm: {} features of {} do not make {} groups", features, shape,
                      groups);
  }
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (in[i].shape() == Shape{features}) continue;
    raise<ShapeError>("group_norm: the {} is {}, for {} features of {}",
                      i == 1 && attrs.scaled ? "scale" : "offset", in[i].shape(), features, shape);
  }
  // Samples, groups, and the rest in order.
  Shape split;
  Axes order{0, attrs.axis};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis == attrs.axis) split.push_back(groups);
    split.push_back(axis == attrs.axis ? features / groups : shape[axis]);
  }
  for (int axis = 1; axis < split.rank(); ++axis) {
    if (axis != attrs.axis) order.push_back(axis);
  }
  Axes back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  Tensor moved = transpose(reshape(in[0], split), order);
  Tensor normal =
      layer_norm(std::move(moved), {.axes = range(2, split.rank()), .epsilon = options.epsilon});
  Tensor y = reshape(transpose(std::move(normal), back), shape);
  if (attrs.scaled) y = std::move(y) * per_feature(in[1], shape, attrs.axis);
  if (attrs.shifted) y = std::move(y) + per_feature(in.back(), shape, attrs.axis);
  return rounded(std::move(y));
}

Tensor l2_normalize(Arg& x, const Axes& axes, double epsilon) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("l2_normalize", site);
  check_epsilon("l2_normalize", epsilon);
  Tensor values = as_float("l2_normalize", std::move(x));
  const RoundOnce rounded("l2_normalize", values, site);
  const Axes over = normal_axes("l2_normalize", axes, values.shape());
  return rounded(values / sqrt(maximum(sum(square(values), over, {.keep_dims = true}), epsilon)));
}

}  // namespace

Family norm_ops() {
  static constexpr const OpDef* ops[] = {&kBatchNorm,        &kBatchNormTraining, &kBatchNormGrad,
                                         &kLayerNorm,        &kLayerNormGrad,     &kLocalResponse,
                                         &kLocalResponseGrad};
  static constexpr Composite composites[] = {
      {"rms_norm", nullptr, "square, mean, sqrt, div, mul"},
      {"group_norm", nullptr, "reshape, transpose, layer_norm, mul, add"},
      {"l2_normalize", nullptr, "square, sum, maximum, sqrt, div"},
  };
  return {ops, composites};
}

}  // namespace ops

Tensor batch_norm(Arg x, Arg mean, Arg variance, const BatchNormOptions& options) {
  return ops::batch_norm(x, mean, variance, options);
}

BatchNormalized batch_norm_training(Arg x, const BatchNormOptions& options) {
  const detail::UserLine site(x.site());
  std::vector<Tensor> in =
      ops::operands("batch_norm_training", {&x}, options.scale, options.offset);
  const ops::BatchNormAttrs attrs = ops::batch_attrs("batch_norm_training", in[0], options);
  std::array<Tensor, 3> out;
  ops::apply_into(ops::kBatchNormTraining, in, ops::ref(attrs), site, out);
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Tensor layer_norm(Arg x, const LayerNormOptions& options) { return ops::layer_norm(x, options); }
Tensor rms_norm(Arg x, const RmsNormOptions& options) { return ops::rms_norm(x, options); }
Tensor group_norm(Arg x, std::int64_t groups, const BatchNormOptions& options) {
  return ops::group_norm(x, groups, options);
}
Tensor l2_normalize(Arg x, const Axes& axes, double epsilon) {
  return ops::l2_normalize(x, axes, epsilon);
}

}  // namespace tenure
