// Non-maximum suppression.
#include <algorithm>
#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/differentiate.h"
#include "ops/families.h"
#include "ops/image_attrs.h"
#include "ops/promote.h"
#include "ops/shapes.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/image.h"
#include "tenure/indexing.h"

namespace tenure {
namespace ops {
namespace {

constexpr const char* kChoice = "a choice of boxes changes only in steps";

constinit const OpDef kSuppression{
    .name = "non_max_suppression",
    .infer = [](Infer& infer) { infer.result({infer.measured(0)}, DType::int32); },
    .inputs = 2,
    .tfjs = "NonMaxSuppressionV3",
    .dynamic_sizes = 1,
    .no_gradient = kChoice};

// How much each of some boxes has of each other: the intersection over the union, [count, count].
Tensor overlaps(const Tensor& boxes) {
  const std::int64_t count = boxes.shape()[0];
  struct Side {
    Tensor length, shared;
  };
  const auto side = [&](int axis) -> Side {
    const Tensor one = slice(boxes, {0, axis}, {count, 1});
    const Tensor other = slice(boxes, {0, axis + 2}, {count, 1});
    const Tensor low = minimum(one, other), high = maximum(one, other);
    return {high - low, relu(minimum(high, transpose(high)) - maximum(low, transpose(low)))};
  };
  const Side vertical = side(0), horizontal = side(1);
  const Tensor area = vertical.length * horizontal.length;
  const Tensor both = vertical.shared * horizontal.shared;
  const Tensor all = area + transpose(area) - both;
  const Tensor real = greater(minimum(area, transpose(area)), 0);
  return where(real, both / where(real, all, 1), 0);
}

// The scores of the boxes chosen, each lowered by how much it overlaps those chosen before it.
Tensor chosen_scores(const SuppressionAttrs& attrs, const Tensor& boxes, const Tensor& scores,
                     const Tensor& chosen) {
  Tensor kept = gather(scores, chosen);
  if (attrs.soft_nms_sigma == 0) return kept;
  const Tensor place = arange(0, chosen.numel(), 1, DType::int32);
  const Tensor before = greater(reshape(place, {-1, 1}), reshape(place, {1, -1}));
  const Tensor overlap = where(before, overlaps(gather(boxes, chosen)), 0);
  return std::move(kept) * exp(sum(square(overlap), {1}) * (-0.5 / attrs.soft_nms_sigma));
}

constinit const OpDef kSuppressionWithScore{
    .name = "non_max_suppression_with_score",
    .infer =
        [](Infer& infer) {
          infer.result({infer.measured(0)}, DType::int32);
          infer.result({infer.measured(0)}, infer.dtype(1), 1);
        },
    .inputs = 2,
    .outputs = 2,
    .tfjs = "NonMaxSuppressionV5",
    .dynamic_sizes = 1,
    .grad_keeps = kInput0 | kInput1 | kOutput,
    .grad = [](GradContext& g) -> Grads {
      const auto& attrs = g.attrs_as<SuppressionAttrs>();
      const Tensor chosen = g.y(0);
      return differentiate(g, [&](const std::vector<Tensor>& in) {
        return std::vector{Tensor(), chosen_scores(attrs, in[0], in[1], chosen)};
      });
    }};

constinit const OpDef kSuppressionPadded{
    .name = "non_max_suppression_padded",
    .infer =
        [](Infer& infer) {
          const std::int64_t most = infer.attrs.as<SuppressionAttrs>().max_output_size;
          if (most > infer.shape(0)[0]) {
            raise<ShapeError>("{}: {} of {} boxes", infer.op, most, infer.shape(0)[0]);
          }
          infer.result({most}, DType::int32);
          infer.result({}, DType::int32, 1);
        },
    .inputs = 2,
    .outputs = 2,
    .tfjs = "NonMaxSuppressionV4",
    .no_gradient = kChoice};

// Boxes and scores of one floating dtype, and attributes for them.
struct Operands {
  std::source_location site;
  std::array<Tensor, 2> in;
  SuppressionAttrs attrs;

  Operands(const char* op, Arg& boxes, Arg& scores, std::int64_t max_output_size, double iou,
           double score, double sigma = 0)
      : site(boxes.site()) {
    const detail::UserLine line(site);
    unify(op, std::array{&boxes, &scores}, in, true);
    for (int i = 0; i < 2; ++i) {
      Tensor& operand = in[static_cast<std::size_t>(i)];
      if (!is_floating(operand.dtype())) {
        operand = operand_as(op, i, std::move(operand), DType::float32, site);
      }
    }
    const Shape& all = in[0].shape();
    if (all.rank() != 2 || all[1] != 4 || in[1].rank() != 1 || in[1].shape()[0] != all[0]) {
      raise<ShapeError>("{}: boxes are [count, 4] and scores [count]: {} and {}", op, all,
                        in[1].shape());
    }
    check_indexable(op, all[0], all);
    if (max_output_size < 0) {
      raise<ValueError>("{}: max_output_size must not be negative: {}", op, max_output_size);
    }
    if (!(iou >= 0 && iou <= 1)) {
      raise<ValueError>("{}: iou_threshold must lie between 0 and 1: {}", op, iou);
    }
    if (!(sigma >= 0 && sigma <= 1)) {
      raise<ValueError>("{}: soft_nms_sigma must lie between 0 and 1: {}", op, sigma);
    }
    attrs = {std::min(max_output_size, all[0]), iou, score, sigma};
  }
};

}  // namespace

Family boxes_ops() {
  static constexpr const OpDef* ops[] = {&kSuppression, &kSuppressionWithScore,
                                         &kSuppressionPadded};
  return ops;
}

}  // namespace ops

namespace image {

using namespace ops;

Tensor non_max_suppression(Arg boxes, Arg scores, std::int64_t max_output_size,
                           SuppressionOptions options) {
  Operands operands("non_max_suppression", boxes, scores, max_output_size, options.iou_threshold,
                    options.score_threshold);
  Tensor out;
  apply_into(kSuppression, operands.in, ref(operands.attrs), operands.site, {&out, 1});
  return out;
}

ScoredSuppression non_max_suppression_with_score(Arg boxes, Arg scores,
                                                 std::int64_t max_output_size,
                                                 SoftSuppressionOptions options) {
  Operands operands("non_max_suppression_with_score", boxes, scores, max_output_size,
                    options.iou_threshold, options.score_threshold, options.soft_nms_sigma);
  std::array<Tensor, 2> out;
  apply_into(kSuppressionWithScore, operands.in, ref(operands.attrs), operands.site, out);
  return {std::move(out[0]), std::move(out[1])};
}

PaddedSuppression non_max_suppression_padded(Arg boxes, Arg scores, std::int64_t max_output_size,
                                             PaddedSuppressionOptions options) {
  const char* op = "non_max_suppression_padded";
  Operands operands(op, boxes, scores, max_output_size, options.iou_threshold,
                    options.score_threshold);
  const detail::CallScope call(op, operands.site);
  std::array<Tensor, 2> out;
  if (options.pad_to_max_output_size) {
    apply_into(kSuppressionPadded, operands.in, ref(operands.attrs), operands.site, out);
  } else {
    apply_into(kSuppression, operands.in, ref(operands.attrs), operands.site, {&out[0], 1});
    out[1] = tensor(static_cast<std::int32_t>(out[0].numel()), operands.site);
  }
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace image
}  // namespace tenure
