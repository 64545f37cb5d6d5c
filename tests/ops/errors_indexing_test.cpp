// What views, indices, orders and counts refuse, in words that the random trials do not pin down;
// and that refusing harms nothing.
#include <functional>
#include <limits>

#include "case.h"

namespace tenure::testing {
namespace {

struct BadIndexing {
  const char* name;
  std::function<void()> run;
  const char* text;
};
void PrintTo(const BadIndexing& refused, std::ostream* out) { *out << refused.name; }

Tensor at(const Shape& shape) { return zeros(shape, DType::int32); }

const BadIndexing kBadIndexings[] = {
    {"gather_batches", [] { gather(z({2, 3}), at({4, 2}), {.axis = 1, .batch_dims = 1}); },
     "gather: x [2, 3] and indices [4, 2] must agree in the first 1 axes"},
    {"gather_batch_dims", [] { gather(z({2, 3}), at({2}), {.axis = 0, .batch_dims = 1}); },
     "gather: batch_dims 1 does not fit axis 0 of [2, 3] and indices [2]"},
    {"gather_scalar", [] { gather(z({}), at({2})); }, "gather: axis 0 out of range for []"},
    {"gather_nd_scalar", [] { gather_nd(z({2}), at({})); },
     "gather_nd: indices are a scalar, not coordinates"},
    {"scatter_bool", [] { scatter_nd(at({1, 1}), z({1}, DType::boolean), {2}); },
     "scatter_nd: not defined for bool (but for float32, float64, int32, int64, uint8, int8, "
     "float16, bfloat16): cast the input first"},
    {"scatter_number", [] { tensor_scatter_add(at({2}), at({1, 1}), 0.5); },
     "tensor_scatter_add: 0.5 is not exactly a value of int32: cast the tensor first"},
    {"scatter_coordinate", [] { scatter_nd(tensor({0, 2}, {1, 2}), z({1}), {3, 2}); },
     "scatter_nd: index 2 at position 1 is out of range: its axis has 2 elements"},
    {"one_hot_value", [] { one_hot(at({2}), 3, {.on = 0.5, .dtype = DType::int32}); },
     "one_hot: 0.5 is not exactly a value of int32"},
    {"one_hot_floats", [] { one_hot(z({2}), 3); },
     "one_hot: indices must be int32 or int64, not float32"},
    {"boolean_mask_scalar", [] { boolean_mask(z({2, 3}), z({}, DType::boolean)); },
     "boolean_mask: mask [] does not cover the axes of [2, 3] from 0 on"},
    {"strided_slice_still", [] { strided_slice(z({4}), {0}, {4}, {0}); },
     "strided_slice: stride 0 is 0: [0]"},
    {"strided_slice_ellipses",
     [] { strided_slice(z({4}), {0, 0}, {0, 0}, {1, 1}, {.ellipsis_mask = 3}); },
     "strided_slice: more than one ellipsis: 0b11"},
    {"strided_slice_backwards_to_one",
     [] { strided_slice(z({4}), {1}, {0}, {-1}, {.shrink_axis_mask = 1}); },
     "strided_slice: entry 0 takes one element, but its stride is -1"},
    {"split_negative", [] { split(z({4}), {5, -1}); },
     "split: sizes [5, -1] do not add up to axis 0 of [4]"},
    {"split_none", [] { split(z({4}), 0); },
     "split: axis 0 of [4] does not split into 0 equal parts"},
    {"stack_none", [] { stack({}); }, "stack: no tensors to join"},
    {"roll_axis", [] { roll(z({4}), {1}, {1}); }, "roll: axis 1 out of range for [4]"},
    {"tile_negative", [] { tile(z({2, 3}), {1, -1}); },
     "tile: [1, -1] does not say how often to repeat each axis of [2, 3]"},
    {"pad_cuts_too_much", [] { pad(z({4, 2}), {{1, 1}, {-2, -1}}); },
     "pad: [[1, 1], [-2, -1]] cuts more off axis 1 than [4, 2] has"},
    {"pad_past_all_numbers", [] { pad(z({2}), {{std::numeric_limits<std::int64_t>::max(), 1}}); },
     "pad: more elements than can be counted: [9223372036854775807] of float32"},
    {"mirror_pad_negative", [] { mirror_pad(z({2}), {{-1, 0}}, Mirror::reflect); },
     "mirror_pad: [[-1, 0]] does not say what to add before and after each axis of [2]"},
    {"mirror_pad_empty", [] { mirror_pad(z({0}), {{1, 0}}, Mirror::symmetric); },
     "mirror_pad: 1 elements do not fit into the mirror image of axis 0 of [0]"},
    {"searchsorted_scalar", [] { searchsorted(z({}), z({2})); },
     "searchsorted: the sorted row is a scalar"},
    {"lower_bound_rows", [] { lower_bound(z({2, 3}), z({3, 3})); },
     "lower_bound: sorted rows [2, 3] do not match values [3, 3]"},
    {"bincount_matrix", [] { bincount(at({2, 2}), 3); }, "bincount: x [2, 2] is not a vector"},
    {"bincount_size", [] { dense_bincount(at({2, 2}), -3); }, "dense_bincount: a size of -3"},
    {"histogram_endless", [] { histogram(z({2}), 0, std::numeric_limits<double>::infinity(), 3); },
     "histogram: low 0 is not below high inf"},
    {"depth_block", [] { depth_to_space(z({1, 2, 2, 4}), 0); }, "depth_to_space: a block of 0"},
};

struct RefusedIndexing : ::testing::TestWithParam<BadIndexing> {};

TEST_P(RefusedIndexing, in_these_words_and_without_a_trace) {
  const MemoryInfo before = memory();
  EXPECT_EQ(message_of<Error>(GetParam().run), GetParam().text);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
}

INSTANTIATE_TEST_SUITE_P(Ops, RefusedIndexing, ::testing::ValuesIn(kBadIndexings),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tenure::testing
