// What complex64 is beside its arithmetic: moved, read, printed, refused.
#include <dlpack/dlpack.h>

#include <cmath>
#include <complex>
#include <sstream>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;
using testing::message_of;
using Z = std::complex<float>;
using Zs = std::vector<Z>;

Tensor some() { return tensor(Zs{{1, 2}, {3, -4}, {-5, 6}, {0, -1}}, {2, 2}); }

TEST(Complex, is_a_pair_of_floats_on_the_host) {
  const Tensor z = some();
  EXPECT_EQ(z.dtype(), DType::complex64);
  EXPECT_EQ(z.nbytes(), 32u);
  EXPECT_EQ(z.to_vector<Z>(), (Zs{{1, 2}, {3, -4}, {-5, 6}, {0, -1}}));
  EXPECT_EQ(tensor(Z(1, 2)).item<Z>(), Z(1, 2));
  EXPECT_EQ(tensor({Z(1, 2), Z(3, 4)}).to_vector<Z>(), (Zs{{1, 2}, {3, 4}}));
  EXPECT_EQ(complex(tensor({1.f}), 2).to_vector<Z>(), (Zs{{1, 2}}));
  EXPECT_HAS(message_of<DtypeError>([&] { z.to_vector<float>(); }),
             "to_vector: complex64 elements read as float32: use real() or imag() first");
}

TEST(Complex, moves_like_any_other_element) {
  const Tensor z = some();
  EXPECT_EQ(transpose(z).to_vector<Z>(), (Zs{{1, 2}, {-5, 6}, {3, -4}, {0, -1}}));
  EXPECT_EQ(reshape(z, {4})[2].item<Z>(), Z(-5, 6));
  EXPECT_EQ(slice(z, {0, 1}, {2, 1}).to_vector<Z>(), (Zs{{3, -4}, {0, -1}}));
  EXPECT_EQ(concat({z[0], z[1]}).to_vector<Z>(), z.to_vector<Z>());
  EXPECT_EQ(where(tensor({true, false}), z, z * 2).to_vector<Z>(),
            (Zs{{1, 2}, {6, -8}, {-5, 6}, {0, -2}}));
  EXPECT_EQ(broadcast_to(z[1], {2, 2})[0].to_vector<Z>(), z[1].to_vector<Z>());
  EXPECT_EQ(zeros({1}, DType::complex64).item<Z>(), Z());
  EXPECT_EQ(full({1}, 2.5, DType::complex64).item<Z>(), Z(2.5f, 0));
  EXPECT_EQ(eye(2, 2, DType::complex64).to_vector<Z>(), (Zs{1, 0, 0, 1}));
}

TEST(Complex, meets_every_other_dtype_as_complex64) {
  const Tensor z = tensor({Z(1, 2)});
  for (const DType dtype :
       {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8, DType::int8,
        DType::boolean, DType::float16, DType::bfloat16}) {
    EXPECT_EQ((z + ones({1}, dtype)).to_vector<Z>(), (Zs{{2, 2}})) << dtype;
    EXPECT_EQ((ones({1}, dtype) * z).to_vector<Z>(), (Zs{{1, 2}})) << dtype;
    EXPECT_EQ(cast(ones({1}, dtype), DType::complex64).to_vector<Z>(), (Zs{{1, 0}})) << dtype;
  }
  EXPECT_EQ((z * 2.5).to_vector<Z>(), (Zs{{2.5f, 5}}));
  EXPECT_EQ(equal(some(), tensor(Z(3, -4))).to_vector<bool>(),
            (std::vector{false, true, false, false}));
  EXPECT_EQ(not_equal(some(), tensor(Z(3, 4))).to_vector<bool>(), std::vector<bool>(4, true));
}

