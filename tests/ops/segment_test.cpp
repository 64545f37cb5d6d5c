// Segments, sparse and ragged tensors, draws: what random rows do not show.
#include <cmath>
#include <complex>
#include <limits>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;
using testing::message_of;

Tensor ints(const std::vector<int>& values) { return tensor(values); }

Floats gradient_of(const Tensor& x, const std::function<Tensor(const Tensor&)>& fn) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(fn(x));
  return floats(tape.gradient(y, {x})[0]);
}

TEST(Segments, a_nan_stays_in_its_segment) {
  const Tensor x = tensor({1.f, NAN, 3.f, 4.f, 5.f}), ids = ints({0, 0, 0, 1, 1});
  for (const auto run : {unsorted_segment_max, unsorted_segment_min, unsorted_segment_sum}) {
    const Floats y = floats(run(x, ids, 2));
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_FALSE(std::isnan(y[1]));
  }
}

TEST(Segments, empty_ones_give_the_start_of_the_fold) {
  const Tensor x = tensor({2.f}), ids = ints({1});
  using Limits = std::numeric_limits<float>;
  EXPECT_EQ(floats(unsorted_segment_max(x, ids, 2)), (Floats{Limits::lowest(), 2}));
  EXPECT_EQ(floats(unsorted_segment_min(x, ids, 2)), (Floats{Limits::max(), 2}));
  EXPECT_EQ(floats(unsorted_segment_prod(x, ids, 2)), (Floats{1, 2}));
  EXPECT_EQ(floats(unsorted_segment_mean(x, ids, 2)), (Floats{0, 2}));
}

TEST(Segments, equal_extremes_share_the_gradient) {
  const Tensor x = tensor({3.f, 3.f, 1.f, 5.f}), ids = ints({0, 0, 0, 1});
  const auto largest = [&](const Tensor& t) { return unsorted_segment_max(t, ids, 2); };
  EXPECT_EQ(gradient_of(x, largest), (Floats{0.5, 0.5, 0, 1}));
}

TEST(Segments, the_gradient_of_a_product_with_zeros_is_that_of_the_others) {
  const Tensor ids = ints({0, 0, 0, 1, 1, 1});
  const Tensor x = tensor({2.f, 0.f, 3.f, 0.f, 5.f, 0.f});
  const auto product = [&](const Tensor& t) { return unsorted_segment_prod(t, ids, 2); };
  EXPECT_EQ(gradient_of(x, product), (Floats{0, 6, 0, 0, 0, 0}));
}

TEST(Segments, an_id_beyond_all_memory_is_refused) {
  const std::int64_t far = std::int64_t{1} << 62;
  EXPECT_HAS(message_of<ShapeError>([&] { unsorted_segment_sum(ones({2, 3}), ints({0, 1}), far); }),
             "unsorted_segment_sum: more elements than can be counted: [4611686018427387904, 3]");
  EXPECT_HAS(message_of<ShapeError>([&] {
               sparse_segment_sum(ones({2, 3}), ints({0}), tensor(std::vector<std::int64_t>{far}));
             }),
             "sparse_segment_sum: more elements than can be counted: [4611686018427387905, 3]");
}

TEST(Segments, complex_numbers_add_up_too) {
  using Z = std::complex<float>;
  const Tensor x = tensor({Z(1, 2), Z(3, 4), Z(5, -6)});
  EXPECT_EQ(unsorted_segment_sum(x, ints({1, 1, 0}), 2).to_vector<Z>(),
            (std::vector<Z>{{5, -6}, {4, 6}}));
  EXPECT_EQ(sparse_segment_mean(x, ints({0, 1}), ints({0, 0})).to_vector<Z>(),
            (std::vector<Z>{{2, 3}}));
}

TEST(Sparse, a_default_gets_the_gradient_of_every_place_without_a_value) {
  const Tensor otherwise = tensor(7.f), values = tensor({1.f, 2.f, 3.f});
  const Tensor indices = ints({1, 4, 1});
  GradientTape tape({.persistent = true});
  tape.watch(otherwise);
  tape.watch(values);
  const Tensor y = sparse_to_dense(indices, {6}, values, otherwise);
  EXPECT_EQ(floats(y), (Floats{7, 3, 7, 7, 2, 7}));
  const std::vector<Tensor> g = tape.gradient(sum(y), {values, otherwise});
  EXPECT_EQ(floats(g[0]), (Floats{0, 1, 1}));
  EXPECT_EQ(floats(g[1]), (Floats{4}));
}

TEST(Sparse, rows_that_are_full_stay_as_they_are) {
  const Tensor indices = tensor({0, 3, 1, 0, 1, 2}, {3, 2});
  const SparseRows filled = sparse_fill_empty_rows(indices, tensor({1.f, 2.f, 3.f}), {2, 4}, 9);
  EXPECT_EQ(filled.indices.to_vector<int>(), indices.to_vector<int>());
  EXPECT_EQ(floats(filled.values), (Floats{1, 2, 3}));
  EXPECT_EQ(filled.empty_rows.to_vector<bool>(), (std::vector{false, false}));
  EXPECT_EQ(filled.reverse_index_map.to_vector<int>(), (std::vector{0, 1, 2}));
  EXPECT_EQ(
      sparse_fill_empty_rows(zeros({0, 2}, DType::int32), zeros({0}), {0, 4}, 9).values.shape(),
      Shape{0});
}

