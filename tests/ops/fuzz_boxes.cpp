#include "fuzz.h"
#include "reference_image.h"

namespace tenure::testing {
namespace {

enum class Result { indices, soft_indices, soft_scores, padded, count };

Fuzz fuzz(const char* name, const char* op, Result result) {
  return {name, {op}, [=](Dice& dice) {
            const DType dtype = dice.pick(kFloats);
            Shape boxes{dice.in(0, 12), 4};
            Shape scores{boxes[0]};
            std::int64_t most = dice.in(0, 14);
            double iou = static_cast<double>(dice.in(1, 9)) / 10 + 0.012;
            double sigma = dice.chance(0.5) ? 0 : static_cast<double>(dice.in(1, 9)) / 10;
            const double least = dice.chance(0.5) ? -INFINITY : 0.25;
            const bool soft = result == Result::soft_indices || result == Result::soft_scores;
            if (!soft) sigma = 0;
            Trial trial;
            const std::string prefix = std::string(op) + ": ";
            if (dice.chance(0.15)) {
              switch (dice.in(0, soft ? 3 : 2)) {
                case 0:
                  if (dice.chance(0.5))
                    boxes[1] = 3;
                  else
                    scores[0] += 1;
                  trial.complaint = {prefix + "boxes are", to_string(boxes), to_string(scores)};
                  break;
                case 1:
                  most = -3;
                  trial.complaint = {prefix + "max_output_size", "-3"};
                  break;
                case 2:
                  iou = dice.chance(0.5) ? 1.5 : -0.5;
                  trial.complaint = {prefix + "iou_threshold", iou < 0 ? "-0.5" : "1.5"};
                  break;
                default:
                  sigma = 2.5;
                  trial.complaint = {prefix + "soft_nms_sigma", "2.5"};
                  break;
              }
            }
            trial.inputs = {drawn(dice, boxes, dtype, {.low = 0, .high = 3}),
                            drawn(dice, scores, dtype, {.low = 0, .high = 1})};
            trial.run = [=](Tensors in) {
              if (result == Result::indices) {
                return image::non_max_suppression(OP_IN(0), OP_IN(1), most,
                                                  {.iou_threshold = iou, .score_threshold = least});
              }
              if (soft) {
                auto [indices, values] = image::non_max_suppression_with_score(
                    OP_IN(0), OP_IN(1), most,
                    {.iou_threshold = iou, .score_threshold = least, .soft_nms_sigma = sigma});
                return result == Result::soft_scores ? values : indices;
              }
              auto [indices, count] = image::non_max_suppression_padded(
                  OP_IN(0), OP_IN(1), most,
                  {.iou_threshold = iou,
                   .score_threshold = least,
                   .pad_to_max_output_size = result == Result::padded});
              return result == Result::padded ? indices : count;
            };
            trial.expect = [=](const Arrays& in) -> Array {
              Suppressed chosen = suppressed(in[0], in[1], most, iou, least, sigma);
              std::vector<double>& values =
                  result == Result::soft_scores ? chosen.scores : chosen.indices;
              if (result == Result::count) return {{}, {static_cast<double>(values.size())}};
              if (result == Result::padded) {
                values.resize(static_cast<std::size_t>(std::min(most, boxes[0])));
              }
              return {{static_cast<std::int64_t>(values.size())}, values};
            };
            trial.result = result == Result::soft_scores ? dtype : DType::int32;
            trial.tolerance = {.ulps = 2};
            return trial;
          }};
}

}  // namespace

std::vector<Fuzz> boxes_fuzz() {
  return {fuzz("non_max_suppression", "non_max_suppression", Result::indices),
          fuzz("soft_non_max_suppression", "non_max_suppression_with_score", Result::soft_indices),
          fuzz("soft_non_max_suppression_scores", "non_max_suppression_with_score",
               Result::soft_scores),
          fuzz("non_max_suppression_padded", "non_max_suppression_padded", Result::padded),
          fuzz("non_max_suppression_count", "non_max_suppression_padded", Result::count)};
}

}  // namespace tenure::testing
