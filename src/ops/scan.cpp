// Running sums and products along an axis.
//
// The gradient of a running product must not divide by x, which may be zero. With y[i] the product
// of x[0..i], dx[j] is the product of x before j, times the sum over i >= j of dy[i] times the
// product of x between j and i. The latter obeys s[j] = dy[j] + x[j + 1] s[j + 1]: a first-order
// recurrence, an op of its own whose gradients are recurrences again.
#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/scan_attrs.h"
#include "ops/shapes.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

// Element i becomes what element i - 1 was (i + 1 if `back`); zero comes in at the end.
Tensor shifted(Tensor x, int axis, bool back) {
  const Shape shape = x.shape();
  if (shape[axis] == 0) return x;
  Shape one = shape, rest = shape, begin = Shape::filled(shape.rank(), 0);
  one[axis] = 1;
  rest[axis] -= 1;
  begin[axis] = back ? 1 : 0;
  Tensor zero = zeros(one, x.dtype());
  Tensor kept = slice(std::move(x), begin, rest);
  return back ? concat({std::move(kept), std::move(zero)}, axis)
              : concat({std::move(zero), std::move(kept)}, axis);
}

Tensor recurrence(Tensor factor, Tensor term, RecurrenceAttrs attrs);

// y[i] = term[i] + factor[i] y[i - 1], or with `lagged` term[i] + factor[i - 1] y[i - 1]. The
// gradient of the term runs the other way: t[i] = dy[i] + factor[i + 1] t[i + 1].
constinit const OpDef kRecurrence{
    .name = "recurrence",
    .infer =
        [](Infer& infer) {
          if (infer.shape(0) != infer.shape(1)) {
            raise<ShapeError>("recurrence: factors are {}, terms {}", infer.shape(0),
                              infer.shape(1));
          }
          infer.result(infer.shape(1), infer.dtype(1));
        },
    .inputs = 2,
    .may_overwrite = input(1),
    .grad_keeps = {kInput0 | kOutput, kInput0},
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<RecurrenceAttrs>();
      const RecurrenceAttrs back{attrs.axis, !attrs.reverse, !attrs.lagged};
      Tensor term = recurrence(g.x(0), g.dy(), back);
      Tensor factor;
      if (g.needs(0)) {
        factor = attrs.lagged ? shifted(term, attrs.axis, !attrs.reverse) * g.y()
                              : term * shifted(g.y(), attrs.axis, attrs.reverse);
      }
      return {std::move(factor), std::move(term)};
    }};

Tensor recurrence(Tensor factor, Tensor term, RecurrenceAttrs attrs) {
  return apply(kRecurrence, ref(attrs), std::source_location::current(), std::move(factor),
               std::move(term));
}

constinit const OpDef kCumsum{
    .name = "cumsum",
    .infer = same_shape,
    .tfjs = "Cumsum",
    .may_overwrite = input(0),
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<ScanAttrs>();
      return cumsum(g.dy(), attrs.axis, {.exclusive = attrs.exclusive, .reverse = !attrs.reverse});
    }};

constinit const OpDef kCumprod{.name = "cumprod",
                               .infer = same_shape,
                               .tfjs = "Cumprod",
                               .may_overwrite = input(0),
                               .grad_keeps = kInput,
                               .grad = [](GradContext& g) -> Grads {
                                 const auto& [axis, exclusive, reverse] = g.attrs_as<ScanAttrs>();
                                 Tensor dy = exclusive ? shifted(g.dy(), axis, !reverse) : g.dy();
                                 return recurrence(g.x(), std::move(dy), {axis, !reverse, true}) *
                                        cumprod(g.x(), axis,
                                                {.exclusive = true, .reverse = reverse});
                               }};

Tensor scan(const OpDef& op, Arg& x, int axis, ScanOptions options) {
  const detail::UserLine site(x.site());
  Tensor values = as_number(op.name, std::move(x), true);
  const ScanAttrs attrs{normal_axis(op.name, axis, values.shape()), options.exclusive,
                        options.reverse};
  return apply(op, ref(attrs), site, std::move(values));
}

}  // namespace

Family scan_ops() {
  static constexpr const OpDef* ops[] = {&kCumsum, &kCumprod, &kRecurrence};
  return ops;
}

}  // namespace ops

Tensor cumsum(Arg x, int axis, ScanOptions options) {
  return ops::scan(ops::kCumsum, x, axis, options);
}
Tensor cumprod(Arg x, int axis, ScanOptions options) {
  return ops::scan(ops::kCumprod, x, axis, options);
}

}  // namespace tenure
