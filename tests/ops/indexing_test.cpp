// What random values do not show of picking, placing, ordering and counting: NaN, both zeros,
// places that are named twice, indices out of range, and what views share.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness.h"
#include "reference_indexing.h"

namespace tenure::testing {
namespace {

using Ints = std::vector<std::int32_t>;

Ints ints(const Tensor& x) { return x.to_vector<std::int32_t>(); }

TEST(Ordering, nan_is_above_all_numbers_and_the_zeros_are_equal) {
  const Tensor x = tensor({1.F, kNaN, -0.F, kInf, 0.F, -kInf, kNaN});
  EXPECT_EQ(ints(argsort(x)), (Ints{5, 2, 4, 0, 3, 1, 6}));
  EXPECT_EQ(ints(argsort(x, {.descending = true})), (Ints{1, 6, 3, 0, 2, 4, 5}));
  EXPECT_EQ(ints(top_k(x, 4).indices), (Ints{1, 6, 3, 0}));
  EXPECT_EQ(ints(top_k(x, 3, {.largest = false}).indices), (Ints{5, 2, 4}));
  const Floats sorted = floats(sort(x));
  EXPECT_TRUE(std::signbit(sorted[1]));
  EXPECT_FALSE(std::signbit(sorted[2]));
  EXPECT_TRUE(std::isnan(sorted[6]));
}

TEST(Ordering, nan_fills_the_best_when_there_are_enough) {
  const Tensor x = tensor({kNaN, 3.F, kNaN, 4.F, kNaN, kInf});
  EXPECT_EQ(ints(top_k(x, 2).indices), (Ints{0, 2}));
  EXPECT_EQ(ints(top_k(x, 3, {.largest = false}).indices), (Ints{1, 3, 5}));
}

TEST(Ordering, the_ends_of_the_integers_are_in_order) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::int64_t> values{0, Limits::max(), Limits::min(), -1};
  const Tensor x = tensor(values, {4});
  EXPECT_EQ(ints(argsort(x)), (Ints{2, 3, 0, 1}));
  EXPECT_EQ(ints(argsort(x, {.descending = true})), (Ints{1, 0, 3, 2}));
}

TEST(Ordering, top_k_without_order_has_the_same_elements) {
  Random random(20);
  const Tensor x = to_tensor(draw({3, 200}, {}, DType::float32, random), DType::float32);
  const ValuesAndIndices any = top_k(x, 50, {.sorted = false});
  EXPECT_EQ(floats(sort(any.values, {.descending = true})), floats(top_k(x, 50).values));
  EXPECT_EQ(floats(take_along_axis(x, any.indices, -1)), floats(any.values));
}

TEST(Ordering, values_in_falling_and_rising_rows_are_found) {
  const Tensor rising = arange(0, 5000, 1, DType::float32);
  EXPECT_EQ(ints(top_k(rising, 3).indices), (Ints{4999, 4998, 4997}));
  EXPECT_EQ(ints(top_k(rising, 3, {.largest = false}).indices), (Ints{0, 1, 2}));
  const Tensor falling = reverse(rising);
  EXPECT_EQ(ints(top_k(falling, 3).indices), (Ints{0, 1, 2}));
  EXPECT_EQ(ints(top_k(falling, 3, {.largest = false}).indices), (Ints{4999, 4998, 4997}));
}

TEST(Unique, nan_equals_nan_and_the_zeros_are_equal) {
  const Unique found = unique(tensor({kNaN, 0.F, 1.F, -0.F, kNaN}));
  EXPECT_EQ(found.values.shape(), (Shape{3}));
  EXPECT_TRUE(std::isnan(floats(found.values)[0]));
  EXPECT_EQ(ints(found.inverse), (Ints{0, 1, 2, 1, 0}));
}

TEST(Histogram, what_lies_outside_counts_at_the_ends_and_nan_for_nothing) {
  const Tensor x = tensor({-kInf, -1.F, 0.F, 0.49F, 0.5F, 1.F, kInf, kNaN});
  EXPECT_EQ(ints(histogram(x, 0, 1, 2)), (Ints{4, 3}));
}

TEST(TensorScatter, the_last_update_of_a_place_stays_and_alone_gets_its_gradient) {
  const Tensor x = zeros({3}), indices = tensor({1, 2, 1}, {3, 1});
  const Tensor updates = tensor({5.F, 6.F, 7.F});
  GradientTape tape;
  tape.watch(x);
  tape.watch(updates);
  const Tensor y = tensor_scatter_update(x, indices, updates);
  EXPECT_EQ(floats(y), (Floats{0, 7, 6}));
  const Tensors g = tape.gradient(sum(y * tensor({1.F, 10.F, 100.F})), {x, updates});
  EXPECT_EQ(floats(g[0]), (Floats{1, 0, 0}));
  EXPECT_EQ(floats(g[1]), (Floats{0, 100, 10}));
}

TEST(TensorScatter, minimum_and_maximum_are_nan_if_either_is) {
  const Tensor x = tensor({kNaN, 1.F}), indices = tensor({0, 1}, {2, 1});
  for (const auto scatter : {tensor_scatter_min, tensor_scatter_max}) {
    for (const float value : floats(scatter(x, indices, tensor({2.F, kNaN})))) {
      EXPECT_TRUE(std::isnan(value));
    }
  }
}

TEST(Gather, an_index_out_of_range_harms_nothing) {
  Tensor x = tensor({1.F, 2.F, 3.F});
  const Tensor indices = tensor({0, 3, 1});
  const MemoryInfo before = memory();
  EXPECT_EQ(message_of<ValueError>([&] { gather(x, indices); }),
            "gather: index 3 at position 1 is out of range: the axis has 3 elements");
  EXPECT_EQ(message_of<ValueError>([&] { gather(x, tensor({-1})); }),
            "gather: index -1 at position 0 is out of range: the axis has 3 elements");
  EXPECT_EQ(message_of<ValueError>([&] { gather_nd(x, tensor({3}, {1, 1})); }),
            "gather_nd: index 3 at position 0 is out of range: its axis has 3 elements");
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
  EXPECT_EQ(floats(x), (Floats{1, 2, 3}));
}

TEST(Gather, errors_inside_a_function_made_of_several_ops_name_the_function) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message_of<ShapeError>([&] { take_along_axis(x, tensor({0}, {1, 1}), 1); }),
            "take_along_axis: x [2, 3] and indices [1, 1] must agree but on axis 1");
  EXPECT_EQ(message_of<ValueError>([&] { take_along_axis(x, tensor({0, 3}, {2, 1}), 1); }),
            "take_along_axis: index 3 at position 1 is out of range: the axis has 3 elements");
}

