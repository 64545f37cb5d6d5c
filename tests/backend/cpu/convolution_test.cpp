// Every kernel of convolutions on every instruction set, against the sum that defines it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ops/convolution_attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

// Two spatial axes, channels last; the kernels treat the other ranks alike.
struct Problem {
  std::int64_t batch, height, width, channels, outputs;  // of a depthwise one: the multiplier
  std::int64_t kernel_height, kernel_width;
  std::int64_t stride = 1, dilation = 1, padding = 0, groups = 1;
  bool depthwise = false;

  std::int64_t out(std::int64_t size, std::int64_t kernel) const {
    return (size + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
  }
  Shape x() const { return {batch, height, width, channels}; }
  Shape filter() const {
    return {kernel_height, kernel_width, depthwise ? channels : channels / groups, outputs};
  }
  Shape y() const {
    return {batch, out(height, kernel_height), out(width, kernel_width),
            depthwise ? channels * outputs : outputs};
  }
  ops::ConvAttrs attrs() const {
    return {.strides = {stride, stride},
            .dilations = {dilation, dilation},
            .before = {padding, padding},
            .result = {},
            .groups = groups};
  }
};

// fn(place in x, in the filter, in y) for every product.
template <class F>
void each_product(const Problem& p, F&& fn) {
  const Shape x = p.x(), filter = p.filter(), y = p.y();
  for (std::int64_t pixel = 0; pixel < y[0] * y[1] * y[2]; ++pixel) {
    const std::int64_t n = pixel / (y[1] * y[2]), h = pixel / y[2] % y[1], w = pixel % y[2];
    for (std::int64_t tap = 0; tap < filter[0] * filter[1]; ++tap) {
      const std::int64_t row = h * p.stride - p.padding + tap / filter[1] * p.dilation;
      const std::int64_t column = w * p.stride - p.padding + tap % filter[1] * p.dilation;
      if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
      const std::int64_t source = ((n * x[1] + row) * x[2] + column) * x[3];
      for (std::int64_t c = 0; c < filter[2]; ++c) {
        for (std::int64_t j = 0; j < filter[3]; ++j) {
          const std::int64_t first = p.depthwise ? 0 : j / (filter[3] / p.groups) * filter[2];
          fn(static_cast<std::size_t>(source + first + c),
             static_cast<std::size_t>((tap * filter[2] + c) * filter[3] + j),
             static_cast<std::size_t>(pixel * y[3] + (p.depthwise ? c * filter[3] + j : j)));
        }
      }
    }
  }
}

template <class T>
std::vector<T> values(const Shape& shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> any(-1, 1);
  std::vector<T> result(static_cast<std::size_t>(shape.numel()));
  for (T& value : result) value = static_cast<T>(any(engine));
  return result;
}

template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& want,
                  const std::vector<double>& magnitude, const std::string& what) {
  const auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], 8 * epsilon * (magnitude[i] + 1))
        << what << " at " << i;
  }
}

template <class T>
struct Kernels {
  explicit Kernels(const Problem& p)
      : problem(p),
        x(values<T>(p.x(), 1)),
        filter(values<T>(p.filter(), 2)),
        dy(values<T>(p.y(), 3)) {}

  std::vector<T> call(const std::string& op, const std::vector<Operand>& in, const Shape& out) {
    std::vector<T> result(static_cast<std::size_t>(out.numel()), T{77});
    const std::string name = (problem.depthwise ? "depthwise_conv2d" : "conv2d") + op;
    testing::call(testing::find_row(convolution_kernels(), name, dtype_of<T>), in,
                  Operand(result.data(), out), problem.attrs());
    return result;
  }
  std::vector<T> forward() {
    return call("", {Operand(x.data(), problem.x()), Operand(filter.data(), problem.filter())},
                problem.y());
  }
  std::vector<T> input_gradient() {
    return call("_grad_input",
                {Operand(dy.data(), problem.y()), Operand(filter.data(), problem.filter())},
                problem.x());
  }
  std::vector<T> filter_gradient() {
    return call("_grad_filter", {Operand(x.data(), problem.x()), Operand(dy.data(), problem.y())},
                problem.filter());
  }
  void check() {
    struct Sum {
      std::vector<double> value, magnitude;
      explicit Sum(const Shape& shape)
          : value(static_cast<std::size_t>(shape.numel())), magnitude(value) {}
      void add(std::size_t at, T a, T b) {
        const double product = static_cast<double>(a) * static_cast<double>(b);
        value[at] += product;
        magnitude[at] += std::abs(product);
      }
    };
    Sum y(problem.y()), dx(problem.x()), df(problem.filter());
    each_product(problem, [&](std::size_t i, std::size_t f, std::size_t o) {
      y.add(o, x[i], filter[f]);
      dx.add(i, dy[o], filter[f]);
      df.add(f, x[i], dy[o]);
    });
    expect_close(forward(), y.value, y.magnitude, "forward");
    expect_close(input_gradient(), dx.value, dx.magnitude, "gradient of the input");
    expect_close(filter_gradient(), df.value, df.magnitude, "gradient of the filter");
  }

