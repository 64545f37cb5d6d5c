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

// As a traced step does: each result lies where the state that was given up lay, and no other.
TEST(Adam, L8_an_eager_step_takes_the_bytes_of_each_state_that_is_given_up) {
  const auto place = [](const Tensor& x) { return x.view<float>().data(); };
  Tensor value = ones({64}), mean = zeros({64}), squares = zeros({64});
  const Tensor gradient = ones({64}), rate = full({}, 0.01), epsilon = full({}, 1e-7);
  const Tensor shared = mean;
  const std::array places{place(value), place(mean), place(squares)};
  const auto step = ops::adam(
      {std::move(value), std::move(mean), std::move(squares), gradient, rate, epsilon}, {});
  EXPECT_EQ(place(step[0]), places[0]);
  EXPECT_NE(place(step[1]), places[1]);
  EXPECT_EQ(place(step[2]), places[2]);
  EXPECT_EQ(shared.to_vector<float>(), std::vector<float>(64, 0.f));
}

}  // namespace
}  // namespace tenure::testing
