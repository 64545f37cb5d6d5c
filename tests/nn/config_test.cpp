// Settings as JSON: what is wrong in a file is named by owner and field, and what is written keeps
// the order of its keys.
#include "nn/config.h"

#include <nlohmann/json.hpp>

#include "support/expect.h"
#include "tenure/nn/losses.h"
#include "tenure/nn/metrics.h"
#include "tenure/nn/optimizers.h"

namespace tenure::testing {
namespace {

using nn::detail::Json;

template <class F>
std::string complaint(F from, const char* json) {
  return message_of<ValueError>([&] { from(Json::parse(json)); });
}

TEST(Config, a_wrong_setting_is_named_by_owner_and_field) {
  using namespace nn::detail;
  EXPECT_HAS(complaint(loss_from_json, R"({"class_name": "Huber", "config": {"delta": "one"}})"),
             "Huber: delta should be a number: \"one\"");
  EXPECT_HAS(
      complaint(loss_from_json, R"({"class_name": "Poisson", "config": {"reduction": "median"}})"),
      "Poisson: reduction: no such one: \"median\" (there are: sum_over_batch_size, sum, ");
  EXPECT_HAS(complaint(metric_from_json, R"({"class_name": "AUC", "config": {"curve": "ROT"}})"),
             "AUC: curve: no such one: \"ROT\" (there are: ROC, PR)");
  EXPECT_HAS(
      complaint(metric_from_json, R"({"class_name": "Precision", "config": {"thresholds": []}})"),
      "Precision: thresholds should be a number or a list of numbers: []");
  EXPECT_HAS(complaint(optimizer_from_json, R"({"class_name": "SGD", "config": {"nesterov": 1}})"),
             "SGD: nesterov should be true or false: 1");
  EXPECT_HAS(complaint(schedule_from_json,
                       R"({"class_name": "CosineDecay", "config": {"decay_steps": 9}})"),
             "CosineDecay: has no initial_learning_rate");
  const auto dense = [](const Json& config) { layer_from_json("Dense", config); };
  EXPECT_HAS(complaint(dense, R"({"name": "d", "units": 1.5})"),
             "d: units should be a whole number: 1.5");
  EXPECT_HAS(complaint(dense, R"({"name": 7, "units": 1})"), "Dense: name should be text: 7");
  EXPECT_HAS(complaint(dense, R"({"name": "d", "units": 1, "kernel_initializer":
                                {"class_name": "RandomNormal", "config": {"stddev": "wide"}}})"),
             "d: kernel_initializer: stddev should be a number: \"wide\"");
}

TEST(Config, null_is_none_where_there_is_a_none_and_else_the_default) {
  using namespace nn::detail;
  const auto loss = [](const char* config) {
    return loss_from_json({{"class_name", "Hinge"}, {"config", Json::parse(config)}}).reduction();
  };
  EXPECT_EQ(loss(R"({"reduction": null})"), nn::Reduction::none);
  EXPECT_EQ(loss(R"({"reduction": "auto"})"), nn::Reduction::sum_over_batch_size);
  EXPECT_EQ(loss("{}"), nn::Reduction::sum_over_batch_size);
  const nn::Metric auc = metric_from_json(
      Json::parse(R"({"class_name": "AUC", "config": {"curve": null, "thresholds": 0.5}})"));
  EXPECT_HAS(auc.config(), R"("curve":"ROC")");
  EXPECT_HAS(auc.config(), R"("thresholds":[0.5])");
}

TEST(Config, settings_are_written_in_one_order) {
  EXPECT_EQ(nn::AUC({.name = "a"}).config(),
            R"({"name":"a","dtype":"float32","num_thresholds":200,"curve":"ROC",)"
            R"("summation_method":"interpolation","multi_label":false,"num_labels":null,)"
            R"("label_weights":null,"thresholds":null,"from_logits":false})");
  EXPECT_EQ(nn::Huber({.delta = 2}).config(),
            R"({"name":"huber","reduction":"sum_over_batch_size","delta":2.0})");
  EXPECT_EQ(
      nn::SGD({.learning_rate = 0.5, .nesterov = true}).config(),
      R"({"name":"SGD","weight_decay":null,"clipnorm":null,"global_clipnorm":null,)"
      R"("clipvalue":null,"use_ema":false,"ema_momentum":0.99,"ema_overwrite_frequency":null,)"
      R"("momentum":0.0,"nesterov":true,"learning_rate":0.5})");
  EXPECT_EQ(nn::CosineDecay({}).config(),
            R"({"initial_learning_rate":0.1,"decay_steps":1.0,"alpha":0.0,)"
            R"("warmup_target":null,"warmup_steps":0.0,"name":null})");
  EXPECT_EQ(nn::RandomNormal({.seed = 7}).config(), R"({"mean":0.0,"stddev":0.05,"seed":7})");
  EXPECT_EQ(nn::MaxNorm(3, 1).config(), R"({"max_value":3.0,"axis":1})");
}

}  // namespace
}  // namespace tenure::testing
