// Ragged tensors of fixed splits, with drawn values and indices.
#include <cmath>

#include <algorithm>

#include "case.h"
#include "reference_sparse.h"

namespace tenure::testing {
namespace {

const Splits kFlat{{0, 2, 2, 5}};
const Splits kDeep{{0, 2, 2, 3}, {0, 1, 1, 5}};

std::vector<Tensor> tensors(const Splits& splits, DType dtype = DType::int32) {
  std::vector<Tensor> result;
  for (const auto& level : splits) result.push_back(index_tensor(level, dtype));
  return result;
}

// The values of the result (split -1), or one of its splits.
Case gather(const char* name, const Splits& splits, int split) {
  return {.name = name,
          .ops = {"segment_take", "ragged_rows"},
          .run =
              [splits, split](Tensors in, DType) {
                const Ragged result = ragged_gather(tensors(splits), OP_IN(0), OP_IN(1));
                return split < 0 ? result.values : result.splits[static_cast<std::size_t>(split)];
              },
          .inputs = {{}, {.least = 0, .most = 2, .dtype = DType::int64}},
          .shapes = {{{5, 2}, {4}}, {{5}, {2, 3}}, {{5, 2}, {0}}, {{5}, {2, 1, 2}}},
          .reference =
              [splits, split](const Arrays& in) {
                const Nest result = gathered(nested(splits), in[1]);
                if (split < 0) return rows_taken(in[0], vector_of(leaves(result)));
                const std::size_t levels =
                    splits.size() + static_cast<std::size_t>(in[1].shape.rank()) - 1;
                return vector_of(splits_of(result, levels)[static_cast<std::size_t>(split)]);
              },
          .dtypes = split < 0 ? kAnything : kFloats,
          .result = split < 0 ? same_dtype : int32_dtype,
          .differentiable = split < 0,
          .error_name = ""};
}

// The values or the splits of ranges with a fixed step.
Case range(const char* name, bool values) {
  return {.name = name,
          .ops = {"ragged_range"},
          .run =
              [values](Tensors in, DType) {
                const Ragged result = ragged_range(OP_IN(0), OP_IN(1), 2);
                return values ? result.values : result.splits[0];
              },
          .inputs = {{}, {.low = 1, .high = 9, .least = 1, .most = 9}},
          .shapes = {{{4}, {4}}, {{}, {3}}, {{2}, {}}, {{}, {}}, {{0}, {0}}},
          .reference =
              [values](const Arrays& in) {
                std::vector<double> all, splits{0};
                const std::size_t rows = std::max(in[0].shape.rank() == 0 ? 0 : in[0].data.size(),
                                                  in[1].shape.rank() == 0 ? 0 : in[1].data.size());
                const bool one = in[0].shape.rank() + in[1].shape.rank() == 0;
                for (std::size_t row = 0; row < (one ? 1 : rows); ++row) {
                  const double start = in[0].data[in[0].shape.rank() == 0 ? 0 : row];
                  const double limit = in[1].data[in[1].shape.rank() == 0 ? 0 : row];
                  for (int i = 0; start + 2 * i < limit; ++i) all.push_back(start + 2 * i);
                  splits.push_back(static_cast<double>(all.size()));
                }
                Array result{{}, values ? all : splits};
                result.shape = {static_cast<std::int64_t>(result.data.size())};
                return result;
              },
          .tolerance = {.ulps = 1},
          .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64},
          .result = values ? same_dtype : int32_dtype,
          .differentiable = values};
}

// From 1 to below 9, with steps that are the input.
Case range_of_steps() {
  return {.name = "ragged_range_of_steps",
          .ops = {"ragged_range"},
          .run = OP_CALL(ragged_range(1, 9, OP_IN(0)).values),
          .inputs = {{.low = 0.7, .high = 5, .least = 1, .most = 9}},
          .shapes = {{{4}}, {{}}, {{0}}},
          .reference =
              [](const Arrays& in) {
                Array result;
                for (const double step : in[0].data) {
                  for (int i = 0; 1 + i * step < 9; ++i) result.data.push_back(1 + i * step);
                }
                result.shape = {static_cast<std::int64_t>(result.data.size())};
                return result;
              },
          .tolerance = {.ulps = 2},
          .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64},
          .error_name = ""};
}

Case to_tensor_case(const char* name, const Shape& wanted, const Shape& shape, const Splits& splits,
                    const std::vector<Tensor> (*partitions)(),
                    const std::vector<RowPartition>& types) {
  return {
      .name = name,
      .ops = {"segment_take", "ragged_sources", "where", "reshape"},
      .run =
          [wanted, partitions, types](Tensors in, DType) {
            return ragged_tensor_to_tensor(wanted, OP_IN(0), OP_IN(1), partitions(), types);
          },
      .inputs = {{}, {}},
      .shapes = {{{5, 2}, {}}, {{5, 2}, {2}}, {{5, 2}, {1}}},
      .reference =
          [shape, splits](const Arrays& in) { return padded(nested(splits), shape, in[0], in[1]); },
      .dtypes = kAnything,
      .error_name = ""};
}

}  // namespace

std::vector<Case> ragged_cases() {
  constexpr auto kSplits = RowPartition::row_splits;
  constexpr auto kIds = RowPartition::value_row_ids;
  constexpr auto kSize = RowPartition::first_dim_size;
  const auto flat = []() -> const std::vector<Tensor> { return tensors(kFlat); };
  const auto deep = []() -> const std::vector<Tensor> { return tensors(kDeep, DType::int64); };
  const auto by_ids = []() -> const std::vector<Tensor> {
    return {tensor(3), index_tensor({0, 0, 2}), index_tensor({0, 2, 2, 2, 2})};
  };
  return {
      gather("ragged_gather", kFlat, -1),
      gather("ragged_gather_splits", kFlat, 0),
      gather("ragged_gather_deep", kDeep, -1),
      gather("ragged_gather_deep_splits", kDeep, 1),
      range("ragged_range", true),
      range("ragged_range_splits", false),
      range_of_steps(),
      to_tensor_case("ragged_tensor_to_tensor", {}, {3, 3, 2}, kFlat, flat, {kSplits}),
      to_tensor_case("ragged_tensor_to_tensor_cut", {4, 2, 2}, {4, 2, 2}, kFlat, flat, {kSplits}),
      to_tensor_case("ragged_tensor_to_tensor_deep", {-1, -1, 3, -1}, {3, 2, 3, 2}, kDeep, deep,
                     {kSplits, kSplits}),
      to_tensor_case("ragged_tensor_to_tensor_of_ids", {}, {3, 2, 4, 2}, kDeep, by_ids,
                     {kSize, kIds, kIds}),
  };
}

}  // namespace tenure::testing
