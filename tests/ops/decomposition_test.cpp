// What random rows cannot show of decompositions: singular matrices, signs, what factors add up to,
// and many threads at once.
#include <cmath>
#include <limits>
#include <thread>

#include "backend/cpu/lapack.h"
#include "case.h"

namespace tenure::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor matrix(std::initializer_list<double> values, const Shape& shape) {
  return tensor(std::vector<double>(values), shape);
}

void expect_close(const Tensor& got, const Tensor& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), want.shape());
  const Array a = to_array(got), b = to_array(want);
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    EXPECT_NEAR(a.data[i], b.data[i], tolerance) << "element " << i;
  }
}

Tensor draw_matrix(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  return to_tensor(draw_normal(shape, random), DType::float64);
}

TEST(Decomposition, qr_has_the_signs_of_tensorflow_js) {
  {
    const auto [q, r] = qr(matrix({1, 3, -2, -4}, {2, 2}));
    expect_close(q, matrix({-0.4472, -0.8944, 0.8944, -0.4472}, {2, 2}), 1e-4);
    expect_close(r, matrix({-2.2361, -4.9193, 0, -0.8944}, {2, 2}), 1e-4);
  }
  {
    const auto [q, r] = qr(matrix({10}, {1, 1}));
    expect_close(q, matrix({-1}, {1, 1}));
    expect_close(r, matrix({-10}, {1, 1}));
  }
  {
    const auto [q, r] = qr(matrix({2, 1, 0, -3}, {2, 2}));  // triangular already
    expect_close(q, matrix({-1, 0, 0, -1}, {2, 2}));
    expect_close(r, matrix({-2, -1, 0, 3}, {2, 2}));
  }
}

TEST(Decomposition, qr_of_a_singular_matrix_is_still_one) {
  const Tensor x = matrix({0, 1, 2, 0, 2, 4, 0, 3, 6}, {3, 3});
  const auto [q, r] = qr(x);
  expect_close(matmul(q, r), x);
  expect_close(matmul(q, q, {.transpose_a = true}), eye(3, 3, DType::float64));
}

TEST(Decomposition, full_factors_are_square_and_make_the_matrix) {
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{2, 4, 3}, Shape{4, 4}}) {
    const Tensor x = draw_matrix(shape, 3);
    const std::int64_t m = shape[-2], n = shape[-1], k = std::min(m, n);
    const auto [q, r] = qr(x, {.full_matrices = true});
    EXPECT_EQ(q.shape()[-1], m);
    EXPECT_EQ(r.shape(), shape);
    expect_close(matmul(q, r), x);
    const auto [u, s, v] = svd(x, {.full_matrices = true});
    EXPECT_EQ(u.shape()[-1], m);
    EXPECT_EQ(v.shape()[-1], n);
    const auto first_columns = [k](const Tensor& of) {
      Shape begin = Shape::filled(of.rank(), 0), size = of.shape();
      size[-1] = k;
      return slice(of, begin, size);
    };
    expect_close(
        matmul(first_columns(u) * expand_dims(s, -2), first_columns(v), {.transpose_b = true}), x);
    expect_close(matmul(u, u, {.transpose_b = true}),
                 broadcast_to(eye(m, m, DType::float64), u.shape()));
    expect_close(matmul(v, v, {.transpose_b = true}),
                 broadcast_to(eye(n, n, DType::float64), v.shape()));
  }
}

TEST(Decomposition, large_factors_make_the_matrix) {
  const Tensor x = draw_matrix({70, 45}, 5);
  const auto [u, s, v] = svd(x);
  expect_close(matmul(u * s, v, {.transpose_b = true}), x);
  expect_close(singular_values(x), s);
  const Tensor symmetric = matmul(x, x, {.transpose_a = true});
  const auto [w, vectors] = eigh(symmetric);
  expect_close(matmul(vectors * w, vectors, {.transpose_b = true}), symmetric, 1e-10);
  expect_close(eigvalsh(symmetric), w, 1e-10);
  const Tensor l = cholesky(symmetric);
  expect_close(matmul(l, l, {.transpose_b = true}), symmetric, 1e-10);
  expect_close(matmul(symmetric, inverse(symmetric)), eye(45, 45, DType::float64), 1e-8);
}

