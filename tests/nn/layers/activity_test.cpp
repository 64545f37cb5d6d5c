// Activity regularizers: what they make of every output of a layer, per example, as in Keras 3.
#include <cmath>

#include "nn/layers/checks.h"
#include "tenure/nn.h"

namespace tenure::testing {
namespace {

// The sum of absolute values, over the batch's size, of each tensor.
double expected(const std::vector<Tensor>& outputs, std::int64_t batch) {
  double sum = 0;
  for (const Tensor& output : outputs) {
    for (const double value : grid_of(output).values) sum += std::abs(value);
  }
  return sum / static_cast<double>(batch);
}

double loss_of(const nn::Layer& layer, const std::vector<Tensor>& inputs,
               std::vector<Tensor>* outputs) {
  std::vector<Tensor> losses;
  *outputs = layer.apply(inputs, {.losses = &losses});
  double sum = 0;
  for (const Tensor& loss : losses) sum += cast(loss, kDouble).item<double>();
  return sum;
}

const nn::Regularizer kL1 = nn::L1(1);

TEST(ActivityRegularizer, counts_every_output_per_example_in_every_kind_of_layer) {
  const Tensor flat = numbers({4, 6}).tensor(DType::float32),
               steps = numbers({4, 5, 6}).tensor(DType::float32),
               image = numbers({4, 5, 5, 2}).tensor(DType::float32),
               video = numbers({4, 2, 5, 5, 2}).tensor(DType::float32);
  const std::vector<std::pair<nn::Layer, Tensor>> cases{
      {nn::Dense({.units = 3, .activity_regularizer = kL1}), flat},
      {nn::Dense({.units = 3, .activity_regularizer = kL1}), steps},
      {nn::Embedding({.input_dim = 9, .output_dim = 2, .activity_regularizer = kL1}),
       tensor({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2})},
      {nn::Conv1D({.filters = 2, .kernel_size = 2, .activity_regularizer = kL1}), steps},
      {nn::Conv2D({.filters = 2, .kernel_size = 2, .activity_regularizer = kL1}), image},
      {nn::Conv2DTranspose({.filters = 2, .kernel_size = 2, .activity_regularizer = kL1}), image},
      {nn::DepthwiseConv2D({.kernel_size = 2, .activity_regularizer = kL1}), image},
      {nn::SeparableConv2D({.filters = 2, .kernel_size = 2, .activity_regularizer = kL1}), image},
      {nn::SimpleRNN({.units = 3, .activity_regularizer = kL1}), steps},
      {nn::SimpleRNN({.units = 3, .activity_regularizer = kL1, .return_sequences = true}), steps},
      {nn::GRU({.units = 3, .activity_regularizer = kL1, .return_state = true}), steps},
      {nn::LSTM({.units = 3,
                 .activity_regularizer = kL1,
                 .return_sequences = true,
                 .return_state = true}),
       steps},
      {nn::ConvLSTM2D({.filters = 2, .kernel_size = 2, .activity_regularizer = kL1}), video},
      {nn::RNN(nn::LSTMCell({.units = 2}), {.activity_regularizer = kL1}), steps},
      {nn::ActivityRegularization({.l1 = 1}), image},
  };
  for (const auto& [layer, x] : cases) {
    SCOPED_TRACE(layer.config());
    std::vector<Tensor> outputs;
    const double loss = loss_of(layer, {x}, &outputs);
    const double want = expected(outputs, 4);
    EXPECT_GT(want, 0);
    EXPECT_NEAR(loss, want, 1e-5 * want);
  }
}

TEST(ActivityRegularizer, of_sequences_whose_time_comes_first_counts_per_example_too) {
  const nn::LSTM lstm(
      {.units = 3, .activity_regularizer = kL1, .return_sequences = true, .time_major = true});
  std::vector<Tensor> outputs;
  const double loss = loss_of(lstm, {numbers({5, 4, 6}).tensor(DType::float32)}, &outputs);
  EXPECT_NEAR(loss, expected(outputs, 4), 1e-5);
}

TEST(ActivityRegularizer, of_attention_is_of_its_four_projections) {
  const nn::MultiHeadAttention attention({.num_heads = 1,
                                          .key_dim = 2,
                                          .use_bias = false,
                                          .activity_regularizer = kL1,
                                          .dtype = kDouble});
  const Tensor x = numbers({3, 4, 2}).tensor();
  attention({x, x});
  fill_weights(attention);
  std::vector<Tensor> outputs;
  const double loss = loss_of(attention, {x, x}, &outputs);
  std::vector<Tensor> projections = outputs;
  for (std::size_t i = 0; i < 3; ++i) {  // query, key and value
    projections.push_back(matmul(x, reshape(attention.get_weights()[i], {2, 2})));
  }
  EXPECT_NEAR(loss, expected(projections, 3), 1e-9);
}

TEST(ActivityRegularizer, is_part_of_the_loss_that_a_model_reports) {
  const nn::Sequential model({nn::SimpleRNN({.units = 2, .activity_regularizer = kL1})});
  const Tensor x = numbers({4, 3, 2}).tensor(DType::float32);
  const Tensor y = model(x);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const nn::Logs logs = model.test_on_batch(x, y);
  EXPECT_NEAR(nn::value_of(logs, "loss"), expected({y}, 4), 1e-5);
}

}  // namespace
}  // namespace tenure::testing
