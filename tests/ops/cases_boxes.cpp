#include "case.h"
#include "reference_image.h"

namespace tenure::testing {
namespace {

Array line(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {{count}, std::move(values)};
}

}  // namespace

std::vector<Case> boxes_cases() {
  std::vector<Case> cases;
  for (const std::int64_t most : {3, 100}) {
    const Case common{.name = "",
                      .ops = {"non_max_suppression"},
                      .run = {},
                      .inputs = {{.low = 0, .high = 4}, {.low = 0, .high = 1, .least = 0}},
                      .shapes = {{{7, 4}, {7}}, {{1, 4}, {1}}, {{0, 4}, {0}}},
                      .value_shapes = {{{120, 4}, {120}}},
                      .tolerance = {.ulps = 2},
                      .differentiable = false};
    const auto chosen = [=](const Arrays& in, double sigma) {
      return suppressed(in[0], in[1], most, 0.4, 0.1, sigma);
    };
    const std::string suffix = "_of_" + std::to_string(most);
    Case row = common;
    row.name = "non_max_suppression" + suffix;
    row.run = [=](Tensors in, DType) {
      return image::non_max_suppression(OP_IN(0), OP_IN(1), most,
                                        {.iou_threshold = 0.4, .score_threshold = 0.1});
    };
    row.reference = [=](const Arrays& in) { return line(chosen(in, 0).indices); };
    row.result = int32_dtype;
    row.error_name = "non_max_suppression";
    cases.push_back(row);

    struct Scored {
      const char* name;
      bool scores;
      double sigma;
    };
    for (const auto [name, scores, sigma] : {Scored{"soft_non_max_suppression", false, 0.5},
                                             Scored{"soft_non_max_suppression_scores", true, 0.5},
                                             Scored{"non_max_suppression_scores", true, 0}}) {
      row = common;
      row.name = name + suffix;
      row.ops = {"non_max_suppression_with_score"};
      row.run = [=](Tensors in, DType) {
        auto [indices, values] = image::non_max_suppression_with_score(
            OP_IN(0), OP_IN(1), most,
            {.iou_threshold = 0.4, .score_threshold = 0.1, .soft_nms_sigma = sigma});
        return scores ? values : indices;
      };
      row.reference = [=](const Arrays& in) {
        const Suppressed result = chosen(in, sigma);
        return line(scores ? result.scores : result.indices);
      };
      row.result = scores ? same_dtype : int32_dtype;
      row.differentiable = scores;
      row.error_name = "non_max_suppression_with_score";
      cases.push_back(row);
    }

    for (const bool pad : {false, true}) {
      for (const bool count : {false, true}) {
        row = common;
        row.name = std::string(pad ? "padded" : "unpadded") + "_non_max_suppression" +
                   (count ? "_count" : "") + suffix;
        row.ops = {pad ? "non_max_suppression_padded" : "non_max_suppression"};
        row.run = [=](Tensors in, DType) {
          auto [indices, valid] = image::non_max_suppression_padded(
              OP_IN(0), OP_IN(1), most,
              {.iou_threshold = 0.4, .score_threshold = 0.1, .pad_to_max_output_size = pad});
          return count ? valid : indices;
        };
        row.reference = [=](const Arrays& in) -> Array {
          std::vector<double> indices = chosen(in, 0).indices;
          if (count) return {{}, {static_cast<double>(indices.size())}};
          const auto size = static_cast<std::size_t>(std::min(most, in[0].shape[0]));
          if (pad) indices.resize(size);
          return line(std::move(indices));
        };
        row.result = int32_dtype;
        row.error_name = "non_max_suppression_padded";
        cases.push_back(row);
      }
    }
  }
  return cases;
}

}  // namespace tenure::testing
