// Complex numbers: rows take and give their parts, so that arrays stay real.
#include <cmath>
#include <complex>

#include "case.h"
#include "reference_fft.h"

namespace tenure::testing {
namespace {

using Z = std::complex<double>;

DType float32_dtype(DType) { return DType::float32; }

const std::vector<Shapes> kPairs{{{2, 3}, {2, 3}}, {{}, {}}, {{3}, {2, 1}}, {{0}, {1}}};

// A function of one complex number, given by its parts.
Case of_one(const char* name, std::vector<std::string_view> ops, Tensor (*run)(Tensor z),
            double (*value)(Z z)) {
  return {.name = name,
          .ops = std::move(ops),
          .run = [run](Tensors in, DType) { return run(complex(OP_IN(0), OP_IN(1))); },
          .inputs = {{}, {}},
          .shapes = kPairs,
          .value_shapes = {{{16001}, {16001}}},
          .reference =
              elementwise([value](const std::vector<double>& x) { return value({x[0], x[1]}); }),
          .tolerance = {.ulps = 2, .epsilons = 4},
          .dtypes = kAnything,
          .result = float32_dtype,
          .step = 1,
          .error_name = "complex"};
}

Case of_two(const char* name, const char* op, Tensor (*run)(Arg a, Arg b), Z (*value)(Z a, Z b)) {
  return {.name = name,
          .ops = {"real", "complex", "imag", op},
          .run =
              [run](Tensors in, DType) {
                Tensor a = complex(OP_IN(0), OP_IN(1));
                return mixed(run(std::move(a), complex(OP_IN(2), OP_IN(3))));
              },
          .inputs = {{}, {}, {}, {}},
          .shapes = {{{2, 3}, {2, 3}, {2, 3}, {2, 3}},
                     {{}, {}, {}, {}},
                     {{3}, {3}, {2, 1}, {2, 1}},
                     {{0}, {0}, {}, {}}},
          .value_shapes = {{{8001}, {8001}, {8001}, {8001}}, {{300, 1}, {300, 1}, {99}, {99}}},
          .reference = elementwise([value](const std::vector<double>& x) {
            return mixed(value({x[0], x[1]}, {x[2], x[3]}));
          }),
          .tolerance = {.ulps = 4, .epsilons = 16},
          .dtypes = kAnything,
          .result = float32_dtype,
          .step = 1,
          .error_name = ""};
}

// Finite differences of float32 results where they are not straight.
void curved(Case& row) {
  row.step = 5e-3;
  row.gradient_error = 1e-3;
  row.dtypes = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
}

Case of_sum(const char* name, std::optional<Axes> axes, Axes reference_axes, bool average) {
  const auto reduced = [axes, average](Tensor z) {
    if (average) return axes ? mean(std::move(z), *axes) : mean(std::move(z));
    return axes ? sum(std::move(z), *axes) : sum(std::move(z));
  };
  return {
      .name = name,
      .ops = {"real", "complex", "imag", "sum"},
      .run = [reduced](Tensors in, DType) { return mixed(reduced(complex(OP_IN(0), OP_IN(1)))); },
      .inputs = {{}, {}},
      .shapes = {{{2, 3}, {2, 3}}, {{4, 1}, {4, 1}}, {{3, 0}, {3, 0}}},
      .value_shapes = {{{200, 203}, {200, 203}}},
      .reference =
          [reference_axes, average](const Arrays& in) {
            Array z =
                elementwise([](const std::vector<double>& x) { return mixed(Z{x[0], x[1]}); })(in);
            const auto plus = [](long double a, long double b) { return a + b; };
            Array result = folded(z, reference_axes, false, 0, plus);
            const auto count =
                static_cast<double>(z.data.size()) / static_cast<double>(result.data.size());
            for (double& value : result.data) value = average ? value / count : value;
            return result;
          },
      .tolerance = {.ulps = 2, .epsilons = 16},
      .value_tolerance = {.ulps = 4, .epsilons = 4000},
      .result = float32_dtype,
      .step = 1,
      .error_name = ""};
}

}  // namespace

std::vector<Case> complex_cases() {
  std::vector<Case> cases;
  cases.push_back(of_one(
      "complex", {"complex", "real", "imag"}, [](Tensor z) { return mixed(z); },
      [](Z z) { return mixed(z); }));
  cases.push_back(of_one(
      "real", {"real"}, [](Tensor z) { return real(std::move(z)); }, [](Z z) { return z.real(); }));
  cases.push_back(of_one(
      "imag", {"imag"}, [](Tensor z) { return imag(std::move(z)); }, [](Z z) { return z.imag(); }));
  cases.push_back(of_one(
      "conj", {"conj"}, [](Tensor z) { return mixed(conj(std::move(z))); },
      [](Z z) { return mixed(std::conj(z)); }));
  cases.push_back(of_one(
      "neg_of_complex", {"real", "neg"}, [](Tensor z) { return mixed(-std::move(z)); },
      [](Z z) { return mixed(-z); }));
  cases.push_back(of_one(
      "square_of_complex", {"real", "square"}, [](Tensor z) { return mixed(square(std::move(z))); },
      [](Z z) { return mixed(z * z); }));
  cases.back().tolerance.epsilons = cases.back().value_tolerance.epsilons = 16;
  cases.push_back(of_one(
      "exp_of_complex", {"real", "exp"}, [](Tensor z) { return mixed(exp(std::move(z))); },
      [](Z z) { return mixed(std::exp(z)); }));
  curved(cases.back());
  cases.back().tolerance.epsilons = cases.back().value_tolerance.epsilons = 32;
  cases.push_back(of_one(
      "complex_abs", {"complex_abs"}, [](Tensor z) { return complex_abs(std::move(z)); },
      [](Z z) { return std::abs(z); }));
  curved(cases.back());
  cases.back().inputs[0] = {.low = 0.5, .high = 2};
  cases.push_back(of_one(
      "angle", {"angle"}, [](Tensor z) { return angle(std::move(z)); },
      [](Z z) { return std::arg(z); }));
  curved(cases.back());
  cases.back().inputs[0] = {.low = 0.5, .high = 2};

  cases.push_back(of_two("add_of_complex", "add", add, [](Z a, Z b) { return a + b; }));
  cases.push_back(of_two("sub_of_complex", "sub", sub, [](Z a, Z b) { return a - b; }));
  cases.push_back(of_two("mul_of_complex", "mul", mul, [](Z a, Z b) { return a * b; }));
  cases.push_back(of_two("div_of_complex", "div", div, [](Z a, Z b) { return a / b; }));
  curved(cases.back());
  cases.back().inputs[2] = cases.back().inputs[3] = {.low = 0.7, .high = 2};

  cases.push_back(of_sum("sum_of_complex", {}, {0, 1}, false));
  cases.push_back(of_sum("sum_of_complex_over_first", {{0}}, {0}, false));
  cases.push_back(of_sum("sum_of_complex_over_last", {{-1}}, {1}, false));
  cases.push_back(of_sum("mean_of_complex", {{0}}, {0}, true));
  return cases;
}

}  // namespace tenure::testing
