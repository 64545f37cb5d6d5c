#include <limits>

#include "case.h"
#include "internal_call.h"
#include "ops/pooling.h"
#include "reference_pooling.h"

namespace tenure::testing {
namespace {

struct PoolingRow {
  const char* name;
  Pooling pooling;
  std::vector<Shape> shapes;
  std::vector<Shape> value_shapes = {};
};

// Every number of axes, kind of padding and order of axes; shapes with and without a batch.
const std::vector<PoolingRow>& pooling_rows() {
  static const std::vector<PoolingRow> pooling_rows{
      {"of_a_line",
       {{3}, {.strides = {2}, .padding = Padding::same}},
       {{2, 5, 3}, {7, 2}, {0, 5, 3}, {2, 4, 0}}},
      {"of_an_image",
       {{3, 2}, {.strides = {2, 1}, .padding = Padding::same}},
       {{2, 5, 4, 3}, {4, 3, 2}, {1, 3, 3, 35}},
       {{2, 61, 4, 70}, {1, 120, 16, 17}}},
      {"of_tiles", {{2, 2}, {}}, {{1, 4, 5, 2}, {2, 3, 1}}, {{2, 120, 150, 1}}},
      {"of_a_padded_image",
       {{2, 3}, {.strides = {1}, .padding = {{1, 0}, {2, 1}}, .rounding = Rounding::up}},
       {{2, 3, 4, 2}}},
      {"of_a_dilated_window",
       {{2, 2}, {.strides = {1}, .padding = Padding::same, .dilations = {2, 3}}},
       {{1, 4, 5, 3}}},
      {"of_planes",
       {{3, 3}, {.strides = {2}, .padding = Padding::same, .channels_first = true}},
       {{2, 3, 5, 4}, {2, 4, 5}},
       {{3, 20, 20, 26}}},
      {"of_a_volume",
       {{2, 2, 3}, {.strides = {1, 2, 2}, .padding = 1, .rounding = Rounding::nearest}},
       {{1, 3, 4, 5, 2}, {3, 2, 3, 2}},
       {{1, 9, 10, 11, 34}}},
      {"of_volumes_of_planes",
       {{2, 1, 2}, {.strides = {1}, .padding = Padding::same, .channels_first = true}},
       {{1, 2, 3, 2, 4}}},
  };
  return pooling_rows;
}

std::vector<Shapes> single(const std::vector<Shape>& shapes) {
  std::vector<Shapes> all;
  for (const Shape& shape : shapes) all.push_back({shape});
  return all;
}

// Each shape preceded by its output's, or by itself.
std::vector<Shapes> pairs(const Pooling& pooling, const std::vector<Shape>& shapes, bool output) {
  std::vector<Shapes> all;
  for (const Shape& shape : shapes) {
    all.push_back({output ? pooled_shape(pooling, shape) : shape, shape});
  }
  return all;
}

std::function<Tensor(Tensors, DType)> with_windows_of(const char* op, const Pooling& pooling) {
  return [=](Tensors in, DType dtype) {
    const Shape x = in[1].defined() ? in[1].shape() : in[0].shape();
    return internal_call(op, ops::pool_attrs(op, x, pooling.window, pooling.options))(std::move(in),
                                                                                      dtype);
  };
}

}  // namespace

std::vector<Case> pooling_cases() {
  const Tolerance sums{.ulps = 4, .epsilons = 32};
  std::vector<Case> cases;
  for (const PoolingRow& each : pooling_rows()) {
    const Pooling pooling = each.pooling;
    const std::string suffix = std::string("_") + each.name;
    const Shape& whole = each.shapes.front();
    cases.push_back(
        {.name = "max_pool" + suffix,
         .ops = {"max_pool"},
         .run = [=](Tensors in,
                    DType) { return max_pool(OP_IN(0), pooling.window, pooling.options); },
         .inputs = {{}},
         .shapes = single(each.shapes),
         .value_shapes = single(each.value_shapes),
         .reference =
             [=](const Arrays& in) {
               return max_pooled(in[0], pooling, least_of(DType::float64));
             }});
    cases.push_back(
        {.name = "avg_pool" + suffix,
         .ops = {"avg_pool"},
         .run = [=](Tensors in,
                    DType) { return avg_pool(OP_IN(0), pooling.window, pooling.options); },
         .inputs = {{}},
         .shapes = single(each.shapes),
         .value_shapes = single(each.value_shapes),
         .reference = [=](const Arrays& in) { return avg_pooled(in[0], pooling); },
         .tolerance = sums});
    cases.push_back(
        {.name = "max_pool_with_argmax" + suffix,
         .ops = {"max_pool_with_argmax"},
         .run =
             [=](Tensors in, DType) {
               return max_pool_with_argmax(OP_IN(0), pooling.window, pooling.options).values;
             },
         .inputs = {{}},
         .shapes = single({whole}),
         .value_shapes = single(each.value_shapes),
         .reference =
             [=](const Arrays& in) {
               return max_pooled(in[0], pooling, least_of(DType::float64));
             }});
    cases.push_back(
        {.name = "max_pool_with_argmax_indices" + suffix,
         .ops = {"max_pool_with_argmax"},
         .run =
             [=](Tensors in, DType) {
               return max_pool_with_argmax(OP_IN(0), pooling.window, pooling.options,
                                           {.include_batch_in_index = true})
                   .indices;
             },
         .inputs = {{.whole = true}},
         .shapes = single({whole}),
         .value_shapes = single(each.value_shapes),
         .reference = [=](const Arrays& in) { return places_of_largest(in[0], pooling, true); },
         .result = int32_dtype,
         .differentiable = false});
    cases.push_back(
        {.name = "max_pool_grad" + suffix,
         .ops = {"max_pool_grad"},
         .run = with_windows_of("max_pool_grad", pooling),
         .inputs = {{}, {}},
         .shapes = pairs(pooling, {whole}, true),
         .value_shapes = pairs(pooling, each.value_shapes, true),
         .reference = [=](const Arrays& in) { return max_pool_gradient(in[0], in[1], pooling); },
         .tolerance = sums});
    cases.push_back(
        {.name = "max_pool_pick" + suffix,
         .ops = {"max_pool_pick"},
         .run = with_windows_of("max_pool_pick", pooling),
         .inputs = {{}, {}},
         .shapes = pairs(pooling, {whole}, false),
         .value_shapes = pairs(pooling, each.value_shapes, false),
         .reference = [=](const Arrays& in) { return max_pool_picked(in[0], in[1], pooling); }});
    cases.push_back(
        {.name = "avg_pool_grad" + suffix,
         .ops = {"avg_pool_grad"},
         .run = internal_call("avg_pool_grad", ops::pool_attrs("avg_pool_grad", whole,
                                                               pooling.window, pooling.options)),
         .inputs = {{}},
         .shapes = single({pooled_shape(pooling, whole)}),
         .reference = [=](const Arrays& in) { return avg_pool_gradient(in[0], whole, pooling); },
         .tolerance = sums});
  }
  const Pooling whole_image{{3, 4}, {}};
  const auto add = [&](const char* name, const char* op, auto run, auto reference) {
    cases.push_back({.name = name,
                     .ops = {op},
                     .run = [=](Tensors in, DType) { return run(OP_IN(0)); },
                     .inputs = {{}},
                     .shapes = {{{2, 3, 4, 5}}},
                     .reference = [=](const Arrays& in) { return reference(in[0]); },
                     .tolerance = sums,
                     .error_name = name});
  };
  const auto averages = [=](const Array& x) { return avg_pooled(x, whole_image); };
  const auto largest = [=](const Array& x) {
    return max_pooled(x, whole_image, least_of(DType::float64));
  };
  add(
      "global_avg_pool", "sum",
      [](Tensor x) { return global_avg_pool(std::move(x), {.keep_dims = true}); }, averages);
  add(
      "global_max_pool", "max",
      [](Tensor x) { return global_max_pool(std::move(x), {.keep_dims = true}); }, largest);
  add(
      "pool", "avg_pool", [](Tensor x) { return pool(std::move(x), {3, 4}, PoolType::avg); },
      averages);
  return cases;
}

}  // namespace tenure::testing
