// Adam's step as one op and as the dozen it stands for.
#include "ops/adam.h"

#include "array.h"

namespace tenure::testing {
namespace {

TEST(Adam, has_the_bits_of_the_ops_it_stands_for) {
  const ops::AdamAttrs attrs{.beta_1 = 0.9, .beta_2 = 0.999};
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor rate = full({}, 0.01, dtype), epsilon = full({}, 1e-7, dtype);
    for (const std::int64_t rows : {0, 1, 33, 20'000}) {
      const auto draw = [&] { return cast(random::normal({rows, 5}), dtype); };
      const Tensor value = draw(), mean = draw(), squares = square(draw()), gradient = draw();
      const Tensor m = mean * attrs.beta_1 + gradient * (1 - attrs.beta_1);
      const Tensor v = squares * attrs.beta_2 + gradient * gradient * (1 - attrs.beta_2);
      const auto step = ops::adam({value, mean, squares, gradient, rate, epsilon}, attrs);
      EXPECT_EQ(bits_of(step[0]), bits_of(value - m * rate / (sqrt(v) + epsilon)));
      EXPECT_EQ(bits_of(step[1]), bits_of(m));
      EXPECT_EQ(bits_of(step[2]), bits_of(v));
    }
  }
}

}  // namespace
}  // namespace tenure::testing