TEST(Sparse, a_reshape_says_what_the_shape_became) {
  EXPECT_EQ(sparse_reshape(tensor({1, 2}, {1, 2}), {3, 4}, {2, -1}).shape, (Shape{2, 6}));
  EXPECT_HAS(
      message_of<ShapeError>([] { sparse_reshape(zeros({0, 1}, DType::int32), {0}, {0, -1}); }),
      "sparse_reshape: 0 elements do not fill [0, -1]: [0]");
}

TEST(Ragged, a_scalar_index_takes_one_row) {
  const Ragged row =
      ragged_gather({ints({0, 2, 3}), ints({0, 1, 3, 4})}, tensor({1.f, 2.f, 3.f, 4.f}), 0);
  ASSERT_EQ(row.splits.size(), 1u);
  EXPECT_EQ(row.splits[0].to_vector<int>(), (std::vector{0, 1, 3}));
  EXPECT_EQ(floats(row.values), (Floats{1, 2, 3}));
}

TEST(Ragged, ranges_count_down_and_may_be_empty) {
  const Ragged ranges = ragged_range(ints({5, 0, 2}), ints({0, 0, 9}), ints({-2, 1, 3}));
  EXPECT_EQ(ranges.splits[0].to_vector<int>(), (std::vector{0, 3, 3, 6}));
  EXPECT_EQ(ranges.values.to_vector<int>(), (std::vector{5, 3, 1, 2, 5, 8}));
  EXPECT_HAS(message_of<ValueError>([] { ragged_range(0.0, 1e12, 1.0); }),
             "ragged_range: row 0 has more values than int32 counts");
}

TEST(Ragged, partitions_that_do_not_fit_are_named) {
  const Tensor values = ones({3});
  const auto message = [&](const std::vector<Tensor>& partitions,
                           const std::vector<RowPartition>& types) {
    return message_of<Error>([&] { ragged_tensor_to_tensor({}, values, 0, partitions, types); });
  };
  EXPECT_HAS(message({ints({0, 0, 1})}, {RowPartition::value_row_ids}),
             "ragged_tensor_to_tensor: partition 0 of [3] cannot be value_row_ids");
  EXPECT_HAS(message({tensor(2), ints({0, 2, 2})},
                     {RowPartition::first_dim_size, RowPartition::value_row_ids}),
             "row id 2 at position 1 is out of range for 2 rows");
  EXPECT_HAS(message({tensor(2), ints({1, 0, 1})},
                     {RowPartition::first_dim_size, RowPartition::value_row_ids}),
             "row id 0 at position 1 is below 1");
  EXPECT_HAS(message({tensor(1), ints({0, 1, 3})},
                     {RowPartition::first_dim_size, RowPartition::row_splits}),
             "partition 0 splits 2 rows, but there are 1");
  EXPECT_HAS(message_of<ShapeError>([&] {
               ragged_tensor_to_tensor({}, values, ones({2}), {ints({0, 3})},
                                       {RowPartition::row_splits});
             }),
             "ragged_tensor_to_tensor: a default of [2] for rows of []");
}

TEST(Draws, follow_their_probabilities) {
  set_seed(3);
  constexpr int kDraws = 200'000;
  const Floats wanted{0.5, 0.25, 0.2f, 0.05f};
  for (const bool normalized : {true, false}) {
    const Tensor given = normalized ? tensor(wanted) : log(tensor(wanted)) + 3;
    const std::vector<int> drawn =
        random::multinomial(given, kDraws, {.normalized = normalized}).to_vector<int>();
    std::vector<int> counts(wanted.size());
    for (const int which : drawn) ++counts[static_cast<std::size_t>(which)];
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      const double expected = static_cast<double>(wanted[c]) * kDraws;
      EXPECT_NEAR(counts[c], expected, 5 * std::sqrt(expected)) << c;
    }
  }
}

TEST(Draws, a_seed_repeats_and_the_sequence_goes_on) {
  const Tensor logits = zeros({50});
  const auto draw = [&](random::MultinomialOptions options) {
    return random::multinomial(logits, 20, options).to_vector<int>();
  };
  EXPECT_EQ(draw({.seed = 5}), draw({.seed = 5}));
  EXPECT_NE(draw({.seed = 5}), draw({.seed = 6}));
  set_seed(1);
  const std::vector<int> first = draw({}), second = draw({});
  EXPECT_NE(first, second);
  set_seed(1);
  EXPECT_EQ(draw({}), first);
}

TEST(Metrics, a_nan_is_never_among_the_highest) {
  const Tensor scores = tensor({NAN, 1.f, 2.f, 1.f, NAN, 3.f}, {2, 3});
  EXPECT_EQ(in_top_k(scores, ints({0, 2}), 3).to_vector<bool>(), (std::vector{false, true}));
  EXPECT_EQ(in_top_k(scores, ints({1, 0}), 1).to_vector<bool>(), (std::vector{false, false}));
}

}  // namespace
}  // namespace tenure
