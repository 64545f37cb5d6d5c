// A model applied again and again must not grow. A dense layer is applied to a variable 1,000
// times: in eager code, as a traced function, and under a gradient tape.
#include <algorithm>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include <tenure/tenure.h>

namespace tn = tenure;

constexpr int kCalls = 1000;

struct Dense {
  tn::Variable w, b;
  tn::Tensor operator()(const tn::Tensor& x) const { return tn::relu(tn::matmul(x, w) + b); }
};

struct Growth {
  std::string name;
  std::vector<std::size_t> bytes;  // alive after each call
  std::size_t tensors_before = 0, tensors_after = 0;
};

static Growth watch(const std::string& name, const std::function<void()>& call) {
  Growth growth{name, {}, 0, 0};
  call();  // what is made once is made here: a trace, a pool
  growth.tensors_before = tn::memory().tensors;
  for (int i = 0; i < kCalls; ++i) {
    call();
    growth.bytes.push_back(tn::memory().live_bytes);
  }
  growth.tensors_after = tn::memory().tensors;
  return growth;
}

// One column for every 20 calls, as high as the most bytes alive among them.
static void plot(const Growth& growth, std::size_t top) {
  constexpr int kRows = 4, kColumns = 50;
  for (int row = kRows; row > 0; --row) {
    std::cout << std::setw(9) << top * static_cast<std::size_t>(row) / kRows << " |";
    for (int column = 0; column < kColumns; ++column) {
      const auto begin = growth.bytes.begin() + column * (kCalls / kColumns);
      const std::size_t most = *std::max_element(begin, begin + kCalls / kColumns);
      std::cout << (most * kRows >= top * static_cast<std::size_t>(row) ? "#" : " ");
    }
    std::cout << "\n";
  }
  std::cout << "    bytes +" << std::string(kColumns, '-') << "  " << growth.name << "\n";
}

int main() {
  const Dense dense{tn::Variable(tn::random::normal({10, 10}), {.name = "w"}),
                    tn::Variable(tn::zeros({10}), {.name = "b"})};
  const tn::Variable x(tn::random::normal({100, 10}), {.name = "x"});
  const tn::Function traced = tn::function("dense", [&](tn::Tensor in) { return dense(in); });

  const std::vector<Growth> all{watch("eager", [&] { dense(x.read()); }),
                                watch("traced", [&] { traced(x.read()); }),
                                watch("under a tape", [&] {
                                  tn::GradientTape tape;
                                  tape.gradient(tn::sum(dense(x.read())), {x, dense.w, dense.b});
                                })};

  std::cout << std::left << std::setw(16) << "" << std::right << std::setw(12) << "tensors"
            << std::setw(18) << "after 1 call" << std::setw(18) << "after 1001 calls"
            << "\n";
  std::size_t top = 0;
  bool flat = true;
  for (const Growth& growth : all) {
    std::cout << std::left << std::setw(16) << growth.name << std::right << std::setw(5)
              << growth.tensors_before << " to" << std::setw(4) << growth.tensors_after
              << std::setw(12) << growth.bytes.front() << " bytes" << std::setw(12)
              << growth.bytes.back() << " bytes\n";
    top = std::max(top, *std::max_element(growth.bytes.begin(), growth.bytes.end()));
    flat = flat && growth.bytes.front() == growth.bytes.back() &&
           growth.tensors_before == growth.tensors_after;
  }
  for (const Growth& growth : all) {
    std::cout << "\n";
    plot(growth, top);
  }
  std::cout << "\n"
            << (flat ? "flat in all three" : "memory grows")
            << "; under a tape w also keeps its transposed form for the next gradient: "
            << tn::memory().workspace_bytes << " bytes of workspace\n";
  return flat ? 0 : 1;
}
