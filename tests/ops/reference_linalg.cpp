#include "reference_linalg.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tenure::testing {
namespace {

// The first of the largest magnitudes in a column made positive.
bool points_down(const Matrix& x, std::int64_t column) {
  double largest = 0;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    if (std::abs(x.at(i, column)) > std::abs(largest)) largest = x.at(i, column);
  }
  return largest < 0;
}

void turn(Matrix& x, std::int64_t column) {
  for (std::int64_t i = 0; i < x.rows; ++i) x.at(i, column) = -x.at(i, column);
}

// The columns in the order given.
Matrix picked(const Matrix& x, const std::vector<std::int64_t>& order) {
  Matrix result(x.rows, static_cast<std::int64_t>(order.size()));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < result.columns; ++j) {
      result.at(i, j) = x.at(i, order[static_cast<std::size_t>(j)]);
    }
  }
  return result;
}

void rotate(Matrix& x, std::int64_t p, std::int64_t q, double c, double s) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const double a = x.at(i, p), b = x.at(i, q);
    x.at(i, p) = c * a - s * b;
    x.at(i, q) = s * a + c * b;
  }
}

// Makes columns of x orthogonal by rotations, and does the same to v (one-sided Jacobi).
void orthogonalise(Matrix& x, Matrix& v) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool turned = false;
    for (std::int64_t p = 0; p < x.columns; ++p) {
      for (std::int64_t q = p + 1; q < x.columns; ++q) {
        double alpha = 0, beta = 0, gamma = 0;
        for (std::int64_t i = 0; i < x.rows; ++i) {
          alpha += x.at(i, p) * x.at(i, p);
          beta += x.at(i, q) * x.at(i, q);
          gamma += x.at(i, p) * x.at(i, q);
        }
        if (std::abs(gamma) <= 1e-16 * std::sqrt(alpha * beta)) continue;
        turned = true;
        const double zeta = (beta - alpha) / (2 * gamma);
        const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t);
        rotate(x, p, q, c, c * t);
        rotate(v, p, q, c, c * t);
      }
    }
    if (!turned) return;
  }
}

}  // namespace

Matrix identity(std::int64_t n) {
  Matrix result(n, n);
  for (std::int64_t i = 0; i < n; ++i) result.at(i, i) = 1;
  return result;
}

Matrix transposed(const Matrix& x) {
  Matrix result(x.columns, x.rows);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) result.at(j, i) = x.at(i, j);
  }
  return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      for (std::int64_t k = 0; k < a.columns; ++k) result.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return result;
}

Matrix triangle(const Matrix& x, bool lower) {
  Matrix result(x.rows, x.columns);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) {
      if (lower ? j <= i : j >= i) result.at(i, j) = x.at(i, j);
    }
  }
  return result;
}

Matrix lower_cholesky(const Matrix& x) {
  Matrix l(x.rows, x.rows);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double rest = x.at(i, j);
      for (std::int64_t k = 0; k < j; ++k) rest -= l.at(i, k) * l.at(j, k);
      l.at(i, j) = i == j ? std::sqrt(rest) : rest / l.at(j, j);
    }
  }
  return l;
}

Matrix solution(Matrix a, Matrix b) {
  const std::int64_t n = a.rows;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < n; ++i) {
      if (std::abs(a.at(i, k)) > std::abs(a.at(pivot, k))) pivot = i;
    }
    for (std::int64_t j = 0; j < n; ++j) std::swap(a.at(k, j), a.at(pivot, j));
    for (std::int64_t j = 0; j < b.columns; ++j) std::swap(b.at(k, j), b.at(pivot, j));
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a.at(i, k) / a.at(k, k);
      for (std::int64_t j = k; j < n; ++j) a.at(i, j) -= factor * a.at(k, j);
      for (std::int64_t j = 0; j < b.columns; ++j) b.at(i, j) -= factor * b.at(k, j);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) b.at(i, j) /= a.at(i, i);
  }
  return b;
}

double determinant_of(Matrix x) {
  double result = 1;
  for (std::int64_t k = 0; k < x.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < x.rows; ++i) {
      if (std::abs(x.at(i, k)) > std::abs(x.at(pivot, k))) pivot = i;
    }
    if (x.at(pivot, k) == 0) return 0;
    if (pivot != k) result = -result;
    for (std::int64_t j = 0; j < x.rows; ++j) std::swap(x.at(k, j), x.at(pivot, j));
    result *= x.at(k, k);
    for (std::int64_t i = k + 1; i < x.rows; ++i) {
      const double factor = x.at(i, k) / x.at(k, k);
      for (std::int64_t j = k; j < x.rows; ++j) x.at(i, j) -= factor * x.at(k, j);
    }
  }
  return result;
}

