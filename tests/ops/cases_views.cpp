// Other looks at the same values, and joining.
#include <algorithm>
#include <array>

#include "case.h"
#include "ops/apply.h"
#include "ops/attrs.h"
#include "reference_indexing.h"

namespace tenure::testing {
namespace {

using Change = std::function<Array(const Array&)>;

// An op that has no public function of its own.
template <class Attrs>
std::function<Tensor(Tensors, DType)> internal_call(const char* op, Attrs attrs) {
  return [op, attrs](Tensors in, DType) {
    Tensor out;
    ops::apply_into(op_named(op), in, ops::ref(attrs), std::source_location::current(), {&out, 1});
    return out;
  };
}

struct ViewRow {
  const char* name;
  const char* op;
  std::function<Tensor(Tensors, DType)> run;
  std::vector<Shape> shapes;
  Change value;
  const char* error_name = op;
  bool differentiable = true;
};

Change reshape_to(const Shape& shape) {
  return [shape](const Array& x) { return reshaped(x, shape); };
}
Change permute(const Axes& axes) {
  return [axes](const Array& x) { return permuted(x, axes); };
}
Change cut(const Shape& begin, const Shape& size, const Shape& step) {
  return [=](const Array& x) { return sliced(x, begin, size, step); };
}
Change spread(const Shape& shape) {
  return [shape](const Array& x) { return broadcasted(x, shape); };
}
Array unchanged(const Array& x) { return x; }

Array reverse_axes(const Array& x) {
  Axes axes;
  for (int axis = x.shape.rank(); axis-- > 0;) axes.push_back(axis);
  return permuted(x, axes);
}

Array flatten(const Array& x) { return reshaped(x, {static_cast<std::int64_t>(x.data.size())}); }

Array with_last_axis_of_one(const Array& x) {
  Shape shape = x.shape;
  shape.push_back(1);
  return reshaped(x, shape);
}

Array without_ones(const Array& x) {
  Shape shape;
  for (const std::int64_t dim : x.shape) {
    if (dim != 1) shape.push_back(dim);
  }
  return reshaped(x, shape);
}

std::vector<ViewRow> view_rows() {
  return {
      {"reshape",
       "reshape",
       OP_CALL(reshape(OP_IN(0), {6, 4})),
       {{2, 3, 4}, {24}, {4, 6}, {1, 24}},
       reshape_to({6, 4})},
      {"reshape_with_one_free",
       "reshape",
       OP_CALL(reshape(OP_IN(0), {2, -1, 3})),
       {{6, 4}, {2, 3}, {2, 1, 3, 1}},
       [](const Array& x) { return reshaped(x, {2, x.shape.numel() / 6, 3}); }},
      {"reshape_to_flat",
       "reshape",
       OP_CALL(reshape(OP_IN(0), {-1})),
       {{2, 3}, {}, {5, 1, 2}, {0}, {2, 0}},
       flatten},
      {"reshape_to_scalar",
       "reshape",
       OP_CALL(reshape(OP_IN(0), {})),
       {{1}, {1, 1}, {}},
       reshape_to({})},
      {"reshape_of_nothing",
       "reshape",
       OP_CALL(reshape(OP_IN(0), {3, 0})),
       {{0}, {0, 5}},
       reshape_to({3, 0})},
      {"expand_dims_first",
       "reshape",
       OP_CALL(expand_dims(OP_IN(0), 0)),
       {{2, 3}, {}, {0}},
       [](const Array& x) {
         Shape shape{1};
         for (const std::int64_t dim : x.shape) shape.push_back(dim);
         return reshaped(x, shape);
       },
       "expand_dims"},
      {"expand_dims_last",
       "reshape",
       OP_CALL(expand_dims(OP_IN(0), -1)),
       {{2, 3}, {}, {0}},
       with_last_axis_of_one,
       "expand_dims"},
      {"squeeze",
       "reshape",
       OP_CALL(squeeze(OP_IN(0))),
       {{1, 2, 1, 3}, {}, {1}, {0, 1}, {2, 2}},
       without_ones,
       "squeeze"},
      {"squeeze_axes",
       "reshape",
       OP_CALL(squeeze(OP_IN(0), {-1, 0})),
       {{1, 3, 1}, {1, 1, 1}},
       [](const Array& x) { return reshaped(x, {x.shape[1]}); },
       "squeeze"},
      {"transpose",
       "transpose",
       OP_CALL(transpose(OP_IN(0))),
       {{2, 3, 4}, {}, {5}, {0, 3}, {1, 4}},
       reverse_axes},
      {"transpose_axes",
       "transpose",
       OP_CALL(transpose(OP_IN(0), {1, 2, 0})),
       {{2, 3, 4}, {0, 2, 3}, {1, 2, 1}},
       permute({1, 2, 0})},
      {"transpose_negative_axes",
       "transpose",
       OP_CALL(transpose(OP_IN(0), {-1, 0, -2})),
       {{2, 3, 4}},
       permute({2, 0, 1})},
      {"slice",
       "slice",
       OP_CALL(slice(OP_IN(0), {1, 0}, {2, 3})),
       {{3, 3}, {4, 5}},
       cut({1, 0}, {2, 3}, {1, 1})},
      {"slice_to_the_end",
       "slice",
       OP_CALL(slice(OP_IN(0), {-2, 1}, {-1, -1})),
       {{5, 4}, {2, 4}},
       [](const Array& x) { return sliced(x, {x.shape[0] - 2, 1}, {2, x.shape[1] - 1}, {1, 1}); }},
      {"slice_by_steps",
       "slice",
       OP_CALL(slice(OP_IN(0), {1, 0}, {-1, 2}, {2, 3})),
       {{6, 4}, {5, 5}},
       [](const Array& x) { return sliced(x, {1, 0}, {x.shape[0] / 2, 2}, {2, 3}); }},
      {"slice_of_nothing",
       "slice",
       OP_CALL(slice(OP_IN(0), {3, 0}, {-1, -1})),
       {{3, 2}, {3, 0}},
       [](const Array& x) { return sliced(x, {3, 0}, {0, x.shape[1]}, {1, 1}); }},
      {"slice_of_a_scalar", "slice", OP_CALL(slice(OP_IN(0), {}, {})), {{}}, unchanged},
      {"index",
       "slice",
       OP_CALL(in[0][-2]),
       {{3, 2}, {2}, {4, 0}},
       [](const Array& x) {
         Shape size = x.shape, begin = Shape::filled(size.rank(), 0);
         begin[0] = size[0] - 2;
         size[0] = 1;
         return reshaped(sliced(x, begin, size, Shape::filled(size.rank(), 1)),
                         Shape(x.shape.dims().subspan(1)));
       },
       "index"},
      {"unslice",
       "unslice",
       internal_call("unslice", ops::UnsliceAttrs{{5, 7}, {1, 0}, {2, 3}}),
       {{2, 3}, {1, 1}, {0, 2}},
       [](const Array& x) { return unsliced(x, {5, 7}, {1, 0}, {2, 3}); }},
      {"unslice_of_a_block",
       "unslice",
       internal_call("unslice", ops::UnsliceAttrs{{40, 70}, {3, 2}, {1, 1}}),
       {{2, 3}, {30, 60}},
       [](const Array& x) { return unsliced(x, {40, 70}, {3, 2}, {1, 1}); }},
      {"unslice_of_a_scalar",
       "unslice",
       internal_call("unslice", ops::UnsliceAttrs{}),
       {{}},
       unchanged},
      {"broadcast_to",
       "broadcast_to",
       OP_CALL(broadcast_to(OP_IN(0), {2, 3, 4})),
       {{}, {4}, {3, 1}, {2, 3, 4}, {1, 1, 1}},
       spread({2, 3, 4})},
      {"broadcast_to_nothing",
       "broadcast_to",
       OP_CALL(broadcast_to(OP_IN(0), {0, 3})),
       {{3}, {1, 3}, {}, {0, 1}},
       spread({0, 3})},
      {"clone", "clone", OP_CALL(in[0].clone()), {{2, 3}, {}, {0}}, unchanged},
      {"contiguous",
       "copy",
       OP_CALL(contiguous(OP_IN(0))),
       {{2, 3, 4}, {}, {0, 2}},
       unchanged,
       "contiguous"},
      {"copy",
       "copy",
       internal_call("copy", ops::ShapeAttrs{}),
       {{2, 3, 4}, {}, {0, 2}, {67}, {3, 5, 2, 2}},
       unchanged},
      {"slice_backwards",
       "slice",
       OP_CALL(slice(OP_IN(0), {-1, 3}, {-1, 2}, {-1, -2})),
       {{3, 4}, {1, 5}},
       [](const Array& x) { return sliced(x, {x.shape[0] - 1, 3}, {x.shape[0], 2}, {-1, -2}); }},
      {"unslice_backwards",
       "unslice",
       internal_call("unslice", ops::UnsliceAttrs{{5, 7}, {4, 6}, {-2, -3}}),
       {{2, 3}, {1, 1}, {0, 2}},
       [](const Array& x) { return unsliced(x, {5, 7}, {4, 6}, {-2, -3}); }},
      {"strided_slice",
       "slice",
       OP_CALL(strided_slice(OP_IN(0), {1, -1}, {9, 0}, {2, -1})),
       {{4, 3, 2}, {2, 4}},
       [](const Array& x) {
         std::vector<Index> places{{}, {}};
         for (std::int64_t i = 1; i < x.shape[0]; i += 2) places[0].push_back(i);
         for (std::int64_t i = x.shape[1] - 1; i > 0; --i) places[1].push_back(i);
         if (x.shape.rank() > 2) places.push_back({0, 1});
         return picked(x, places);
       },
       "strided_slice"},
      {"strided_slice_with_masks",
       "slice",
       OP_CALL(strided_slice(OP_IN(0), {5, 0, 7, 1, 1}, {5, 0, 7, 2, 9}, {-1, 1, 1, 1, 1},
                             {.begin_mask = 0b00001,
                              .end_mask = 0b00001,
                              .ellipsis_mask = 0b00010,
                              .new_axis_mask = 0b00100,
                              .shrink_axis_mask = 0b01000})),
       {{2, 3, 2, 4}, {3, 2, 2}},
       [](const Array& x) {
         std::vector<Index> places;
         for (const std::int64_t dim : x.shape) {
           places.emplace_back();
           for (std::int64_t i = 0; i < dim; ++i) places.back().push_back(i);
         }
         std::reverse(places[0].begin(), places[0].end());
         places[places.size() - 2] = {1};
         places.back().erase(places.back().begin());
         Array cut = picked(x, places);
         cut.shape[-2] = 1;  // the axis that is gone has made place for the new one
         return cut;
       },
       "strided_slice"},
      {"reverse",
       "slice",
       OP_CALL(reverse(OP_IN(0))),
       {{2, 3}, {}, {0}, {5}},
       [](const Array& x) {
         Axes axes;
         for (int i = 0; i < x.shape.rank(); ++i) axes.push_back(i);
         return reversed(x, axes);
       },
       "reverse"},
      {"reverse_axes",
       "slice",
       OP_CALL(reverse(OP_IN(0), {-1})),
       {{2, 3}, {0, 2}, {2, 0}, {4}},
       [](const Array& x) { return reversed(x, {-1}); },
       "reverse"},
      {"split",
       "slice",
       OP_CALL(split(OP_IN(0), 3, -1)[1]),
       {{2, 6}, {3}, {0, 3}},
       [](const Array& x) {
         Shape begin = Shape::filled(x.shape.rank(), 0), size = x.shape;
         begin[-1] = size[-1] = size[-1] / 3;
         return sliced(x, begin, size, Shape::filled(size.rank(), 1));
       },
       "split"},
      {"split_sizes",
       "slice",
       OP_CALL(split(OP_IN(0), {1, -1, 2})[1]),
       {{5, 2}, {3}, {4}},
       [](const Array& x) {
         Shape begin = Shape::filled(x.shape.rank(), 0), size = x.shape;
         begin[0] = 1;
         size[0] -= 3;
         return sliced(x, begin, size, Shape::filled(size.rank(), 1));
       },
       "split"},
      {"unstack",
       "slice",
       OP_CALL(unstack(OP_IN(0), 1)[1]),
       {{2, 3}, {0, 2}, {2, 2, 3}},
       [](const Array& x) {
         Shape begin = Shape::filled(x.shape.rank(), 0), size = x.shape, kept;
         begin[1] = size[1] = 1;
         for (int i = 0; i < size.rank(); ++i) {
           if (i != 1) kept.push_back(size[i]);
         }
         return reshaped(sliced(x, begin, size, Shape::filled(size.rank(), 1)), kept);
       },
       "unstack"},
      {"tile",
       "broadcast_to",
       OP_CALL(tile(OP_IN(0), {2, 3})),
       {{2, 3}, {1, 1}, {0, 2}},
       [](const Array& x) { return tiled(x, {2, 3}); },
       "tile"},
      {"meshgrid_of_one",
       "broadcast_to",
       OP_CALL(meshgrid({OP_IN(0)})[0]),
       {{3}, {}, {0}},
       flatten,
       "meshgrid"},
      {"roll_flat",
       "concat",
       OP_CALL(roll(OP_IN(0), -2)),
       {{2, 3}, {5}, {}, {0}},
       [](const Array& x) { return reshaped(rolled(flatten(x), {-2}, {0}), x.shape); },
       "roll"},
      {"roll",
       "concat",
       OP_CALL(roll(OP_IN(0), {1, -4, 2}, {0, 1, 0})),
       {{2, 3}, {4, 5}, {0, 2}},
       [](const Array& x) { return rolled(x, {3, -4}, {0, 1}); },
       "roll"},
      {"stop_gradient",
       "stop_gradient",
       OP_CALL(stop_gradient(OP_IN(0))),
       {{2, 3}, {}, {0}},
       unchanged,
       "stop_gradient",
       false},
  };
}

Case concat_case(const char* name, int axis, std::size_t count, std::vector<Shapes> shapes) {
  return {.name = name,
          .ops = {"concat"},
          .run = [axis](Tensors in, DType) { return concat(std::move(in), axis); },
          .inputs = std::vector<Input>(count),
          .shapes = std::move(shapes),
          .reference =
              [axis](const Arrays& in) {
                return joined(in, axis < 0 ? axis + in[0].shape.rank() : axis);
              },
          .dtypes = kAnything};
}

// A part of that shape spread over a whole, from its end.
ops::UnsliceAttrs spread_out(const Shape& whole, const Shape& part) {
  ops::UnsliceAttrs attrs{whole, Shape::filled(whole.rank(), 0), Shape::filled(whole.rank(), 1)};
  for (int i = 0; i < whole.rank(); ++i) {
    if (part[i] > 1) attrs.step[i] = (whole[i] - 1) / (part[i] - 1);
    if (part[i] > 0) attrs.begin[i] = whole[i] - 1 - (part[i] - 1) * attrs.step[i];
  }
  return attrs;
}

Case add_slice_case() {
  return {.name = "add_slice",
          .ops = {"add_slice"},
          .run =
              [](Tensors in, DType dtype) {
                ops::UnsliceAttrs attrs;
                if (in[0].defined() && in[1].defined()) {
                  attrs = spread_out(in[0].shape(), in[1].shape());
                }
                return internal_call("add_slice", attrs)(std::move(in), dtype);
              },
          .inputs = {{}, {}},
          .shapes = {{{5, 7}, {2, 3}}, {{4}, {4}}, {{3, 4}, {0, 2}}, {{}, {}}, {{2, 9}, {1, 9}}},
          .value_shapes = {{{70, 3, 90}, {1, 3, 90}}, {{300, 200}, {299, 100}}},
          .reference =
              [](const Arrays& in) {
                const auto [shape, begin, step] = spread_out(in[0].shape, in[1].shape);
                Array sum = unsliced(in[1], shape, begin, step);
                for (std::size_t i = 0; i < sum.data.size(); ++i) sum.data[i] += in[0].data[i];
                return sum;
              }};
}

Tensor three_a_minus_two_b(const Tensors& in) {
  const auto forward = [](const Tensors& x) {
    return CustomResult{x[0] * 3.0 - x[1] * 2.0,
                        [](const Tensor& dy) { return Tensors{dy * 3.0, dy * -2.0}; }};
  };
  return custom_gradient(forward, in);
}

}  // namespace

std::vector<Case> views_cases() {
  std::vector<Case> cases;
  for (const ViewRow& row : view_rows()) {
    Case& added =
        cases.emplace_back(Case{.name = row.name, .ops = {row.op}, .run = row.run, .inputs = {{}}});
    added.shapes.clear();
    for (const Shape& shape : row.shapes) added.shapes.push_back({shape});
    added.reference = [value = row.value](const Arrays& in) { return value(in[0]); };
    added.dtypes = kAnything;
    added.differentiable = row.differentiable;
    added.error_name = row.error_name;
  }
  cases.push_back(add_slice_case());
  cases.push_back(concat_case("concat", 0, 3,
                              {{{2, 3}, {1, 3}, {4, 3}},
                               {{2}, {3}, {1}},
                               {{0, 2}, {3, 2}, {0, 2}},
                               {{1, 0}, {2, 0}, {1, 0}}}));
  cases.push_back(concat_case(
      "concat_last", -1, 2,
      {{{2, 3}, {2, 1}}, {{3}, {4}}, {{2, 3, 1}, {2, 3, 5}}, {{2, 0}, {2, 3}}, {{0, 1}, {0, 2}}}));
  cases.push_back(
      concat_case("concat_middle", 1, 2, {{{2, 3, 4}, {2, 1, 4}}, {{1, 1, 1}, {1, 2, 1}}}));
  cases.push_back(concat_case("concat_of_one", 0, 1, {{{2, 3}}, {{0}}}));
  for (const int axis : {0, -1}) {
    cases.push_back(
        {.name = axis < 0 ? "stack_last" : "stack",
         .ops = {"concat", "reshape"},
         .run = [axis](Tensors in, DType) { return stack(std::move(in), axis); },
         .inputs = {{}, {}, {}},
         .shapes = {{{2, 3}, {2, 3}, {2, 3}}, {{}, {}, {}}, {{0}, {0}, {0}}},
         .reference =
             [axis](const Arrays& in) { return stacked(in, axis < 0 ? in[0].shape.rank() : axis); },
         .dtypes = kAnything,
         .error_name = "stack"});
  }
  for (const GridIndexing indexing : {GridIndexing::xy, GridIndexing::ij}) {
    const bool xy = indexing == GridIndexing::xy;
    cases.push_back(
        {.name = xy ? "meshgrid_xy" : "meshgrid_ij",
         .ops = {"broadcast_to", "reshape"},
         .run = [indexing](Tensors in, DType) { return meshgrid(std::move(in), indexing)[1]; },
         .inputs = {{}, {}},
         .shapes = {{{2}, {3}}, {{}, {4}}},
         .reference =
             [xy](const Arrays& in) {
               const auto a = static_cast<std::int64_t>(in[0].data.size());
               const auto b = static_cast<std::int64_t>(in[1].data.size());
               return filled(xy ? Shape{b, a} : Shape{a, b}, [&](const Index& index) {
                 return in[1].data[static_cast<std::size_t>(index[xy ? 0 : 1])];
               });
             },
         .dtypes = kAnything,
         .error_name = "meshgrid"});
  }
  cases.push_back(
      {.name = "custom_gradient",
       .ops = {"custom_gradient"},
       .run = OP_CALL(three_a_minus_two_b(in)),
       .inputs = {{}, {}},
       .shapes = {{{2, 3}, {2, 3}}, {{}, {}}, {{0}, {0}}},
       .reference = elementwise([](const std::vector<double>& x) { return x[0] * 3 - x[1] * 2; }),
       .tolerance = {.epsilons = 8},
       .several_calls = true,
       .error_name = ""});
  return cases;
}

}  // namespace tenure::testing
