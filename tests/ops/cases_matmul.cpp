// Matrix products: every transpose, sizes on both sides of every tile's edge, stacks that
// broadcast.
#include "case.h"

namespace tenure::testing {
namespace {

constexpr std::int64_t kSizes[] = {0, 1, 2, 7, 15, 16, 17, 33, 64, 65, 100};
constexpr std::int64_t kInnerSizes[] = {0, 1, 2, 16, 33, 65, 100};

Shape matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

Shape stack(Shape batch, std::int64_t rows, std::int64_t columns, bool transposed) {
  for (const std::int64_t dim : matrix(rows, columns, transposed)) batch.push_back(dim);
  return batch;
}

std::vector<Shapes> small_shapes(bool ta, bool tb) {
  const auto pair = [=](Shape batch_a, Shape batch_b, std::int64_t m, std::int64_t k,
                        std::int64_t n) {
    return Shapes{stack(std::move(batch_a), m, k, ta), stack(std::move(batch_b), k, n, tb)};
  };
  return {pair({}, {}, 3, 4, 5),        pair({}, {}, 1, 1, 1),      pair({}, {}, 1, 6, 3),
          pair({}, {}, 5, 2, 1),        pair({}, {}, 2, 0, 3),      pair({}, {}, 0, 3, 2),
          pair({}, {}, 3, 2, 0),        pair({2}, {2}, 2, 3, 4),    pair({2}, {}, 3, 4, 2),
          pair({}, {2}, 3, 2, 4),       pair({2, 1}, {3}, 2, 3, 2), pair({0}, {1}, 2, 3, 2),
          pair({1, 2}, {3, 1}, 1, 2, 3)};
}

std::vector<Shapes> sizes_around_tiles(bool ta, bool tb) {
  std::vector<Shapes> shapes;
  for (const std::int64_t m : kSizes) {
    for (const std::int64_t k : kInnerSizes) {
      for (const std::int64_t n : kSizes) shapes.push_back({matrix(m, k, ta), matrix(k, n, tb)});
    }
  }
  for (const std::int64_t batch : {3, 40}) {
    shapes.push_back({stack({batch}, 17, 33, ta), stack({batch}, 33, 16, tb)});
    shapes.push_back({stack({batch}, 17, 33, ta), stack({1}, 33, 16, tb)});
    shapes.push_back({stack({batch, 1}, 5, 9, ta), stack({2}, 9, 21, tb)});
  }
  shapes.push_back({matrix(257, 190, ta), matrix(190, 270, tb)});
  shapes.push_back({matrix(1, 700, ta), matrix(700, 300, tb)});
  shapes.push_back({matrix(300, 700, ta), matrix(700, 1, tb)});
  return shapes;
}

}  // namespace

std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  for (const auto& [name, ta, tb] : {std::tuple("matmul", false, false),
                                     {"matmul_transpose_a", true, false},
                                     {"matmul_transpose_b", false, true},
                                     {"matmul_transpose_both", true, true}}) {
    const MatmulOptions options{ta, tb};
    cases.push_back(
        {.name = name,
         .ops = {"matmul"},
         .run = [options](Tensors in, DType) { return matmul(OP_IN(0), OP_IN(1), options); },
         .inputs = {{.low = -1, .high = 1}, {.low = -1, .high = 1}},
         .shapes = small_shapes(ta, tb),
         .value_shapes = sizes_around_tiles(ta, tb),
         .reference = [ta = ta,
                       tb = tb](const Arrays& in) { return multiplied(in[0], in[1], ta, tb); },
         .tolerance = {.ulps = 2, .epsilons = 8},
         .value_tolerance = {.ulps = 2, .epsilons = 300},
         .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64}});
  }
  return cases;
}

}  // namespace tenure::testing
