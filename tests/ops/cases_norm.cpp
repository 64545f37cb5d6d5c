// Normalisations: with features last and second, with and without scale and offset; their gradients
// as ops of their own; dropout, whose values are the business of norm_test.cpp.
#include "case.h"
#include "ops/apply.h"
#include "ops/norm_attrs.h"
#include "reference_norm.h"

namespace tenure::testing {
namespace {

constexpr Tolerance kFew{.ulps = 8, .epsilons = 32};
constexpr Tolerance kGradient{.ulps = 16, .epsilons = 400};

// Of an empty handle, too: the op is to refuse it.
int rank_of(const Tensor& x) { return x.defined() ? x.rank() : 1; }

// Where a harness gives every input one shape: a row of it.
Tensor vector_of(Tensor x) { return rank_of(x) > 1 ? x[0] : x; }

// Only result 0 may lie in an input's bytes: rows of the others are not about that.
std::vector<std::string_view> grad_ops(const char* op, int result) {
  if (result == 0) return {op};
  return {"sum", op};
}

const Array& input_or_none(const Arrays& in, std::size_t i) {
  static const Array none;
  return i < in.size() ? in[i] : none;
}

void add_batch_training(std::vector<Case>& cases) {
  for (const int axis : {-1, 1}) {
    for (const bool affine : {true, false}) {
      for (const int result : {0, 1, 2}) {
        if (!affine && (result != 0 || axis == 1)) continue;
        const char* const names[] = {"", "_mean", "_variance"};
        const Shape features = axis < 0 ? Shape{4} : Shape{3};
        Case row{.name = std::string("batch_norm_training") + names[result] +
                         (axis < 0 ? "" : "_of_axis_1") + (affine ? "" : "_plain"),
                 .ops = {"batch_norm_training"},
                 .run =
                     [axis, affine, result](Tensors in, DType) {
                       BatchNormOptions options{.axis = axis};
                       if (affine) {
                         options.scale = OP_IN(1);
                         options.offset = OP_IN(2);
                       }
                       BatchNormalized all = batch_norm_training(OP_IN(0), options);
                       Tensor* const results[] = {&all.output, &all.mean, &all.variance};
                       return std::move(*results[result]);
                     },
                 .inputs = {{}, {}, {}},
                 .shapes = {{{2, 3, 4}, features, features}, {{5, 3, 2, 4}, features, features}},
                 .value_shapes = {},
                 .reference =
                     [axis, result](const Arrays& in) {
                       const Array mean = batch_mean(in[0], axis);
                       const Array variance = batch_variance(in[0], axis);
                       if (result != 0) return result == 1 ? mean : variance;
                       return batch_normed(in[0], mean, variance, input_or_none(in, 1),
                                           input_or_none(in, 2), axis, 1e-3);
                     },
                 .tolerance = kFew,
                 .value_tolerance = {.ulps = 64, .epsilons = 256}};
        if (axis < 0) {
          row.value_shapes = {{{40, 70, 19}, {19}, {19}},
                              {{20000, 3}, {3}, {3}},
                              {{7, 9, 300}, {300}, {300}},
                              {{100, 700}, {700}, {700}}};
        } else {
          row.value_shapes = {{{9, 5, 40, 43}, {5}, {5}}, {{3, 2, 9000}, {2}, {2}}};
        }
        if (!affine) {
          row.inputs.resize(1);
          for (Shapes& shapes : row.shapes) shapes.resize(1);
          for (Shapes& shapes : row.value_shapes) shapes.resize(1);
        }
        cases.push_back(std::move(row));
      }
    }
  }
}

void add_batch_gradients(std::vector<Case>& cases) {
  for (const int axis : {-1, 1}) {
    for (const int result : {0, 1, 2}) {
      const Shape c = axis < 0 ? Shape{4} : Shape{3};
      const Shape large = axis < 0 ? Shape{40, 70, 19} : Shape{9, 5, 1700};
      const Shape l{large[axis]};
      cases.push_back(
          {.name = "batch_norm_grad_" + std::to_string(result) + (axis < 0 ? "" : "_of_axis_1"),
           .ops = grad_ops("batch_norm_grad", result),
           .run =
               [axis, result](Tensors in, DType) {
                 for (std::size_t i = 2; i < in.size(); ++i) in[i] = vector_of(OP_IN(i));
                 const ops::BatchNormAttrs attrs{axis < 0 ? rank_of(in[0]) - 1 : axis, 1e-3, true,
                                                 true};
                 Tensors out(3);
                 ops::apply_into(op_named("batch_norm_grad"), in, ops::ref(attrs),
                                 std::source_location::current(), out);
                 return std::move(out[static_cast<std::size_t>(result)]);
               },
           .inputs = {{}, {}, {}, {.low = 0.5, .high = 2}, {}, {}, {}},
           .shapes = {{{2, 3, 4}, {2, 3, 4}, c, c, c, c, c}},
           .value_shapes = {{large, large, l, l, l, l, l}},
           .reference =
               [axis, result](const Arrays& in) { return batch_gradient(in, axis, 1e-3, result); },
           .tolerance = kGradient,
           .value_tolerance = {.ulps = 64, .epsilons = 20000},
           .error_name = "batch_norm_grad"});
      if (axis < 0) {
        // The harness makes rows of all inputs, as many as there are features.
        Case& row = cases.back();
        row.shapes.push_back({{3, 5}, {3, 5}, {5}, {5}, {5}, {5}, {5}});
      }
    }
  }
}

void add_batch_inference(std::vector<Case>& cases) {
  for (const int axis : {-1, 1}) {
    const Shape c = axis < 0 ? Shape{4} : Shape{3};
    const Case row{
        .name = axis < 0 ? "batch_norm" : "batch_norm_of_axis_1",
        .ops = {"batch_norm"},
        .run =
            [axis](Tensors in, DType) {
              BatchNormOptions options{.axis = axis, .epsilon = 0.01};
              if (in.size() > 3) options.scale = OP_IN(3);
              if (in.size() > 4) options.offset = OP_IN(4);
              return batch_norm(OP_IN(0), OP_IN(1), OP_IN(2), options);
            },
        .inputs = {{}, {}, {.low = 0.5, .high = 2}, {}, {}},
        .shapes = {{{2, 3, 4}, c, c, c, c}, {{3, 3, 4, 4}, c, c, c, c}, {{0, 3, 4}, c, c, c, c}},
        .value_shapes = axis < 0 ? std::vector<Shapes>{{{900, 39}, {39}, {39}, {39}, {39}}}
                                 : std::vector<Shapes>{{{4, 3, 3000}, c, c, c, c}},
        .reference =
            [axis](const Arrays& in) {
              return batch_normed(in[0], in[1], in[2], input_or_none(in, 3), input_or_none(in, 4),
                                  axis, 0.01);
            },
        .tolerance = kFew};
    cases.push_back(row);
    Case plain = row;
    plain.name += "_plain";
    plain.inputs.resize(3);
    for (Shapes& shapes : plain.shapes) shapes.resize(3);
    plain.value_shapes = {};
    cases.push_back(std::move(plain));
  }
}

void add_layer(std::vector<Case>& cases) {
  // Over as many of the last axes as the scale has.
  const Case row{.name = "layer_norm",
                 .ops = {"layer_norm"},
                 .run =
                     [](Tensors in, DType) {
                       LayerNormOptions options{.epsilon = 0.01};
                       if (in.size() > 1) {
                         options.axes = {};
                         for (int i = rank_of(in[1]); i > 0; --i) options.axes.push_back(-i);
                         options.scale = OP_IN(1);
                         options.offset = OP_IN(2);
                       }
                       return layer_norm(OP_IN(0), options);
                     },
                 .inputs = {{}, {}, {}},
                 .shapes = {{{2, 3, 4}, {4}, {4}},
                            {{2, 3, 4}, {3, 4}, {3, 4}},
                            {{19}, {19}, {19}},
                            {{0, 3}, {3}, {3}}},
                 .value_shapes = {{{50, 768}, {768}, {768}}, {{3, 9, 1500}, {9, 1500}, {9, 1500}}},
                 .reference =
                     [](const Arrays& in) {
                       Axes axes;
                       const int count = in.size() > 1 ? in[1].shape.rank() : 1;
                       for (int i = count; i > 0; --i) axes.push_back(in[0].shape.rank() - i);
                       return layer_normed(in[0], input_or_none(in, 1), input_or_none(in, 2), axes,
                                           0.01);
                     },
                 .tolerance = kFew,
                 .value_tolerance = {.ulps = 64, .epsilons = 256}};
  cases.push_back(row);
  Case plain = row;
  plain.name = "layer_norm_plain";
  plain.inputs.resize(1);
  plain.shapes = {{{2, 3, 4}}, {{2, 37}}};
  plain.value_shapes = {};
  cases.push_back(std::move(plain));
  cases.push_back(
      {.name = "layer_norm_of_outer_axes",
       .ops = {"transpose", "layer_norm"},
       .run = OP_CALL(layer_norm(OP_IN(0), {.scale = OP_IN(1), .axes = {0, 1}, .epsilon = 0.01})),
       .inputs = {{}, {}},
       .shapes = {{{2, 3, 4}, {2, 3}}},
       .reference = [](const Arrays& in) { return layer_normed(in[0], in[1], {}, {0, 1}, 0.01); },
       .tolerance = kFew,
       .error_name = "layer_norm"});
  for (const int result : {0, 1, 2}) {
    cases.push_back({.name = "layer_norm_grad_" + std::to_string(result),
                     .ops = grad_ops("layer_norm_grad", result),
                     .run =
                         [result](Tensors in, DType) {
                           const ops::LayerNormAttrs attrs{rank_of(in[2]), 0.01, true, true};
                           Tensors out(3);
                           ops::apply_into(op_named("layer_norm_grad"), in, ops::ref(attrs),
                                           std::source_location::current(), out);
                           return std::move(out[static_cast<std::size_t>(result)]);
                         },
                     .inputs = {{}, {}, {}},
                     .shapes = {{{2, 3, 4}, {2, 3, 4}, {4}}, {{2, 3, 4}, {2, 3, 4}, {3, 4}}},
                     .value_shapes = {{{50, 768}, {50, 768}, {768}}},
                     .reference =
                         [result](const Arrays& in) {
                           return layer_gradient(in, in[2].shape.rank(), 0.01, result);
                         },
                     .tolerance = kGradient,
                     .value_tolerance = {.ulps = 64, .epsilons = 4000},
                     .error_name = "layer_norm_grad"});
  }
}

void add_others(std::vector<Case>& cases) {
  cases.push_back(
      {.name = "rms_norm",
       .ops = {"sum", "square", "sqrt", "div", "mul"},
       .run = OP_CALL(rms_norm(OP_IN(0), {.scale = OP_IN(1), .axes = {0, 2}})),
       .inputs = {{}, {}},
       .shapes = {{{2, 3, 4}, {2, 4}}},
       .reference = [](const Arrays& in) { return rms_normed(in[0], in[1], {0, 2}, 1e-6); },
       .tolerance = kFew,
       .error_name = "rms_norm"});
  for (const int axis : {-1, 1}) {
    cases.push_back(
        {.name = axis < 0 ? "group_norm" : "group_norm_of_axis_1",
         .ops = {"reshape", "layer_norm", "transpose", "mul", "add"},
         .run =
             [axis](Tensors in, DType) {
               return group_norm(OP_IN(0), 2,
                                 {.scale = OP_IN(1), .offset = OP_IN(2), .axis = axis});
             },
         .inputs = {{}, {}, {}},
         .shapes = {{axis < 0 ? Shape{2, 3, 4} : Shape{2, 4, 3}, {4}, {4}}},
         .reference =
             [axis](const Arrays& in) { return group_normed(in[0], in[1], in[2], 2, axis, 1e-3); },
         .tolerance = kFew,
         .error_name = "group_norm"});
  }
  cases.push_back({.name = "l2_normalize",
                   .ops = {"sum", "square", "maximum", "sqrt", "div"},
                   .run = OP_CALL(l2_normalize(OP_IN(0), {1})),
                   .inputs = {{}},
                   .shapes = {{{2, 3, 4}}, {{3, 5}}, {{2, 0}}},
                   .reference = [](const Arrays& in) { return l2_normalized(in[0], {1}, 1e-12); },
                   .tolerance = kFew,
                   .error_name = "l2_normalize"});

  const LocalResponseOptions response{.depth_radius = 2, .bias = 1.5, .alpha = 0.7, .beta = 0.75};
  cases.push_back(
      {.name = "local_response_normalization",
       .ops = {"local_response_normalization"},
       .run = [response](Tensors in,
                         DType) { return local_response_normalization(OP_IN(0), response); },
       .inputs = {{}},
       .shapes = {{{2, 3, 4}}, {{7}}, {{2, 0}}, {{3, 9}}},
       .value_shapes = {{{60, 700}}},
       .reference = [response](const Arrays& in) { return local_response_of(in[0], response); },
       .tolerance = {.ulps = 4}});
  cases.push_back(
      {.name = "local_response_normalization_grad",
       .ops = {"local_response_normalization_grad"},
       .run =
           [response](Tensors in, DType) {
             const ops::LocalResponseAttrs attrs{response.depth_radius, response.bias,
                                                 response.alpha, response.beta};
             return ops::apply(op_named("local_response_normalization_grad"), ops::ref(attrs),
                               std::source_location::current(), OP_IN(0), OP_IN(1));
           },
       .inputs = {{}, {}},
       .shapes = {{{2, 3, 4}, {2, 3, 4}}, {{2, 9}, {2, 9}}, {{2, 0}, {2, 0}}},
       .value_shapes = {{{60, 700}, {60, 700}}},
       .reference = [response](const Arrays& in) { return local_response_gradient(in, response); },
       .tolerance = {.ulps = 4, .epsilons = 16}});
  cases.push_back({.name = "dropout",
                   .ops = {"dropout"},
                   .run = OP_CALL(dropout(OP_IN(0), 0.4, {.seed = 17})),
                   .inputs = {{}},
                   .shapes = {{{5, 3}}, {{7}}, {{}}, {{0}}},
                   .value_shapes = {{{300, 333}}}});
  cases.push_back({.name = "dropout_of_columns",
                   .ops = {"mul", "dropout"},
                   .run = OP_CALL(dropout(OP_IN(0), 0.4, {.seed = 17, .noise_shape = Shape{1, 5}})),
                   .inputs = {{}},
                   .shapes = {{{4, 5}}},
                   .error_name = "dropout"});
}

}  // namespace

std::vector<Case> norm_cases() {
  std::vector<Case> cases;
  add_batch_training(cases);
  add_batch_gradients(cases);
  add_batch_inference(cases);
  add_layer(cases);
  add_others(cases);
  return cases;
}

}  // namespace tenure::testing
