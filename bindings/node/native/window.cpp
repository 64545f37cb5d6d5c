// Convolutions and pooling, with their gradients.
#include <algorithm>

#include "call.h"
#include "fused.h"
#include "operands.h"
#include "ops/apply.h"
#include "ops/pooling.h"
#include "stored.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

// Strides, dilations, a kind of padding, what stands before and after each axis, and rounding.
struct Window {
  Shape strides;
  Shape dilations;
  Padding padding;
  Rounding rounding;
};

Window window(Call& call) {
  Window read;
  read.strides = call.shape();
  read.dilations = call.shape();
  read.padding.kind = call.choice(Padding::given);
  read.padding.before = call.shape();
  read.padding.after = call.shape();
  read.rounding = call.choice(Rounding::up);
  return read;
}

ConvOptions conv_options(Call& call) {
  const Window read = window(call);
  return {.strides = read.strides,
          .padding = read.padding,
          .dilations = read.dilations,
          .rounding = read.rounding,
          .channels_first = call.flag()};
}

PoolOptions pool_options(Call& call) {
  const Window read = window(call);
  return {.strides = read.strides,
          .padding = read.padding,
          .dilations = read.dilations,
          .rounding = read.rounding};
}

template <Tensor (*op)(Arg, Arg, const ConvOptions&)>
void conv(Call& call) {
  Tensor x = call.tensor();
  Tensor filter = call.tensor();
  const DType dtype = x.dtype();
  call.give(stored(op(std::move(x), std::move(filter), conv_options(call)), dtype));
}

template <Tensor (*op)(Arg, Arg, const FusedOptions&, const ConvOptions&)>
void fused_conv(Call& call) {
  Tensor x = call.tensor();
  Tensor filter = call.tensor();
  const FusedOptions fused = fused_options(call);
  call.give(op(std::move(x), std::move(filter), fused, conv_options(call)));
}

// Of the input or of the filter, whose shape is given.
template <Tensor (*op)(Arg, Arg, const Shape&, const ConvOptions&)>
void conv_grad(Call& call) {
  Tensor a = call.tensor();
  Tensor b = call.tensor();
  const Shape shape = call.shape();
  call.give(op(std::move(a), std::move(b), shape, conv_options(call)));
}

template <Tensor (*op)(Arg, const Shape&, const PoolOptions&)>
void pool(Call& call) {
  Tensor x = call.tensor();
  const Shape size = call.shape();
  call.give(op(std::move(x), size, pool_options(call)));
}

// Of an image what it is; of a volume TensorFlow.js gives floats.
void run_max_pool(Call& call) {
  Tensor x = call.tensor();
  const Shape size = call.shape();
  const DType dtype = size.rank() == 3 ? DType::float32 : x.dtype();
  call.give(stored(max_pool(std::move(x), size, pool_options(call)), dtype));
}

void run_max_pool_with_argmax(Call& call) {
  Tensor x = call.tensor();
  const Shape size = call.shape();
  const PoolOptions options = pool_options(call);
  const bool batch = call.flag();
  MaxPoolWithArgmax pooled =
      max_pool_with_argmax(std::move(x), size, options, {.include_batch_in_index = batch});
  call.give(std::vector<Tensor>{std::move(pooled.values), std::move(pooled.indices)});
}

const ops::OpDef& find_op(std::string_view name) {
  return **std::ranges::find(ops::all_ops(), name, &ops::OpDef::name);
}

void run_max_pool_grad(Call& call) {
  static const ops::OpDef& op = find_op("max_pool_grad");
  Tensor dy = call.tensor();
  Tensor x = call.tensor();
  const Shape size = call.shape();
  const ops::PoolAttrs attrs = ops::pool_attrs(op.name, x.shape(), size, pool_options(call));
  dy = fitting(op.name, "gradient", std::move(dy), ops::with_sizes(x.shape(), attrs.out, attrs));
  call.give(ops::apply(op, ops::ref(attrs), std::source_location::current(), std::move(dy),
                       cast(std::move(x), DType::float32)));
}

