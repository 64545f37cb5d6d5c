#include <algorithm>
#include <cmath>

#include "reference_linalg.h"

namespace tenure::testing {
namespace {

using OfMatrices = std::function<Matrix(const Matrices&)>;

// What decompositions may be refused for. Trials are on matrices made regular, in any layout.
struct Needs {
  bool square = true;
  const char* singular = nullptr;  // what a matrix of zeros is refused with
  bool finite = false;
};

Matrix one(double value) {
  Matrix result(1, 1);
  result.at(0, 0) = value;
  return result;
}

Trial one_matrix(Dice& dice, const char* name, Needs needs, std::function<Tensor(Tensor)> run,
                 OfMatrices reference, int result_rank) {
  const DType dtype = dice.pick(kFloats);
  Shape stack = dice.shape(0, 2, 3);
  const std::int64_t n = dice.chance(0.04) ? 0 : dice.in(1, 6);
  Shape shape = stack;
  shape.push_back(n);
  shape.push_back(needs.square ? n : dice.in(1, 6));
  Trial trial{.inputs = {drawn_regular(dice, shape, dtype)}, .run = {}, .result = dtype};
  trial.run = [run](Tensors in) { return run(OP_IN(0)); };
  trial.expect = on_matrices(std::move(reference), result_rank);
  trial.tolerance = {.ulps = 64, .epsilons = 1000};  // norms are about 10
  if (dice.chance(0.85)) return trial;
  const std::int64_t items = stack.numel();
  const auto place = static_cast<std::size_t>(items > 0 ? dice.in(0, items - 1) : 0);
  const std::int64_t area = shape[-1] * shape[-2];
  std::vector<double>& values = trial.inputs[0].values.data;
  if (needs.singular != nullptr && items * n > 0 && dice.chance(0.4)) {
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(place) * area, area, 0.0);
    trial.complaint = {std::string(name) + ": matrix " + std::to_string(place) + " of the stack is",
                       needs.singular};
  } else if (needs.finite && items * area > 0 && dice.chance(0.4)) {
    values[place * static_cast<std::size_t>(area)] = INFINITY;
    trial.complaint = {std::string(name) + ": matrix " + std::to_string(place) +
                       " of the stack has a value that is not finite"};
  } else if (needs.square && dice.chance(0.4)) {
    shape[-1] += 1;
    trial.inputs = {drawn(dice, shape, dtype)};
    trial.complaint = {std::string(name) + ": square matrices are needed", to_string(shape)};
  } else {
    trial.inputs = {drawn(dice, {3}, dtype)};
    trial.complaint = {std::string(name) + ": two axes or more are needed", "[3]"};
  }
  return trial;
}

Fuzz of_one(const char* name, std::vector<std::string_view> ops, Needs needs,
            std::function<Tensor(Tensor)> run, std::function<Matrix(const Matrix&)> reference,
            int result_rank = 2) {
  return {name, ops, [=, op = ops.front().data()](Dice& dice) {
            return one_matrix(
                dice, op, needs, run,
                [reference](const Matrices& all) { return reference(all[0]); }, result_rank);
          }};
}

Trial equation(Dice& dice, const char* name, bool square, const char* singular,
               std::function<Tensor(Tensor, Tensor)> run,
               std::function<Matrix(const Matrix&, const Matrix&)> reference) {
  const DType dtype = dice.pick(kFloats);
  const Shape stack = dice.shape(0, 2, 3);
  const std::int64_t m = square && dice.chance(0.04) ? 0 : dice.in(1, 6);
  const std::int64_t n = square ? m : dice.in(1, 6);
  const auto with = [](Shape shape, std::int64_t rows, std::int64_t columns) {
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  Shape a = with(dice.narrowed(stack), m, n), b = with(dice.narrowed(stack), m, dice.in(0, 4));
  Trial trial{
      .inputs = {drawn_regular(dice, a, dtype), drawn(dice, b, dtype)}, .run = {}, .result = dtype};
  trial.run = [run](Tensors in) { return run(OP_IN(0), OP_IN(1)); };
  trial.expect =
      on_matrices([reference](const Matrices& all) { return reference(all[0], all[1]); });
  trial.tolerance = {.ulps = 64, .epsilons = 256};
  if (dice.chance(0.85)) return trial;
  const std::string op = name;
  if (singular != nullptr && m > 0 && dice.chance(0.5)) {
    trial.inputs[0] = {{{2, m, m}, std::vector<double>(static_cast<std::size_t>(2 * m * m), 0.0)},
                       dtype};
    trial.inputs[1] = drawn(dice, {m, 1}, dtype);
    trial.complaint = {op + ": matrix 0 of the stack is singular: its pivot 1 is 0"};
  } else if (dice.chance(0.5)) {
    b[-2] += 1;
    trial.inputs[1] = drawn(dice, b, dtype);
    trial.complaint = {op + ": " + std::to_string(m) + " equations for " + std::to_string(m + 1),
                       to_string(a), to_string(b)};
  } else if (square && dice.chance(0.5)) {
    a[-1] += 1;
    trial.inputs[0] = drawn(dice, a, dtype);
    trial.complaint = {op + ": square matrices are needed", to_string(a)};
  } else {
    trial.inputs[1] = drawn(dice, {3}, dtype);
    trial.complaint = {op + ": operands need two axes or more", to_string(a), "[3]"};
  }
  return trial;
}

Trial triangular_trial(Dice& dice) {
  const TriangularSolveOptions options{dice.chance(0.5), dice.chance(0.5)};
  return equation(
      dice, "triangular_solve", true, "singular",
      [=](Tensor a, Tensor b) { return triangular_solve(std::move(a), std::move(b), options); },
      [=](const Matrix& a, const Matrix& b) {
        const Matrix half = triangle(a, options.lower);
        return solution(options.transpose ? transposed(half) : half, b);
      });
}

Trial solve_trial(Dice& dice) {
  const bool transpose = dice.chance(0.5);
  return equation(
      dice, "solve", true, "singular",
      [=](Tensor a, Tensor b) { return solve(std::move(a), std::move(b), {transpose}); },
      [=](const Matrix& a, const Matrix& b) { return solution(transpose ? transposed(a) : a, b); });
}

Trial lstsq_trial(Dice& dice) {
  return equation(
      dice, "lstsq", false, nullptr,
      [](Tensor a, Tensor b) { return lstsq(std::move(a), std::move(b)); },
      [](const Matrix& a, const Matrix& b) {
        const Matrix t = transposed(a);
        return a.rows >= a.columns ? solution(product(t, a), product(t, b))
                                   : product(t, solution(product(a, t), b));
      });
}

Trial qr_trial(Dice& dice) {
  const bool full = dice.chance(0.5), want_q = dice.chance(0.5);
  return one_matrix(
      dice, "qr", {.square = false},
      [=](Tensor x) {
        auto [q, r] = qr(std::move(x), {full});
        return want_q ? q : r;
      },
      [=](const Matrices& all) { return qr_of(all[0], full)[want_q ? 0 : 1]; }, 2);
}

// Vectors of values that lie close together are ill-conditioned, so what is held against the
// reference is what the factors must be: orthonormal, and of the matrix as their product.
Tensor gram(const Tensor& x) { return matmul(x, x, {.transpose_a = true}); }

Trial svd_trial(Dice& dice) {
  const bool full = dice.chance(0.4);
  const std::int64_t part = dice.in(full ? 2 : 0, 3);
  return one_matrix(
      dice, "svd", {.square = false, .finite = true},
      [=](Tensor x) {
        const auto [u, s, v] = svd(std::move(x), {.full_matrices = full});
        if (part == 0) return expand_dims(s, -2);
        if (part == 1) return matmul(u * expand_dims(s, -2), v, {.transpose_b = true});
        return gram(part == 2 ? u : v);
      },
      [=](const Matrices& all) {
        const Matrix& x = all[0];
        if (part == 0) return svd_of(x)[1];
        if (part == 1) return x;
        return identity(!full ? std::min(x.rows, x.columns) : part == 2 ? x.rows : x.columns);
      },
      2);
}

Trial eigh_trial(Dice& dice) {
  const std::int64_t part = dice.in(0, 2);
  return one_matrix(
      dice, "eigh", {.finite = true},
      [=](Tensor x) {
        const auto [w, v] = eigh(std::move(x));
        if (part == 0) return expand_dims(w, -2);
        if (part == 1) return matmul(v * expand_dims(w, -2), v, {.transpose_b = true});
        return gram(v);
      },
      [=](const Matrices& all) {
        Matrix x = all[0];
        if (part == 0) return eigh_of(x)[0];
        if (part == 2) return identity(x.rows);
        for (std::int64_t i = 0; i < x.rows; ++i) {
          for (std::int64_t j = 0; j < i; ++j) x.at(j, i) = x.at(i, j);
        }
        return x;
      },
      2);
}

Trial slogdet_trial(Dice& dice) {
  const bool want_sign = dice.chance(0.5);
  return one_matrix(
      dice, "slogdet", {},
      [=](Tensor x) {
        auto [sign, log] = slogdet(std::move(x));
        return want_sign ? sign : log;
      },
      [=](const Matrices& all) {
        const double value = determinant_of(all[0]);
        return one(want_sign ? (value > 0 ? 1 : -1) : std::log(std::abs(value)));
      },
      0);
}

}  // namespace

std::vector<Fuzz> decomposition_fuzz() {
  std::vector<Fuzz> rows{
      of_one(
          "cholesky", {"cholesky"}, {.singular = "not positive definite"},
          [](Tensor x) { return cholesky(std::move(x)); }, lower_cholesky),
      of_one(
          "cholesky_upper", {"cholesky"}, {.singular = "its leading minor of order 1"},
          [](Tensor x) { return cholesky(std::move(x), {.upper = true}); },
          [](const Matrix& x) { return transposed(lower_cholesky(transposed(x))); }),
      of_one(
          "inverse", {"inverse"}, {.singular = "singular: its pivot 1 is 0"},
          [](Tensor x) { return inverse(std::move(x)); },
          [](const Matrix& x) { return solution(x, identity(x.rows)); }),
      of_one(
          "determinant", {"determinant"}, {}, [](Tensor x) { return determinant(std::move(x)); },
          [](const Matrix& x) { return one(determinant_of(x)); }, 0),
      of_one(
          "log_determinant", {"log_determinant"}, {},
          [](Tensor x) { return log_determinant(std::move(x)); },
          [](const Matrix& x) { return one(std::log(determinant_of(x))); }, 0),
      of_one(
          "singular_values", {"singular_values"}, {.square = false, .finite = true},
          [](Tensor x) { return singular_values(std::move(x)); },
          [](const Matrix& x) { return svd_of(x)[1]; }, 1),
      of_one(
          "eigvalsh", {"eigvalsh"}, {.finite = true},
          [](Tensor x) { return eigvalsh(std::move(x)); },
          [](const Matrix& x) { return eigh_of(x)[0]; }, 1)};
  rows.push_back({"slogdet", {"slogdet"}, slogdet_trial});
  rows.push_back({"qr", {"qr"}, qr_trial});
  rows.push_back({"svd", {"svd"}, svd_trial});
  rows.push_back({"eigh", {"eigh"}, eigh_trial});
  rows.push_back({"triangular_solve", {"triangular_solve"}, triangular_trial});
  rows.push_back({"solve", {"solve"}, solve_trial});
  rows.push_back({"lstsq", {"lstsq"}, lstsq_trial});
  return rows;
}

}  // namespace tenure::testing
