// Convolutions of one to three axes, their gradients, and what is made of them: every option, sizes
// on both sides of every tile's and block's edge.
#include "case.h"
#include "reference_convolution.h"

namespace tenure::testing {
namespace {

using Conv = Tensor (*)(Arg, Arg, const ConvOptions&);
using ConvGrad = Tensor (*)(Arg, Arg, const Shape&, const ConvOptions&);

struct Functions {
  const char* name;
  ConvKind kind;
  Conv conv;
  ConvGrad grad_input, grad_filter;
};

const Functions kConv1d{"conv1d", {.axes = 1}, conv1d, conv1d_grad_input, conv1d_grad_filter};
const Functions kConv2d{"conv2d", {.axes = 2}, conv2d, conv2d_grad_input, conv2d_grad_filter};
const Functions kConv3d{"conv3d", {.axes = 3}, conv3d, conv3d_grad_input, conv3d_grad_filter};
const Functions kDepthwise{"depthwise_conv2d",
                           {.axes = 2, .depthwise = true},
                           depthwise_conv2d,
                           depthwise_conv2d_grad_input,
                           depthwise_conv2d_grad_filter};

struct Pair {
  Shape x, filter;
};
using Pairs = std::vector<Pair>;

const Tolerance kSmall{.ulps = 4, .epsilons = 64};
const Tolerance kLarge{.ulps = 4, .epsilons = 4000};

// The three ops with one set of options, on pairs of input and filter.
void add_rows(std::vector<Case>& cases, const Functions& f, const std::string& suffix,
              const ConvOptions& options, const Pairs& pairs, const Pairs& large = {}) {
  ConvKind kind = f.kind;
  kind.options = options;
  const std::vector<Input> inputs{{.low = -1, .high = 1}, {.low = -1, .high = 1}};
  Pairs all = pairs;
  all.insert(all.end(), large.begin(), large.end());
  const auto shapes_of = [&](const Pairs& list, const auto& make) {
    std::vector<Shapes> shapes;
    for (const Pair& pair : list) {
      shapes.push_back(make(pair, conv_result(kind, pair.x, pair.filter)));
    }
    return shapes;
  };
  const auto add = [&](const std::string& op, const auto& make, auto run, Reference reference) {
    static std::vector<std::string>& names = *new std::vector<std::string>;
    names.reserve(100);  // rows hold views of the names
    names.push_back(op);
    cases.push_back({.name = op + suffix,
                     .ops = {names.back()},
                     .run = std::move(run),
                     .inputs = inputs,
                     .shapes = shapes_of(pairs, make),
                     .value_shapes = shapes_of(large, make),
                     .reference = std::move(reference),
                     .tolerance = kSmall,
                     .value_tolerance = kLarge});
  };
  const std::string name = f.name;
  add(
      name, [](const Pair& p, const Shape&) { return Shapes{p.x, p.filter}; },
      [conv = f.conv, options](Tensors in, DType) { return conv(OP_IN(0), OP_IN(1), options); },
      [kind](const Arrays& in) { return conv_of(kind, in[0], in[1]); });
  const auto x_of = [kind, all](const Shape& dy, const Shape& filter) {
    for (const Pair& p : all) {
      if (p.filter == filter && conv_result(kind, p.x, filter) == dy) return p.x;
    }
    return all.front().x;
  };
  add(
      name + "_grad_input", [](const Pair& p, const Shape& y) { return Shapes{y, p.filter}; },
      [grad = f.grad_input, options, x_of](Tensors in, DType) {
        Shape x = in[0].defined() && in[1].defined() ? x_of(in[0].shape(), in[1].shape()) : Shape{};
        return grad(OP_IN(0), OP_IN(1), x, options);
      },
      [kind, x_of](const Arrays& in) {
        return conv_grad_input_of(kind, in[0], in[1], x_of(in[0].shape, in[1].shape));
      });
  const auto filter_of = [kind, all](const Shape& x, const Shape& dy) {
    for (const Pair& p : all) {
      if (p.x == x && conv_result(kind, x, p.filter) == dy) return p.filter;
    }
    return all.front().filter;
  };
  add(
      name + "_grad_filter", [](const Pair& p, const Shape& y) { return Shapes{p.x, y}; },
      [grad = f.grad_filter, options, filter_of](Tensors in, DType) {
        Shape filter =
            in[0].defined() && in[1].defined() ? filter_of(in[0].shape(), in[1].shape()) : Shape{};
        return grad(OP_IN(0), OP_IN(1), filter, options);
      },
      [kind, filter_of](const Arrays& in) {
        return conv_grad_filter_of(kind, in[0], in[1], filter_of(in[0].shape, in[1].shape));
      });
}

void add_plain_rows(std::vector<Case>& cases) {
  const Padding same = Padding::same;
  add_rows(cases, kConv1d, "", {}, {{{2, 5, 2}, {3, 2, 3}}, {{4, 1}, {1, 1, 1}}},
           {{{3, 300, 5}, {7, 5, 9}}});
  add_rows(cases, kConv1d, "_same_channels_first",
           {.strides = {2}, .padding = same, .channels_first = true}, {{{2, 3, 6}, {2, 3, 2}}});
  // Large ones: tiles' edges; more columns and channels than a block; more taps than a table; few
  // units and many pixels, which are cut into pieces; strides. Images of more than 11 x 11 pixels
  // and filters of more than 31 channels go by tiles of 2 x 2 pixels.
  add_rows(cases, kConv2d, "", {}, {{{1, 3, 4, 2}, {2, 3, 2, 3}}, {{0, 3, 3, 1}, {2, 2, 1, 2}}},
           {{{1, 4, 5, 300}, {1, 1, 300, 270}},
            {{1, 3, 3, 800}, {2, 2, 800, 20}},
            {{1, 20, 20, 1}, {9, 9, 1, 5}},
            {{2, 6, 7, 7}, {3, 3, 7, 65}},
            {{2, 15, 16, 35}, {3, 3, 35, 71}}});
  add_rows(cases, kConv2d, "_same", {.padding = same},
           {{{2, 4, 3, 2}, {3, 3, 2, 2}}, {{3, 3, 1}, {2, 2, 1, 4}}},
           {{{4, 40, 40, 16}, {3, 3, 16, 24}},
            {{4, 40, 40, 3}, {3, 3, 3, 8}},
            {{1, 11, 97, 64}, {3, 3, 64, 34}}});
  add_rows(cases, kConv2d, "_strided", {.strides = {2, 3}, .padding = same},
           {{{1, 5, 6, 2}, {3, 2, 2, 2}}, {{1, 4, 4, 1}, {1, 1, 1, 2}}},
           {{{3, 31, 30, 8}, {3, 3, 8, 70}}});
  add_rows(cases, kConv2d, "_dilated", {.padding = {{1, 2}, {0, 3}}, .dilations = {2, 1}},
           {{{1, 5, 4, 2}, {3, 2, 2, 2}}});
  add_rows(cases, kConv2d, "_dilated_and_strided",
           {.strides = {2}, .padding = 2, .dilations = {3, 2}, .rounding = Rounding::up},
           {{{1, 6, 5, 1}, {3, 2, 1, 2}}});
  add_rows(cases, kConv2d, "_grouped", {.padding = 1, .groups = 2}, {{{1, 3, 3, 4}, {2, 2, 2, 6}}},
           {{{2, 9, 8, 34}, {3, 3, 17, 40}}, {{1, 13, 12, 66}, {3, 3, 33, 128}}});
  add_rows(cases, kConv2d, "_channels_first", {.padding = same, .channels_first = true},
           {{{1, 2, 3, 4}, {3, 2, 2, 3}}, {{2, 3, 3}, {2, 2, 2, 1}}});
  add_rows(cases, kConv3d, "", {.padding = same}, {{{1, 2, 3, 3, 2}, {2, 2, 3, 2, 2}}},
           {{{2, 5, 7, 6, 9}, {3, 3, 3, 9, 17}}});
  add_rows(cases, kConv3d, "_strided",
           {.strides = {1, 2, 2}, .padding = {{1, 0}, {0, 1}, {1, 1}}, .dilations = {2, 1, 1}},
           {{{1, 3, 3, 4, 1}, {2, 2, 2, 1, 2}}});
  add_rows(cases, kConv3d, "_channels_first", {.channels_first = true},
           {{{1, 2, 2, 2, 3}, {1, 2, 2, 2, 1}}});
}

void add_depthwise_rows(std::vector<Case>& cases) {
  const Padding same = Padding::same;
  add_rows(cases, kDepthwise, "", {}, {{{2, 3, 4, 3}, {2, 2, 3, 1}}},
           {{{4, 30, 30, 19}, {3, 3, 19, 1}}, {{1, 12, 12, 2}, {9, 9, 2, 1}}});
  add_rows(cases, kDepthwise, "_multiplied", {.padding = same}, {{{1, 3, 4, 2}, {3, 2, 2, 3}}},
           {{{3, 40, 40, 7}, {3, 3, 7, 5}}});
  add_rows(cases, kDepthwise, "_strided",
           {.strides = {2}, .padding = {{1, 0}, {2, 1}}, .channels_first = true},
           {{{1, 2, 5, 4}, {3, 3, 2, 2}}});
  add_rows(cases, kDepthwise, "_dilated", {.padding = same, .dilations = {2}},
           {{{1, 4, 5, 2}, {2, 3, 2, 1}}});
}

void add_composite_rows(std::vector<Case>& cases) {
  const Input unit{.low = -1, .high = 1};
  const auto add_transpose = [&](const char* name, const char* op, ConvGrad run, ConvKind kind,
                                 const Shape& output, const Shape& filter) {
    cases.push_back(
        {.name = name,
         .ops = {op},
         .run = [run, kind, output](
                    Tensors in, DType) { return run(OP_IN(0), OP_IN(1), output, kind.options); },
         .inputs = {unit, unit},
         .shapes = {{conv_result(kind, output, filter), filter}},
         .reference =
             [kind, output](const Arrays& in) {
               return conv_grad_input_of(kind, in[0], in[1], output);
             },
         .tolerance = kSmall,
         .error_name = name});
  };
  add_transpose("conv1d_transpose", "conv1d_grad_input", conv1d_transpose,
                {.axes = 1, .options = {.strides = {2}}}, {2, 7, 2}, {3, 2, 3});
  add_transpose("conv2d_transpose", "conv2d_grad_input", conv2d_transpose,
                {.axes = 2, .options = {.strides = {2}, .padding = Padding::same}}, {1, 5, 6, 2},
                {3, 3, 2, 3});
  add_transpose("conv3d_transpose", "conv3d_grad_input", conv3d_transpose,
                {.axes = 3, .options = {.strides = {2}, .padding = Padding::same}}, {1, 3, 2, 4, 1},
                {2, 2, 2, 1, 2});

  const ConvKind each{.axes = 2, .depthwise = true, .options = {.padding = Padding::same}};
  cases.push_back({.name = "separable_conv2d",
                   .ops = {"depthwise_conv2d", "conv2d"},
                   .run =
                       [each](Tensors in, DType) {
                         return separable_conv2d(OP_IN(0), OP_IN(1), OP_IN(2), each.options);
                       },
                   .inputs = {unit, unit, unit},
                   .shapes = {{{1, 3, 4, 2}, {2, 3, 2, 2}, {1, 1, 4, 3}}},
                   .reference =
                       [each](const Arrays& in) {
                         return conv_of({.axes = 2}, conv_of(each, in[0], in[1]), in[2]);
                       },
                   .tolerance = kSmall,
                   .error_name = "separable_conv2d"});
}

// One row of a fused op. Inputs are x, the filter, and bias and prelu's weights where there are
// shapes for them.
struct FusedRow {
  const char* suffix;
  Activation activation;
  ConvOptions options;
  Shape bias, prelu;  // rank 0: none
  double alpha = 0.2;
};

FusedOptions fused_options(const FusedRow& row, Tensors& in) {
  FusedOptions fused{.activation = row.activation, .leaky_relu_alpha = row.alpha};
  std::size_t next = 2;
  if (row.bias.rank() > 0) fused.bias = OP_IN(next++);
  if (row.prelu.rank() > 0) fused.prelu_weights = OP_IN(next);
  return fused;
}

Array fused_reference(const FusedRow& row, Array z, const Arrays& in, bool channels_first) {
  std::size_t next = 2;
  if (row.bias.rank() > 0) {
    const Array bias = per_channel(in[next++], z.shape, channels_first);
    for (std::size_t i = 0; i < z.data.size(); ++i) z.data[i] += bias.data[i];
  }
  if (row.prelu.rank() == 0) return activated(row.activation, std::move(z), row.alpha, nullptr);
  const Array prelu = per_channel(in[next], z.shape, channels_first);
  return activated(row.activation, std::move(z), row.alpha, &prelu);
}

Case fused_case(const std::string& name, std::vector<std::string_view> ops, const FusedRow& row,
                Shapes shapes) {
  Case made{.name = name + row.suffix, .ops = std::move(ops), .run = {}, .tolerance = kSmall};
  made.error_name = name;
  if (row.bias.rank() > 0) shapes.push_back(row.bias);
  if (row.prelu.rank() > 0) shapes.push_back(row.prelu);
  made.inputs.assign(shapes.size(), {.low = -1.5, .high = 1.5});
  made.shapes = {std::move(shapes)};
  return made;
}

void add_fused_rows(std::vector<Case>& cases) {
  const ConvOptions same{.padding = Padding::same};
  const ConvOptions first{.strides = {2}, .padding = Padding::same, .channels_first = true};
  const FusedRow rows[] = {
      {"_linear", Activation::linear, same, {4}, {}},
      {"_relu", Activation::relu, same, {4}, {}},
      {"_relu6", Activation::relu6, {}, {4}, {}},
      {"_elu", Activation::elu, same, {1}, {}},
      {"_leaky_relu", Activation::leaky_relu, same, {1, 1, 4}, {}},
      {"_falling_relu", Activation::leaky_relu, same, {4}, {}, -0.5},
      {"_prelu", Activation::prelu, same, {4}, {4}},
      {"_sigmoid", Activation::sigmoid, same, {}, {}},
      {"_tanh", Activation::tanh, same, {4}, {}},
      {"_hard_sigmoid", Activation::hard_sigmoid, same, {4}, {}},
      {"_bias_per_pixel", Activation::relu, same, {3, 1, 4}, {}},
      {"_prelu_channels_first", Activation::prelu, first, {4}, {4}},
      {"_relu_channels_first", Activation::relu, first, {4, 1, 1}, {}},
  };
  for (const FusedRow& row : rows) {
    const bool channels_first = row.options.channels_first;
    const Shape x = channels_first ? Shape{1, 2, 4, 3} : Shape{1, 3, 4, 2};
    for (const bool depthwise : {false, true}) {
      const ConvKind kind{.axes = 2, .depthwise = depthwise, .options = row.options};
      const Shape filter{3, 2, 2, depthwise ? 2 : 4};
      const bool rewritten =
          row.activation == Activation::prelu || row.alpha < 0 || row.bias.numel() > 4;
      const char* plain = depthwise ? "depthwise_conv2d" : "conv2d";
      const char* name = depthwise ? "fused_depthwise_conv2d" : "fused_conv2d";
      Case made = fused_case(name, {rewritten ? plain : name}, row, {x, filter});
      made.run = [row, run = depthwise ? fused_depthwise_conv2d : fused_conv2d](Tensors in, DType) {
        const FusedOptions fused = fused_options(row, in);
        return run(OP_IN(0), OP_IN(1), fused, row.options);
      };
      made.reference = [row, kind, channels_first](const Arrays& in) {
        return fused_reference(row, conv_of(kind, in[0], in[1]), in, channels_first);
      };
      cases.push_back(std::move(made));
    }
  }
  const FusedRow products[] = {
      {"", Activation::linear, {}, {4}, {}},
      {"_relu", Activation::relu, {}, {4}, {}},
      {"_relu6", Activation::relu6, {}, {}, {}},
      {"_elu", Activation::elu, {}, {1}, {}},
      {"_leaky_relu", Activation::leaky_relu, {}, {4}, {}},
      {"_prelu", Activation::prelu, {}, {3, 4}, {4}},
      {"_sigmoid", Activation::sigmoid, {}, {2, 1, 4}, {}},
      {"_tanh", Activation::tanh, {}, {4}, {}},
  };
  for (const FusedRow& row : products) {
    Case made = fused_case("fused_matmul", {"matmul"}, row, {{2, 3, 5}, {4, 5}});
    made.run = [row](Tensors in, DType) {
      const FusedOptions fused = fused_options(row, in);
      return fused_matmul(OP_IN(0), OP_IN(1), fused, {.transpose_b = true});
    };
    made.reference = [row](const Arrays& in) {
      return fused_reference(row, multiplied(in[0], in[1], false, true), in, false);
    };
    cases.push_back(std::move(made));
  }
}

}  // namespace

std::vector<Case> convolution_cases() {
  std::vector<Case> cases;
  add_plain_rows(cases);
  add_depthwise_rows(cases);
  add_composite_rows(cases);
  add_fused_rows(cases);
  return cases;
}

}  // namespace tenure::testing
