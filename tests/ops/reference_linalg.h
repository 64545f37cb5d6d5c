// Linear algebra in double, by textbook methods and one matrix at a time: elimination, Householder
// reflections, Jacobi rotations. Nothing here calls the library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz.h"
#include "reference.h"

namespace tenure::testing {

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> data;  // row-major

  Matrix(std::int64_t m, std::int64_t n)
      : rows(m), columns(n), data(static_cast<std::size_t>(m * n), 0.0) {}
  double& at(std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(i * columns + j)];
  }
  double at(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i * columns + j)];
  }
};
using Matrices = std::vector<Matrix>;

Matrix identity(std::int64_t n);
Matrix transposed(const Matrix& x);
Matrix product(const Matrix& a, const Matrix& b);
Matrix lower_cholesky(const Matrix& x);        // reads the lower triangle
Matrix solution(Matrix a, Matrix b);           // of a x = b
Matrix triangle(const Matrix& x, bool lower);  // zeros elsewhere
double determinant_of(Matrix x);
Matrices qr_of(const Matrix& x, bool full);  // q, r
Matrices svd_of(const Matrix& x);            // u, s as a row, v
Matrices eigh_of(const Matrix& x);           // w as a row, v; reads the lower triangle

// fn of the matrices that stand at each place of the inputs' stacks, which broadcast. A result of
// `result_rank` 2 is a matrix, of 1 its only row, of 0 its only element.
Reference on_matrices(std::function<Matrix(const Matrices&)> fn, int result_rank = 2);

// Products over labels, all sums in one loop: operands and output as one character per axis.
// A digit's axes may be 1 where others are longer.
Reference einsum_of(std::vector<std::string> operands, std::string output);

// x scaled down, plus 4, 5.5, 7 ... along the diagonal: far from singular, with values apart.
Array made_regular(Array x);
Tensor made_regular(Tensor x);

// Matrices in a layout that repeats nothing, made regular.
Drawn drawn_regular(Dice& dice, const Shape& shape, DType dtype);
Lay lay_of_its_own(Dice& dice);  // any but the repeating ones

}  // namespace tenure::testing