// TensorFlow.js divides by a window's size wherever it lies, though its mean counts no padding: so
// this is the gradient for an input that is padded, without the padding's part.
void run_avg_pool_grad(Call& call) {
  static const ops::OpDef& op = find_op("avg_pool_grad");
  Tensor dy = call.tensor();
  const Shape x_shape = call.shape();
  const Shape size = call.shape();
  ops::PoolAttrs attrs = ops::pool_attrs(op.name, x_shape, size, pool_options(call));
  dy = fitting(op.name, "gradient", std::move(dy), ops::with_sizes(x_shape, attrs.out, attrs));
  Shape begin = Shape::filled(x_shape.rank(), 0);
  for (int i = 0; i < size.rank(); ++i) {
    const std::int64_t reach = (size[i] - 1) * attrs.dilations[i] + 1;
    const std::int64_t covered = (attrs.out[i] - 1) * attrs.strides[i] + reach;
    begin[i + 1] = attrs.before[i];
    attrs.in[i] = std::max(attrs.before[i] + attrs.in[i], covered);
    attrs.before[i] = 0;
  }
  Tensor padded = ops::apply(op, ops::ref(attrs), std::source_location::current(), std::move(dy));
  call.give(slice(std::move(padded), begin, x_shape));
}

DilationOptions dilation_options(Call& call) {
  const Window read = window(call);
  return {.strides = read.strides, .padding = read.padding, .dilations = read.dilations};
}

void run_dilation2d(Call& call) {
  Tensor x = call.tensor();
  Tensor filter = call.tensor();
  const DType dtype = x.dtype();
  call.give(stored(dilation2d(std::move(x), std::move(filter), dilation_options(call)), dtype));
}

template <bool of_filter>
void dilation_grad(Call& call) {
  static const ops::OpDef& op =
      find_op(of_filter ? "dilation2d_backprop_filter" : "dilation2d_backprop_input");
  Tensor dy = call.tensor();
  Tensor x = call.tensor();
  Tensor filter = call.tensor();
  const Shape size = filter.shape();
  check_rank(op.name, "input", x.shape(), 4);
  check_rank(op.name, "filter", size, 3);
  const ops::PoolAttrs attrs =
      ops::pool_attrs(op.name, x.shape(), {size[0], size[1]}, pool_options(call));
  dy = fitting(op.name, "gradient", std::move(dy), ops::with_sizes(x.shape(), attrs.out, attrs));
  filter = fitting(op.name, "filter", std::move(filter), {size[0], size[1], x.dim(3)});
  call.give(ops::apply(op, ops::ref(attrs), std::source_location::current(), std::move(dy),
                       cast(std::move(x), DType::float32), std::move(filter)));
}

constexpr Row kWindowRows[] = {
    {"conv2d", conv<conv2d>},
    {"conv3d", conv<conv3d>},
    {"depthwise_conv2d", conv<depthwise_conv2d>},
    {"fused_conv2d", fused_conv<fused_conv2d>},
    {"fused_depthwise_conv2d", fused_conv<fused_depthwise_conv2d>},
    {"conv2d_grad_input", conv_grad<conv2d_grad_input>},
    {"conv2d_grad_filter", conv_grad<conv2d_grad_filter>},
    {"conv3d_grad_input", conv_grad<conv3d_grad_input>},
    {"conv3d_grad_filter", conv_grad<conv3d_grad_filter>},
    {"depthwise_conv2d_grad_input", conv_grad<depthwise_conv2d_grad_input>},
    {"depthwise_conv2d_grad_filter", conv_grad<depthwise_conv2d_grad_filter>},
    {"max_pool", run_max_pool},
    {"avg_pool", pool<avg_pool>},
    {"max_pool_with_argmax", run_max_pool_with_argmax},
    {"max_pool_grad", run_max_pool_grad},
    {"avg_pool_grad", run_avg_pool_grad},
    {"dilation2d", run_dilation2d},
    {"dilation2d_grad_input", dilation_grad<false>},
    {"dilation2d_grad_filter", dilation_grad<true>},
};

}  // namespace

std::span<const Row> window_rows() { return kWindowRows; }

}  // namespace tenure::node