TEST(Complex, refuses_what_has_no_meaning) {
  const Tensor z = some();
  EXPECT_HAS(message_of<DtypeError>([&] { cast(z, DType::float32); }),
             "cast: complex64 to float32 would lose the imaginary part: use real()");
  EXPECT_HAS(message_of<DtypeError>([&] { maximum(z, z); }), "maximum: not defined for complex64");
  EXPECT_HAS(message_of<DtypeError>([&] { tanh(z); }), "take real() or imag() of the input first");
  EXPECT_THROW(less(z, z), DtypeError);
  EXPECT_THROW(arg_max(z, 0), DtypeError);
  EXPECT_THROW(matmul(z, z), DtypeError);
  EXPECT_THROW(random::normal({2}, {.dtype = DType::complex64}), DtypeError);
}

TEST(Complex, parts_of_real_tensors) {
  const Tensor x = tensor({1.f, -2.f});
  EXPECT_EQ(floats(real(x)), (Floats{1, -2}));
  EXPECT_EQ(floats(imag(x)), (Floats{0, 0}));
  EXPECT_EQ(floats(conj(x)), (Floats{1, -2}));
  EXPECT_EQ(floats(complex_abs(x)), (Floats{1, 2}));
  EXPECT_EQ(floats(angle(x)), (Floats{0, std::acos(-1.f)}));
  EXPECT_EQ(real(tensor({1, 2})).dtype(), DType::int32);
}

TEST(Complex, neither_overflows_nor_loses_infinities) {
  const float big = 2e38f, inf = INFINITY;
  EXPECT_EQ(complex_abs(tensor(Z(3e30f, 4e30f))).item<float>(), 5e30f);
  EXPECT_EQ(complex_abs(tensor(Z(-inf, NAN))).item<float>(), inf);
  EXPECT_EQ(div(tensor(Z(big, big)), tensor(Z(big, big))).item<Z>(), Z(1, 0));
  EXPECT_EQ(exp(tensor(Z(-inf, 0))).item<Z>(), Z(0, 0));
  EXPECT_EQ(floats(complex_abs(zeros({1}, DType::complex64))), (Floats{0}));
}

TEST(Complex, the_gradient_of_a_magnitude_is_zero_at_zero) {
  const Tensor z = tensor(Zs{{3, -4}, {0, 0}});
  GradientTape tape;
  tape.watch(z);
  const Tensor y = sum(complex_abs(z));
  EXPECT_EQ(tape.gradient(y, {z})[0].to_vector<Z>(), (Zs{{0.6f, -0.8f}, {0, 0}}));
}

TEST(Complex, a_real_operand_gets_a_real_gradient) {
  const Tensor x = tensor({2.f}), z = tensor({Z(3, 4)});
  GradientTape tape;
  tape.watch(x);
  tape.watch(z);
  const Tensor product = x * z;
  const std::vector<Tensor> g = tape.gradient(sum(real(product) + imag(product)), {x, z});
  EXPECT_EQ(floats(g[0]), (Floats{7}));
  EXPECT_EQ(g[1].to_vector<Z>(), (Zs{{2, 2}}));
}

TEST(Complex, prints_like_numpy) {
  const auto printed = [](const Tensor& z) {
    std::ostringstream out;
    out << z;
    return out.str();
  };
  EXPECT_EQ(printed(tensor({Z(1, 2)})), "tensor([1.+2.j], dtype=complex64)");
  EXPECT_EQ(printed(tensor({Z(1, 2.25f), Z(-0.5f, -3)})),
            "tensor([ 1. +2.25j, -0.5-3.j  ], dtype=complex64)");
  EXPECT_EQ(printed(tensor(Z(0, NAN))), "tensor(0.+nanj, dtype=complex64)");
}

TEST(Complex, travels_through_dlpack) {
  const Tensor z = some();
  DLManagedTensor* managed = to_dlpack(z);
  EXPECT_EQ(managed->dl_tensor.dtype.code, kDLComplex);
  EXPECT_EQ(managed->dl_tensor.dtype.bits, 64);
  EXPECT_EQ(from_dlpack(managed).to_vector<Z>(), z.to_vector<Z>());
}

TEST(Complex, abs_is_the_magnitude) {
  const Tensor z = complex(tensor({3.f, 0.f}), tensor({-4.f, 2.f}));
  EXPECT_EQ(abs(z).to_vector<float>(), (std::vector<float>{5, 2}));
}

}  // namespace
}  // namespace tenure
