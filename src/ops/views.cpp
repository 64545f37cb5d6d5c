// Views: other layouts over the same bytes. Each falls back to a row-major copy where strides
// cannot say it; the road does that, not the op.
#include "ops/views.h"

#include <algorithm>

#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

// Strides for `to` over the elements of `from`, in the same order; false when there are none.
// Walks both shapes from the left, matching groups of axes with equal products; a group of the old
// shape can be split or merged only if its axes lie evenly behind each other.
bool reshape_strides(const Layout& from, const Shape& to, Strides& strides) {
  strides = Shape::filled(to.rank(), 0);
  if (from.shape.numel() == 0) {
    strides = contiguous_strides(to);
    return true;
  }
  Shape old_shape, old_strides;  // without axes of size 1
  for (int axis = 0; axis < from.shape.rank(); ++axis) {
    if (from.shape[axis] == 1) continue;
    old_shape.push_back(from.shape[axis]);
    old_strides.push_back(from.strides[axis]);
  }
  int old_axis = 0, new_axis = 0;
  while (old_axis < old_shape.rank() && new_axis < to.rank()) {
    std::int64_t old_count = old_shape[old_axis], new_count = to[new_axis];
    int old_end = old_axis + 1, new_end = new_axis + 1;
    while (old_count != new_count) {
      if (new_count < old_count) {
        new_count *= to[new_end++];
      } else {
        old_count *= old_shape[old_end++];
      }
    }
    for (int axis = old_axis; axis + 1 < old_end; ++axis) {
      if (old_strides[axis] != old_shape[axis + 1] * old_strides[axis + 1]) return false;
    }
    std::int64_t step = old_strides[old_end - 1];
    for (int axis = new_end - 1; axis >= new_axis; --axis) {
      strides[axis] = step;
      step *= to[axis];
    }
    old_axis = old_end;
    new_axis = new_end;
  }
  for (; new_axis < to.rank(); ++new_axis) strides[new_axis] = 1;  // only ones are left
  return true;
}

constinit const OpDef kReshape{
    .name = "reshape",
    .infer = [](Infer& infer) { infer.result(infer.attrs.as<ShapeAttrs>().shape, infer.dtype(0)); },
    .tfjs = "Reshape",
    .view =
        [](const Layout& in, AttrsRef, Layout& out) {
          out.offset = in.offset;
          if (in.contiguous) return true;
          Strides strides;
          if (!reshape_strides(in, out.shape, strides)) {
            out.offset = 0;
            return false;
          }
          out.strides = std::move(strides);
          return true;
        },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return reshape(g.dy(), g.x_shape()); }};

void settle_order(const char* op, std::span<const Tensor> in, void* attrs) {
  Axes& axes = static_cast<PermuteAttrs*>(attrs)->axes;
  const Shape& shape = in[0].shape();
  if (axes.rank() != shape.rank() || normal_axes(op, axes, shape).rank() != shape.rank()) {
    raise<ShapeError>("{}: {} does not order the axes of {}", op, axes, shape);
  }
  for (std::int64_t& axis : axes) axis = normal_axis(op, axis, shape);
}

constinit const OpDef kTranspose{.name = "transpose",
                                 .infer =
                                     [](Infer& infer) {
                                       const Axes& axes = infer.attrs.as<PermuteAttrs>().axes;
                                       Shape shape = infer.shape(0);
                                       for (int i = 0; i < axes.rank(); ++i)
                                         shape[i] = infer.shape(0)[static_cast<int>(axes[i])];
                                       infer.result(std::move(shape), infer.dtype(0));
                                     },
                                 .tfjs = "Transpose(perm=axes)",
                                 .takes = Takes::anything,
                                 .attrs = &kAttrs<PermuteAttrs>,
                                 .settle = settle_order,
                                 .view =
                                     [](const Layout& in, AttrsRef attrs, Layout& out) {
                                       const Axes& axes = attrs.as<PermuteAttrs>().axes;
                                       out.offset = in.offset;
                                       for (int i = 0; i < axes.rank(); ++i) {
                                         out.strides[i] = in.strides[static_cast<int>(axes[i])];
                                       }
                                       return true;
                                     },
                                 .grad_keeps = kNothing,
                                 .grad = [](GradContext& g) -> Grads {
                                   const Axes& axes = g.attrs_as<PermuteAttrs>().axes;
                                   Axes inverse = axes;
                                   for (int i = 0; i < axes.rank(); ++i)
                                     inverse[static_cast<int>(axes[i])] = i;
                                   return transpose(g.dy(), inverse);
                                 }};

