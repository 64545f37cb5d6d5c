#include "ops/pooling.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/tracer.h"
#include "tensor/access.h"
#include "tenure/reduce.h"

namespace tenure {
namespace ops {
namespace {

// Of windows, strides, dilations and paddings: positions can be counted then.
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// One entry for each of the window's axes, where one may stand for all.
Shape for_each_axis(const char* op, const char* what, const Shape& sizes, const Shape& otherwise,
                    std::int64_t least) {
  if (sizes.rank() == 0) return otherwise;
  const int axes = otherwise.rank();
  if (sizes.rank() != 1 && sizes.rank() != axes) {
    raise<ShapeError>("{}: {} {} must have 1 or {} entries", op, what, sizes, axes);
  }
  if (std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t i) { return i < least; })) {
    raise<ShapeError>("{}: {} {} must be {} or more", op, what, sizes, least);
  }
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t i) { return i > kMost; })) {
    raise<ShapeError>("{}: {} {} must be {} or less", op, what, sizes, kMost);
  }
  return sizes.rank() == axes ? sizes : Shape::filled(axes, sizes[0]);
}

// The number of windows along an axis with `room` left beside the first of them.
std::int64_t count_windows(std::int64_t room, std::int64_t stride, Rounding rounding) {
  switch (rounding) {
    case Rounding::up:
      return ceil_div(room, stride) + 1;
    case Rounding::nearest:
      return (2 * room + stride) / (2 * stride) + 1;
    case Rounding::down:
      break;
  }
  return room / stride + 1;
}

}  // namespace

Shape with_sizes(Shape x, const Shape& sizes, const PoolAttrs& attrs) {
  const int first = (attrs.batched ? 1 : 0) + (attrs.channels_first ? 1 : 0);
  for (int i = 0; i < sizes.rank(); ++i) x[first + i] = sizes[i];
  return x;
}

PoolAttrs pool_attrs(const char* op, const Shape& x, const Shape& window,
                     const PoolOptions& options) {
  const int axes = window.rank();
  if (axes < 1 || axes > 3) {
    raise<ShapeError>("{}: a window has 1, 2 or 3 axes: {}", op, window);
  }
  if (std::any_of(window.begin(), window.end(), [](std::int64_t i) { return i < 1; })) {
    raise<ShapeError>("{}: window {} must be 1 or more", op, window);
  }
  if (std::any_of(window.begin(), window.end(), [](std::int64_t i) { return i > kMost; })) {
    raise<ShapeError>("{}: window {} must be {} or less", op, window, kMost);
  }
  if (x.rank() != axes + 1 && x.rank() != axes + 2) {
    raise<ShapeError>("{}: window {} slides over an input of rank {} or {}, not over {}", op,
                      window, axes + 1, axes + 2, x);
  }
  PoolAttrs attrs;
  attrs.batched = x.rank() == axes + 2;
  attrs.channels_first = options.channels_first;
  attrs.window = window;
  attrs.strides = for_each_axis(op, "strides", options.strides, window, 1);
  attrs.dilations = for_each_axis(op, "dilations", options.dilations, Shape::filled(axes, 1), 1);
  const bool explicit_padding = options.padding.kind == Padding::given;
  const Shape none = Shape::filled(axes, 0);
  attrs.before =
      explicit_padding ? for_each_axis(op, "padding", options.padding.before, none, 0) : none;
  const Shape after =
      explicit_padding ? for_each_axis(op, "padding", options.padding.after, none, 0) : none;
  const int first = (attrs.batched ? 1 : 0) + (attrs.channels_first ? 1 : 0);
  for (int i = 0; i < axes; ++i) {
    const std::int64_t size = x[first + i];
    const std::int64_t stride = attrs.strides[i];
    const std::int64_t reach = (window[i] - 1) * attrs.dilations[i] + 1;
    attrs.in.push_back(size);
    if (options.padding.kind == Padding::same) {
      const std::int64_t count = ceil_div(size, stride);
      attrs.out.push_back(count);
      attrs.before[i] =
          std::max<std::int64_t>(0, count_sum((count - 1) * stride - size, reach)) / 2;
      continue;
    }
    const std::int64_t room = size + attrs.before[i] + after[i] - reach;
    if (room < 0) {
      raise<ShapeError>("{}: window {} with dilations {} does not fit {}", op, window,
                        attrs.dilations, x);
    }
    attrs.out.push_back(count_windows(room, stride, options.rounding));
  }
  return attrs;
}

