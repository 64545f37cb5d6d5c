// Counts and sizes: of inputs, of elements, of bytes. What cannot be counted is refused by its
// shape, before anything happens; nothing here needs memory, since large inputs are views.
#include <functional>
#include <limits>

#include "case.h"
#include "memory/context.h"
#include "ops/reseed.h"

namespace tenure::testing {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kPastInt32 = (std::int64_t{1} << 31) + 5;

Tensor seen(const Shape& shape, DType dtype = DType::float32) {
  return broadcast_to(zeros({}, dtype), shape);
}

TEST(Counts, a_traced_concat_joins_more_than_65536_inputs) {
  constexpr std::size_t kCount = 70'000;
  const Function join = function("join", [](Tensor a, Tensor b) {
    std::vector<Tensor> parts(kCount, a);
    parts.back() = b;
    return concat(std::move(parts), 0);
  });
  const std::vector<float> joined = floats(join(tensor({3.F}), tensor({4.F, 5.F})));
  std::vector<float> expected(kCount + 1, 3.F);
  expected[kCount - 1] = 4;
  expected[kCount] = 5;
  EXPECT_TRUE(joined == expected);
}

TEST(Counts, a_traced_sum_adds_more_than_65536_inputs) {
  constexpr std::size_t kCount = 70'000;
  const Function total =
      function("total", [](Tensor a) { return add_n(std::vector<Tensor>(kCount, a)); });
  EXPECT_EQ(floats(total(tensor({1.F, 2.F}))), (Floats{kCount, 2 * kCount}));
}

TEST(Counts, an_op_of_many_inputs_may_reuse_only_those_it_names) {
  // Input 40 has the result's shape and nobody else: no bit stands for it.
  for (const std::size_t count : {31, 32, 33, 40, 65}) {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < count; ++i) parts.push_back(tensor({1.F, static_cast<float>(i)}));
    const auto last = static_cast<float>(count * (count - 1) / 2);
    EXPECT_EQ(floats(add_n(std::move(parts))), (Floats{static_cast<float>(count), last}));
  }
}

TEST(Counts, branches_that_draw_are_counted_as_far_as_their_counter_goes) {
  const Function f = function("f", [](Tensor x) {
    // As after as many branches as there may be, less one.
    detail::context().random->next.store((ops::kMostSegments - 2) << ops::kSegmentShift);
    const auto drawn = [&] { return x + random::normal({2}); };
    x = cond(greater(sum(x), 0), drawn, drawn);
    return cond(greater(sum(x), 0), drawn, drawn);
  });
  EXPECT_HAS(message_of<UnsupportedError>([&] { f(zeros({2})); }),
             "more than 65535 branches and loops of one function draw random numbers");
}