extern constinit const OpDef kUnslice;
extern constinit const OpDef kAddSlice;

UnsliceAttrs unslice_attrs(const GradContext& g) {
  const auto& slice = g.attrs_as<SliceAttrs>();
  return {g.x_shape(), slice.begin, slice.step};
}

void settle_slice(const char* op, std::span<const Tensor> in, void* attrs) {
  auto& [begin, size, step] = *static_cast<SliceAttrs*>(attrs);
  const Shape& shape = in[0].shape();
  const int rank = shape.rank();
  if (begin.rank() != rank || size.rank() != rank || step.rank() != rank) {
    raise<ShapeError>("{}: begin {}, size {} and step {} must each have {} entries for {}", op,
                      begin, size, step, rank, shape);
  }
  const SliceAttrs asked{begin, size, step};
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t dim = shape[axis], by = step[axis];
    std::int64_t& first = begin[axis];
    if (first < 0) first += dim;
    const bool in_range = by != 0 && first >= 0 && first <= dim;
    std::int64_t room = 0;
    if (in_range && by > 0 && first < dim) room = (dim - first - 1) / by + 1;
    if (in_range && by < 0 && first < dim) room = 1 - first / by;
    if (in_range && size[axis] == -1) size[axis] = room;
    if (!in_range || size[axis] < 0 || size[axis] > room) {
      raise<ShapeError>("{}: begin {}, size {}, step {} do not fit {} on axis {}", op, asked.begin,
                        asked.size, step, shape, axis);
    }
  }
}

constinit const OpDef kSlice{
    .name = "slice",
    .infer =
        [](Infer& infer) {
          const auto& slice = infer.attrs.as<SliceAttrs>();
          for (int axis = 0; axis < slice.size.rank(); ++axis) {
            const std::int64_t first = slice.begin[axis];
            const std::int64_t last =
                count_sum(first, count_product(slice.size[axis] - 1, slice.step[axis]));
            const std::int64_t dim = infer.shape(0)[axis];
            const bool fits = first >= 0 && first < dim && last >= 0 && last < dim;
            if (slice.size[axis] == 0 || (slice.size[axis] > 0 && fits)) continue;
            raise<ShapeError>("{}: begin {}, size {}, step {} do not fit {} on axis {}", infer.op,
                              slice.begin, slice.size, slice.step, infer.shape(0), axis);
          }
          infer.result(slice.size, infer.dtype(0));
        },
    .tfjs = "Slice",
    .takes = Takes::anything,
    .attrs = &kAttrs<SliceAttrs>,
    .settle = settle_slice,
    .view =
        [](const Layout& in, AttrsRef attrs, Layout& out) {
          const auto& slice = attrs.as<SliceAttrs>();
          out.offset = in.offset;
          for (int axis = 0; axis < in.shape.rank(); ++axis) {
            if (slice.size[axis] > 0) out.offset += slice.begin[axis] * in.strides[axis];
            out.strides[axis] = in.strides[axis];
            if (slice.size[axis] > 1) out.strides[axis] *= slice.step[axis];
          }
          return true;
        },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const UnsliceAttrs attrs = unslice_attrs(g);
      return apply(kUnslice, g.dy(), ref(attrs));
    },
    .add_grad =
        [](GradContext& g, Tensor sum) {
          const UnsliceAttrs attrs = unslice_attrs(g);
          return apply(kAddSlice, ref(attrs), std::source_location::current(), std::move(sum),
                       g.dy());
        }};

constinit const OpDef kUnslice{
    .name = "unslice",
    .infer =
        [](Infer& infer) { infer.result(infer.attrs.as<UnsliceAttrs>().shape, infer.dtype(0)); },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<UnsliceAttrs>();
      return slice(g.dy(), attrs.begin, g.x_shape(), attrs.step);
    }};

