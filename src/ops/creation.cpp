#include "ops/creation.h"

#include <algorithm>
#include <cmath>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "tensor/create.h"
#include "tenure/create.h"

namespace tenure {
namespace ops {
namespace {

constexpr const char* kConstant = "it has no inputs";

}  // namespace

constinit const OpDef kFill{.name = "fill",
                            .infer =
                                [](Infer& infer) {
                                  const auto& attrs = infer.attrs.as<FillAttrs>();
                                  infer.result(attrs.shape, attrs.dtype);
                                },
                            .inputs = 0,
                            .tfjs = "Fill",
                            .dispatch_on = OpDef::kOutput0,
                            .no_gradient = kConstant};

namespace {

constinit const OpDef kArange{.name = "arange",
                              .infer =
                                  [](Infer& infer) {
                                    const auto& attrs = infer.attrs.as<RangeAttrs>();
                                    infer.result(Shape{attrs.count}, attrs.dtype);
                                  },
                              .inputs = 0,
                              .tfjs = "Range",
                              .dispatch_on = OpDef::kOutput0,
                              .no_gradient = kConstant};

constinit const OpDef kLinspace{.name = "linspace",
                                .infer =
                                    [](Infer& infer) {
                                      const auto& attrs = infer.attrs.as<LinspaceAttrs>();
                                      infer.result(Shape{attrs.count}, attrs.dtype);
                                    },
                                .inputs = 0,
                                .tfjs = "LinSpace",
                                .dispatch_on = OpDef::kOutput0,
                                .no_gradient = kConstant};

constinit const OpDef kEye{.name = "eye",
                           .infer =
                               [](Infer& infer) {
                                 const auto& attrs = infer.attrs.as<EyeAttrs>();
                                 infer.result(Shape{attrs.rows, attrs.columns}, attrs.dtype);
                               },
                           .inputs = 0,
                           .dispatch_on = OpDef::kOutput0,
                           .no_gradient = kConstant};

constinit const OpDef kBroadcastArgs{
    .name = "broadcast_args",
    .infer =
        [](Infer& infer) {
          const Shape &a = infer.shape(0), &b = infer.shape(1);
          if (a.rank() != 1 || b.rank() != 1) {
            raise<ShapeError>("broadcast_args: shapes are vectors: {} and {}", a, b);
          }
          infer.result(Shape{std::max(a[0], b[0])}, infer.dtype(0));
        },
    .inputs = 2,
    .tfjs = "BroadcastArgs(s0, s1)",
    .takes = Takes::alike,
    .checks_values = true,
    .no_gradient = "shapes are whole numbers"};

Tensor create(const OpDef& op, AttrsRef attrs, std::source_location site) {
  Tensor out;
  apply_into(op, {}, attrs, site, {&out, 1});
  return out;
}

Tensor fill(const char* name, const Shape& shape, const Scalar& value, DType dtype,
            std::source_location site) {
  const detail::CallScope call(name, site);
  detail::check_shape(name, shape, dtype);
  if (!value.fits(dtype)) {
    raise<DtypeError>("{}: {} is not exactly a value of {}", name, value, dtype);
  }
  const FillAttrs attrs{shape, dtype, value};
  return create(kFill, ref(attrs), site);
}

}  // namespace

constexpr Composite kCreationComposites[] = {
    {"zeros", nullptr, "fill"},        {"ones", nullptr, "fill"},
    {"full", nullptr, "fill"},         {"zeros_like", "ZerosLike", "fill"},
    {"ones_like", "OnesLike", "fill"}, {"full_like", nullptr, "fill"},
};

Family creation_ops() {
  static constexpr const OpDef* ops[] = {&kFill, &kArange, &kLinspace, &kEye, &kBroadcastArgs};
  return {ops, kCreationComposites};
}

}  // namespace ops

using namespace ops;

Tensor zeros(const Shape& shape, DType dtype, std::source_location site) {
  return fill("zeros", shape, 0, dtype, site);
}

Tensor ones(const Shape& shape, DType dtype, std::source_location site) {
  return fill("ones", shape, 1, dtype, site);
}

Tensor full(const Shape& shape, Scalar value, std::source_location site) {
  return fill("full", shape, value, value.natural_dtype(), site);
}

Tensor full(const Shape& shape, Scalar value, DType dtype, std::source_location site) {
  return fill("full", shape, value, dtype, site);
}

Tensor zeros_like(const Tensor& like, std::source_location site) {
  const detail::UserLine line(site);
  return fill("zeros_like", like.shape(), 0, like.dtype(), site);
}

Tensor ones_like(const Tensor& like, std::source_location site) {
  const detail::UserLine line(site);
  return fill("ones_like", like.shape(), 1, like.dtype(), site);
}

Tensor full_like(const Tensor& like, Scalar value, std::source_location site) {
  const detail::UserLine line(site);
  return fill("full_like", like.shape(), value, like.dtype(), site);
}

Tensor broadcast_args(const Tensor& a, const Tensor& b, std::source_location site) {
  Arg first(a, site), second(b, site);
  return call(kBroadcastArgs, first, second);
}

Tensor arange(Scalar stop, std::source_location site) { return arange(0, stop, 1, site); }

Tensor arange(Scalar start, Scalar stop, Scalar step, std::source_location site) {
  const DType dtype =
      promote(promote(start.natural_dtype(), stop.natural_dtype()), step.natural_dtype());
  return arange(start, stop, step, dtype, site);
}

Tensor arange(Scalar start, Scalar stop, Scalar step, DType dtype, std::source_location site) {
  const detail::UserLine line(site);
  const double span = stop.to_double() - start.to_double();
  if (step.to_double() == 0 || !std::isfinite(span) || !std::isfinite(step.to_double())) {
    raise<ValueError>("arange: no range from {} to {} by {}", start, stop, step);
  }
  const double count = std::ceil(span / step.to_double());
  if (count > 0x1p62)
    raise<ValueError>("arange: too many values: {} to {} by {}", start, stop, step);
  const RangeAttrs attrs{start, step, count > 0 ? static_cast<std::int64_t>(count) : 0, dtype};
  return create(kArange, ref(attrs), site);
}

Tensor linspace(double start, double stop, std::int64_t count, DType dtype,
                std::source_location site) {
  const detail::UserLine line(site);
  if (count < 0) raise<ValueError>("linspace: a negative count: {}", count);
  const LinspaceAttrs attrs{start, stop, count, dtype};
  return create(kLinspace, ref(attrs), site);
}

Tensor eye(std::int64_t rows, std::int64_t columns, DType dtype, std::source_location site) {
  const detail::UserLine line(site);
  if (columns == -1) columns = rows;
  detail::check_shape("eye", Shape{rows, columns}, dtype);
  const EyeAttrs attrs{rows, columns, dtype};
  return create(kEye, ref(attrs), site);
}

}  // namespace tenure
