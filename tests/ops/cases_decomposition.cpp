// Decompositions, of matrices made regular from whatever the harness draws: it repeats rows and
// columns, which would make them singular.
#include <cmath>

#include "reference_linalg.h"

namespace tenure::testing {
namespace {

using Run = std::function<Tensor(Tensor)>;
using OfMatrix = std::function<Matrix(const Matrix&)>;

const std::vector<Shapes> kSquare{{{3, 3}}, {{1, 1}},    {{2, 2, 2}},
                                  {{0, 0}}, {{2, 0, 0}}, {{0, 2, 2}}};
const std::vector<Shapes> kLargeSquare{{{40, 40}}, {{650, 7, 7}}};
const std::vector<Shapes> kRectangular{{{3, 3}}, {{4, 2}}, {{2, 4}}, {{2, 3, 2}}, {{1, 3}},
                                       {{3, 1}}, {{0, 3}}, {{3, 0}}, {{0, 2, 3}}};
const std::vector<Shapes> kLargeRectangular{{{30, 20}}, {{20, 30}}, {{560, 8, 7}}};
const std::vector<Shapes> kWideShapes{{{3, 3}}, {{2, 4}}, {{2, 1, 3}}, {{0, 3}}};
const std::vector<Shapes> kTall{{{4, 2}}, {{2, 3, 1}}, {{2, 0}}};
const Tolerance kClose{.ulps = 32, .epsilons = 64};
const Tolerance kLargeClose{.ulps = 64, .epsilons = 2000};

// A row of one matrix; `of_matrix` gives a matrix, its only row or its only element.
Case row(std::string name, std::vector<std::string_view> ops, Run run, OfMatrix of_matrix,
         int result_rank, std::vector<Shapes> shapes, std::vector<Shapes> value_shapes) {
  return {.name = std::move(name),
          .ops = std::move(ops),
          .run = [run](Tensors in, DType) { return run(made_regular(OP_IN(0))); },
          .inputs = {{}},
          .shapes = std::move(shapes),
          .value_shapes = std::move(value_shapes),
          .reference =
              [of_matrix, result_rank](const Arrays& in) {
                const auto first = [&](const Matrices& all) { return of_matrix(all[0]); };
                return on_matrices(first, result_rank)({made_regular(in[0])});
              },
          .tolerance = kClose,
          .value_tolerance = kLargeClose,
          .several_calls = true,
          .error_name = ""};
}

Matrix one(double value) {
  Matrix result(1, 1);
  result.at(0, 0) = value;
  return result;
}

void add_square(std::vector<Case>& cases) {
  const auto square = [&](std::string name, std::vector<std::string_view> ops, Run run,
                          OfMatrix of_matrix, int result_rank = 2) {
    cases.push_back(row(std::move(name), std::move(ops), std::move(run), std::move(of_matrix),
                        result_rank, kSquare, kLargeSquare));
  };
  square("cholesky", {"cholesky"}, [](Tensor x) { return cholesky(std::move(x)); }, lower_cholesky);
  square(
      "cholesky_upper", {"cholesky"},
      [](Tensor x) { return cholesky(std::move(x), {.upper = true}); },
      [](const Matrix& x) { return transposed(lower_cholesky(transposed(x))); });
  square(
      "inverse", {"inverse"}, [](Tensor x) { return inverse(std::move(x)); },
      [](const Matrix& x) { return solution(x, identity(x.rows)); });
  square(
      "slogdet_log", {"slogdet"}, [](Tensor x) { return slogdet(std::move(x)).log; },
      [](const Matrix& x) { return one(std::log(std::abs(determinant_of(x)))); }, 0);
  square(
      "slogdet_sign", {"slogdet"}, [](Tensor x) { return slogdet(-std::move(x)).sign; },
      [](const Matrix& x) {
        const double value = determinant_of(x) * (x.rows % 2 == 0 ? 1 : -1);
        return one(value > 0 ? 1 : -1);
      },
      0);
  square(
      "log_determinant", {"slogdet", "log", "add"},
      [](Tensor x) { return log_determinant(std::move(x)); },
      [](const Matrix& x) { return one(std::log(determinant_of(x))); }, 0);
  square(
      "eigh_w", {"eigh"}, [](Tensor x) { return eigh(std::move(x)).w; },
      [](const Matrix& x) { return eigh_of(x)[0]; }, 1);
  square(
      "eigh_v", {"eigh"}, [](Tensor x) { return eigh(std::move(x)).v; },
      [](const Matrix& x) { return eigh_of(x)[1]; });
  square(
      "eigvalsh", {"eigvalsh"}, [](Tensor x) { return eigvalsh(std::move(x)); },
      [](const Matrix& x) { return eigh_of(x)[0]; }, 1);
  cases.push_back(row(
      "determinant", {"determinant"}, [](Tensor x) { return determinant(std::move(x)); },
      [](const Matrix& x) { return one(determinant_of(x)); }, 0, kSquare, {{{8, 8}}}));
  cases.back().value_tolerance = {.ulps = 200};
}

void add_rectangular(std::vector<Case>& cases) {
  for (const bool full : {false, true}) {
    const std::string name = full ? "qr_full" : "qr";
    const auto r = [full](Tensor x) { return qr(std::move(x), {.full_matrices = full}).r; };
    const auto q = [full](Tensor x) { return qr(std::move(x), {.full_matrices = full}).q; };
    const auto q_of = [full](const Matrix& x) { return qr_of(x, full)[0]; };
    const auto r_of = [full](const Matrix& x) { return qr_of(x, full)[1]; };
    const auto& shapes = full ? kWideShapes : kRectangular;
    const auto& value_shapes = full ? kTall : kLargeRectangular;
    cases.push_back(row(name + "_q", {"qr"}, q, q_of, 2, shapes, value_shapes));
    cases.push_back(row(name + "_r", {"qr"}, r, r_of, 2, shapes, value_shapes));
  }
  const auto svd_row = [&](const char* name, const std::vector<Shapes>& shapes, bool full,
                           auto&& pick, std::size_t part, int result_rank) {
    cases.push_back(row(
        name, {"svd"},
        [full, pick](Tensor x) { return pick(svd(std::move(x), {.full_matrices = full})); },
        [part](const Matrix& x) { return svd_of(x)[part]; }, result_rank, shapes,
        full ? std::vector<Shapes>{} : kLargeRectangular));
    cases.back().tolerance.epsilons = 512;
  };
  svd_row("svd_u", kRectangular, false, [](const Svd& all) { return all.u; }, 0, 2);
  svd_row("svd_s", kRectangular, false, [](const Svd& all) { return all.s; }, 1, 1);
  svd_row("svd_v", kRectangular, false, [](const Svd& all) { return all.v; }, 2, 2);
  svd_row("svd_full_u", kSquare, true, [](const Svd& all) { return all.u; }, 0, 2);
  svd_row("svd_full_v", kSquare, true, [](const Svd& all) { return all.v; }, 2, 2);
  cases.push_back(row(
      "singular_values", {"singular_values"},
      [](Tensor x) { return singular_values(std::move(x)); },
      [](const Matrix& x) { return svd_of(x)[1]; }, 1, kRectangular, kLargeRectangular));
}

// A row of a regular matrix and right-hand sides.
Case equation(std::string name, std::vector<std::string_view> ops,
              std::function<Tensor(Tensor, Tensor)> run,
              std::function<Matrix(const Matrix&, const Matrix&)> solve_matrix,
              std::vector<Shapes> shapes, std::vector<Shapes> value_shapes) {
  return {.name = std::move(name),
          .ops = std::move(ops),
          .run = [run](Tensors in, DType) { return run(made_regular(OP_IN(0)), OP_IN(1)); },
          .inputs = {{}, {}},
          .shapes = std::move(shapes),
          .value_shapes = std::move(value_shapes),
          .reference =
              [solve_matrix](const Arrays& in) {
                const auto both = [&](const Matrices& all) { return solve_matrix(all[0], all[1]); };
                return on_matrices(both)({made_regular(in[0]), in[1]});
              },
          .tolerance = kClose,
          .value_tolerance = kLargeClose,
          .several_calls = true,
          .error_name = ""};
}

void add_equations(std::vector<Case>& cases) {
  const std::vector<Shapes> shapes{
      {{3, 3}, {3, 2}},          {{1, 1}, {1, 1}}, {{2, 2, 2}, {2, 2, 1}}, {{2, 2}, {3, 2, 1}},
      {{2, 1, 2, 2}, {2, 2, 3}}, {{0, 0}, {0, 2}}, {{2, 2}, {2, 0}},       {{0, 2, 2}, {2, 1}}};
  const std::vector<Shapes> value_shapes{{{40, 40}, {40, 9}}, {{600, 7, 7}, {600, 7, 3}}};
  for (const bool lower : {true, false}) {
    for (const bool transpose : {false, true}) {
      cases.push_back(equation(
          std::string("triangular_solve_") + (lower ? "lower" : "upper") +
              (transpose ? "_transposed" : ""),
          {"triangular_solve"},
          [=](Tensor a, Tensor b) {
            return triangular_solve(std::move(a), std::move(b),
                                    {.lower = lower, .transpose = transpose});
          },
          [=](const Matrix& a, const Matrix& b) {
            const Matrix half = triangle(a, lower);
            return solution(transpose ? transposed(half) : half, b);
          },
          shapes, value_shapes));
    }
  }
  for (const bool transpose : {false, true}) {
    cases.push_back(equation(
        transpose ? "solve_transposed" : "solve", {"solve"},
        [=](Tensor a, Tensor b) {
          return solve(std::move(a), std::move(b), {.transpose = transpose});
        },
        [=](const Matrix& a, const Matrix& b) {
          return solution(transpose ? transposed(a) : a, b);
        },
        shapes, value_shapes));
  }
  const auto least_squares = [](const Matrix& a, const Matrix& b) {
    const Matrix t = transposed(a);
    return a.rows >= a.columns ? solution(product(t, a), product(t, b))
                               : product(t, solution(product(a, t), b));
  };
  cases.push_back(
      equation("lstsq", {"qr", "matmul", "triangular_solve"},
               [](Tensor a, Tensor b) { return lstsq(std::move(a), std::move(b)); }, least_squares,
               {{{4, 2}, {4, 2}}, {{2, 3}, {2, 1}}, {{2, 2}, {3, 2, 1}}, {{2, 3, 2}, {3, 2}}},
               {{{20, 9}, {20, 3}}}));
}

}  // namespace

std::vector<Case> decomposition_cases() {
  std::vector<Case> cases;
  add_square(cases);
  add_rectangular(cases);
  add_equations(cases);
  return cases;
}

}  // namespace tenure::testing