// The first input plus what unslice would make of the second.
constinit const OpDef kAddSlice{
    .name = "add_slice",
    .infer = [](Infer& infer) { infer.result(infer.shape(0), infer.dtype(0)); },
    .inputs = 2,
    .may_overwrite = input(0),
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<UnsliceAttrs>();
      Tensor part;
      if (g.needs(1)) part = slice(g.dy(), attrs.begin, g.x_shape(1), attrs.step);
      return {g.dy(), std::move(part)};
    }};

constinit const OpDef kBroadcastTo{
    .name = "broadcast_to",
    .infer =
        [](Infer& infer) {
          const Shape& shape = infer.attrs.as<ShapeAttrs>().shape;
          if (broadcast_shapes(infer.op, infer.shape(0), shape) != shape) {
            raise<ShapeError>("broadcast_to: {} does not broadcast to {}", infer.shape(0), shape);
          }
          infer.result(shape, infer.dtype(0));
        },
    .tfjs = "BroadcastTo",
    .takes = Takes::anything,
    .attrs = &kAttrs<ShapeAttrs>,
    .view =
        [](const Layout& in, AttrsRef, Layout& out) {
          out.offset = in.offset;
          const int extra = out.shape.rank() - in.shape.rank();
          for (int axis = 0; axis < out.shape.rank(); ++axis) {
            const bool advances = axis >= extra && in.shape[axis - extra] == out.shape[axis];
            out.strides[axis] = advances ? in.strides[axis - extra] : 0;
          }
          return true;
        },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads { return unbroadcast(g.dy(), g.x_shape()); }};

bool same_layout(const Layout& in, AttrsRef, Layout& out) {
  out.strides = in.strides;
  out.offset = in.offset;
  return true;
}

constinit const OpDef kClone{.name = "clone",
                             .infer = same_shape,
                             .tfjs = "Identity",
                             .view = same_layout,
                             .same_value = true,
                             .no_gradient = "it is the same value"};

constinit const OpDef kStopGradient{.name = "stop_gradient",
                                    .infer = same_shape,
                                    .view = same_layout,
                                    .no_gradient = "that is its purpose"};

Tensor reshaped(const char* name, Arg& x, const Shape& shape) {
  const detail::UserLine site(x.site());
  const detail::CallScope call(name, site);
  const ShapeAttrs attrs{shape};
  return apply(kReshape, ref(attrs), site, as_tensor(name, std::move(x)));
}

}  // namespace

constinit const OpDef kCopy{.name = "copy",
                            .infer = same_shape,
                            .same_value = true,
                            .accepts = Accepts::any,
                            .no_gradient = "it is the same value"};

Family views_ops() {
  static constexpr const OpDef* ops[] = {&kReshape, &kTranspose,    &kSlice,
                                         &kUnslice, &kAddSlice,     &kBroadcastTo,
                                         &kClone,   &kStopGradient, &kCopy};
  static constexpr Composite composites[] = {
      {"expand_dims", "ExpandDims", "reshape"},
      {"squeeze", nullptr, "reshape"},
      {"contiguous", nullptr, "clone, copy"},
      {"index", nullptr, "slice, reshape"},
      {"strided_slice", "StridedSlice", "slice, reshape"},
      {"reverse", "Reverse", "slice"},
      {"split", "SplitV", "slice"},
      {"unstack", "Unpack", "slice, reshape"},
      {"tile", "Tile", "reshape, broadcast_to"},
      {"meshgrid", nullptr, "reshape, broadcast_to"},
  };
  return {ops, composites};
}

}  // namespace ops

using namespace ops;

Tensor Tensor::clone(std::source_location site) const { return apply(kClone, {}, site, *this); }

Tensor stop_gradient(Arg x) {
  const detail::UserLine site(x.site());
  return apply(kStopGradient, {}, site, as_tensor("stop_gradient", std::move(x)));
}

