// Diagonals, bands and small functions made of products.
#include <algorithm>

#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/families.h"
#include "ops/matrix_attrs.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "ops/shapes.h"
#include "tensor/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

// The axes but two, and the length of the diagonal.
Shape diagonal_shape(const Shape& shape, const DiagonalAttrs& attrs) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis != attrs.axis1 && axis != attrs.axis2) result.push_back(shape[axis]);
  }
  result.push_back(diagonal_length(shape[attrs.axis1], shape[attrs.axis2], attrs.offset));
  return result;
}

extern const OpDef kUndiagonal;

constinit const OpDef kDiagonal{
    .name = "diagonal",
    .infer =
        [](Infer& infer) {
          infer.result(diagonal_shape(infer.shape(0), infer.attrs.as<DiagonalAttrs>()),
                       infer.dtype(0));
        },
    .view =
        [](const Layout& in, AttrsRef ref, Layout& out) {
          const auto& attrs = ref.as<DiagonalAttrs>();
          out.offset = in.offset;
          if (out.shape[-1] > 0) {
            out.offset += attrs.offset >= 0 ? attrs.offset * in.strides[attrs.axis2]
                                            : -attrs.offset * in.strides[attrs.axis1];
          }
          int next = 0;
          for (int axis = 0; axis < in.shape.rank(); ++axis) {
            if (axis != attrs.axis1 && axis != attrs.axis2) out.strides[next++] = in.strides[axis];
          }
          out.strides[next] = in.strides[attrs.axis1] + in.strides[attrs.axis2];
          return true;
        },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<DiagonalAttrs>();
      const UndiagonalAttrs back{g.x_shape(), attrs.offset, attrs.axis1, attrs.axis2};
      return apply(kUndiagonal, g.dy(), ref(back));
    }};

constinit const OpDef kUndiagonal{
    .name = "undiagonal",
    .infer =
        [](Infer& infer) { infer.result(infer.attrs.as<UndiagonalAttrs>().shape, infer.dtype(0)); },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<UndiagonalAttrs>();
      return diagonal(g.dy(), {attrs.offset, attrs.axis1, attrs.axis2});
    }};

void settle_band(const char* op, std::span<const Tensor> in, void* attrs) {
  auto& [lower, upper] = *static_cast<BandAttrs*>(attrs);
  const Shape& shape = in[0].shape();
  if (shape.rank() < 2) raise<ShapeError>("{}: two axes or more are needed: {}", op, shape);
  if (lower > shape[-2]) {
    raise<ShapeError>("{}: {} diagonals below the main one are more than the rows of {}", op, lower,
                      shape);
  }
  if (upper > shape[-1]) {
    raise<ShapeError>("{}: {} diagonals above the main one are more than the columns of {}", op,
                      upper, shape);
  }
  lower = std::max<std::int64_t>(lower, -1);
  upper = std::max<std::int64_t>(upper, -1);
}

constinit const OpDef kBandPart{.name = "band_part",
                                .infer = same_shape,
                                .tfjs = "MatrixBandPart",
                                .takes = Takes::anything,
                                .attrs = &kAttrs<BandAttrs>,
                                .settle = settle_band,
                                .may_overwrite = input(0),
                                .grad_keeps = kNothing,
                                .grad = [](GradContext& g) -> Grads {
                                  const auto& attrs = g.attrs_as<BandAttrs>();
                                  return band_part(g.dy(), attrs.lower, attrs.upper);
                                }};

constexpr Composite kMatrixComposites[] = {
    {"matrix_diag", nullptr, "undiagonal"},
    {"diag", "Diag", "reshape, undiagonal"},
    {"diag_part", nullptr, "reshape, diagonal"},
    {"trace", nullptr, "diagonal, sum"},
    {"matrix_transpose", nullptr, "transpose"},
    {"dot", nullptr, "reshape, matmul"},
    {"outer", nullptr, "reshape, mul"},
    {"gram_schmidt", nullptr, "slice, mul, sum, sub, sqrt, div, concat"},
};

