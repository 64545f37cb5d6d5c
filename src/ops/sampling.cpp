// Drawing from distributions, and counting right answers.
#include <limits>

#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/index_operands.h"
#include "ops/reseed.h"
#include "ops/segment_attrs.h"
#include "ops/shapes.h"
#include "tensor/create.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/metrics.h"
#include "tenure/random.h"
#include "tenure/sparse.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

constinit const OpDef kMultinomial{
    .name = "multinomial",
    .infer =
        [](Infer& infer) {
          const Shape& logits = infer.shape(0);
          if (logits.rank() < 1 || logits.rank() > 2 || logits[-1] == 0) {
            raise<ShapeError>(
                "multinomial: logits of {}: a vector or matrix with at least one class is needed",
                logits);
          }
          Shape shape = logits;
          shape[-1] = infer.attrs.as<MultinomialAttrs>().samples;
          check_indexable(infer.op, logits[-1], logits);
          infer.result(std::move(shape), DType::int32);
        },
    .tfjs = "Multinomial",
    .checks_values = true,
    .no_gradient = "a draw changes only in steps",
    .reseed = reseed<MultinomialAttrs>};

constinit const OpDef kInTopK{
    .name = "in_top_k",
    .infer =
        [](Infer& infer) {
          const Shape &scores = infer.shape(0), &targets = infer.shape(1);
          if (scores.rank() == 0 ||
              targets != Shape(scores.dims().first(static_cast<std::size_t>(scores.rank()) - 1))) {
            raise<ShapeError>("in_top_k: targets of {} for predictions of {}", targets, scores);
          }
          const std::int64_t k = infer.attrs.as<TopAttrs>().k;
          if (k < 1 || k > scores[-1]) {
            raise<ShapeError>("in_top_k: k {} is not between 1 and the classes of {}", k, scores);
          }
          check_index_dtype(infer.op, "targets", infer.dtype(1));
          infer.result(targets, DType::boolean);
        },
    .inputs = 2,
    .no_gradient = "its result changes only in steps"};

constexpr Composite kSamplingComposites[] = {
    {"confusion_matrix", nullptr, "mul, add, less, unsorted_segment_sum, reshape"},
};

// 1 where x is a class.
Tensor is_class(const Tensor& x, std::int64_t classes) {
  return cast(greater_equal(x, 0), DType::int64) * cast(less(x, classes), DType::int64);
}

Tensor confusion(Arg& labels, Arg& predictions, std::int64_t classes, Arg* weights) {
  constexpr const char* kName = "confusion_matrix";
  const detail::UserLine site(labels.site());
  const detail::CallScope call(kName, site);
  Tensor from = tensor_operand(kName, 0, std::move(labels));
  Tensor to = tensor_operand(kName, 1, std::move(predictions));
  if (classes < 1 || classes > std::numeric_limits<std::int32_t>::max()) {
    raise<ShapeError>("confusion_matrix: {} classes", classes);
  }
  if (from.rank() != 1 || from.shape() != to.shape()) {
    raise<ShapeError>(
        "confusion_matrix: labels {} and predictions {} must be vectors of one length",
        from.shape(), to.shape());
  }
  check_index_dtype(kName, "labels", from.dtype());
  check_index_dtype(kName, "predictions", to.dtype());
  Tensor counted = weights != nullptr ? tensor_operand(kName, 2, std::move(*weights))
                                      : ones(from.shape(), DType::int32);
  if (counted.shape() != from.shape()) {
    raise<ShapeError>("confusion_matrix: weights {} for labels {}", counted.shape(), from.shape());
  }
  from = operand_as(kName, 0, std::move(from), DType::int64, site);
  to = operand_as(kName, 1, std::move(to), DType::int64, site);
  // A pair that is out of range becomes -1, which no segment has.
  const Tensor valid = is_class(from, classes) * is_class(to, classes);
  const Tensor cell = (from * classes + to + 1) * valid - 1;
  return reshape(unsorted_segment_sum(std::move(counted), cell, classes * classes),
                 {classes, classes});
}

}  // namespace

Family sampling_ops() {
  static constexpr const OpDef* ops[] = {&kMultinomial, &kInTopK};
  return {ops, kSamplingComposites};
}

}  // namespace ops

using namespace ops;

Tensor confusion_matrix(Arg labels, Arg predictions, std::int64_t classes) {
  return confusion(labels, predictions, classes, nullptr);
}
Tensor confusion_matrix(Arg labels, Arg predictions, std::int64_t classes, Arg weights) {
  return confusion(labels, predictions, classes, &weights);
}

Tensor in_top_k(Arg predictions, Arg targets, std::int64_t k) {
  const detail::UserLine site(predictions.site());
  Tensor scores = as_float("in_top_k", std::move(predictions));
  Tensor which = tensor_operand("in_top_k", 1, std::move(targets));
  return apply(kInTopK, ref(TopAttrs{k}), site, std::move(scores), std::move(which));
}

namespace random {

Tensor multinomial(Arg logits, std::int64_t samples, MultinomialOptions options) {
  const detail::UserLine site(logits.site());
  Tensor x = as_float("multinomial", std::move(logits));
  if (samples < 0) raise<ShapeError>("multinomial: a negative number of samples: {}", samples);
  MultinomialAttrs attrs{samples, options.normalized};
  if (options.seed) {
    attrs.seed = *options.seed;
    attrs.own_seed = true;
  } else {
    detail::RandomState& state = *detail::context().random;
    const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1;
    detail::check_shape("multinomial", {rows, samples}, DType::int32);
    attrs.seed = state.seed.load(std::memory_order_relaxed);
    attrs.offset =
        state.next.fetch_add(static_cast<std::uint64_t>(rows * samples), std::memory_order_relaxed);
  }
  return apply(kMultinomial, ref(attrs), site, std::move(x));
}

}  // namespace random
}  // namespace tenure