Matrices qr_of(const Matrix& x, bool full) {
  const std::int64_t m = x.rows, n = x.columns;
  Matrix r = x, q = identity(m);
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    double norm = 0;
    for (std::int64_t i = k; i < m; ++i) norm += r.at(i, k) * r.at(i, k);
    norm = std::sqrt(norm);
    // Mirrors column k onto the axis, away from where it points.
    std::vector<double> mirror(static_cast<std::size_t>(m), 0.0);
    for (std::int64_t i = k; i < m; ++i) mirror[static_cast<std::size_t>(i)] = r.at(i, k);
    mirror[static_cast<std::size_t>(k)] += r.at(k, k) >= 0 ? norm : -norm;
    double length = 0;
    for (const double value : mirror) length += value * value;
    const auto reflect = [&](Matrix& target) {
      for (std::int64_t j = 0; j < target.columns; ++j) {
        double along = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          along += mirror[static_cast<std::size_t>(i)] * target.at(i, j);
        }
        for (std::int64_t i = 0; i < m; ++i) {
          target.at(i, j) -= 2 * along / length * mirror[static_cast<std::size_t>(i)];
        }
      }
    };
    reflect(r);
    reflect(q);
  }
  q = transposed(q);
  const std::int64_t width = full ? m : std::min(m, n);
  Matrix narrow_q(m, width), narrow_r(width, n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < width; ++j) narrow_q.at(i, j) = q.at(i, j);
  }
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t j = i; j < n; ++j) narrow_r.at(i, j) = r.at(i, j);
  }
  return {narrow_q, narrow_r};
}

Matrices svd_of(const Matrix& x) {
  if (x.rows < x.columns) {
    Matrices swapped = svd_of(transposed(x));
    Matrix &u = swapped[2], &v = swapped[0];
    for (std::int64_t j = 0; j < u.columns; ++j) {
      if (!points_down(u, j)) continue;
      turn(u, j);
      turn(v, j);
    }
    return {u, swapped[1], v};
  }
  Matrix scaled = x, v = identity(x.columns);
  orthogonalise(scaled, v);
  const std::int64_t k = x.columns;
  std::vector<double> norms;
  std::vector<std::int64_t> order;
  for (std::int64_t j = 0; j < k; ++j) {
    double norm = 0;
    for (std::int64_t i = 0; i < x.rows; ++i) norm += scaled.at(i, j) * scaled.at(i, j);
    norms.push_back(std::sqrt(norm));
    order.push_back(j);
  }
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    return norms[static_cast<std::size_t>(a)] > norms[static_cast<std::size_t>(b)];
  });
  Matrix u = picked(scaled, order), s(1, k);
  v = picked(v, order);
  for (std::int64_t j = 0; j < k; ++j) {
    s.at(0, j) = norms[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])];
    for (std::int64_t i = 0; i < x.rows; ++i) u.at(i, j) /= s.at(0, j);
    if (!points_down(u, j)) continue;
    turn(u, j);
    turn(v, j);
  }
  return {u, s, v};
}

Matrices eigh_of(const Matrix& x) {
  const std::int64_t n = x.rows;
  Matrix a = triangle(x, true), v = identity(n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) a.at(i, j) = a.at(j, i);
  }
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        off = std::max(off, std::abs(a.at(p, q)));
        if (a.at(p, q) == 0) continue;
        const double theta = (a.at(q, q) - a.at(p, p)) / (2 * a.at(p, q));
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(1 + theta * theta));
        const double c = 1 / std::sqrt(1 + t * t);
        rotate(a, p, q, c, c * t);
        a = transposed(a);
        rotate(a, p, q, c, c * t);
        a = transposed(a);
        rotate(v, p, q, c, c * t);
      }
    }
    if (off < 1e-15) break;
  }
  std::vector<std::int64_t> order;
  for (std::int64_t j = 0; j < n; ++j) order.push_back(j);
  std::ranges::sort(order, [&](std::int64_t i, std::int64_t j) { return a.at(i, i) < a.at(j, j); });
  Matrix w(1, n);
  v = picked(v, order);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    w.at(0, j) = a.at(from, from);
    if (points_down(v, j)) turn(v, j);
  }
  return {w, v};
}