DiagonalAttrs diagonal_attrs(const char* op, const DiagonalOptions& options, const Shape& shape) {
  if (shape.rank() < 2) raise<ShapeError>("{}: two axes or more are needed: {}", op, shape);
  const DiagonalAttrs attrs{options.offset, normal_axis(op, options.axis1, shape),
                            normal_axis(op, options.axis2, shape)};
  if (attrs.axis1 == attrs.axis2) {
    raise<ShapeError>("{}: axes {} and {} of {} are the same", op, options.axis1, options.axis2,
                      shape);
  }
  return attrs;
}

Shape last_axis_twice(const Shape& shape, std::int64_t offset) {
  Shape result = shape;
  result[-1] = count_sum(result[-1], offset < 0 ? count_product(offset, -1) : offset);
  result.push_back(result[-1]);
  return result;
}

// Vectors in the order given, each less what the ones before it have of it.
std::vector<Tensor> orthonormal(std::vector<Tensor> vectors) {
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Tensor& x = vectors[i];
    for (std::size_t j = 0; j < i; ++j) x = x - sum(vectors[j] * x) * vectors[j];
    x = x / sqrt(sum(square(x)));
  }
  return vectors;
}

}  // namespace

Family matrix_ops() {
  static constexpr const OpDef* ops[] = {&kDiagonal, &kUndiagonal, &kBandPart};
  return {ops, kMatrixComposites};
}

}  // namespace ops

using namespace ops;

Tensor diagonal(Arg x, DiagonalOptions options) {
  const detail::UserLine site(x.site());
  Tensor tensor = as_tensor("diagonal", std::move(x));
  const DiagonalAttrs attrs = diagonal_attrs("diagonal", options, tensor.shape());
  return apply(kDiagonal, ref(attrs), site, std::move(tensor));
}

Tensor matrix_diag(Arg x, std::int64_t offset) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("matrix_diag", site);
  Tensor tensor = as_tensor("matrix_diag", std::move(x));
  const Shape& shape = tensor.shape();
  if (shape.rank() == 0) raise<ShapeError>("matrix_diag: one axis or more is needed: {}", shape);
  const UndiagonalAttrs attrs{last_axis_twice(shape, offset), offset, shape.rank() - 1,
                              shape.rank()};
  detail::check_shape("matrix_diag", attrs.shape, tensor.dtype());
  return apply(kUndiagonal, ref(attrs), site, std::move(tensor));
}

Tensor diag(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("diag", site);
  Tensor tensor = as_tensor("diag", std::move(x));
  Shape twice = tensor.shape();
  for (const std::int64_t dim : tensor.shape()) twice.push_back(dim);
  const std::int64_t count = tensor.numel();
  const UndiagonalAttrs attrs{{count, count}, 0, 0, 1};
  detail::check_shape("diag", attrs.shape, tensor.dtype());
  Tensor flat = apply(kUndiagonal, ref(attrs), site, reshape(std::move(tensor), {count}));
  return reshape(std::move(flat), twice);
}

Tensor diag_part(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("diag_part", site);
  Tensor tensor = as_tensor("diag_part", std::move(x));
  const Shape shape = tensor.shape();
  const auto half = static_cast<std::size_t>(shape.rank() / 2);
  const Shape part(shape.dims().first(half));
  if (shape.rank() % 2 != 0 || Shape(shape.dims().subspan(half)) != part) {
    raise<ShapeError>("diag_part: the second half of the axes differs from the first: {}", shape);
  }
  const std::int64_t count = part.numel();
  return reshape(diagonal(reshape(std::move(tensor), {count, count})), part);
}

Tensor trace(Arg x, DiagonalOptions options) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("trace", site);
  Tensor tensor = as_tensor("trace", std::move(x));
  const DiagonalAttrs attrs = diagonal_attrs("trace", options, tensor.shape());
  return sum(Arg(apply(kDiagonal, ref(attrs), site, std::move(tensor)), site), {-1});
}

Tensor band_part(Arg x, std::int64_t lower, std::int64_t upper) {
  return call(kBandPart, std::move(x), BandAttrs{lower, upper});
}

Tensor matrix_transpose(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("matrix_transpose", site);
  Tensor tensor = as_tensor("matrix_transpose", std::move(x));
  const Shape& shape = tensor.shape();
  if (shape.rank() < 2) {
    raise<ShapeError>("matrix_transpose: two axes or more are needed: {}", shape);
  }
  Axes axes = all_axes(shape);
  std::swap(axes[-1], axes[-2]);
  return transpose(Arg(std::move(tensor), site), axes);
}

