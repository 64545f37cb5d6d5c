// Designated initializers follow the declared order: a field out of the order of Keras's arguments
// does not compile here.
#include <gtest/gtest.h>

#include "tenure/nn.h"

namespace tenure::testing {
namespace {

const std::int64_t kSeed = 1;

TEST(LayerOptions, follow_the_order_of_kerass_arguments) {
  nn::Dense({.units = 1,
             .activation = "relu",
             .use_bias = true,
             .kernel_initializer = "zeros",
             .bias_initializer = "zeros",
             .kernel_regularizer = "l2",
             .bias_regularizer = "l2",
             .activity_regularizer = "l2",
             .kernel_constraint = "non_neg",
             .bias_constraint = "non_neg",
             .name = "dense",
             .trainable = true,
             .dtype = DType::float32});
  nn::EinsumDense({.equation = "ab,bc->ac",
                   .output_shape = 1,
                   .activation = "relu",
                   .bias_axes = "c",
                   .kernel_initializer = "zeros",
                   .bias_initializer = "zeros",
                   .kernel_regularizer = "l2",
                   .bias_regularizer = "l2",
                   .activity_regularizer = "l2",
                   .kernel_constraint = "non_neg",
                   .bias_constraint = "non_neg"});
  nn::Embedding({.input_dim = 1,
                 .output_dim = 1,
                 .embeddings_initializer = "zeros",
                 .embeddings_regularizer = "l2",
                 .embeddings_constraint = "non_neg",
                 .mask_zero = true,
                 .name = "embedding"});
  nn::Masking({.mask_value = 1, .name = "masking"});
  nn::Lambda({.function = [](Tensor x) { return x; }, .name = "lambda"});
  nn::Activation({.activation = "relu", .name = "activation"});
  nn::ReLU({.max_value = 1, .negative_slope = 0, .threshold = 0});
  nn::LeakyReLU({.negative_slope = 0.1, .name = "leaky"});
  nn::PReLU({.alpha_initializer = "zeros",
             .alpha_regularizer = "l2",
             .alpha_constraint = "non_neg",
             .shared_axes = 1});
  nn::ELU({.alpha = 1, .name = "elu"});
  nn::Softmax({.axis = -1, .name = "softmax"});
}

TEST(LayerOptions, of_convolutions_and_pooling_follow_the_order_of_kerass_arguments) {
  nn::Conv2D({.filters = 1,
              .kernel_size = 1,
              .strides = 1,
              .padding = "same",
              .data_format = "channels_last",
              .dilation_rate = 1,
              .groups = 1,
              .activation = "relu",
              .use_bias = true,
              .kernel_initializer = "zeros",
              .bias_initializer = "zeros",
              .kernel_regularizer = "l2",
              .bias_regularizer = "l2",
              .activity_regularizer = "l2",
              .kernel_constraint = "non_neg",
              .bias_constraint = "non_neg"});
  nn::Conv2DTranspose({.filters = 1,
                       .kernel_size = 1,
                       .strides = 1,
                       .padding = "same",
                       .output_padding = {},
                       .data_format = "channels_last",
                       .dilation_rate = 1,
                       .activation = "relu",
                       .use_bias = true,
                       .kernel_initializer = "zeros",
                       .bias_initializer = "zeros",
                       .kernel_regularizer = "l2",
                       .bias_regularizer = "l2",
                       .activity_regularizer = "l2",
                       .kernel_constraint = "non_neg",
                       .bias_constraint = "non_neg"});
  nn::DepthwiseConv2D({.kernel_size = 1,
                       .strides = 1,
                       .padding = "same",
                       .depth_multiplier = 1,
                       .data_format = "channels_last",
                       .dilation_rate = 1,
                       .activation = "relu",
                       .use_bias = true,
                       .depthwise_initializer = "zeros",
                       .bias_initializer = "zeros",
                       .depthwise_regularizer = "l2",
                       .bias_regularizer = "l2",
                       .activity_regularizer = "l2",
                       .depthwise_constraint = "non_neg",
                       .bias_constraint = "non_neg"});
  nn::SeparableConv2D({.filters = 1,
                       .kernel_size = 1,
                       .strides = 1,
                       .padding = "same",
                       .data_format = "channels_last",
                       .dilation_rate = 1,
                       .depth_multiplier = 1,
                       .activation = "relu",
                       .use_bias = true,
                       .depthwise_initializer = "zeros",
                       .pointwise_initializer = "zeros",
                       .bias_initializer = "zeros",
                       .depthwise_regularizer = "l2",
                       .pointwise_regularizer = "l2",
                       .bias_regularizer = "l2",
                       .activity_regularizer = "l2",
                       .depthwise_constraint = "non_neg",
                       .pointwise_constraint = "non_neg",
                       .bias_constraint = "non_neg"});
  nn::MaxPooling2D(
      {.pool_size = 2, .strides = 1, .padding = "same", .data_format = "channels_last"});
  nn::GlobalMaxPooling2D({.data_format = "channels_last", .keepdims = true});
  nn::UpSampling2D({.size = 2, .data_format = "channels_last", .interpolation = "nearest"});
  nn::UpSampling3D({.size = 2, .data_format = "channels_last"});
  nn::ZeroPadding2D({.padding = 1, .data_format = "channels_last"});
  nn::Cropping2D({.cropping = 1, .data_format = "channels_last"});
  nn::Flatten({.data_format = "channels_last", .name = "flatten"});
}

TEST(LayerOptions, of_recurrent_layers_follow_the_order_of_kerass_arguments) {
  nn::SimpleRNNCell({.units = 1,
                     .activation = "tanh",
                     .use_bias = true,
                     .kernel_initializer = "zeros",
                     .recurrent_initializer = "zeros",
                     .bias_initializer = "zeros",
                     .kernel_regularizer = "l2",
                     .recurrent_regularizer = "l2",
                     .bias_regularizer = "l2",
                     .kernel_constraint = "non_neg",
                     .recurrent_constraint = "non_neg",
                     .bias_constraint = "non_neg",
                     .dropout = 0.1,
                     .recurrent_dropout = 0.1,
                     .seed = kSeed});
  nn::SimpleRNN({.units = 1,
                 .activation = "tanh",
                 .use_bias = true,
                 .kernel_initializer = "zeros",
                 .recurrent_initializer = "zeros",
                 .bias_initializer = "zeros",
                 .kernel_regularizer = "l2",
                 .recurrent_regularizer = "l2",
                 .bias_regularizer = "l2",
                 .activity_regularizer = "l2",
                 .kernel_constraint = "non_neg",
                 .recurrent_constraint = "non_neg",
                 .bias_constraint = "non_neg",
                 .dropout = 0.1,
                 .recurrent_dropout = 0.1,
                 .return_sequences = true,
                 .return_state = true,
                 .go_backwards = true,
                 .stateful = false,
                 .unroll = true,
                 .seed = kSeed});
  nn::GRUCell({.units = 1,
               .activation = "tanh",
               .recurrent_activation = "sigmoid",
               .use_bias = true,
               .kernel_initializer = "zeros",
               .recurrent_initializer = "zeros",
               .bias_initializer = "zeros",
               .kernel_regularizer = "l2",
               .recurrent_regularizer = "l2",
               .bias_regularizer = "l2",
               .kernel_constraint = "non_neg",
               .recurrent_constraint = "non_neg",
               .bias_constraint = "non_neg",
               .dropout = 0.1,
               .recurrent_dropout = 0.1,
               .reset_after = true,
               .seed = kSeed});
  nn::GRU({.units = 1,
           .activation = "tanh",
           .recurrent_activation = "sigmoid",
           .use_bias = true,
           .kernel_initializer = "zeros",
           .recurrent_initializer = "zeros",
           .bias_initializer = "zeros",
           .kernel_regularizer = "l2",
           .recurrent_regularizer = "l2",
           .bias_regularizer = "l2",
           .activity_regularizer = "l2",
           .kernel_constraint = "non_neg",
           .recurrent_constraint = "non_neg",
           .bias_constraint = "non_neg",
           .dropout = 0.1,
           .recurrent_dropout = 0.1,
           .seed = kSeed,
           .return_sequences = true,
           .return_state = true,
           .go_backwards = true,
           .stateful = false,
           .unroll = true,
           .reset_after = true});
  nn::LSTMCell({.units = 1,
                .activation = "tanh",
                .recurrent_activation = "sigmoid",
                .use_bias = true,
                .kernel_initializer = "zeros",
                .recurrent_initializer = "zeros",
                .bias_initializer = "zeros",
                .unit_forget_bias = true,
                .kernel_regularizer = "l2",
                .recurrent_regularizer = "l2",
                .bias_regularizer = "l2",
                .kernel_constraint = "non_neg",
                .recurrent_constraint = "non_neg",
                .bias_constraint = "non_neg",
                .dropout = 0.1,
                .recurrent_dropout = 0.1,
                .seed = kSeed});
  nn::LSTM({.units = 1,
            .activation = "tanh",
            .recurrent_activation = "sigmoid",
            .use_bias = true,
            .kernel_initializer = "zeros",
            .recurrent_initializer = "zeros",
            .bias_initializer = "zeros",
            .unit_forget_bias = true,
            .kernel_regularizer = "l2",
            .recurrent_regularizer = "l2",
            .bias_regularizer = "l2",
            .activity_regularizer = "l2",
            .kernel_constraint = "non_neg",
            .recurrent_constraint = "non_neg",
            .bias_constraint = "non_neg",
            .dropout = 0.1,
            .recurrent_dropout = 0.1,
            .seed = kSeed,
            .return_sequences = true,
            .return_state = true,
            .go_backwards = true,
            .stateful = false,
            .unroll = true});
  nn::ConvLSTM2D({.filters = 1,
                  .kernel_size = 1,
                  .strides = 1,
                  .padding = "same",
                  .data_format = "channels_last",
                  .dilation_rate = 1,
                  .activation = "tanh",
                  .recurrent_activation = "sigmoid",
                  .use_bias = true,
                  .kernel_initializer = "zeros",
                  .recurrent_initializer = "zeros",
                  .bias_initializer = "zeros",
                  .unit_forget_bias = true,
                  .kernel_regularizer = "l2",
                  .recurrent_regularizer = "l2",
                  .bias_regularizer = "l2",
                  .activity_regularizer = "l2",
                  .kernel_constraint = "non_neg",
                  .recurrent_constraint = "non_neg",
                  .bias_constraint = "non_neg",
                  .dropout = 0.1,
                  .recurrent_dropout = 0.1,
                  .seed = kSeed,
                  .return_sequences = true,
                  .return_state = true,
                  .go_backwards = true,
                  .stateful = false});
  nn::RNN(nn::LSTMCell({.units = 1}), {.return_sequences = true,
                                       .return_state = true,
                                       .go_backwards = true,
                                       .stateful = false,
                                       .unroll = true,
                                       .zero_output_for_mask = true});
  nn::Bidirectional(nn::LSTM({.units = 1}),
                    {.merge_mode = "sum", .backward_layer = {}, .name = "both"});
}

TEST(LayerOptions, of_attention_and_normalization_follow_the_order_of_kerass_arguments) {
  nn::MultiHeadAttention({.num_heads = 1,
                          .key_dim = 1,
                          .value_dim = 1,
                          .dropout = 0.1,
                          .use_bias = true,
                          .output_shape = 1,
                          .attention_axes = 1,
                          .kernel_initializer = "zeros",
                          .bias_initializer = "zeros",
                          .kernel_regularizer = "l2",
                          .bias_regularizer = "l2",
                          .activity_regularizer = "l2",
                          .kernel_constraint = "non_neg",
                          .bias_constraint = "non_neg",
                          .seed = kSeed});
  nn::GroupedQueryAttention({.head_dim = 1,
                             .num_query_heads = 1,
                             .num_key_value_heads = 1,
                             .dropout = 0.1,
                             .use_bias = true,
                             .kernel_initializer = "zeros",
                             .bias_initializer = "zeros",
                             .kernel_regularizer = "l2",
                             .bias_regularizer = "l2",
                             .activity_regularizer = "l2",
                             .kernel_constraint = "non_neg",
                             .bias_constraint = "non_neg",
                             .seed = kSeed});
  nn::Attention({.use_scale = true, .score_mode = "dot", .dropout = 0.1, .seed = kSeed});
  nn::AdditiveAttention({.use_scale = true, .dropout = 0.1});
  nn::BatchNormalization({.axis = -1,
                          .momentum = 0.9,
                          .epsilon = 1e-3,
                          .center = true,
                          .scale = true,
                          .beta_initializer = "zeros",
                          .gamma_initializer = "ones",
                          .moving_mean_initializer = "zeros",
                          .moving_variance_initializer = "ones",
                          .beta_regularizer = "l2",
                          .gamma_regularizer = "l2",
                          .beta_constraint = "non_neg",
                          .gamma_constraint = "non_neg"});
  nn::LayerNormalization({.axis = -1,
                          .epsilon = 1e-3,
                          .center = true,
                          .scale = true,
                          .beta_initializer = "zeros",
                          .gamma_initializer = "ones",
                          .beta_regularizer = "l2",
                          .gamma_regularizer = "l2",
                          .beta_constraint = "non_neg",
                          .gamma_constraint = "non_neg"});
  nn::GroupNormalization({.groups = 1,
                          .axis = -1,
                          .epsilon = 1e-3,
                          .center = true,
                          .scale = true,
                          .beta_initializer = "zeros",
                          .gamma_initializer = "ones",
                          .beta_regularizer = "l2",
                          .gamma_regularizer = "l2",
                          .beta_constraint = "non_neg",
                          .gamma_constraint = "non_neg"});
  nn::RMSNormalization({.axis = -1, .epsilon = 1e-6});
  nn::UnitNormalization({.axis = -1, .name = "unit"});
  nn::SpectralNormalization(nn::Dense({.units = 1}), {.power_iterations = 1});
  nn::Dropout({.rate = 0.1, .noise_shape = Shape{1}, .seed = kSeed});
  nn::SpatialDropout2D({.rate = 0.1, .data_format = "channels_last", .seed = kSeed});
  nn::GaussianDropout({.rate = 0.1, .seed = kSeed});
  nn::GaussianNoise({.stddev = 0.1, .seed = kSeed});
  nn::ActivityRegularization({.l1 = 0.1, .l2 = 0.1});
  nn::Concatenate({.axis = -1, .name = "concatenate"});
  nn::Dot({.axes = 1, .normalize = true});
}

TEST(LayerOptions, of_what_prepares_data_follow_the_order_of_kerass_arguments) {
  nn::Normalization({.axis = -1, .mean = 0, .variance = 1, .invert = true});
  nn::Discretization(
      {.bin_boundaries = {0.5}, .num_bins = {}, .epsilon = 0.01, .output_mode = "int"});
  nn::CategoryEncoding({.num_tokens = 2, .output_mode = "count"});
  nn::Rescaling({.scale = 2, .offset = 1});
  nn::Resizing({.height = 1, .width = 1, .interpolation = "nearest", .crop_to_aspect_ratio = true});
  nn::CenterCrop({.height = 1, .width = 1});
  nn::RandomFlip({.mode = "horizontal", .seed = kSeed});
  nn::RandomRotation({.factor = 0.1,
                      .fill_mode = "reflect",
                      .interpolation = "nearest",
                      .seed = kSeed,
                      .fill_value = 0,
                      .data_format = "channels_last"});
  nn::RandomZoom({.height_factor = 0.1,
                  .width_factor = 0.1,
                  .fill_mode = "reflect",
                  .interpolation = "nearest",
                  .seed = kSeed,
                  .fill_value = 0,
                  .data_format = "channels_last"});
  nn::RandomTranslation({.height_factor = 0.1,
                         .width_factor = 0.1,
                         .fill_mode = "reflect",
                         .interpolation = "nearest",
                         .seed = kSeed,
                         .fill_value = 0,
                         .data_format = "channels_last"});
  nn::RandomCrop({.height = 1, .width = 1, .seed = kSeed, .data_format = "channels_last"});
  nn::RandomContrast({.factor = 0.1, .value_range = {0, 1}, .seed = kSeed});
  nn::RandomBrightness({.factor = 0.1, .value_range = {0, 1}, .seed = kSeed});
  nn::TextVectorization({.max_tokens = {},
                         .standardize = "lower",
                         .split = "whitespace",
                         .ngrams = 1,
                         .output_mode = "int",
                         .output_sequence_length = 3,
                         .pad_to_max_tokens = false,
                         .vocabulary = {"a"},
                         .idf_weights = {}});
  nn::StringLookup({.max_tokens = {},
                    .num_oov_indices = 1,
                    .mask_token = {},
                    .oov_token = "[UNK]",
                    .vocabulary = {"a"},
                    .idf_weights = {},
                    .output_mode = "int",
                    .pad_to_max_tokens = false});
  nn::Hashing({.num_bins = 2, .mask_value = "", .salt = {1, 2}, .output_mode = "int"});
  const nn::ImageDirectoryOptions images{.labels = {},
                                         .label_mode = "int",
                                         .class_names = {},
                                         .color_mode = "rgb",
                                         .image_size = {2, 2},
                                         .shuffle = true,
                                         .seed = 1,
                                         .validation_split = 0.5,
                                         .subset = "training",
                                         .interpolation = "nearest",
                                         .follow_links = true,
                                         .crop_to_aspect_ratio = true,
                                         .pad_to_aspect_ratio = false};
  const nn::TimeseriesOptions series{.sequence_length = 2,
                                     .sequence_stride = 1,
                                     .sampling_rate = 1,
                                     .start_index = 0,
                                     .end_index = 5};
  EXPECT_EQ(images.image_size.rank() + series.sequence_length, 4);
}

TEST(LossOptions, follow_the_order_of_kerass_arguments) {
  nn::MeanSquaredError({.reduction = "sum", .name = "l"});
  nn::BinaryCrossentropy(
      {.from_logits = true, .label_smoothing = 0.1, .axis = -1, .reduction = "sum", .name = "l"});
  nn::SparseCategoricalCrossentropy(
      {.from_logits = true, .ignore_class = 0, .reduction = "sum", .axis = -1, .name = "l"});
  nn::BinaryFocalCrossentropy({.apply_class_balancing = true,
                               .alpha = 0.2,
                               .gamma = 2,
                               .from_logits = true,
                               .label_smoothing = 0.1,
                               .axis = -1,
                               .reduction = "sum",
                               .name = "l"});
  nn::CategoricalFocalCrossentropy({.alpha = 0.2,
                                    .gamma = 2,
                                    .from_logits = true,
                                    .label_smoothing = 0.1,
                                    .axis = -1,
                                    .reduction = "sum",
                                    .name = "l"});
  nn::CategoricalGeneralizedCrossEntropy({.q = 0.5, .reduction = "sum", .name = "l"});
  nn::Dice({.reduction = "sum", .name = "l", .axis = 1});
  nn::Tversky({.alpha = 0.5, .beta = 0.5, .reduction = "sum", .name = "l", .axis = 1});
  nn::Circle(
      {.gamma = 80, .margin = 0.4, .remove_diagonal = true, .reduction = "sum", .name = "l"});
  nn::Huber({.delta = 1, .reduction = "sum", .name = "l"});
  nn::CosineSimilarity({.axis = -1, .reduction = "sum", .name = "l"});
}

TEST(MetricOptions, follow_the_order_of_kerass_arguments) {
  nn::BinaryAccuracy({.name = "m", .threshold = 0.5});
  nn::TopKCategoricalAccuracy({.k = 2, .name = "m"});
  nn::Precision({.thresholds = 0.5, .top_k = {}, .class_id = 0, .name = "m"});
  nn::AUC({.num_thresholds = 20,
           .curve = "PR",
           .summation_method = "interpolation",
           .name = "m",
           .thresholds = {},
           .multi_label = true,
           .num_labels = 2,
           .label_weights = {1, 2},
           .from_logits = true});
  nn::SensitivityAtSpecificity(
      {.specificity = 0.5, .num_thresholds = 20, .class_id = 0, .name = "m"});
  nn::SpecificityAtSensitivity(
      {.sensitivity = 0.5, .num_thresholds = 20, .class_id = 0, .name = "m"});
  nn::PrecisionAtRecall({.recall = 0.5, .num_thresholds = 20, .class_id = 0, .name = "m"});
  nn::RecallAtPrecision({.precision = 0.5, .num_thresholds = 20, .class_id = 0, .name = "m"});
  nn::F1Score({.average = "macro", .threshold = 0.5, .name = "m"});
  nn::FBetaScore({.average = "macro", .beta = 2, .threshold = 0.5, .name = "m"});
  nn::IoU({.num_classes = 2,
           .target_class_ids = {0},
           .name = "m",
           .ignore_class = 0,
           .sparse_y_true = true,
           .sparse_y_pred = true,
           .axis = -1});
  nn::MeanIoU({.num_classes = 2,
               .name = "m",
               .ignore_class = 0,
               .sparse_y_true = true,
               .sparse_y_pred = true,
               .axis = -1});
  nn::BinaryIoU({.target_class_ids = {0}, .threshold = 0.5, .name = "m"});
  nn::OneHotIoU({.num_classes = 2,
                 .target_class_ids = {0},
                 .name = "m",
                 .ignore_class = 0,
                 .sparse_y_pred = true,
                 .axis = -1});
  nn::OneHotMeanIoU(
      {.num_classes = 2, .name = "m", .ignore_class = 0, .sparse_y_pred = true, .axis = -1});
  nn::R2Score({.class_aggregation = "uniform_average", .num_regressors = 0, .name = "m"});
  nn::PearsonCorrelation({.name = "m", .axis = -1});
}

TEST(OptimizerOptions, follow_the_order_of_kerass_arguments) {
  nn::SGD({.learning_rate = 0.1,
           .momentum = 0.9,
           .nesterov = true,
           .weight_decay = 0.1,
           .clipnorm = 1,
           .clipvalue = {},
           .global_clipnorm = {},
           .use_ema = true,
           .ema_momentum = 0.9,
           .ema_overwrite_frequency = 2,
           .name = "o"});
  nn::Adam({.learning_rate = 0.1,
            .beta_1 = 0.9,
            .beta_2 = 0.9,
            .epsilon = 1e-7,
            .amsgrad = true,
            .weight_decay = 0.1});
  nn::AdamW({.learning_rate = 0.1,
             .weight_decay = 0.1,
             .beta_1 = 0.9,
             .beta_2 = 0.9,
             .epsilon = 1e-7,
             .amsgrad = true,
             .clipnorm = 1});
  nn::Adamax(
      {.learning_rate = 0.1, .beta_1 = 0.9, .beta_2 = 0.9, .epsilon = 1e-7, .weight_decay = 0.1});
  nn::RMSprop({.learning_rate = 0.1,
               .rho = 0.9,
               .momentum = 0.1,
               .epsilon = 1e-7,
               .centered = true,
               .weight_decay = 0.1});
  nn::Adagrad({.learning_rate = 0.1,
               .initial_accumulator_value = 0.1,
               .epsilon = 1e-7,
               .weight_decay = 0.1});
  nn::Adadelta({.learning_rate = 0.1, .rho = 0.9, .epsilon = 1e-7, .weight_decay = 0.1});
  nn::Ftrl({.learning_rate = 0.1,
            .learning_rate_power = -0.5,
            .initial_accumulator_value = 0.1,
            .l1_regularization_strength = 0,
            .l2_regularization_strength = 0,
            .l2_shrinkage_regularization_strength = 0,
            .beta = 0,
            .weight_decay = 0.1});
  nn::Adafactor({.learning_rate = 0.1,
                 .beta_2_decay = -0.8,
                 .epsilon_1 = 1e-30,
                 .epsilon_2 = 1e-3,
                 .clip_threshold = 1,
                 .relative_step = true,
                 .weight_decay = 0.1});
  nn::Lamb(
      {.learning_rate = 0.1, .beta_1 = 0.9, .beta_2 = 0.9, .epsilon = 1e-7, .weight_decay = 0.1});
  nn::Lion({.learning_rate = 0.1, .beta_1 = 0.9, .beta_2 = 0.9, .weight_decay = 0.1});
  nn::LossScaleOptimizer(nn::SGD(), {.initial_scale = 8, .dynamic_growth_steps = 2, .name = "o"});
  nn::ExponentialDecay(
      {.initial_learning_rate = 0.1, .decay_steps = 1, .decay_rate = 0.9, .staircase = true});
  nn::PiecewiseConstantDecay({.boundaries = {1}, .values = {1, 2}});
  nn::PolynomialDecay({.initial_learning_rate = 0.1,
                       .decay_steps = 1,
                       .end_learning_rate = 0.01,
                       .power = 1,
                       .cycle = true});
  nn::CosineDecay({.initial_learning_rate = 0.1,
                   .decay_steps = 1,
                   .alpha = 0,
                   .warmup_target = 0.2,
                   .warmup_steps = 1});
  nn::CosineDecayRestarts(
      {.initial_learning_rate = 0.1, .first_decay_steps = 1, .t_mul = 2, .m_mul = 1, .alpha = 0});
}

TEST(CallbackOptions, follow_the_order_of_kerass_arguments) {
  nn::EarlyStopping({.monitor = "loss",
                     .min_delta = 0,
                     .patience = 1,
                     .mode = "min",
                     .baseline = 1,
                     .restore_best_weights = true,
                     .start_from_epoch = 1});
  nn::ModelCheckpoint({.filepath = "m",
                       .monitor = "loss",
                       .save_best_only = true,
                       .save_weights_only = true,
                       .mode = "min",
                       .save_freq = "epoch",
                       .initial_value_threshold = 1});
  nn::ReduceLROnPlateau({.monitor = "loss",
                         .factor = 0.1,
                         .patience = 1,
                         .mode = "min",
                         .min_delta = 0,
                         .cooldown = 0,
                         .min_lr = 0});
  nn::CSVLogger({.filename = "log.csv", .separator = ";", .append = true});
  nn::LambdaCallback({.on_epoch_begin = {},
                      .on_epoch_end = {},
                      .on_train_begin = {},
                      .on_train_end = {},
                      .on_train_batch_begin = {},
                      .on_train_batch_end = {}});
  const nn::TensorBoardOptions board{.log_dir = "logs",
                                     .histogram_freq = 1,
                                     .write_steps_per_second = true,
                                     .update_freq = "batch"};
  const nn::BackupAndRestoreOptions backup{
      .backup_dir = "b", .save_freq = 2, .delete_checkpoint = false};
  EXPECT_EQ(board.histogram_freq + backup.save_freq.batches(), 3);
}

TEST(ModelCallOptions, follow_the_order_of_kerass_arguments) {
  const nn::CompileOptions compile{.optimizer = "sgd",
                                   .loss = "mse",
                                   .loss_weights = 1,
                                   .metrics = {"mae"},
                                   .weighted_metrics = {"mae"}};
  const nn::FitOptions fit{.batch_size = 1,
                           .epochs = 1,
                           .verbose = nn::Verbose::silent,
                           .callbacks = {},
                           .validation_split = 0,
                           .validation = {},
                           .shuffle = true,
                           .class_weight = {},
                           .sample_weight = {},
                           .initial_epoch = 0,
                           .steps_per_epoch = 0,
                           .validation_steps = 0,
                           .validation_batch_size = 1,
                           .validation_freq = 1};
  const nn::EvaluateOptions evaluate{.batch_size = 1,
                                     .verbose = nn::Verbose::silent,
                                     .sample_weight = {},
                                     .steps = 0,
                                     .callbacks = {}};
  const nn::PredictOptions predict{
      .batch_size = 1, .verbose = nn::Verbose::silent, .steps = 0, .callbacks = {}};
  const nn::InputOptions input{
      .shape = {1}, .batch_size = 1, .dtype = DType::float32, .name = "in"};
  EXPECT_EQ(compile.loss_weights.list().size(), 1u);
  EXPECT_EQ(*fit.batch_size + *evaluate.batch_size + *predict.batch_size + input.batch_size, 4);
}

}  // namespace
}  // namespace tenure::testing