namespace {

void pooled(Infer& infer) {
  const auto& attrs = infer.attrs.as<PoolAttrs>();
  infer.result(with_sizes(infer.shape(0), attrs.out, attrs), infer.dtype(0));
}

// Kernels that look for places number an image's pixels.
void check_pixels(const char* op, const PoolAttrs& attrs) {
  if (attrs.in.numel() > std::numeric_limits<std::int32_t>::max()) {
    raise<ShapeError>("{}: an image must have fewer than 2^31 pixels: {}", op, attrs.in);
  }
}

void unpooled(Infer& infer) {
  const auto& attrs = infer.attrs.as<PoolAttrs>();
  check_pixels(infer.op, attrs);
  infer.result(with_sizes(infer.shape(0), attrs.in, attrs), infer.dtype(0));
}

extern constinit const OpDef kMaxPoolGrad;
extern constinit const OpDef kMaxPoolPick;
extern constinit const OpDef kAvgPoolGrad;

// An op with the attributes of the one a gradient is of.
template <class... Ts>
Tensor again(const OpDef& op, GradContext& g, Ts... inputs) {
  const auto& attrs = g.attrs_as<PoolAttrs>();
  return apply(op, ref(attrs), std::source_location::current(), std::move(inputs)...);
}

constinit const OpDef kMaxPool{
    .name = "max_pool",
    .infer = pooled,
    .tfjs = "MaxPool, MaxPool3D",
    .grad_keeps = kInput,
    .grad = [](GradContext& g) -> Grads { return again(kMaxPoolGrad, g, g.dy(), g.x()); }};

constinit const OpDef kMaxPoolWithArgmax{
    .name = "max_pool_with_argmax",
    .infer =
        [](Infer& infer) {
          pooled(infer);
          const auto& attrs = infer.attrs.as<PoolAttrs>();
          infer.result(with_sizes(infer.shape(0), attrs.out, attrs), DType::int32, 1);
          if (infer.shape(0).numel() > std::numeric_limits<std::int32_t>::max()) {
            raise<ShapeError>("max_pool_with_argmax: int32 cannot index the elements of {}",
                              infer.shape(0));
          }
        },
    .outputs = 2,
    .tfjs = "MaxPoolWithArgmax",
    .grad_keeps = kInput,
    .grad = [](GradContext& g) -> Grads { return again(kMaxPoolGrad, g, g.dy(), g.x()); }};

// To the place of each window's largest element, the first of equals, goes what `dy` has for it.
// Inputs: dy and x.
constinit const OpDef kMaxPoolGrad{.name = "max_pool_grad",
                                   .infer = unpooled,
                                   .inputs = 2,
                                   .tfjs = "MaxPoolGrad, MaxPool3DGrad",
                                   .grad_keeps = {kInput1, kNothing},
                                   .grad = [](GradContext& g) -> Grads {
                                     if (!g.needs(0)) return {Tensor(), Tensor()};
                                     return {again(kMaxPoolPick, g, g.dy(), g.x(1)), Tensor()};
                                   }};

// What `values` has where x has each window's largest element. Inputs: values and x.
constinit const OpDef kMaxPoolPick{.name = "max_pool_pick",
                                   .infer =
                                       [](Infer& infer) {
                                         check_pixels(infer.op, infer.attrs.as<PoolAttrs>());
                                         pooled(infer);
                                       },
                                   .inputs = 2,
                                   .grad_keeps = {kInput1, kNothing},
                                   .grad = [](GradContext& g) -> Grads {
                                     if (!g.needs(0)) return {Tensor(), Tensor()};
                                     return {again(kMaxPoolGrad, g, g.dy(), g.x(1)), Tensor()};
                                   }};

constinit const OpDef kAvgPool{
    .name = "avg_pool",
    .infer = pooled,
    .tfjs = "AvgPool, AvgPool3D",
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return again(kAvgPoolGrad, g, g.dy()); }};

constinit const OpDef kAvgPoolGrad{
    .name = "avg_pool_grad",
    .infer = unpooled,
    .tfjs = "AvgPoolGrad, AvgPool3DGrad",
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return again(kAvgPool, g, g.dy()); }};

