// A training loop written out: gradients from a tape, an optimizer applied to them, metrics, losses
// that layers add, a validation; one step traced, so that it runs as fast as fit's. Keras's guide
// "Writing a training loop from scratch".
#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr int kEpochs = 30;

// Points of the plane, and which of three rings each lies in.
static nn::Dataset make_rings(std::int64_t count) {
  const tn::Tensor points = tn::random::uniform({count, 2}, {.low = -1, .high = 1});
  const tn::Tensor radius = tn::norm(points, {.axes = tn::Axes{1}});
  return nn::Dataset::from_tensors(points,
                                   tn::cast(tn::minimum(radius * 2.5, 2), tn::DType::int32));
}

static void program() {
  tn::set_seed(13);
  const nn::Dataset training = make_rings(1000).shuffle().batch(50);
  const nn::Dataset validation = make_rings(500).batch(50);

  const nn::Sequential model(
      {nn::Dense({.units = 32, .activation = "relu", .input_shape = {2}}),
       nn::Dense({.units = 32, .activation = "relu", .activity_regularizer = nn::L2(1e-4)}),
       nn::Dense({.units = 3})});
  const nn::Adam optimizer({.learning_rate = 0.01});
  const nn::Loss loss_of = nn::SparseCategoricalCrossentropy({.from_logits = true});
  const nn::Metric accuracy = nn::SparseCategoricalAccuracy();
  const nn::Metric validation_accuracy = nn::SparseCategoricalAccuracy();
  const std::vector<tn::Variable> weights = model.trainable_weights();

  // Without tn::function it is the same, operation by operation.
  const tn::Function train_step = tn::function("train_step", [&](tn::Tensor x, tn::Tensor y) {
    tn::GradientTape tape;
    std::vector<tn::Tensor> penalties;  // what layers add to the loss
    const tn::Tensor logits = model(x, {.training = true, .losses = &penalties});
    tn::Tensor loss = loss_of(y, logits);
    for (const tn::Tensor& penalty : penalties) loss = loss + penalty;
    optimizer.apply(tape.gradient(loss, weights), weights);
    accuracy.update(y, logits);
    return loss;
  });
  const tn::Function test_step = tn::function(
      "test_step", [&](tn::Tensor x, tn::Tensor y) { validation_accuracy.update(y, model(x)); });

  std::vector<double> losses;
  std::size_t tensors_after_first = 0;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const nn::Metric mean_loss = nn::Mean();
    for (nn::Batch& batch : training) mean_loss.add(train_step(batch.x[0], batch.y[0]));
    for (nn::Batch& batch : validation) test_step(batch.x[0], batch.y[0]);

    losses.push_back(mean_loss.result());
    if (epoch % 10 == 9) {
      std::cout << "epoch " << epoch + 1 << ": loss " << losses.back() << ", accuracy "
                << accuracy.result() << ", of the validation " << validation_accuracy.result()
                << "\n";
    }
    if (epoch + 1 < kEpochs) {  // the last results are read below
      accuracy.reset();
      validation_accuracy.reset();
    }
    if (epoch == 0) tensors_after_first = tn::memory().tensors;
  }

  expect_between("the last loss, in parts of the first", losses.back() / losses.front(), 0, 0.4);
  expect_between("accuracy", accuracy.result(), 0.9, 1);
  expect_between("accuracy of the validation", validation_accuracy.result(), 0.88, 1);
  expect(train_step.traces().size() == 1, "the step is traced once for all batches");
  expect(tn::memory().tensors == tensors_after_first, "an epoch leaves nothing behind");
}

int main() { return status_of(program); }