TEST(Counts, the_gradient_of_many_inputs_flows_to_each) {
  const Tensor x = tensor({2.F});
  GradientTape tape;
  tape.watch(x);
  const Tensor joined = concat(std::vector<Tensor>(70'000, x), 0);
  EXPECT_EQ(tape.gradient(sum(joined), x).item<float>(), 70'000.F);
}

struct Uncounted {
  const char* name;
  std::function<void()> run;
  const char* text;  // how the message begins
};
void PrintTo(const Uncounted& uncounted, std::ostream* out) { *out << uncounted.name; }

const Uncounted kUncounted[] = {
    {"add", [] { seen({1L << 40, 1}) + seen({1, 1L << 40}); },
     "add: more elements than can be counted: [1099511627776, 1099511627776]"},
    {"add_of_bytes", [] { seen({1L << 31, 1}) + seen({1, 1L << 30}); },
     "add: more bytes than can be counted: [2147483648, 1073741824]"},
    {"where", [] { where(seen({1L << 40, 1}, DType::boolean), seen({1, 1L << 40}), 0); },
     "where: more elements than can be counted: "},
    {"matmul", [] { matmul(seen({1L << 40, 1}), seen({1, 1L << 40})); },
     "matmul: more elements than can be counted: "},
    {"outer", [] { outer(seen({1L << 40}), seen({1L << 40})); },
     "mul: more elements than can be counted: "},
    {"einsum", [] { einsum("i,j->ij", seen({1L << 40}), seen({1L << 40})); },
     "mul: more elements than can be counted: "},
    {"concat", [] { concat(std::vector<Tensor>(4, seen({1L << 61}, DType::int8)), 0); },
     "concat: more elements than can be counted: "},
    {"broadcast_to", [] { broadcast_to(zeros({1}), {1L << 40, 1L << 40}); },
     "broadcast_to: more elements than can be counted: "},
    {"broadcast_to_an_empty_axis", [] { broadcast_to(zeros({0}), {1L << 40, 1L << 40, 0}); },
     "broadcast_to: more elements than can be counted: "},
    {"reshape", [] { reshape(zeros({0}), {1L << 32, 1L << 32}); },
     "reshape: 0 elements do not fill [4294967296, 4294967296]: [0]"},
    {"reshape_the_rest", [] { reshape(zeros({4}), {1L << 32, 1L << 32, -1}); },
     "reshape: 4 elements do not fill [4294967296, 4294967296, -1]: [4]"},
    {"reshape_empty", [] { reshape(zeros({0}), {0, 1L << 40, 1L << 40}); },
     "reshape: more elements than can be counted: "},
    {"tile", [] { tile(zeros({4}), {1L << 62}); }, "tile: more elements than can be counted: "},
    {"split", [] { split(zeros({4}), {kMost, kMost, 6}); }, "split: sizes "},
    {"unstack", [] { unstack(seen({kPastInt32})); },
     "unstack: axis 0 of [2147483653] makes more tensors than can be held"},
    {"stack", [] { stack(std::vector<Tensor>(4, seen({1L << 61}, DType::int8))); },
     "concat: more elements than can be counted: "},
    {"one_hot", [] { one_hot(zeros({4}, DType::int32), kMost); },
     "one_hot: more elements than can be counted: "},
    {"eye", [] { eye(1L << 40, 1L << 40); }, "eye: more elements than can be counted: "},
    {"arange", [] { arange(0.0, 0x1p62, 1.0, DType::float64); },
     "arange: more bytes than can be counted: "},
    {"linspace", [] { linspace(0, 1, kMost); }, "linspace: more elements than can be counted: "},
    {"matrix_diag", [] { matrix_diag(zeros({4}), std::numeric_limits<std::int64_t>::min()); },
     "matrix_diag: more elements than can be counted: "},
    {"space_to_batch", [] { space_to_batch_nd(zeros({4, 0, 1}), {1L << 62}, {{0, 0}}); },
     "reshape: more elements than can be counted: "},
    {"batch_to_space", [] { batch_to_space_nd(zeros({0, 4, 1}), {1L << 62}, {{0, 0}}); },
     "reshape: more elements than can be counted: "},
    {"depth_to_space", [] { depth_to_space(zeros({1, 2, 2, 4}), 1L << 32); },
     "depth_to_space: 4 channels are not a multiple of 4294967296 squared"},
    {"space_to_depth", [] { space_to_depth(zeros({1, 0, 0, 1}), 1L << 32); },
     "reshape: more elements than can be counted: "},
    {"conv_padding",
     [] { conv1d(zeros({1, 4, 1}), zeros({2, 1, 1}), {.padding = {{1L << 40, 0}}}); },
     "conv1d: padding must be at most 2147483647: [1099511627776]"},
    {"conv_strides", [] { conv1d(zeros({1, 4, 1}), zeros({2, 1, 1}), {.strides = {1L << 40}}); },
     "conv1d: strides must be at most 2147483647: [1099511627776]"},
    {"conv_window",
     [] { conv1d(zeros({1, 4, 1}), seen({1L << 40, 1, 1}), {.dilations = {1L << 30}}); },
     "conv1d: a window of 9223372036854775807 does not fit"},
    {"pool_window", [] { max_pool(zeros({1, 4, 1}), {1L << 40}, {.padding = Padding::same}); },
     "max_pool: window [1099511627776] must be 2147483647 or less"},
    {"frame", [] { frame(zeros({4}), kMost, kMost, {.pad_end = true}); },
     "full: more elements than can be counted: "},
    {"overlap_and_add", [] { overlap_and_add(zeros({4, 2}), 1L << 62); },
     "overlap_and_add: more elements than can be counted: "},
    {"hann_window", [] { hann_window(kMost); }, "hann_window: more elements than can be counted: "},
    {"multinomial", [] { random::multinomial(zeros({4, 2}), 1L << 62); },
     "multinomial: more elements than can be counted: "},
    {"sparse_reshape",
     [] { sparse_reshape(zeros({1, 1}, DType::int64), {0}, {1L << 32, 1L << 32}); },
     "sparse_reshape: 0 elements do not fill "},
    {"scatter_nd", [] { scatter_nd(zeros({1, 1}, DType::int32), zeros({1, 4}), {1L << 62, 4}); },
     "scatter_nd: more elements than can be counted: "},
    {"resize",
     [] { image::resize_nearest(zeros({1, 2, 2, 1}, DType::int8), {1L << 40, 1L << 40}); },
     "resize_nearest: more elements than can be counted: "},
    {"random", [] { random::normal({1L << 40, 1L << 40}); },
     "normal: more elements than can be counted: "},
};

struct UncountedShapes : ::testing::TestWithParam<Uncounted> {};

TEST_P(UncountedShapes, are_refused_before_anything_happens) {
  const MemoryInfo before = memory();
  const std::string text = message_of<ShapeError>(GetParam().run);
  EXPECT_EQ(text.substr(0, std::string(GetParam().text).size()), GetParam().text) << text;
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
}

INSTANTIATE_TEST_SUITE_P(Ops, UncountedShapes, ::testing::ValuesIn(kUncounted),
                         [](const auto& place) { return std::string(place.param.name); });

TEST(Counts, a_traced_shape_that_cannot_be_counted_is_refused_where_it_is_made) {
  const Function f = function("f", [](Tensor x) { return reshape(x, {-1, 1}) + x; });
  EXPECT_HAS(message_of<ShapeError>([&] { f(seen({1L << 40})); }),
             "add: more elements than can be counted: [1099511627776, 1099511627776]");
}

TEST(Counts, a_trace_for_any_size_refuses_one_whose_values_cannot_be_counted) {
  Function f = function("f", [](Tensor x) { return reshape(x, {-1, 1}) + x; });
  f.input({dyn});
  EXPECT_EQ(f(zeros({3})).shape(), (Shape{3, 3}));
  EXPECT_EQ(f(zeros({5})).shape(), (Shape{5, 5}));
  EXPECT_HAS(message_of<ShapeError>([&] { f(seen({1L << 40})); }),
             "more elements than can be counted: [1099511627776, 1099511627776]");
}

TEST(Counts, values_of_a_function_that_cannot_be_counted_together_are_refused) {
  const Function f = function("f", [](Tensor x) {
    const Tensor wide = broadcast_to(x, {1L << 60});
    const Tensor one = cumsum(wide), other = cumprod(wide);
    return sum(one) + sum(other) + sum(reverse(one) * other);
  });
  EXPECT_HAS(message_of<ShapeError>([&] { f(zeros({1}, DType::int32)); }),
             "its values have more bytes than can be counted");
}

TEST(Counts, a_step_past_all_elements_leaves_one) {
  const Tensor x = tensor({1.F, 2.F, 3.F});
  EXPECT_EQ(floats(slice(x, {1}, {-1}, {kMost})), (Floats{2}));
  EXPECT_EQ(floats(slice(x, {1}, {-1}, {std::numeric_limits<std::int64_t>::min()})), (Floats{2}));
  EXPECT_EQ(floats(strided_slice(x, {0}, {3}, {kMost})), (Floats{1}));
  EXPECT_EQ(floats(strided_slice(x, {2}, {-4}, {std::numeric_limits<std::int64_t>::min()})),
            (Floats{3}));
  EXPECT_EQ(frame(x, 2, kMost).shape(), (Shape{1, 2}));
}

const Uncounted kIndexed[] = {
    {"arg_max", [] { arg_max(seen({2, kPastInt32}, DType::int8), 1); },
     "arg_max: 2147483653 elements are too many for int32: [2, 2147483653]"},
    {"arg_min", [] { arg_min(seen({kPastInt32}, DType::int8), 0); },
     "arg_min: 2147483653 elements are too many for int32: "},
    {"where_indices", [] { where_indices(seen({2, kPastInt32}, DType::boolean)); },
     "where_indices: 2147483653 elements are too many for int32: "},
    {"sort", [] { sort(seen({kPastInt32}, DType::int8)); },
     "sort: 2147483653 elements are too many for int32: "},
    {"top_k", [] { top_k(seen({kPastInt32}, DType::int8), 1); },
     "top_k: 2147483653 elements are too many for int32: "},
    {"unique", [] { unique(seen({kPastInt32}, DType::int8)); },
     "unique: 2147483653 elements are too many for int32: "},
    {"searchsorted", [] { searchsorted(seen({kPastInt32}), zeros({1})); },
     "searchsorted: 2147483653 elements are too many for int32: "},
    {"bincount", [] { bincount(seen({kPastInt32}, DType::int32), 2); },
     "bincount: 2147483653 elements are too many for int32: "},
    {"multinomial", [] { random::multinomial(seen({kPastInt32}), 1); },
     "multinomial: 2147483653 elements are too many for int32: "},
    {"non_max_suppression",
     [] { image::non_max_suppression(seen({kPastInt32, 4}), seen({kPastInt32}), 1); },
     "non_max_suppression: 2147483653 elements are too many for int32: "},
    {"max_pool_with_argmax",
     [] { max_pool_with_argmax(seen({1, kPastInt32, 1}, DType::int8), {2}); },
     "max_pool_with_argmax: int32 cannot index the elements of [1, 2147483653, 1]"},
    {"sparse_reshape",
     [] { sparse_reshape(zeros({1, 2}, DType::int32), {2, kPastInt32}, {2 * kPastInt32}); },
     "sparse_reshape: 4294967306 elements are too many for int32: [4294967306]"},
    {"sparse_fill_empty_rows",
     [] { sparse_fill_empty_rows(zeros({1, 1}, DType::int32), zeros({1}), {kPastInt32}, 0); },
     "sparse_fill_empty_rows: 2147483654 elements are too many for int32: [2147483653]"},
    {"fft", [] { fft(seen({kPastInt32}, DType::complex64)); },
     "fft: a transform of length 2147483653 of [2147483653]"},
    {"qr", [] { qr(seen({kPastInt32, 1})); },
     "qr: at most 16777216 x 16777216, rows or columns, can be computed with: [2147483653, 1]"},
    {"svd", [] { svd(seen({20'000, 20'000})); },
     "svd: at most 16777216 x 16384, rows or columns, can be computed with: [20000, 20000]"},
    {"eigh", [] { eigh(seen({40'000, 40'000})); }, "eigh: at most 16777216 x 16384"},
    {"solve", [] { solve(ones({1, 1}), seen({1, kPastInt32})); },
     "solve: at most 16777216 x 16777216"},
};

INSTANTIATE_TEST_SUITE_P(Indices, UncountedShapes, ::testing::ValuesIn(kIndexed),
                         [](const auto& place) { return std::string(place.param.name); });

TEST(Counts, a_box_index_past_int32_names_no_image) {
  const Tensor images = ones({1, 2, 2, 1}), boxes = tensor({0.F, 0.F, 1.F, 1.F}, {1, 4});
  const std::vector<std::int64_t> past{std::int64_t{1} << 32};  // 0, cut to 32 bits
  EXPECT_EQ(
      message_of<ValueError>([&] { image::crop_and_resize(images, boxes, tensor(past), {2, 2}); }),
      "crop_and_resize: box index 4294967296 at position 0 is out of range for 1 images");
}

}  // namespace
}  // namespace tenure::testing
