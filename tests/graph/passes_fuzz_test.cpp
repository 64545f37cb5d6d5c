// Random functions, traced and eager: the passes change no bit.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "support/expect.h"

namespace tenure::testing {
namespace {

using Tensors = std::vector<Tensor>;

// Draws a function: what it computes depends on the seed alone, so that it may run twice.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}

  Tensors operator()(const Tensors& in) {
    pool_ = in;
    for (int steps = 3 + draw(25); steps > 0; --steps) pool_.push_back(next());
    Tensors results;
    for (int i = 0; i < 3; ++i) results.push_back(any());
    return results;
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  Tensor any() { return pool_[static_cast<std::size_t>(draw(static_cast<int>(pool_.size())))]; }
  Tensor shaped(const Shape& shape) { return reshape(any(), shape); }  // all have 6 elements
  float number() {
    constexpr float numbers[] = {0.f, -0.f, 1.f, -1.f, 2.f, 0.5f};
    return numbers[draw(6)];
  }

  Tensor next() {
    const Tensor x = any();
    switch (draw(22)) {
      case 0:
        return exp(x);
      case 1:
        return -x;
      case 2:
        return relu(x);
      case 3:
        return tanh(x);
      case 4:
        return x * number();
      case 5:
        return x + number();
      case 6:
        return x / number();
      case 7:
        return number() - x;
      case 8:
        return shaped({2, 3}) * shaped({2, 3});
      case 9:
        return shaped({6}) - shaped({6});
      case 10:
        return shaped({3, 2}) + shaped({3, 2});
      case 11:
        return transpose(x);
      case 12:
        return x.clone();
      case 13:
        return slice(shaped({6}), {5}, {6}, {-1});
      case 14:
        return sum(broadcast_to(shaped({2, 3}), {2, 2, 3}), {0});
      case 15:
        return reshape(matmul(shaped({3, 2}), shaped({2, 3})), {9}).clone()[0] * shaped({6});
      case 16:
        return random::normal({2, 3});
      case 17:
        return full({3, 2}, number());
      case 18:
        return where(greater(shaped({6}), 0.f), shaped({6}), number());
      case 19:
        return sort(shaped({2, 3}));
      case 20:
        return concat({slice(shaped({6}), {0}, {2}), slice(shaped({6}), {2}, {4})}, 0);
      default:
        return broadcast_to(mean(shaped({2, 3}), {1}, {.keep_dims = true}), {2, 3});
    }
  }

  std::mt19937_64 random_;
  Tensors pool_;
};

std::vector<std::uint32_t> float_bits_of(const Tensor& x) {
  std::vector<std::uint32_t> bits;
  for (const float value : floats(x)) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

TEST(PassesFuzz, random_functions_give_the_same_bits_as_eager_code) {
  const Tensors in{tensor({0.f, -0.f, 1.f, -2.5f, 3.f, 0.1f}, {2, 3}), linspace(-1, 1, 6)};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Function f = function("drawn", [&](Tensors x) { return Drawn(seed)(x); });
    set_seed(7);
    const Tensors eager = Drawn(seed)(in);
    for (int call = 0; call < 2; ++call) {
      set_seed(7);
      const Tensors y = f(in);
      for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i].shape(), eager[i].shape());
        ASSERT_EQ(float_bits_of(y[i]), float_bits_of(eager[i]))
            << f.dump() << f.dump({.optimised = true});
      }
    }
  }
}

}  // namespace
}  // namespace tenure::testing
