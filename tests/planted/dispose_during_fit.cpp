// A callback throws the model away that is being trained.
// Finds: misused BusyError
#include "planted.h"

struct Impatient : nn::CallbackBase {
  explicit Impatient(bool has_bug) : planted(has_bug) {}
  void on_epoch_end(nn::Training& training, const nn::Logs&) override {
    if (training.epoch() == 1 && planted) training.model().dispose();  // PLANTED
    if (training.epoch() == 1) training.stop("it is good enough");
  }
  bool planted;
};

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    nn::Sequential model({nn::Dense({.units = 4, .activation = "tanh", .input_shape = {3}}),
                          nn::Dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    tn::Tensor x = tn::random::normal({64, 3});
    tn::Tensor y = tn::sum(x, {1}, {.keep_dims = true});
    model.fit(x, y,
              {.epochs = 20,
               .verbose = nn::Verbose::silent,
               .callbacks = {nn::make_callback<Impatient>(planted)}});
    model.dispose();
    std::cout << "done\n";
  });
}
