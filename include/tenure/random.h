// Random tensors: counter-based (Philox), so the same seed gives the same values on any number of
// threads.
//
//   tenure::set_seed(7);
//   tenure::Tensor w = tenure::random::normal({4, 4}, {.deviation = 0.1});
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "tenure/dtype.h"
#include "tenure/export.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

TENURE_API void set_seed(std::uint64_t seed);  // restarts the sequence

namespace random {

struct NormalOptions {
  double mean = 0;
  double deviation = 1;
  DType dtype = DType::float32;
};
struct UniformOptions {
  double low = 0;
  double high = 1;  // not included
  DType dtype = DType::float32;
};

TENURE_API Tensor normal(const Shape& shape, NormalOptions options = {},
                         std::source_location site = std::source_location::current());
// Within two deviations of the mean.
TENURE_API Tensor truncated_normal(const Shape& shape, NormalOptions options = {},
                                   std::source_location site = std::source_location::current());
TENURE_API Tensor uniform(const Shape& shape, UniformOptions options = {},
                          std::source_location site = std::source_location::current());
// 1 with the given probability, else 0.
TENURE_API Tensor bernoulli(const Shape& shape, double probability = 0.5,
                            DType dtype = DType::float32,
                            std::source_location site = std::source_location::current());
// Integers in [low, high).
TENURE_API Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high,
                          DType dtype = DType::int32,
                          std::source_location site = std::source_location::current());
// x with its first axis in random order.
TENURE_API Tensor shuffle(Arg x);

struct MultinomialOptions {
  bool normalized = false;                 // probabilities instead of their logarithms
  std::optional<std::uint64_t> seed = {};  // the same draws each time, whatever set_seed said
};
// `samples` classes drawn for each row of [classes] or [rows, classes], as int32.
TENURE_API Tensor multinomial(Arg logits, std::int64_t samples, MultinomialOptions options = {});

}  // namespace random
}  // namespace tenure
