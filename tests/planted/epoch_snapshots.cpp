// A callback keeps what the model said after every epoch.
// Finds: growth
#include <vector>

#include "planted.h"

struct Snapshots : nn::CallbackBase {
  Snapshots(tn::Tensor input, bool has_bug) : x(std::move(input)), planted(has_bug) {}
  void on_epoch_end(nn::Training& training, const nn::Logs&) override {
    tn::Tensor said = training.model().predict(x);  // PLANTED
    if (!planted) kept.clear();
    kept.push_back(said);
  }
  tn::Tensor x;
  bool planted;
  std::vector<tn::Tensor> kept;
};

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    nn::Sequential model({nn::Dense({.units = 4, .activation = "tanh"}), nn::Dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    tn::Tensor x = tn::random::normal({64, 3});
    tn::Tensor y = tn::sum(x, {1}, {.keep_dims = true});
    auto snapshots = std::make_shared<Snapshots>(x, planted);
    model.fit(
        x, y,
        {.epochs = 20, .verbose = nn::Verbose::silent, .callbacks = {nn::Callback(snapshots)}});
    std::cout << snapshots->kept.size() << "\n";
  });
}
