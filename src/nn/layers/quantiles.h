// Boundaries between equal parts of data that is seen once, in parts: a summary of it, as Keras
// makes one, of at most about 1 / epsilon values and how many each stands for.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenure::nn::detail {

class Quantiles {
 public:
  explicit Quantiles(double epsilon) : epsilon_(epsilon) {}
  void add(std::vector<float> values);
  // Between `bins` parts; fewer where there are fewer values.
  std::vector<double> boundaries(std::int64_t bins) const;

 private:
  struct Weighted {
    double value, weight;
  };
  using Summary = std::vector<Weighted>;
  static Summary compressed(const Summary& summary, double epsilon);

  double epsilon_;
  Summary summary_;  // by value
};

}  // namespace tenure::nn::detail