  Problem problem;
  std::vector<T> x, filter, dy;
};

// Channel counts on both sides of every vector and tile; images smaller and larger than a tile.
std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const std::int64_t channels : {1, 2, 3, 5, 8, 13, 16}) {
    for (const std::int64_t outputs : {1, 4, 7, 16, 17, 33, 64, 70, 113}) {
      all.push_back({1, 4, 5, channels, outputs, 3, 2, 1, 1, 1});
    }
  }
  for (std::int64_t width = 1; width <= 25; ++width) {
    all.push_back({1, 1, width, 3, 20, 1, 1});
    all.push_back({2, 3, width, 2, 5, 2, 1, 2});
  }
  all.push_back({2, 9, 8, 4, 6, 3, 3, 2, 1, 1});
  all.push_back({2, 9, 8, 4, 6, 3, 3, 3, 2, 2});
  all.push_back({1, 9, 8, 4, 6, 2, 3, 2, 4, 3});
  all.push_back({1, 6, 6, 12, 18, 3, 3, 1, 1, 1, 3});
  all.push_back({1, 14, 14, 2, 3, 11, 7});          // more taps than a table
  all.push_back({1, 3, 4, 1700, 5, 2, 1});          // channels cut into blocks
  all.push_back({1, 3, 4, 5, 1030, 2, 1});          // and columns
  all.push_back({2, 50, 50, 2, 3, 3, 3, 1, 1, 1});  // pieces of pixels
  return all;
}

std::vector<Problem> depthwise_problems() {
  std::vector<Problem> all;
  for (const std::int64_t channels : {1, 3, 8, 15, 16, 17, 40}) {
    for (const std::int64_t multiplier : {1, 2, 3}) {
      all.push_back({1, 4, 5, channels, multiplier, 3, 2, 1, 1, 1});
      all.push_back({2, 7, 6, channels, multiplier, 3, 3, 2, 1, 1});
    }
  }
  all.push_back({1, 14, 14, 2, 2, 11, 7});
  all.push_back({1, 9, 9, 3, 1, 3, 3, 2, 2, 2});
  all.push_back({2, 50, 50, 3, 2, 3, 3, 1, 1, 1});
  for (Problem& problem : all) problem.depthwise = true;
  return all;
}

class Convolution : public ::testing::TestWithParam<std::int64_t> {
 protected:
  testing::UseTarget target_{GetParam()};
};

TEST_P(Convolution, matches_its_definition) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(to_string(p.x()) + to_string(p.filter()));
    Kernels<float>(p).check();
    Kernels<double>(p).check();
    if (HasFatalFailure()) return;
  }
}

TEST_P(Convolution, of_each_channel_matches_its_definition) {
  for (const Problem& p : depthwise_problems()) {
    SCOPED_TRACE(to_string(p.x()) + to_string(p.filter()));
    Kernels<float>(p).check();
    Kernels<double>(p).check();
    if (HasFatalFailure()) return;
  }
}

TEST_P(Convolution, any_number_of_threads_gives_the_same_bits) {
  std::vector<Problem> large{{4, 40, 40, 3, 8, 3, 3, 1, 1, 1},
                             {2, 40, 30, 16, 40, 3, 3, 2, 1, 1},
                             {4, 40, 40, 3, 2, 3, 3, 1, 1, 1}};
  large.back().depthwise = true;
  for (const Problem& p : large) {
    Kernels<float> run(p);
    const auto results_on = [&](int threads) {
      const testing::UseThreads use(threads);
      return std::vector{run.forward(), run.input_gradient(), run.filter_gradient()};
    };
    const auto alone = results_on(1);
    EXPECT_EQ(results_on(2), alone);
    EXPECT_EQ(results_on(5), alone);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Convolution, ::testing::ValuesIn(testing::targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

}  // namespace
}  // namespace tenure::cpu
