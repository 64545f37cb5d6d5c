// What each family refuses, in exactly these words, and that refusing harms nothing.
#include <functional>

#include "case.h"

namespace tenure::testing {
namespace {

enum class Kind { shape, dtype, value };

struct BadCall {
  const char* name;
  Kind kind;
  std::function<Tensor()> run;
  std::string text;
};
void PrintTo(const BadCall& refused, std::ostream* out) { *out << refused.name; }

std::string text_of(Kind kind, const std::function<Tensor()>& run) {
  switch (kind) {
    case Kind::shape:
      return message_of<ShapeError>(run);
    case Kind::dtype:
      return message_of<DtypeError>(run);
    case Kind::value:
      break;
  }
  return message_of<ValueError>(run);
}

const BadCall kBadCalls[] = {
    // Elementwise.
    {"add_shapes", Kind::shape, [] { return z({2}) + z({3}); },
     "add: shapes do not broadcast: [2] and [3]"},
    {"mul_ranks", Kind::shape, [] { return z({2, 3}) * z({2, 1, 2}); },
     "mul: shapes do not broadcast: [2, 3] and [2, 1, 2]"},
    {"div_empty", Kind::shape, [] { return z({0}) / z({2}); },
     "div: shapes do not broadcast: [0] and [2]"},
    {"less_shapes", Kind::shape, [] { return less(z({2}), z({3})); },
     "less: shapes do not broadcast: [2] and [3]"},
    {"where_condition", Kind::dtype, [] { return where(z({2}), z({2}), z({2})); },
     "where: the condition must be bool, not float32"},
    {"where_values", Kind::shape, [] { return where(z({2}, DType::boolean), z({2}), z({3})); },
     "where: shapes do not broadcast: [2] and [3]"},
    {"where_shapes", Kind::shape, [] { return where(z({4}, DType::boolean), z({2}), z({2})); },
     "where: shapes do not broadcast: [4] and [2]"},
    // Numbers beside tensors.
    {"fraction_beside_int32", Kind::dtype, [] { return z({2}, DType::int32) * 2.5; },
     "mul: 2.5 is not exactly a value of int32: cast the tensor first"},
    {"negative_beside_uint8", Kind::dtype, [] { return z({2}, DType::uint8) + -1; },
     "add: -1 is not exactly a value of uint8: cast the tensor first"},
    {"large_beside_int8", Kind::dtype, [] { return maximum(128, z({2}, DType::int8)); },
     "maximum: 128 is not exactly a value of int8: cast the tensor first"},
    {"large_beside_int32", Kind::dtype,
     [] { return z({2}, DType::int32) - (std::int64_t{1} << 31); },
     "sub: 2147483648 is not exactly a value of int32: cast the tensor first"},
    // Matrix products.
    {"matmul_inner", Kind::shape, [] { return matmul(z({32, 128}), z({64, 10})); },
     "matmul: inner dimensions differ: [32, 128] x [64, 10]"},
    {"matmul_transposed", Kind::shape,
     [] { return matmul(z({2, 3}), z({3, 4}), {.transpose_b = true}); },
     "matmul: inner dimensions differ: [2, 3] x [3, 4] transposed"},
    {"matmul_both_transposed", Kind::shape,
     [] { return matmul(z({2, 3}), z({3, 4}), {.transpose_a = true, .transpose_b = true}); },
     "matmul: inner dimensions differ: [2, 3] transposed x [3, 4] transposed"},
    {"matmul_vector", Kind::shape, [] { return matmul(z({3}), z({3, 4})); },
     "matmul: operands need two axes or more: [3] x [3, 4]"},
    {"matmul_stacks", Kind::shape, [] { return matmul(z({2, 3, 4}), z({5, 4, 3})); },
     "matmul: shapes do not broadcast: [2] and [5]"},
    // Reductions.
    {"sum_axis", Kind::shape, [] { return sum(z({2, 3}), {2}); },
     "sum: axis 2 out of range for [2, 3]"},
    {"max_axis", Kind::shape, [] { return max(z({2, 3}), {-3}); },
     "max: axis -3 out of range for [2, 3]"},
    {"mean_axis", Kind::shape, [] { return mean(z({2, 3}), {5}); },
     "mean: axis 5 out of range for [2, 3]"},
    {"sum_axis_twice", Kind::shape, [] { return sum(z({2, 3}), {1, -1}); },
     "sum: an axis is named twice: [1, -1]"},
    {"arg_max_axis", Kind::shape, [] { return arg_max(z({2}), 1); },
     "arg_max: axis 1 out of range for [2]"},
    {"arg_max_scalar", Kind::shape, [] { return arg_max(z({})); },
     "arg_max: axis 0 out of range for []"},
    {"arg_max_nothing", Kind::shape, [] { return arg_max(z({2, 0}), 1); },
     "arg_max: axis 1 of [2, 0] is empty"},
    // Views.
    {"reshape_count", Kind::shape, [] { return reshape(z({2, 3}), {4}); },
     "reshape: 6 elements do not fill [4]: [2, 3]"},
    {"reshape_free", Kind::shape, [] { return reshape(z({2, 3}), {4, -1}); },
     "reshape: 6 elements do not fill [4, -1]: [2, 3]"},
    {"reshape_free_of_nothing", Kind::shape, [] { return reshape(z({0}), {0, -1}); },
     "reshape: 0 elements do not fill [0, -1]: [0]"},
    {"reshape_two_free", Kind::shape, [] { return reshape(z({2, 3}), {-1, -1}); },
     "reshape: at most one dimension may be -1, none less: [-1, -1]"},
    {"transpose_axes", Kind::shape, [] { return transpose(z({2, 3}), {0}); },
     "transpose: [0] does not order the axes of [2, 3]"},
    {"transpose_axis_twice", Kind::shape, [] { return transpose(z({2, 3}), {1, 1}); },
     "transpose: an axis is named twice: [1, 1]"},
    {"transpose_axis", Kind::shape, [] { return transpose(z({2, 3}), {0, 2}); },
     "transpose: axis 2 out of range for [2, 3]"},
    {"slice_rank", Kind::shape, [] { return slice(z({2, 3}), {0}, {1}); },
     "slice: begin [0], size [1] and step [1] must each have 2 entries for [2, 3]"},
    {"slice_range", Kind::shape, [] { return slice(z({2, 3}), {0, 2}, {1, 2}); },
     "slice: begin [0, 2], size [1, 2], step [1, 1] do not fit [2, 3] on axis 1"},
    {"slice_step", Kind::shape, [] { return slice(z({4}), {0}, {2}, {0}); },
     "slice: begin [0], size [2], step [0] do not fit [4] on axis 0"},
    {"index", Kind::shape, [] { return z({2, 3})[2]; }, "index: 2 out of range for [2, 3]"},
    {"index_negative", Kind::shape, [] { return z({2, 3})[-3]; },
     "index: -3 out of range for [2, 3]"},
    {"index_scalar", Kind::shape, [] { return z({})[0]; },
     "index: a scalar has no elements to index"},
    {"broadcast_to", Kind::shape, [] { return broadcast_to(z({2}), {3}); },
     "broadcast_to: shapes do not broadcast: [2] and [3]"},
    {"broadcast_to_fewer", Kind::shape, [] { return broadcast_to(z({2, 3}), {1, 3}); },
     "broadcast_to: [2, 3] does not broadcast to [1, 3]"},
    {"broadcast_to_negative", Kind::shape, [] { return broadcast_to(z({1}), {-1}); },
     "broadcast_to: negative dimension: [-1]"},
    {"expand_dims", Kind::shape, [] { return expand_dims(z({2}), 3); },
     "expand_dims: axis 3 out of range for [2]"},
    {"squeeze", Kind::shape, [] { return squeeze(z({1, 2}), {1}); },
     "squeeze: axis 1 of [1, 2] is not 1"},
    // Joining.
    {"concat_nothing", Kind::value, [] { return concat({}); }, "concat: no tensors to join"},
    {"concat_axis", Kind::shape, [] { return concat({z({2})}, 1); },
     "concat: axis 1 out of range for [2]"},
    {"concat_shapes", Kind::shape, [] { return concat({z({2, 3}), z({2, 4})}); },
     "concat: input 1 is [2, 4], input 0 is [2, 3]: they must agree but on axis 0"},
    {"concat_ranks", Kind::shape, [] { return concat({z({2, 3}), z({3})}); },
     "concat: input 1 is [3], input 0 is [2, 3]: they must agree but on axis 0"},
    // Creation.
    {"zeros_negative", Kind::shape, [] { return zeros({2, -1}); },
     "zeros: negative dimension: [2, -1]"},
    {"full_fraction", Kind::dtype, [] { return full({2}, 0.5, DType::int64); },
     "full: 0.5 is not exactly a value of int64"},
    {"full_bool", Kind::dtype, [] { return full({2}, 2, DType::boolean); },
     "full: 2 is not exactly a value of bool"},
    {"arange_step", Kind::value, [] { return arange(0, 5, 0); },
     "arange: no range from 0 to 5 by 0"},
    {"linspace_count", Kind::value, [] { return linspace(0, 1, -1); },
     "linspace: a negative count: -1"},
    {"eye_negative", Kind::shape, [] { return eye(-2); }, "eye: negative dimension: [-2, -2]"},
    // Random.
    {"normal_deviation", Kind::value, [] { return random::normal({2}, {.deviation = -1}); },
     "normal: a deviation below zero: -1"},
    {"uniform_range", Kind::value, [] { return random::uniform({2}, {.low = 2, .high = 1}); },
     "uniform: low 2 is not below high 1"},
    {"bernoulli_probability", Kind::value, [] { return random::bernoulli({2}, 1.5); },
     "bernoulli: 1.5 is no probability"},
    {"randint_range", Kind::value, [] { return random::randint({2}, 3, 3); },
     "randint: low 3 is not below high 3"},
    {"randint_dtype", Kind::dtype, [] { return random::randint({2}, 0, 257, DType::uint8); },
     "randint: [0, 257) does not fit uint8"},
    {"shuffle_scalar", Kind::shape, [] { return random::shuffle(z({})); },
     "shuffle: a scalar has no axis to shuffle"},
};

struct RefusedCall : ::testing::TestWithParam<BadCall> {};

TEST_P(RefusedCall, is_an_error_with_this_text_and_leaves_nothing) {
  const MemoryInfo before = memory();
  EXPECT_EQ(text_of(GetParam().kind, GetParam().run), GetParam().text);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
}

INSTANTIATE_TEST_SUITE_P(Ops, RefusedCall, ::testing::ValuesIn(kBadCalls),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Errors, tensors_are_as_before_after_a_refusal) {
  const Tensor a = tensor({1.f, 2.f}), b = tensor({1.f, 2.f, 3.f});
  EXPECT_THROW(a + b, ShapeError);
  EXPECT_THROW(matmul(a, b), ShapeError);
  EXPECT_THROW(concat({a, reshape(b, {1, 3})}), ShapeError);
  EXPECT_EQ(floats(a), (Floats{1, 2}));
  EXPECT_EQ(floats(b), (Floats{1, 2, 3}));
  Tensor c = tensor({4.f, 5.f});
  const std::uint64_t id = c.id();
  EXPECT_THROW(c += b, ShapeError);
  EXPECT_EQ(c.id(), id);
  EXPECT_EQ(floats(c), (Floats{4, 5}));
  c += a;
  EXPECT_EQ(floats(c), (Floats{5, 7}));
}

TEST(Errors, a_refused_op_leaves_no_trace_on_a_tape) {
  const Tensor x = tensor({1.f, 2.f}), other = tensor({1.f, 2.f, 3.f});
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(x * other, ShapeError);
  const Tensor y = square(x);
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{2, 4}));
}

TEST(Errors, a_disposed_input_that_needs_a_cast_is_named_by_its_own_index) {
  const Tensor a = ones({2});
  Tensor b = ones({2}, DType::int32);
  b.dispose();
  EXPECT_HAS(message_of<DisposedError>([&] { a + b; }), "add: input 1 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { b - a; }), "sub: input 0 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { less(a, b); }), "less: input 1 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { where(true, a, b); }), "where: input 2 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { concat({a, b}); }), "concat: input 1 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { exp(b); }), "exp: input 0 was disposed");
  EXPECT_HAS(message_of<DisposedError>([&] { mean(b); }), "mean: input 0 was disposed");
}

}  // namespace
}  // namespace tenure::testing
