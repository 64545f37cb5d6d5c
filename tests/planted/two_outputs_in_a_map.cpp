// Both outputs of a model, looked up by the number of the request and never forgotten.
// Finds: growth
// Counts: 80
#include <map>

#include "planted.h"

int main(int argc, char** argv) {
  return run(argc, argv, [](bool planted) {
    nn::Node in = nn::Input({.shape = {4}});
    nn::Node hidden = nn::Dense({.units = 8, .activation = "relu"})(in);
    nn::Model model({in}, {nn::Dense({.units = 3})(hidden), nn::Dense({.units = 1})(hidden)});
    std::map<int, std::vector<tn::Tensor>> answers;
    for (int request = 0; request < 40; ++request) {
      const tn::Tensor x = tn::random::normal({std::int64_t{100} + 10 * request, 4});
      std::vector<tn::Tensor> outputs = model.predict(std::vector{x});  // PLANTED
      if (!planted) answers.clear();
      answers[request] = outputs;
    }
    std::cout << answers.size() << " answers\n";
  });
}
