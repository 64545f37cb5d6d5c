// The ways a symbolic tensor escapes the function that is being traced, and what each is told.
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <tenure/tenure.h>

namespace tn = tenure;

static void shows(const std::string& what, const std::function<void()>& misuse) {
  std::cout << "-- " << what << "\n\n";
  try {
    misuse();
    std::cout << "nothing was said\n";
  } catch (const tn::InaccessibleTensorError& error) {
    std::cout << error.what() << "\n";
  }
}

int main() {
  const tn::Tensor x = tn::tensor({1.f, 2.f});

  shows("read while it is traced", [&] {
    tn::function("reads", [](tn::Tensor a) {
      const tn::Tensor total = tn::sum(a).set_name("total");
      return total.item<float>() > 0 ? a : -a;
    })(x);
  });

  std::vector<tn::Tensor> log;
  tn::Function logs = tn::function("logs", [&](tn::Tensor a) {
    log.push_back((a * 2.f).set_name("logged"));
    return a + 1.f;
  });
  logs(x);
  shows("stored in a vector, used later", [&] { log[0] + x; });

  struct Model {
    tn::Tensor last;
  } model;
  tn::Function remembers = tn::function("remembers", [&](tn::Tensor a) {
    model.last = tn::tanh(a);
    return model.last;
  });
  remembers(x);
  shows("kept in a member, used in another function",
        [&] { tn::function("other", [&](tn::Tensor a) { return a * model.last; })(x); });

  std::function<tn::Tensor()> later;
  tn::Function defers = tn::function("defers", [&](tn::Tensor a) {
    later = [b = a + 1.f] { return b * 2.f; };
    return a;
  });
  defers(x);
  shows("captured by a lambda that is called later", [&] { later(); });

  shows("used on another thread", [&] {
    std::exception_ptr thrown;
    tn::function("threads", [&](tn::Tensor a) {
      std::thread([&] {
        try {
          tn::exp(a);
        } catch (...) {
          thrown = std::current_exception();
        }
      }).join();
      return a;
    })(x);
    std::rethrow_exception(thrown);
  });

  shows("taken out of a branch", [&] {
    tn::function("branches", [](tn::Tensor a) {
      tn::Tensor inner;
      tn::cond(tn::sum(a) > 0.f, [&] { inner = a * 2.f; }, [] {});
      return inner + 1.f;
    })(x);
  });

  std::cout << "-- with check_escapes, each is reported when the trace ends\n\n";
  tn::set_warning_sink([](std::string_view text) { std::cout << text << "\n"; });
  log.clear();
  tn::Function strict = tn::function("strict",
                                     [&](tn::Tensor a) {
                                       log.push_back(tn::exp(a).set_name("escaped"));
                                       return a + 1.f;
                                     },
                                     {.check_escapes = true});
  strict(x);
}
