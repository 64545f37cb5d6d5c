// What does a whole training step cost, by train_on_batch and by fit? And does a traced one
// allocate?
#include <string>

#include "models.h"
#include "rows.h"

namespace bench {

using namespace tenure;

void training(Runner& runner) {
  for (const auto& [name, make] : models::kAll) {
    runner.row(std::string(name) + "_train", [&](Row& row) { row.measure(make().compile()); });
  }
  runner.row("small_train", [](Row& row) { row.measure(models::small_mlp().compile()); });
  runner.row("mlp_train_fit", [](Row& row) {
    constexpr int kSteps = 32;
    const models::Trained mlp = models::mlp(kSteps * 64).compile();
    row.measure(
        [&] {
          use(mlp.model.fit(mlp.x, mlp.y, {.batch_size = 64, .verbose = nn::Verbose::silent}));
        },
        kSteps);
  });
  runner.row("recording_cost_mlp_train", [](Row& row) { row.measure(models::mlp().compile()); });
  runner.row("steady_allocs", [](Row& row) {
    const models::Trained mlp = models::mlp();
    const std::vector<Variable> weights = mlp.model.trainable_weights();
    const nn::Adam adam;
    const Function step = function("step", [&](Tensor x, Tensor y) {
      GradientTape tape;
      Tensor loss = mlp.loss(y, mlp.model(x, {.training = true}));
      adam.apply(tape.gradient(loss, {weights.begin(), weights.end()}), weights);
      return loss;
    });
    row.count([&] { use(step(mlp.x, mlp.y)); });
  });
}

}  // namespace bench