Tensor dot(Arg a, Arg b) {
  const detail::UserLine site(a.site());
  const detail::CallScope call("dot", site);
  std::array<Tensor, 2> in;
  unify("dot", std::array{&a, &b}, in, true);
  for (int i = 0; i < 2; ++i) check_alive("dot", i, in[static_cast<std::size_t>(i)], site);
  const Shape from_a = in[0].shape(), from_b = in[1].shape();
  const auto is_vector_or_matrix = [](const Shape& shape) {
    return shape.rank() == 1 || shape.rank() == 2;
  };
  if (!is_vector_or_matrix(from_a) || !is_vector_or_matrix(from_b)) {
    raise<ShapeError>("dot: operands must be vectors or matrices: {} and {}", from_a, from_b);
  }
  if (from_a[-1] != from_b[0]) {
    raise<ShapeError>("dot: inner dimensions differ: {} and {}", from_a, from_b);
  }
  Shape result;
  if (from_a.rank() == 2) {
    result.push_back(from_a[0]);
  } else {
    in[0] = reshape(std::move(in[0]), {1, from_a[0]});
  }
  if (from_b.rank() == 2) {
    result.push_back(from_b[1]);
  } else {
    in[1] = reshape(std::move(in[1]), {from_b[0], 1});
  }
  Tensor product = matmul(Arg(std::move(in[0]), site), std::move(in[1]));
  return result.rank() == 2 ? product : reshape(std::move(product), result);
}

Tensor outer(Arg a, Arg b) {
  const detail::UserLine site(a.site());
  const detail::CallScope call("outer", site);
  std::array<Tensor, 2> in;
  unify("outer", std::array{&a, &b}, in, true);
  for (int i = 0; i < 2; ++i) check_alive("outer", i, in[static_cast<std::size_t>(i)], site);
  if (in[0].rank() != 1 || in[1].rank() != 1) {
    raise<ShapeError>("outer: operands must be vectors: {} and {}", in[0].shape(), in[1].shape());
  }
  return mul(Arg(reshape(std::move(in[0]), {-1, 1}), site), std::move(in[1]));
}

Tensor gram_schmidt(Arg x) {
  const detail::UserLine site(x.site());
  const detail::CallScope call("gram_schmidt", site);
  Tensor tensor = as_float("gram_schmidt", std::move(x));
  const Shape shape = tensor.shape();
  if (shape.rank() != 2 || shape[0] > shape[1]) {
    raise<ShapeError>("gram_schmidt: a matrix of no more rows than columns is needed: {}", shape);
  }
  if (shape[0] == 0) return tensor.clone(site);
  const RoundOnce rounded("gram_schmidt", tensor, site);
  std::vector<Tensor> rows;
  rows.reserve(static_cast<std::size_t>(shape[0]));
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    rows.push_back(slice(Arg(tensor, site), {i, 0}, {1, shape[1]}));
  }
  return rounded(concat(orthonormal(std::move(rows)), 0, site));
}

std::vector<Tensor> gram_schmidt(std::vector<Tensor> vectors, std::source_location site) {
  const detail::CallScope call("gram_schmidt", site);
  if (vectors.empty()) raise<ValueError>("gram_schmidt: no vectors");
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    check_alive("gram_schmidt", static_cast<int>(i), vectors[i], site);
    const Shape& shape = vectors[i].shape();
    if (shape.rank() != 1 || shape != vectors[0].shape()) {
      raise<ShapeError>("gram_schmidt: input {} is {}: vectors of one length are needed, as {}", i,
                        shape, vectors[0].shape());
    }
    if (!is_floating(vectors[i].dtype())) {
      vectors[i] = cast(Arg(std::move(vectors[i]), site), DType::float32);
    }
  }
  if (static_cast<std::int64_t>(vectors.size()) > vectors[0].numel()) {
    raise<ShapeError>("gram_schmidt: {} vectors are more than the dimensions of {}", vectors.size(),
                      vectors[0].shape());
  }
  const RoundOnce rounded("gram_schmidt", vectors, site);
  std::vector<Tensor> results = orthonormal(std::move(vectors));
  for (Tensor& result : results) result = rounded(std::move(result));
  return results;
}

}  // namespace tenure
