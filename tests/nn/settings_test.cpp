// Settings that can only be mistakes are refused, with their value, on the user's line.
#include <cmath>
#include <functional>

#include "support/expect.h"

namespace tenure::testing {
namespace {

struct Refused {
  std::function<void()> make;
  const char* message;
};

TEST(Settings, that_are_out_of_bounds_are_refused_with_their_value_and_line) {
  const std::vector<Refused> all{
      {[] { nn::SGD({.learning_rate = -1}); }, "optimizer: learning_rate must be at least 0: -1"},
      {[] { nn::Adam({.learning_rate = NAN}); }, "learning_rate must be at least 0: nan"},
      {[] { nn::Adam().set_learning_rate(-2); }, "Adam: learning_rate must be at least 0: -2"},
      {[] { nn::AdamW({.weight_decay = -1}); }, "weight_decay must be at least 0: -1"},
      {[] { nn::Lion({.clipnorm = NAN}); }, "optimizer: clipnorm must be above 0: nan"},
      {[] { nn::Lion({.beta_1 = 2}); }, "Lion: beta_1 must be at least 0 and below 1: 2"},
      {[] { nn::Adam({.epsilon = -1}); }, "Adam: epsilon must be at least 0: -1"},
      {[] { nn::Adamax({.epsilon = -1}); }, "Adamax: epsilon must be at least 0: -1"},
      {[] { nn::Nadam({.epsilon = NAN}); }, "Nadam: epsilon must be at least 0: nan"},
      {[] { nn::Adagrad({.epsilon = -1}); }, "Adagrad: epsilon must be at least 0: -1"},
      {[] { nn::Adadelta({.epsilon = -1}); }, "Adadelta: epsilon must be at least 0: -1"},
      {[] { nn::RMSprop({.epsilon = -1}); }, "RMSprop: epsilon must be at least 0: -1"},
      {[] { nn::RMSprop({.momentum = -1}); }, "RMSprop: momentum must be between 0 and 1: -1"},
      {[] { nn::SGD({.momentum = 2}); }, "SGD: momentum must be between 0 and 1: 2"},
      {[] { nn::EarlyStopping({.patience = -1}); },
       "EarlyStopping: patience must be at least 0: -1"},
      {[] { nn::EarlyStopping({.min_delta = NAN}); }, "min_delta must be at least 0: nan"},
      {[] { nn::EarlyStopping({.start_from_epoch = -3}); },
       "start_from_epoch must be at least 0: -3"},
      {[] { nn::ReduceLROnPlateau({.factor = NAN}); }, "factor must be above 0 and below 1: nan"},
      {[] { nn::ReduceLROnPlateau({.patience = -1}); }, "patience must be at least 0: -1"},
      {[] { nn::ReduceLROnPlateau({.cooldown = -1}); }, "cooldown must be at least 0: -1"},
      {[] { nn::ReduceLROnPlateau({.min_lr = -1}); }, "min_lr must be at least 0: -1"},
      {[] { nn::CSVLogger({}); }, "CSVLogger: filename is empty"},
      {[] { nn::L1(-1); }, "L1: l1 must be at least 0: -1"},
      {[] { nn::L2(-1); }, "L2: l2 must be at least 0: -1"},
      {[] { nn::L1L2(0, NAN); }, "L1L2: l2 must be at least 0: nan"},
      {[] { nn::ActivityRegularization({.l1 = -1}); }, "l1 must be at least 0: -1"},
      {[] { nn::MaxNorm(-1); }, "MaxNorm: max_value must be at least 0: -1"},
      {[] { nn::MinMaxNorm({.min_value = 2}); }, "MinMaxNorm: max_value must be at least 2: 1"},
      {[] { nn::MinMaxNorm({.rate = 2}); }, "MinMaxNorm: rate must be between 0 and 1: 2"},
      {[] { nn::RandomNormal({.stddev = -1}); }, "RandomNormal: stddev must be at least 0: -1"},
      {[] { nn::VarianceScaling({.scale = NAN}); }, "VarianceScaling: scale must be above 0: nan"},
      {[] { nn::CosineDecay({.initial_learning_rate = -1}); },
       "CosineDecay: initial_learning_rate must be at least 0: -1"},
      {[] { nn::CosineDecay({.warmup_target = -1}); }, "warmup_target must be at least 0: -1"},
      {[] { nn::CosineDecay({.warmup_steps = NAN}); }, "warmup_steps must be at least 0: nan"},
      {[] { nn::CosineDecayRestarts({.m_mul = -1}); }, "m_mul must be at least 0: -1"},
      {[] { nn::ExponentialDecay({.decay_rate = -1}); }, "decay_rate must be at least 0: -1"},
      {[] { nn::InverseTimeDecay({.decay_rate = NAN}); }, "decay_rate must be at least 0: nan"},
      {[] { nn::PolynomialDecay({.end_learning_rate = -1}); },
       "end_learning_rate must be at least"},
      {[] { nn::PiecewiseConstantDecay({.values = {-1}}); }, "a value must be at least 0: -1"},
      {[] { nn::Huber({.delta = -1}); }, "Huber: delta must be above 0: -1"},
      {[] { nn::BinaryFocalCrossentropy({.gamma = -1}); }, "gamma must be at least 0: -1"},
      {[] { nn::CategoricalGeneralizedCrossEntropy({.q = 1}); },
       "CategoricalGeneralizedCrossEntropy: q must be above 0 and below 1: 1"},
      {[] { nn::Tversky({.alpha = -1}); }, "Tversky: alpha must be at least 0: -1"},
      {[] { nn::Circle({.gamma = 0}); }, "Circle: gamma must be above 0: 0"},
      {[] { nn::Circle({.margin = 2}); }, "Circle: margin must be between 0 and 1: 2"},
      {[] { nn::Ftrl({.learning_rate_power = 1}); },
       "Ftrl: learning_rate_power must be at most 0: 1"},
      {[] { nn::Ftrl({.beta = NAN}); }, "Ftrl: beta must be at least 0: nan"},
      {[] { nn::Adafactor({.beta_2_decay = 0.8}); },
       "Adafactor: beta_2_decay must be at most 0: 0.8"},
      {[] { nn::Adafactor({.clip_threshold = 0}); },
       "Adafactor: clip_threshold must be above 0: 0"},
      {[] { nn::Lamb({.beta_1 = 1}); }, "Lamb: beta_1 must be at least 0 and below 1: 1"},
      {[] { nn::SensitivityAtSpecificity({}); },
       "SensitivityAtSpecificity: specificity must be between 0 and 1: -1"},
      {[] { nn::RecallAtPrecision({.precision = 0.5, .num_thresholds = 0}); },
       "RecallAtPrecision: num_thresholds must be at least 1: 0"},
      {[] { nn::PrecisionAtRecall({.recall = 0.5, .class_id = -1}); },
       "PrecisionAtRecall: class_id must not be negative: -1"},
      {[] { nn::AUC({.label_weights = {-1}}); }, "AUC: a label weight must be at least 0: -1"},
      {[] { nn::IoU({.num_classes = 2, .target_class_ids = {2}}); },
       "IoU: target_class_ids: there is no class 2 among 2"},
      {[] { nn::OneHotIoU({.num_classes = 2}); }, "OneHotIoU: target_class_ids is empty"},
      {[] { nn::R2Score({.class_aggregation = "mean"}); },
       "R2Score: no such class_aggregation: \"mean\" (there are: uniform_average, "},
      {[] { nn::R2Score({.num_regressors = -1}); }, "num_regressors must be at least 0: -1"},
      {[] { nn::FBetaScore({.beta = NAN}); }, "FBetaScore: beta must be above 0: nan"},
      {[] { nn::TopKCategoricalAccuracy({.k = 0}); }, "k must be positive: 0"},
      {[] { nn::Dropout({.rate = NAN}); }, "Dropout: rate must be at least 0 and below 1: nan"},
      {[] { nn::LSTM({.units = 1, .dropout = 1}); }, "dropout must be at least 0 and below 1: 1"},
      {[] { nn::ReLU({.threshold = NAN}); }, "ReLU: threshold must be at least 0: nan"},
  };
  for (const Refused& each : all) {
    const std::string text = whole_message_of<ValueError>(each.make);
    EXPECT_HAS(text, each.message);
    EXPECT_HAS(text, "used      settings_test.cpp:");
  }
}

TEST(Settings, that_callbacks_set_are_checked_before_they_are_set) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {1}})});
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.5}), .loss = "mse"});
  const nn::Callback negative = nn::LearningRateScheduler([](int, double) { return -1.0; });
  EXPECT_HAS(message_of<ValueError>([&] {
               model.fit(ones({2, 1}), ones({2, 1}),
                         {.verbose = nn::Verbose::silent, .callbacks = {negative}});
             }),
             "SGD: learning_rate must be at least 0: -1");
  EXPECT_EQ(model.optimizer().learning_rate(), 0.5);
}

