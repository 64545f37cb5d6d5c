// A tour: what Tenure is for, in a few seconds.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include <tenure/tenure.h>

namespace tn = tenure;

static const bool kColour = isatty(STDOUT_FILENO) != 0;

static void heading(const std::string& text) {
  std::cout << "\n"
            << (kColour ? "\033[1;36m" : "") << "== " << text << (kColour ? "\033[0m" : "")
            << "\n\n";
}

static void story(const tn::Error& error) {
  std::cout << (kColour ? "\033[33m" : "") << error.what() << (kColour ? "\033[0m" : "") << "\n";
}

static void a_dead_tensor_tells_its_life() {
  heading("A tensor that died tells where, and of what");
  const tn::Tensor x = tn::tensor({1.f, -2.f, 3.f, -4.f});
  tn::Tensor h;
  tn::tidy("step", [&] {
    h = tn::tanh(x) * tn::sigmoid(x);
    h.set_name("h");
  });
  try {
    const tn::Tensor y = x + h;
  } catch (const tn::DisposedError& error) {
    story(error);
  }
}

static void disposing_harms_nobody_else() {
  heading("Disposing one tensor never harms another");
  tn::Tensor x = tn::tensor({1.f, -2.f, 3.f, -4.f});
  const tn::Tensor relu = tn::relu(x), tanh = tn::tanh(x), view = tn::reshape(x, {2, 2});
  x.dispose();
  std::cout << "relu(x)  " << relu << "\ntanh(x)  " << tanh << "\na view   " << view << "\n";
}

static void who_holds_this_memory() {
  heading("One element of a large tensor holds all of it: why_alive says so");
  const tn::Tensor first = tn::slice(tn::zeros({1 << 20}), {0}, {1});
  for (const tn::Holder& holder : tn::why_alive(first)) std::cout << "  " << holder.text << "\n";
}

static void gradients_survive_dispose() {
  heading("Gradients are right whatever was disposed meanwhile");
  tn::Tensor x = tn::tensor(2.f);
  const tn::Tensor source = x;
  tn::GradientTape tape;
  tape.watch(x);
  tn::Tensor y = tn::square(x) * x;
  x.dispose();
  y.dispose();
  std::cout << "d(x^3)/dx at 2, with x and the result disposed: "
            << tape.gradient(y, source).item<float>() << "\n";
}

static void training_keeps_memory_flat() {
  heading("A training loop: memory flat to the byte");
  tn::set_seed(7);
  const tn::Tensor x = tn::random::normal({256, 8});
  const tn::Tensor truth = tn::matmul(x, tn::random::normal({8, 1}));
  tn::Variable w(tn::zeros({8, 1}), {.name = "w"});
  std::printf("  %6s %12s %10s %14s\n", "step", "loss", "tensors", "live bytes");
  for (int step = 0; step <= 400; ++step) {
    const float loss = tn::tidy("step", [&] {
      tn::GradientTape tape;
      const tn::Tensor error = tn::mean(tn::square(tn::matmul(x, w) - truth));
      w.assign(w - tape.gradient(error, w) * 0.1);
      return error.item<float>();
    });
    if (step % 100 == 0) {
      const tn::MemoryInfo m = tn::memory();
      std::printf("  %6d %12.3g %10zu %14zu\n", step, loss, m.tensors, m.live_bytes);
    }
  }
}

static void running_out_of_memory() {
  heading("Out of memory: who holds it, and the program goes on");
  tn::Tensor frames = tn::zeros({64, 256, 256});
  frames.set_name("frames");
  tn::set_memory_budget(tn::memory().reserved_bytes + (1 << 20));
  try {
    tn::zeros({64, 256, 256});
  } catch (const tn::OutOfMemoryError& error) {
    story(error);
  }
  tn::set_memory_budget(0);
}

int main() {
  a_dead_tensor_tells_its_life();
  disposing_harms_nobody_else();
  who_holds_this_memory();
  gradients_survive_dispose();
  training_keeps_memory_flat();
  running_out_of_memory();
  heading("At the end");
  std::cout << tn::memory();
}