Reference on_matrices(std::function<Matrix(const Matrices&)> fn, int result_rank) {
  return [fn = std::move(fn), result_rank](const Arrays& in) {
    // Stacks as arrays of their own, for their common shape.
    Arrays stacks;
    for (const Array& x : in) {
      const auto axes = static_cast<std::size_t>(x.shape.rank()) - 2;
      stacks.push_back({Shape(x.shape.dims().first(axes)), {}});
    }
    const Shape stack = common_shape(stacks);
    Array result{stack, {}};
    bool known = false;
    const auto matrices_at = [&](const Index& index) {
      Matrices matrices;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const Shape& own = stacks[i].shape;
        Index at_own;
        for (int axis = 0; axis < own.rank(); ++axis) {
          const auto from = static_cast<std::size_t>(axis + stack.rank() - own.rank());
          at_own.push_back(own[axis] == 1 ? 0 : index[from]);
        }
        Matrix matrix(in[i].shape[-2], in[i].shape[-1]);
        const std::size_t first = position(own, at_own) * matrix.data.size();
        std::copy_n(in[i].data.begin() + static_cast<std::ptrdiff_t>(first), matrix.data.size(),
                    matrix.data.begin());
        matrices.push_back(std::move(matrix));
      }
      return matrices;
    };
    const auto take = [&](const Matrix& matrix) {
      if (!known && result_rank == 2) result.shape.push_back(matrix.rows);
      if (!known && result_rank >= 1) result.shape.push_back(matrix.columns);
      known = true;
    };
    each_index(stack, [&](const Index& index) {
      const Matrix matrix = fn(matrices_at(index));
      take(matrix);
      result.data.insert(result.data.end(), matrix.data.begin(), matrix.data.end());
    });
    if (!known) {  // an empty stack: the shape of what would have been
      Matrices zeros;
      for (const Array& x : in) {
        Matrix regular(x.shape[-2], x.shape[-1]);
        for (std::int64_t i = 0; i < std::min(regular.rows, regular.columns); ++i) {
          regular.at(i, i) = static_cast<double>(i + 1);
        }
        zeros.push_back(regular);
      }
      take(fn(zeros));
    }
    return result;
  };
}

Reference einsum_of(std::vector<std::string> operands, std::string output) {
  return [operands = std::move(operands), output = std::move(output)](const Arrays& in) {
    std::map<char, std::int64_t> sizes;
    for (std::size_t i = 0; i < in.size(); ++i) {
      for (int axis = 0; axis < in[i].shape.rank(); ++axis) {
        const std::int64_t size = in[i].shape[axis];
        auto [known, is_new] = sizes.try_emplace(operands[i][static_cast<std::size_t>(axis)], size);
        if (known->second == 1) known->second = size;
      }
    }
    std::string all = output;
    Shape out_shape, summed;
    for (const char label : output) out_shape.push_back(sizes.at(label));
    for (const auto& [label, size] : sizes) {
      if (output.find(label) != output.npos) continue;
      all += label;
      summed.push_back(size);
    }
    return filled(out_shape, [&](const Index& place) {
      long double total = 0;
      each_index(summed, [&](const Index& inner) {
        Index index = place;
        index.insert(index.end(), inner.begin(), inner.end());
        long double term = 1;
        for (std::size_t i = 0; i < in.size(); ++i) {
          Index own;
          for (int axis = 0; axis < in[i].shape.rank(); ++axis) {
            const std::size_t label = all.find(operands[i][static_cast<std::size_t>(axis)]);
            own.push_back(in[i].shape[axis] == 1 ? 0 : index[label]);
          }
          term *= at(in[i], own);
        }
        total += term;
      });
      return static_cast<double>(total);
    });
  };
}

namespace {

constexpr double kScale = 0.25;

Array raised_diagonal(std::int64_t rows, std::int64_t columns) {
  return filled({rows, columns}, [](const Index& index) {
    return index[0] == index[1] ? 4 + 1.5 * static_cast<double>(index[0]) : 0.0;
  });
}

}  // namespace

Array made_regular(Array x) {
  const Array raised = raised_diagonal(x.shape[-2], x.shape[-1]);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    x.data[i] = x.data[i] * kScale + raised.data[i % raised.data.size()];
  }
  return x;
}

Tensor made_regular(Tensor x) {
  const Shape shape = x.shape();
  const DType dtype = x.dtype();
  return std::move(x) * kScale + to_tensor(raised_diagonal(shape[-2], shape[-1]), dtype);
}

Lay lay_of_its_own(Dice& dice) {
  return static_cast<Lay>(dice.in(0, static_cast<int>(Lay::strided)));
}

Drawn drawn_regular(Dice& dice, const Shape& shape, DType dtype) {
  const Array values = made_regular(draw(shape, {}, dtype, dice.random));
  return {rounded(values, dtype), dtype, lay_of_its_own(dice)};
}

}  // namespace tenure::testing
