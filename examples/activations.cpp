// relu, tanh and sigmoid with their input disposed before, after, and by a timer on another thread
// while the result is in use: all three behave alike.
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include <tenure/tenure.h>

namespace tn = tenure;

using Activation = std::function<tn::Tensor(const tn::Tensor&)>;

static const std::pair<const char*, Activation> kActivations[] = {
    {"relu", [](const tn::Tensor& x) { return tn::relu(x); }},
    {"tanh", [](const tn::Tensor& x) { return tn::tanh(x); }},
    {"sigmoid", [](const tn::Tensor& x) { return tn::sigmoid(x); }},
};

static tn::Tensor input() { return tn::tensor({1.f, -2.f, 3.f, -4.f}); }

static std::string outcome(const std::function<tn::Tensor()>& work) {
  try {
    const std::vector<float> values = work().to_vector<float>();
    char text[64];
    std::snprintf(text, sizeof text, "[%.4f %.4f %.4f %.4f]", values[0], values[1], values[2],
                  values[3]);
    return text;
  } catch (const tn::DisposedError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find(": float32"));
  }
}

int main() {
  std::printf("%-10s%-26s%s\n", "", "input disposed", "what happens");
  for (const auto& [name, activation] : kActivations) {
    const auto before = [&] {
      tn::Tensor x = input();
      x.dispose();
      return activation(x);
    };
    const auto after = [&] {
      tn::Tensor x = input();
      tn::Tensor y = activation(x);
      x.dispose();
      return y;
    };
    const auto by_a_timer = [&] {
      tn::Tensor x = input();
      tn::Tensor y = activation(x);
      std::thread timer([x]() mutable {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        x.dispose();
      });
      while (!x.is_disposed()) tn::sum(y).item<float>();  // the result is used all along
      timer.join();
      return y;
    };
    std::printf("%-10s%-26s%s\n", name, "before the call", outcome(before).c_str());
    std::printf("%-10s%-26s%s\n", name, "after the call", outcome(after).c_str());
    std::printf("%-10s%-26s%s\n", name, "by a timer, during use", outcome(by_a_timer).c_str());
  }
  std::printf("\n%zu tensors are alive.\n", tn::memory().tensors);
}