Tensor contiguous(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("contiguous", site);
  Tensor tensor = as_tensor("contiguous", std::move(x));
  const bool already = detail::checked(tensor, "contiguous").layout.contiguous;
  return apply(already ? kClone : kCopy, {}, site, std::move(tensor));
}

Tensor reshape(Arg x, const Shape& shape) {
  const detail::UserLine line(x.site());
  const Shape from = shape_of("reshape", x);
  const std::int64_t have = from.numel();
  Shape wanted = shape;
  int free_axis = -1;
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1 && free_axis < 0) {
      free_axis = axis;
    } else if (shape[axis] < 0) {
      raise<ShapeError>("reshape: at most one dimension may be -1, none less: {}", shape);
    } else {
      count = count_product(count, shape[axis]);
    }
  }
  if (free_axis >= 0 && count != 0 && have % count == 0) {
    wanted[free_axis] = have / count;
    count = have;
  }
  if (count != have || (free_axis >= 0 && wanted[free_axis] < 0)) {
    raise<ShapeError>("reshape: {} elements do not fill {}: {}", have, shape, from);
  }
  return reshaped("reshape", x, wanted);
}

Tensor expand_dims(Arg x, int axis) {
  const detail::UserLine line(x.site());
  const Shape shape = shape_of("expand_dims", x);
  if (axis < -shape.rank() - 1 || axis > shape.rank()) {
    raise<ShapeError>("expand_dims: axis {} out of range for {}", axis, shape);
  }
  if (axis < 0) axis += shape.rank() + 1;
  Shape wanted;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i == axis) wanted.push_back(1);
    if (i < shape.rank()) wanted.push_back(shape[i]);
  }
  return reshaped("expand_dims", x, wanted);
}

Tensor squeeze(Arg x) {
  const detail::UserLine line(x.site());
  const Shape shape = shape_of("squeeze", x);
  Shape wanted;
  for (const std::int64_t dim : shape) {
    if (dim != 1) wanted.push_back(dim);
  }
  return reshaped("squeeze", x, wanted);
}

Tensor squeeze(Arg x, const Axes& axes) {
  const detail::UserLine line(x.site());
  const Shape shape = shape_of("squeeze", x);
  const Axes drop = normal_axes("squeeze", axes, shape);
  Shape wanted;
  int next = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (next < drop.rank() && drop[next] == axis) {
      if (shape[axis] != 1) raise<ShapeError>("squeeze: axis {} of {} is not 1", axis, shape);
      ++next;
    } else {
      wanted.push_back(shape[axis]);
    }
  }
  return reshaped("squeeze", x, wanted);
}

Tensor transpose(Arg x) {
  const detail::UserLine line(x.site());
  Axes axes = all_axes(shape_of("transpose", x));
  std::reverse(axes.begin(), axes.end());
  return transpose(std::move(x), axes);
}

Tensor transpose(Arg x, const Axes& axes) {
  return call(kTranspose, std::move(x), PermuteAttrs{axes});
}

Tensor slice(Arg x, const Shape& begin, const Shape& size) {
  const detail::UserLine line(x.site());
  return slice(std::move(x), begin, size, Shape::filled(begin.rank(), 1));
}

Tensor slice(Arg x, const Shape& begin, const Shape& size, const Shape& step) {
  return call(kSlice, std::move(x), SliceAttrs{begin, size, step});
}

Tensor Tensor::operator[](Index index) const {
  const detail::CallScope call("index", index.site);
  const Shape dims = detail::checked(*this, "index").layout.shape;
  if (dims.rank() == 0) raise<ShapeError>("index: a scalar has no elements to index");
  const std::int64_t at = index.value < 0 ? index.value + dims[0] : index.value;
  if (at < 0 || at >= dims[0]) {
    raise<ShapeError>("index: {} out of range for {}", index.value, dims);
  }
  Shape begin = Shape::filled(dims.rank(), 0);
  Shape size = dims;
  begin[0] = at;
  size[0] = 1;
  return reshape(slice(*this, begin, size), Shape(dims.dims().subspan(1)));
}

Tensor broadcast_to(Arg x, const Shape& shape) {
  return call(kBroadcastTo, std::move(x), ShapeAttrs{shape});
}

}  // namespace tenure