const nn::FitOptions kWeighted{.verbose = nn::Verbose::silent, .class_weight = {{0, 2.0}}};

TEST(Settings, class_weights_of_targets_that_are_no_classes_are_refused) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {1}})});
  model.compile({.loss = "mse"});
  const Tensor x = ones({4, 1});
  for (const Tensor& y : {tensor({0.f, 1.f, 2.f, -1.5f}, {4, 1}), tensor({0.f, 1.f, 0.f, 0.5f})}) {
    nn::FitOptions in_order = kWeighted;
    in_order.shuffle = false;
    EXPECT_HAS(message_of<ValueError>([&] { model.fit(x, y, in_order); }),
               "fit: class_weight is for targets that are classes (0, 1, 2, ...) or one-hot, but "
               "the target at position 3 is " +
                   std::string(y.rank() == 2 ? "-1.5" : "0.5"));
  }
  nn::FitOptions negative = kWeighted;
  negative.class_weight = {{3, -1.0}};
  EXPECT_HAS(message_of<ValueError>([&] { model.fit(x, x, negative); }),
             "fit: the class_weight of 3 must be at least 0: -1");
}

TEST(Settings, labels_that_are_no_classes_are_named_with_the_loss) {
  const Tensor x = ones({4, 3});
  for (const int wrong : {2, -1}) {
    const Tensor y = tensor({0, 1, wrong, 1});
    const std::string expected =
        "sparse_categorical_crossentropy: the label at position 2 of the batch is " +
        std::to_string(wrong) + ", but there are 2 classes in y_pred ";
    EXPECT_HAS(
        message_of<ValueError>([&] { nn::SparseCategoricalCrossentropy()(y, full({4, 2}, 0.5)); }),
        expected + "[4, 2]");
    for (const bool eager : {false, true}) {
      const nn::Sequential model(
          {nn::Dense({.units = 2, .activation = "softmax", .input_shape = {3}})});
      model.compile({.loss = "sparse_categorical_crossentropy", .eager = eager});
      const Floats before = floats(model.get_weights()[0]);
      EXPECT_HAS(message_of<ValueError>([&] { model.train_on_batch(x, y); }), expected);
      EXPECT_HAS(message_of<ValueError>([&] { model.evaluate(x, y); }), expected);
      EXPECT_EQ(floats(model.get_weights()[0]), before);
      model.compile(
          {.loss = nn::SparseCategoricalCrossentropy({.ignore_class = wrong}), .eager = eager});
      model.train_on_batch(x, y);
    }
  }
}