TEST(Gather, an_empty_axis_has_no_element_to_gather) {
  EXPECT_EQ(message_of<ValueError>([&] { gather(zeros({0, 2}), tensor({0})); }),
            "gather: index 0 at position 0 is out of range: the axis has 0 elements");
  EXPECT_EQ(gather(zeros({0, 2}), zeros({0}, DType::int32)).shape(), (Shape{0, 2}));
}

TEST(Views, cutting_and_turning_copies_nothing) {
  const Tensor x = reshape(arange(0, 24, 1, DType::float32), {2, 3, 4});
  const auto expect_view = [&](const Tensor& y) { EXPECT_EQ(bytes_of(y), bytes_of(x)); };
  expect_view(reverse(x));
  expect_view(strided_slice(x, {1, 9}, {0, 0}, {-1, -2}, {.end_mask = 1}));
  expect_view(strided_slice(x, {0, 1, 0}, {0, 2, 0}, {1, 1, 1},
                            {.ellipsis_mask = 1, .new_axis_mask = 4, .shrink_axis_mask = 2}));
  for (const Tensor& part : split(x, 2, -1)) expect_view(part);
  for (const Tensor& part : split(x, {1, -1}, 1)) expect_view(part);
  for (const Tensor& part : unstack(x, 1)) expect_view(part);
}

TEST(Views, a_reversed_tensor_goes_through_dlpack_and_back_by_a_copy) {
  const Tensor x = reverse(tensor({1.F, 2.F, 3.F}));
  EXPECT_EQ(floats(from_dlpack(to_dlpack(x))), (Floats{3, 2, 1}));
}

// Every op again, with inputs whose strides are negative.
struct BackwardsOp : OpTest {};

TEST_P(BackwardsOp, inputs_that_are_stored_backwards_give_the_same_value) {
  Random random(21);
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    for (const bool all : {true, false}) {  // axes, or the first one
      Arrays values;
      Tensors in;
      for (std::size_t i = 0; i < row.inputs.size(); ++i) {
        const DType own = row.input_dtype(i, dtype);
        values.push_back(draw(shapes[i], row.inputs[i], own, random));
        Axes axes;
        const int rank = shapes[i].rank();
        for (int axis = 0; axis < (all ? rank : std::min(rank, 1)); ++axis) axes.push_back(axis);
        in.push_back(reverse(to_tensor(reversed(values.back(), axes), own), axes));
      }
      const Tensor y = row.run(std::move(in), dtype);
      EXPECT_TRUE(close(y, row.reference(values), row.result(dtype), row.tolerance));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, BackwardsOp, rows_where([](const Case& row) {
                           return row.reference && !row.inputs.empty();
                         }),
                         row_name);

}  // namespace
}  // namespace tenure::testing
