// Linear algebra: products, diagonals, einsum, decompositions. Matrices are the last two axes; what
// stands before them is a stack, and each matrix of it is treated by itself.
//
//   tenure::Tensor y = tenure::matmul(x, w, {.transpose_b = true});
//   tenure::Tensor scores = tenure::einsum("bhqd,bhkd->bhqk", q, k);
//   auto [u, s, v] = tenure::svd(x);
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>
#include <vector>

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

// [..., m, k] x [..., k, n] gives [..., m, n]; the leading axes broadcast.
TENURE_API Tensor matmul(Arg a, Arg b, MatmulOptions options = {});
TENURE_API Tensor dot(Arg a, Arg b);    // of vectors and matrices
TENURE_API Tensor outer(Arg a, Arg b);  // of vectors [m] and [n]: [m, n]
TENURE_API Tensor matrix_transpose(Arg x);

// The product of the operands' elements whose labels agree, summed over the labels that the output
// lacks: "ij,jk->ik". Without an arrow, labels that stand there once are the output's, in
// alphabetical order. A label twice in one operand takes its diagonal; "..." stands for any axes,
// which broadcast. The order of the products is the one that costs least.
TENURE_API Tensor einsum(std::string_view equation, Arg x);
TENURE_API Tensor einsum(std::string_view equation, Arg a, Arg b);
TENURE_API Tensor einsum(std::string_view equation, std::vector<Tensor> operands,
                         std::source_location site = std::source_location::current());

struct DiagonalOptions {
  std::int64_t offset = 0;  // above the main diagonal; below it when negative
  int axis1 = -2;
  int axis2 = -1;
};

TENURE_API Tensor diagonal(Arg x,
                           DiagonalOptions options = {});       // a view; the last axis runs along
TENURE_API Tensor matrix_diag(Arg x, std::int64_t offset = 0);  // [..., n] on matrices of zeros
TENURE_API Tensor diag(Arg x);       // of shape s: s + s, zero but where both halves agree
TENURE_API Tensor diag_part(Arg x);  // undoes diag
TENURE_API Tensor trace(Arg x, DiagonalOptions options = {});  // the sum of a diagonal
// Zeros but for `lower` diagonals below the main one and `upper` above it; negative: all.
TENURE_API Tensor band_part(Arg x, std::int64_t lower, std::int64_t upper);
// The rows made orthogonal to those before them, and of length 1.
TENURE_API Tensor gram_schmidt(Arg x);
TENURE_API std::vector<Tensor> gram_schmidt(
    std::vector<Tensor> vectors, std::source_location site = std::source_location::current());

// Decompositions take float32 and float64 (integers become float32). A matrix that has none
// (singular, not positive definite) is a ValueError that names it.

struct CholeskyOptions {
  bool upper = false;
};
// L with x = L L', from the lower triangle of x; U with x = U' U, from the upper one.
TENURE_API Tensor cholesky(Arg x, CholeskyOptions options = {});

struct Qr {
  Tensor q, r;
};
struct QrOptions {
  bool full_matrices = false;  // q is square
};
// x = q r, q's columns orthonormal, r upper triangular. Signs are those of Householder reflections,
// as in TensorFlow.js: an element of r's diagonal is positive where what was reflected into it was
// negative, and the other way round. A full q of more rows than columns has no gradient.
TENURE_API Qr qr(Arg x, QrOptions options = {});

struct Svd {
  Tensor u, s, v;
};
struct SvdOptions {
  bool full_matrices = false;  // u and v are square
};
// x = u diag(s) v', s descending. The element of largest magnitude in each column of u (of v, past
// u's last) is positive. Where singular values are equal, or 0 in an x that is not square, the part
// of the gradients of u and v that does not exist is left out; full ones have a gradient for square
// x alone.
TENURE_API Svd svd(Arg x, SvdOptions options = {});
TENURE_API Tensor singular_values(Arg x);

struct Eigh {
  Tensor w, v;
};
// x v = v diag(w) for a symmetric x, of which the lower triangle is read; w ascending. The element
// of largest magnitude in each column of v is positive. Where elements of w are equal, the part of
// v's gradient that does not exist is left out.
TENURE_API Eigh eigh(Arg x);
TENURE_API Tensor eigvalsh(Arg x);  // eigh's w

struct TriangularSolveOptions {
  bool lower = true;       // which triangle of a is read
  bool transpose = false;  // solves a' x = b
};
// x with a x = b, for b of [..., n, k]; the leading axes broadcast.
TENURE_API Tensor triangular_solve(Arg a, Arg b, TriangularSolveOptions options = {});
struct SolveOptions {
  bool transpose = false;  // solves a' x = b
};
TENURE_API Tensor solve(Arg a, Arg b, SolveOptions options = {});
// The x of least |a x - b|, or the shortest x where there are many; a has full rank.
TENURE_API Tensor lstsq(Arg a, Arg b);
TENURE_API Tensor inverse(Arg x);

// Gradients of determinants need an invertible matrix.
TENURE_API Tensor determinant(Arg x);
TENURE_API Tensor log_determinant(Arg x);  // NaN for a negative determinant
struct Slogdet {
  Tensor sign, log;
};
TENURE_API Slogdet slogdet(Arg x);  // determinant = sign * exp(log)

}  // namespace tenure
