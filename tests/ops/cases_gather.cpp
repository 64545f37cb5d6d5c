// Picking and placing by index.
#include <cmath>

#include "case.h"
#include "ops/apply.h"
#include "ops/gather_attrs.h"
#include "reference_indexing.h"

namespace tenure::testing {
namespace {

Input indices_below(std::int64_t limit, DType dtype = DType::int32) {
  return {.least = 0, .most = limit - 1, .dtype = dtype};
}

DTypes without_bool() {
  return {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8, DType::int8};
}

Case gather_case(const char* name, GatherOptions options, std::int64_t limit,
                 std::vector<Shapes> shapes) {
  return {.name = name,
          .ops = {"gather"},
          .run = [options](Tensors in, DType) { return gather(OP_IN(0), OP_IN(1), options); },
          .inputs = {{}, indices_below(limit, limit % 2 != 0 ? DType::int64 : DType::int32)},
          .shapes = std::move(shapes),
          .reference =
              [options](const Arrays& in) {
                const int axis =
                    options.axis < 0 ? options.axis + in[0].shape.rank() : options.axis;
                return gathered(in[0], in[1], axis, options.batch_dims);
              },
          .dtypes = kAnything};
}

Case gather_grad_case(const char* name, ops::GatherGradAttrs attrs, std::vector<Shapes> shapes,
                      std::vector<Shapes> value_shapes = {}) {
  const bool large = !value_shapes.empty();
  return {.name = name,
          .ops = {"gather_grad"},
          .run =
              [attrs](Tensors in, DType) {
                Tensor out;
                ops::apply_into(op_named("gather_grad"), in, ops::ref(attrs),
                                std::source_location::current(), {&out, 1});
                return out;
              },
          .inputs = {{.whole = true}, indices_below(attrs.shape[attrs.axis])},
          .shapes = std::move(shapes),
          .value_shapes = std::move(value_shapes),
          .reference =
              [attrs](const Arrays& in) {
                return gathered_back(in[0], in[1], attrs.shape, attrs.axis, attrs.batch_dims);
              },
          .dtypes = large ? DTypes{DType::float32} : without_bool()};
}

double last(double, double update) { return update; }
double total(double old, double update) { return old + update; }
double smaller(double old, double update) { return std::fmin(old, update); }
double greater_of(double old, double update) { return std::fmax(old, update); }

Case scatter_case(const char* name, Tensor (*run)(Arg, Arg, Arg), Combine combine,
                  const DTypes& dtypes) {
  return {
      .name = name,
      .ops = {name},
      .run = [run](Tensors in, DType) { return run(OP_IN(0), OP_IN(1), OP_IN(2)); },
      .inputs = {{}, indices_below(3), {}},
      .shapes = {{{3, 4}, {5, 1}, {5, 4}},
                 {{4, 3, 2}, {2, 2}, {2, 2}},
                 {{3}, {2, 2, 1}, {2, 2}},
                 {{3, 2}, {0, 1}, {0, 2}},
                 {{3, 0}, {2, 1}, {2, 0}}},
      .value_shapes = {{{300, 120}, {100, 1}, {100, 120}}},
      .shared_shapes = {{3, 5}, {3, 1}, {3, 5}},
      .reference = [combine](const Arrays& in) { return scattered(in[0], in[1], in[2], combine); },
      .tolerance = {.epsilons = 8},
      .value_tolerance = {.epsilons = 400},
      .dtypes = dtypes};
}

}  // namespace

std::vector<Case> gather_cases() {
  std::vector<Case> cases;
  cases.push_back(
      gather_case("gather", {}, 4,
                  {{{4, 3}, {5}}, {{4}, {2, 3}}, {{5, 2, 2}, {}}, {{4, 0}, {2}}, {{4, 2}, {0}}}));
  cases.push_back(gather_case("gather_last", {.axis = -1}, 3, {{{2, 3}, {4}}, {{3}, {2, 2}}}));
  cases.push_back(gather_case("gather_middle", {.axis = 1}, 3, {{{2, 3, 4}, {2, 2}}}));
  cases.push_back(gather_case("gather_in_batches", {.axis = 1, .batch_dims = 1}, 3,
                              {{{2, 3, 4}, {2, 5}}, {{3, 3}, {3, 2, 2}}, {{2, 4}, {2}}}));
  cases.push_back(gather_case("gather_behind_batches", {.axis = 2, .batch_dims = 1}, 3,
                              {{{2, 3, 4}, {2, 2}}, {{2, 2, 3, 2}, {2, 2}}}));
  cases.front().value_shapes = {{{4, 300}, {200}}, {{4}, {40000}}};
  cases.push_back(
      gather_grad_case("gather_grad", {{4, 3}, 0, 0}, {{{5, 3}, {5}}, {{0, 3}, {0}}}, {}));
  cases.push_back(gather_grad_case("gather_grad_of_embedding", {{500, 80}, 0, 0}, {{{7, 80}, {7}}},
                                   {{{2000, 80}, {2000}}}));
  cases.push_back(
      gather_grad_case("gather_grad_of_batches", {{2, 2, 3, 2}, 2, 1}, {{{2, 2, 4, 2}, {2, 4}}}));
  cases.push_back(gather_grad_case("gather_grad_along_last", {{30, 1100}, 1, 1},
                                   {{{30, 3}, {30, 3}}}, {{{30, 1500}, {30, 1500}}}));

  cases.push_back({.name = "gather_nd",
                   .ops = {"gather_nd"},
                   .run = OP_CALL(gather_nd(OP_IN(0), OP_IN(1))),
                   .inputs = {{}, indices_below(3)},
                   .shapes = {{{3, 4}, {5, 1}},
                              {{3, 3}, {2, 2, 2}},
                              {{4, 3, 2}, {2}},
                              {{2, 3}, {3, 0}},
                              {{3, 2}, {0, 1}}},
                   .value_shapes = {{{3, 3, 100}, {500, 2}}},
                   .reference = [](const Arrays& in) { return gathered_nd(in[0], in[1]); },
                   .dtypes = kAnything});
  cases.push_back({.name = "scatter_nd",
                   .ops = {"scatter_nd"},
                   .run = OP_CALL(scatter_nd(OP_IN(0), OP_IN(1), {4, 3})),
                   .inputs = {indices_below(3, DType::int64), {}},
                   .shapes = {{{6, 1}, {6, 3}}, {{2, 3, 2}, {2, 3}}, {{1}, {3}}, {{0, 1}, {0, 3}}},
                   .reference =
                       [](const Arrays& in) {
                         return scattered(filled({4, 3}, [](const Index&) { return 0.0; }), in[0],
                                          in[1], total);
                       },
                   .tolerance = {.epsilons = 8},
                   .dtypes = without_bool()});
  cases.push_back(scatter_case("tensor_scatter_update", tensor_scatter_update, last, kAnything));
  cases.push_back(scatter_case("tensor_scatter_add", tensor_scatter_add, total, without_bool()));
  cases.push_back(scatter_case("tensor_scatter_min", tensor_scatter_min, smaller, without_bool()));
  cases.push_back(
      scatter_case("tensor_scatter_max", tensor_scatter_max, greater_of, without_bool()));

  for (const int axis : {-1, 0, 1}) {
    cases.push_back({.name = axis < 0 ? "one_hot" : "one_hot_on_axis_" + std::to_string(axis),
                     .ops = {"one_hot"},
                     .run =
                         [axis](Tensors in, DType dtype) {
                           const Scalar on = dtype == DType::boolean ? Scalar(true) : Scalar(3);
                           return one_hot(OP_IN(0), 4, {.on = on, .axis = axis, .dtype = dtype});
                         },
                     .inputs = {{.least = -1, .most = 5, .dtype = DType::int32}},
                     .shapes = {{{2, 3}}, {{5}}, {{0, 2}}},
                     .value_shapes = {{{200, 60}}},
                     .reference =
                         [axis](const Arrays& in) {
                           return one_hot_of(in[0], 4, axis < 0 ? in[0].shape.rank() : axis, 3, 0);
                         },
                     .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64,
                                DType::uint8, DType::float16},
                     .differentiable = false});
  }
  cases.push_back({.name = "where_indices",
                   .ops = {"where_indices"},
                   .run = OP_CALL(where_indices(OP_IN(0))),
                   .inputs = {{.low = -1, .high = 1, .whole = true, .least = -1, .most = 1}},
                   .shapes = {{{2, 3}}, {{7}}, {{}}, {{0, 3}}},
                   .reference = [](const Arrays& in) { return places_of_true(in[0]); },
                   .dtypes = kAnything,
                   .result = int32_dtype,
                   .differentiable = false});
  for (const int axis : {0, 1}) {
    cases.push_back(
        {.name = axis == 0 ? "boolean_mask" : "boolean_mask_on_axis_1",
         .ops = {"gather", "where_indices", "reshape"},
         .run = [axis](Tensors in, DType) { return boolean_mask(OP_IN(0), OP_IN(1), axis); },
         .inputs = {{}, {.dtype = DType::boolean}},
         .shapes = axis == 0 ? std::vector<Shapes>{{{4, 2}, {4}}, {{2, 3, 2}, {2, 3}}}
                             : std::vector<Shapes>{{{2, 4}, {4}}, {{2, 3, 2}, {3, 2}}},
         .reference = [axis](const Arrays& in) { return masked(in[0], in[1], axis); },
         .dtypes = kAnything,
         .error_name = "boolean_mask"});
    cases.push_back(
        {.name = axis == 0 ? "take_along_axis" : "take_along_last_axis",
         .ops = {"gather", "transpose"},
         .run = [axis](Tensors in,
                       DType) { return take_along_axis(OP_IN(0), OP_IN(1), axis == 0 ? 0 : -1); },
         .inputs = {{}, indices_below(3)},
         .shapes = axis == 0 ? std::vector<Shapes>{{{3, 2}, {4, 2}}, {{3}, {2}}}
                             : std::vector<Shapes>{{{2, 3}, {2, 5}}},
         .reference = [axis](const Arrays& in) { return taken_along(in[0], in[1], axis); },
         .dtypes = kAnything,
         .error_name = "take_along_axis"});
  }
  return cases;
}

}  // namespace tenure::testing
