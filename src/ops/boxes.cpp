// Non-maximum suppression.
#include <algorithm>
#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/call.h"
#include "ops/differentiate.h"
#include "ops/families.h"
#include "ops/image_attrs.h"
#include "ops/shapes.h"
#include "tenure/create.h"
#include "tenure/image.h"
#include "tenure/indexing.h"

namespace tenure {
namespace ops {
namespace {

constexpr const char* kChoice = "a choice of boxes changes only in steps";

void settle(const char* op, std::span<const Tensor> in, void* attrs) {
  auto& [most, overlap, least, sigma] = *static_cast<SuppressionAttrs*>(attrs);
  const Shape &boxes = in[0].shape(), &scores = in[1].shape();
  if (boxes.rank() != 2 || boxes[1] != 4 || scores.rank() != 1 || scores[0] != boxes[0]) {
    raise<ShapeError>("{}: boxes are [count, 4] and scores [count]: {} and {}", op, boxes, scores);
  }
  check_indexable(op, boxes[0], boxes);
  if (most < 0) raise<ValueError>("{}: max_output_size must not be negative: {}", op, most);
  if (!(overlap >= 0 && overlap <= 1)) {
    raise<ValueError>("{}: iou_threshold must lie between 0 and 1: {}", op, overlap);
  }
  if (!(sigma >= 0 && sigma <= 1)) {
    raise<ValueError>("{}: soft_nms_sigma must lie between 0 and 1: {}", op, sigma);
  }
  most = std::min(most, boxes[0]);
}

constinit const OpDef kSuppression{
    .name = "non_max_suppression",
    .infer = [](Infer& infer) { infer.result({infer.measured(0)}, DType::int32); },
    .inputs = 2,
    .tfjs = "NonMaxSuppressionV3(boxes, scores)",
    .takes = Takes::floats,
    .attrs = &kAttrs<SuppressionAttrs>,
    .settle = settle,
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
    .tfjs = "NonMaxSuppressionV5(boxes, scores)",
    .takes = Takes::floats,
    .attrs = &kAttrs<SuppressionAttrs>,
    .settle = settle,
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
    .tfjs = "NonMaxSuppressionV4(boxes, scores)",
    .takes = Takes::floats,
    .attrs = &kAttrs<SuppressionAttrs>,
    .settle = settle,
    .no_gradient = kChoice};

}  // namespace

Family boxes_ops() {
  static constexpr const OpDef* ops[] = {&kSuppression, &kSuppressionWithScore,
                                         &kSuppressionPadded};
  return ops;
}

}  // namespace ops

namespace image {

using namespace ops;

namespace {

// Runs an op of the family on boxes and scores as a user wrote them; errors name what was called.
void suppress(const OpDef& op, const OpDef& called, Arg& boxes, Arg& scores, SuppressionAttrs attrs,
              std::span<Tensor> out) {
  const detail::UserLine site(boxes.site());
  std::array<Tensor, 2> in;
  take(called, std::array{&boxes, &scores}, in);
  called.settle(called.name, in, &attrs);
  apply_into(op, in, ref(attrs), site, out);
}

}  // namespace

Tensor non_max_suppression(Arg boxes, Arg scores, std::int64_t max_output_size,
                           SuppressionOptions options) {
  Tensor out;
  suppress(kSuppression, kSuppression, boxes, scores,
           {max_output_size, options.iou_threshold, options.score_threshold, 0}, {&out, 1});
  return out;
}

ScoredSuppression non_max_suppression_with_score(Arg boxes, Arg scores,
                                                 std::int64_t max_output_size,
                                                 SoftSuppressionOptions options) {
  std::array<Tensor, 2> out;
  suppress(
      kSuppressionWithScore, kSuppressionWithScore, boxes, scores,
      {max_output_size, options.iou_threshold, options.score_threshold, options.soft_nms_sigma},
      out);
  return {std::move(out[0]), std::move(out[1])};
}

PaddedSuppression non_max_suppression_padded(Arg boxes, Arg scores, std::int64_t max_output_size,
                                             PaddedSuppressionOptions options) {
  const std::source_location site = boxes.site();
  const detail::CallScope call(kSuppressionPadded.name, site);
  const SuppressionAttrs attrs{max_output_size, options.iou_threshold, options.score_threshold, 0};
  std::array<Tensor, 2> out;
  if (options.pad_to_max_output_size) {
    suppress(kSuppressionPadded, kSuppressionPadded, boxes, scores, attrs, out);
  } else {
    suppress(kSuppression, kSuppressionPadded, boxes, scores, attrs, {&out[0], 1});
    out[1] = tensor(static_cast<std::int32_t>(out[0].numel()), site);
  }
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace image
}  // namespace tenure