TEST(Settings, a_layer_that_is_twice_in_a_sequential_is_not_told_to_be_renamed) {
  const nn::Dense same({.units = 4, .name = "same", .input_shape = {4}});
  EXPECT_HAS(message_of<ValueError>([&] { nn::Sequential({same, same}, {.name = "m"}); }),
             "add: Dense \"same\" is in Sequential \"m\" already");
  EXPECT_HAS(message_of<ValueError>([&] { nn::Sequential({same, same}); }),
             "a Sequential has each layer once: to share one, make a Model");
  const nn::Dense other({.units = 4, .name = "same"});
  EXPECT_HAS(message_of<ValueError>([&] { nn::Sequential({same, other}, {.name = "m"}); }),
             "Sequential \"m\": two layers are called \"same\": give one another name");
  const nn::Node input = nn::Input({.shape = {4}});
  EXPECT_HAS(
      message_of<ValueError>([&] { nn::Model({input}, {other(same(input))}, {.name = "m"}); }),
      "Functional \"m\": two layers are called \"same\"");
}

TEST(Settings, parameters_of_what_is_not_built_are_not_counted) {
  const nn::Sequential model({nn::Dense({.units = 3})}, {.name = "m"});
  EXPECT_HAS(message_of<ValueError>([&] { model.count_params(); }),
             "count_params: Sequential \"m\" has no weights yet");
  EXPECT_HAS(model.summary(), "not built yet");
  model.build({nn::kAny, 2});
  EXPECT_EQ(model.count_params(), 9);
}

}  // namespace
}  // namespace tenure::testing
