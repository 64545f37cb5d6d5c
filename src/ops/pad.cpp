// Padding with a value or with a mirror image. Below zero, paddings with a value cut.
#include <algorithm>

#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/pad_attrs.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

std::int64_t padded(std::int64_t dim, std::int64_t before, std::int64_t after) {
  return count_sum(dim, count_sum(before, after));
}

// What was added is cut off again, and what was cut off gets zeros.
Tensor unpadded(Tensor dy, const PadAttrs& attrs, const Shape& shape) {
  const auto adds = [](std::int64_t amount) { return amount >= 0; };
  if (std::all_of(attrs.before.begin(), attrs.before.end(), adds) &&
      std::all_of(attrs.after.begin(), attrs.after.end(), adds)) {
    return slice(std::move(dy), attrs.before, shape);  // a view
  }
  Paddings back;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    back.emplace_back(-attrs.before[axis], -attrs.after[axis]);
  }
  return pad(std::move(dy), back);
}

constinit const OpDef kPad{.name = "pad",
                           .infer =
                               [](Infer& infer) {
                                 const auto& attrs = infer.attrs.as<PadAttrs>();
                                 Shape shape = infer.shape(0);
                                 for (int axis = 0; axis < shape.rank(); ++axis) {
                                   shape[axis] =
                                       padded(shape[axis], attrs.before[axis], attrs.after[axis]);
                                 }
                                 infer.result(std::move(shape), infer.dtype(0));
                               },
                           .tfjs = "PadV2",
                           .accepts = Accepts::any,
                           .grad_keeps = kNothing,
                           .grad = [](GradContext& g) -> Grads {
                             return unpadded(g.dy(), g.attrs_as<PadAttrs>(), g.x_shape());
                           }};

std::string printed(const Paddings& paddings) {
  std::string text = "[";
  for (const auto& [before, after] : paddings) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("[{}, {}]", before, after);
  }
  return text + "]";
}

void check_paddings(const char* op, const Shape& shape, const Paddings& paddings,
                    std::int64_t least) {
  bool sound = paddings.size() == static_cast<std::size_t>(shape.rank());
  for (const auto& [before, after] : paddings) sound = sound && before >= least && after >= least;
  if (!sound) {
    raise<ShapeError>("{}: {} does not say what to add before and after each axis of {}", op,
                      printed(paddings), shape);
  }
}

// `count` elements along `axis` from `from` backwards.
Tensor backwards(const Tensor& x, int axis, std::int64_t from, std::int64_t count,
                 std::source_location site) {
  Shape begin = Shape::filled(x.rank(), 0), size = x.shape(), step = Shape::filled(x.rank(), 1);
  begin[axis] = from;
  size[axis] = count;
  step[axis] = -1;
  return slice(Arg(x, site), begin, size, step);
}

}  // namespace

Family pad_ops() {
  static constexpr const OpDef* ops[] = {&kPad};
  static constexpr Composite composites[] = {{"mirror_pad", "MirrorPad", "slice, concat"}};
  return {ops, composites};
}

}  // namespace ops

using namespace ops;

Tensor pad(Arg x, const Paddings& paddings, Scalar value) {
  const detail::UserLine site(x.site());
  Tensor tensor = live_operand("pad", 0, std::move(x));
  const Shape& shape = tensor.shape();
  check_paddings("pad", shape, paddings, -kMostBytes);
  if (!value.fits(tensor.dtype())) {
    raise<DtypeError>("pad: {} is not exactly a value of {}: cast the tensor first", value,
                      tensor.dtype());
  }
  PadAttrs attrs{{}, {}, value};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto& [before, after] = paddings[static_cast<std::size_t>(axis)];
    if (padded(shape[axis], before, after) < 0) {
      raise<ShapeError>("pad: {} cuts more off axis {} than {} has", printed(paddings), axis,
                        shape);
    }
    attrs.before.push_back(before);
    attrs.after.push_back(after);
  }
  return apply(kPad, ref(attrs), site, std::move(tensor));
}

Tensor mirror_pad(Arg x, const Paddings& paddings, Mirror mirror) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("mirror_pad", site);
  Tensor tensor = live_operand("mirror_pad", 0, std::move(x));
  const Shape shape = tensor.shape();
  check_paddings("mirror_pad", shape, paddings, 0);
  const std::int64_t edge = mirror == Mirror::reflect ? 1 : 0;  // elements that are left out
  bool padded = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto& [before, after] = paddings[static_cast<std::size_t>(axis)];
    const std::int64_t dim = shape[axis];
    if (before == 0 && after == 0) continue;
    if (std::max(before, after) > dim - edge) {
      raise<ShapeError>("mirror_pad: {} elements do not fit into the mirror image of axis {} of {}",
                        std::max(before, after), axis, shape);
    }
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(backwards(tensor, axis, before - 1 + edge, before, site));
    parts.push_back(tensor);
    if (after > 0) parts.push_back(backwards(tensor, axis, dim - 1 - edge, after, site));
    tensor = concat(std::move(parts), axis, site);
    padded = true;
  }
  return padded ? tensor : tensor.clone(site);
}

}  // namespace tenure