TEST(Decomposition, svd_of_zeros_has_orthonormal_factors) {
  const auto [u, s, v] = svd(zeros({3, 2}, DType::float64));
  expect_close(s, zeros({2}, DType::float64));
  expect_close(matmul(u, u, {.transpose_a = true}), eye(2, 2, DType::float64));
  expect_close(matmul(v, v, {.transpose_a = true}), eye(2, 2, DType::float64));
}

TEST(Decomposition, cholesky_and_eigh_read_one_triangle) {
  const Tensor lower = matrix({4, kNaN, 2, 5}, {2, 2}), upper = matrix({4, 2, kNaN, 5}, {2, 2});
  expect_close(cholesky(lower), matrix({2, 0, 1, 2}, {2, 2}));
  expect_close(cholesky(upper, {.upper = true}), matrix({2, 1, 0, 2}, {2, 2}));
  EXPECT_NEAR(sum(eigh(lower).w).item<double>(), 9, 1e-12);
  EXPECT_NEAR(sum(eigvalsh(lower)).item<double>(), 9, 1e-12);
  const Tensor b = matrix({2, 1}, {2, 1});
  expect_close(triangular_solve(lower, b), matrix({0.5, 0}, {2, 1}));
}

TEST(Decomposition, determinants_of_singular_and_negative_matrices) {
  const Tensor x = matrix({1, 2, 2, 4, 0, 1, 1, 0, 1, 0, 0, -2}, {3, 2, 2});
  EXPECT_EQ(to_array(determinant(x)).data, (std::vector<double>{0, -1, -2}));
  const auto [sign, log] = slogdet(x);
  EXPECT_EQ(to_array(sign).data, (std::vector<double>{0, -1, -1}));
  EXPECT_EQ(to_array(log).data, (std::vector<double>{-kInfinity, 0, std::log(2.0)}));
  const std::vector<double> logs = to_array(log_determinant(x)).data;
  EXPECT_EQ(logs[0], -kInfinity);
  EXPECT_TRUE(std::isnan(logs[1]));
  EXPECT_EQ(to_array(determinant(zeros({2, 0, 0}, DType::float64))).data,
            (std::vector<double>{1, 1}));
}

TEST(Decomposition, a_determinant_beyond_float32_has_a_logarithm) {
  const Tensor x = eye(60) * 1e6;
  EXPECT_TRUE(std::isinf(determinant(x).item<float>()));
  EXPECT_NEAR(log_determinant(x).item<float>(), 60 * std::log(1e6), 1e-3);
}

TEST(Decomposition, integers_become_float32) {
  const Tensor x = cast(eye(2) * 4, DType::int32);
  EXPECT_EQ(cholesky(x).dtype(), DType::float32);
  EXPECT_EQ(to_array(inverse(x)).data, (std::vector<double>{0.25, 0, 0, 0.25}));
  EXPECT_EQ(to_array(solve(x, x)).data, (std::vector<double>{1, 0, 0, 1}));
}

TEST(Decomposition, the_matrix_that_fails_is_named_with_its_place) {
  const Tensor x = matrix({4, 0, 0, 4, 1, 2, 2, 1}, {2, 2, 2});
  EXPECT_EQ(message_of<ValueError>([&] { cholesky(x); }),
            "cholesky: matrix 1 of the stack is not positive definite: its leading minor of order "
            "2 is not");
  const Tensor singular = matrix({1, 2, 2, 4}, {2, 2});
  EXPECT_EQ(message_of<ValueError>([&] { inverse(singular); }),
            "inverse: matrix 0 of the stack is singular: its pivot 2 is 0");
  EXPECT_EQ(message_of<ValueError>([&] { triangular_solve(eye(2) - eye(2), ones({2, 1})); }),
            "triangular_solve: matrix 0 of the stack is singular: its pivot 1 is 0");
  EXPECT_EQ(message_of<ValueError>([&] { svd(full({2, 2}, kNaN)); }),
            "svd: matrix 0 of the stack has a value that is not finite");
}

