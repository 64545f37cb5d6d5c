// Tensors made from attributes alone, in every dtype.
#include "case.h"

namespace tenure::testing {
namespace {

Array sequence(std::int64_t count, double start, double step) {
  return filled({count}, [=](const Index& i) { return start + static_cast<double>(i[0]) * step; });
}

Array diagonal(const Shape& shape) {
  return filled(shape, [](const Index& i) { return i[0] == i[1] ? 1.0 : 0.0; });
}

struct CreationRow {
  const char* name;
  const char* op;
  Tensor (*run)(DType dtype);
  Array expected;
  const DTypes& dtypes;
};

const DTypes kWideTypes{DType::float32, DType::float64, DType::int32,   DType::int64,
                        DType::int8,    DType::float16, DType::bfloat16};

std::vector<CreationRow> creation_rows() {
  const auto all = [](const Shape& shape, double value) {
    return filled(shape, [=](const Index&) { return value; });
  };
  return {
      {"zeros", "fill", [](DType d) { return zeros({2, 3}, d); }, all({2, 3}, 0), kAnything},
      {"ones", "fill", [](DType d) { return ones({5}, d); }, all({5}, 1), kAnything},
      {"full", "fill", [](DType d) { return full({2, 1, 2}, -3, d); }, all({2, 1, 2}, -3),
       kWideTypes},
      {"full_of_a_scalar", "fill", [](DType d) { return full({}, 1.0, d); }, all({}, 1), kAnything},
      {"zeros_of_nothing", "fill", [](DType d) { return zeros({2, 0}, d); }, all({2, 0}, 0),
       kAnything},
      {"many_ones", "fill", [](DType d) { return ones({70001}, d); }, all({70001}, 1), kAnything},
      {"zeros_like", "fill", [](DType d) { return zeros_like(ones({2, 2}, d)); }, all({2, 2}, 0),
       kAnything},
      {"ones_like", "fill", [](DType d) { return ones_like(zeros({3}, d)); }, all({3}, 1),
       kAnything},
      {"full_like", "fill", [](DType d) { return full_like(zeros({3}, d), -2); }, all({3}, -2),
       kWideTypes},
      {"arange", "arange", [](DType d) { return arange(3, 17, 2, d); }, sequence(7, 3, 2),
       kIntegers},
      {"arange_down", "arange", [](DType d) { return arange(5, -6, -3, d); }, sequence(4, 5, -3),
       kWideTypes},
      {"arange_by_halves", "arange", [](DType d) { return arange(-1.0, 1.25, 0.5, d); },
       sequence(5, -1, 0.5), kFloats},
      {"arange_of_nothing", "arange", [](DType d) { return arange(4, 2, 1, d); }, sequence(0, 0, 0),
       kAnything},
      {"long_arange", "arange", [](DType d) { return arange(0, 70001, 1, d); },
       sequence(70001, 0, 1), kFloats},
      {"linspace", "linspace", [](DType d) { return linspace(-1, 1, 5, d); }, sequence(5, -1, 0.5),
       kFloats},
      {"linspace_of_one", "linspace", [](DType d) { return linspace(3, 9, 1, d); },
       sequence(1, 3, 0), kWideTypes},
      {"linspace_of_none", "linspace", [](DType d) { return linspace(3, 9, 0, d); },
       sequence(0, 3, 0), kWideTypes},
      {"linspace_of_integers", "linspace", [](DType d) { return linspace(0, 40, 11, d); },
       sequence(11, 0, 4), kWideTypes},
      {"eye", "eye", [](DType d) { return eye(4, -1, d); }, diagonal({4, 4}), kAnything},
      {"tall_eye", "eye", [](DType d) { return eye(5, 3, d); }, diagonal({5, 3}), kAnything},
      {"wide_eye", "eye", [](DType d) { return eye(2, 6, d); }, diagonal({2, 6}), kAnything},
      {"eye_of_nothing", "eye", [](DType d) { return eye(0, 3, d); }, diagonal({0, 3}), kAnything},
      {"large_eye", "eye", [](DType d) { return eye(301, 299, d); }, diagonal({301, 299}),
       kAnything},
  };
}

// The shorter shape is all ones.
Case broadcast_args_case(int longer) {
  const Input sizes{.least = 0, .most = 9}, ones{.least = 1, .most = 1};
  const Shapes of_two = longer == 0 ? Shapes{{4}, {2}} : Shapes{{2}, {4}};
  return {.name = "broadcast_args_" + std::to_string(longer),
          .ops = {"broadcast_args"},
          .run = OP_CALL(broadcast_args(in[0], in[1])),
          .inputs = longer == 0 ? std::vector{sizes, ones} : std::vector{ones, sizes},
          .shapes = {of_two, {{1}, {1}}, {{3}, {3}}},
          .reference = [longer](const Arrays& in) { return in[static_cast<std::size_t>(longer)]; },
          .dtypes = {DType::int32, DType::int64},
          .differentiable = false};
}

}  // namespace

std::vector<Case> creation_cases() {
  std::vector<Case> cases;
  for (const CreationRow& row : creation_rows()) {
    cases.push_back({.name = row.name,
                     .ops = {row.op},
                     .run = [run = row.run](const Tensors&, DType dtype) { return run(dtype); },
                     .reference = [expected = row.expected](const Arrays&) { return expected; },
                     .dtypes = row.dtypes,
                     .differentiable = false});
  }
  for (const int longer : {0, 1}) {
    cases.push_back(broadcast_args_case(longer));
  }
  return cases;
}

}  // namespace tenure::testing