Axes middle_axes(const char* op, const Shape& shape, bool channels_first) {
  if (shape.rank() < 3) {
    raise<ShapeError>("{}: there is no axis between batch and channels: {}", op, shape);
  }
  Axes axes;
  for (int i = channels_first ? 2 : 1; axes.rank() < shape.rank() - 2; ++i) axes.push_back(i);
  return axes;
}

}  // namespace

Family pooling_ops() {
  static constexpr const OpDef* ops[] = {&kMaxPool,     &kMaxPoolWithArgmax, &kMaxPoolGrad,
                                         &kMaxPoolPick, &kAvgPool,           &kAvgPoolGrad};
  static constexpr Composite composites[] = {
      {"pool", "Pool", "max_pool, avg_pool"},
      {"global_max_pool", nullptr, "max"},
      {"global_avg_pool", nullptr, "sum, div"},
  };
  return {ops, composites};
}

}  // namespace ops

using namespace ops;

namespace {

PoolAttrs attrs_for(const char* op, const Tensor& x, const Shape& window,
                    const PoolOptions& options) {
  if (Tracer* trace = detail::context().trace) {  // at other sizes, windows may not fit
    trace->chosen_by({&x, 1}, [op, window, options](std::span<const Shape> shapes) {
      pool_attrs(op, shapes[0], window, options);
      return true;
    });
  }
  return pool_attrs(op, x.shape(), window, options);
}

}  // namespace

Tensor max_pool(Arg x, const Shape& window, const PoolOptions& options) {
  const detail::UserLine site(x.site());
  Tensor values = as_number("max_pool", std::move(x));
  const PoolAttrs attrs = attrs_for("max_pool", values, window, options);
  return apply(kMaxPool, ref(attrs), site, std::move(values));
}

Tensor avg_pool(Arg x, const Shape& window, const PoolOptions& options) {
  const detail::UserLine site(x.site());
  Tensor values = as_float("avg_pool", std::move(x));
  const PoolAttrs attrs = attrs_for("avg_pool", values, window, options);
  return apply(kAvgPool, ref(attrs), site, std::move(values));
}

MaxPoolWithArgmax max_pool_with_argmax(Arg x, const Shape& window, const PoolOptions& options,
                                       ArgmaxOptions argmax) {
  const detail::UserLine site(x.site());
  Tensor values = as_number("max_pool_with_argmax", std::move(x));
  PoolAttrs attrs = attrs_for("max_pool_with_argmax", values, window, options);
  attrs.batch_in_index = argmax.include_batch_in_index;
  std::array<Tensor, 2> out;
  apply_into(kMaxPoolWithArgmax, {&values, 1}, ref(attrs), site, out);
  return {std::move(out[0]), std::move(out[1])};
}

Tensor pool(Arg x, const Shape& window, PoolType type, PoolOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("pool", site);
  if (options.strides.rank() == 0) options.strides = {1};
  const bool largest = type == PoolType::max;
  Tensor values = largest ? as_number("pool", std::move(x)) : as_float("pool", std::move(x));
  const PoolAttrs attrs = attrs_for("pool", values, window, options);
  const Shape ones = Shape::filled(window.rank(), 1);
  if (attrs.strides != ones && attrs.dilations != ones) {
    raise<ShapeError>("pool: strides {} or dilations {} must be 1", attrs.strides, attrs.dilations);
  }
  return apply(largest ? kMaxPool : kAvgPool, ref(attrs), site, std::move(values));
}

Tensor global_max_pool(Arg x, GlobalPoolOptions options) {
  const detail::CallScope call("global_max_pool", x.site());
  const Axes axes =
      middle_axes("global_max_pool", shape_of("global_max_pool", x), options.channels_first);
  return max(std::move(x), axes, {.keep_dims = options.keep_dims});
}

Tensor global_avg_pool(Arg x, GlobalPoolOptions options) {
  const detail::CallScope call("global_avg_pool", x.site());
  const Axes axes =
      middle_axes("global_avg_pool", shape_of("global_avg_pool", x), options.channels_first);
  return mean(std::move(x), axes, {.keep_dims = options.keep_dims});
}

}  // namespace tenure