TEST(Decomposition, operands_that_are_gone_are_named) {
  Tensor gone = ones({2, 2});
  const Tensor here = eye(2);
  gone.dispose();
  EXPECT_HAS(message_of<DisposedError>([&] { solve(here, gone); }), "solve: input 1 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { solve(gone, here, {.transpose = true}); }),
             "solve: input 0 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { lstsq(here, gone); }), "lstsq: input 1 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { qr(gone); }), "qr: input 0 was disposed");
}

TEST(Decomposition, gradients_that_do_not_exist_are_refused) {
  const Tensor tall = draw_matrix({4, 2}, 7);
  const auto gradient_of = [&](auto&& run) {
    return [&tall, run] {
      GradientTape tape;
      tape.watch(tall);
      const Tensor y = run(tall);
      tape.gradient(y, tall);
    };
  };
  EXPECT_EQ(message_of<ShapeError>(
                gradient_of([](const Tensor& x) { return qr(x, {.full_matrices = true}).q; })),
            "qr: a full q of more rows than columns has no gradient: [4, 2]");
  EXPECT_EQ(message_of<ShapeError>(
                gradient_of([](const Tensor& x) { return svd(x, {.full_matrices = true}).u; })),
            "svd: full u and v have a gradient for square matrices alone: [4, 2]");
}

TEST(Decomposition, equal_values_alone_have_a_gradient) {
  const Tensor x = eye(3, 3, DType::float64) * 2;
  const auto gradient_of = [&](auto&& run) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = run(x);
    return tape.gradient(y, x);
  };
  const Tensor one = eye(3, 3, DType::float64);
  expect_close(gradient_of([](const Tensor& at) { return sum(svd(at).s); }), one);
  expect_close(gradient_of([](const Tensor& at) { return sum(singular_values(at)); }), one);
  expect_close(gradient_of([](const Tensor& at) { return sum(eigh(at).w); }), one);
  expect_close(gradient_of([](const Tensor& at) { return sum(eigvalsh(at)); }), one);
}

TEST(Decomposition, threads_may_decompose_at_once) {
  const Tensor x = draw_matrix({12, 20, 20}, 9);
  const auto bits_of_all = [&x] {
    const auto [u, s, v] = svd(x);
    const auto [q, r] = qr(x);
    return std::pair(bits_of(matmul(u * expand_dims(s, -2), v, {.transpose_b = true})),
                     bits_of(matmul(inverse(x), matmul(q, r))));
  };
  const auto expected = bits_of_all();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) EXPECT_EQ(bits_of_all(), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A build of LAPACK that is not made for this mixes up what two threads compute.
TEST(Decomposition, a_stack_on_several_threads_gives_the_bits_of_one) {
  const int before = num_threads();
  const Tensor a = draw_matrix({40, 32, 32}, 2) + eye(32) * 8.f, b = draw_matrix({40, 32, 32}, 3);
  const auto bits_on = [&](int threads) {
    set_num_threads(threads);
    return std::pair(bits_of(triangular_solve(a, b)), bits_of(solve(a, b)));
  };
  const auto alone = bits_on(1);
  for (int round = 0; round < 50; ++round) EXPECT_TRUE(bits_on(2 + round % 3) == alone) << round;
  set_num_threads(before);
}

TEST(Decomposition, the_number_of_openmp_threads_stays) {
  const int before = omp_get_max_threads();
  qr(draw_matrix({5, 5}, 1));
  EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace tenure::testing
