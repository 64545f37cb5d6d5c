#include "case.h"
#include "internal_call.h"
#include "ops/pooling.h"
#include "reference_dilation.h"

namespace tenure::testing {
namespace {

constexpr double kNothing = -1.7976931348623157e308;

struct DilationRow {
  const char* name;
  DilationOptions options;
  Shape x;
  Shape filter;
  std::vector<Shape> value_x = {};  // with filters of as many channels
};

const DilationRow kDilationRows[] = {
    {"of_every_place", {}, {2, 4, 5, 3}, {2, 3, 3}, {{2, 61, 4, 70}}},
    {"with_padding",
     {.strides = {2, 1}, .padding = Padding::same, .dilations = {1, 2}},
     {1, 5, 4, 2},
     {3, 2, 2},
     {{2, 50, 20, 17}}},
    {"of_one_image", {.strides = {2}, .padding = 1}, {4, 3, 2}, {2, 2, 2}},
};

Pooling pooling_of(const DilationRow& row) {
  return {{row.filter[0], row.filter[1]},
          {.strides = row.options.strides,
           .padding = row.options.padding,
           .dilations = row.options.dilations}};
}

std::vector<Shapes> with(const DilationRow& row, bool output_first, bool filter_first) {
  std::vector<Shape> images{row.x};
  images.insert(images.end(), row.value_x.begin(), row.value_x.end());
  std::vector<Shapes> all;
  for (const Shape& x : images) {
    const Shape filter{row.filter[0], row.filter[1], x[-1]};
    all.push_back({output_first   ? pooled_shape(pooling_of(row), x)
                   : filter_first ? filter
                                  : x,
                   x, filter});
  }
  return all;
}

std::function<Tensor(Tensors, DType)> internal(const char* op, const DilationRow& row) {
  return [op, pooling = pooling_of(row), x = row.x](Tensors in, DType dtype) {
    const Shape shape = in[1].defined() ? in[1].shape() : x;
    return internal_call(op, ops::pool_attrs(op, shape, pooling.window, pooling.options))(
        std::move(in), dtype);
  };
}

}  // namespace

std::vector<Case> dilation_cases() {
  const Tolerance sums{.ulps = 4, .epsilons = 64};
  std::vector<Case> cases;
  for (const DilationRow& row : kDilationRows) {
    const Pooling pooling = pooling_of(row);
    const std::string suffix = std::string("_") + row.name;
    std::vector<Shapes> pairs;
    for (const Shapes& each : with(row, false, false)) pairs.push_back({each[1], each[2]});
    cases.push_back(
        {.name = "dilation2d" + suffix,
         .ops = {"dilation2d"},
         .run = [options = row.options](Tensors in,
                                        DType) { return dilation2d(OP_IN(0), OP_IN(1), options); },
         .inputs = {{}, {}},
         .shapes = {pairs[0]},
         .value_shapes = {pairs.begin() + 1, pairs.end()},
         .reference = [=](const Arrays& in) { return dilated(in[0], in[1], pooling, kNothing); },
         .tolerance = {.ulps = 1}});
    const struct {
      const char* op;
      Array (*reference)(const Arrays&, const Pooling&);
      bool output_first, filter_first;
    } others[] = {{"dilation2d_backprop_input", dilation_to_input, true, false},
                  {"dilation2d_backprop_filter", dilation_to_filter, true, false},
                  {"dilation2d_pick_input", dilation_from_input, false, false},
                  {"dilation2d_pick_filter", dilation_from_filter, false, true}};
    for (const auto& [op, reference, output_first, filter_first] : others) {
      const std::vector<Shapes> shapes = with(row, output_first, filter_first);
      cases.push_back({.name = op + suffix,
                       .ops = {op},
                       .run = internal(op, row),
                       .inputs = {{}, {}, {}},
                       .shapes = {shapes[0]},
                       .value_shapes = {shapes.begin() + 1, shapes.end()},
                       .reference = [=, reference = reference](
                                        const Arrays& in) { return reference(in, pooling); },
                       .tolerance = sums,
                       .value_tolerance = {.ulps = 4, .epsilons = 20000}});
    }
  }
  return cases;
}

}  // namespace tenure::testing
