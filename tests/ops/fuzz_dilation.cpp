#include "internal_call.h"
#include "ops/pooling.h"
#include "reference_dilation.h"

namespace tenure::testing {
namespace {

struct DilationDrawing {
  PoolingOfShape of;
  Shape filter;
};

DilationDrawing draw_dilation(Dice& dice) {
  DilationDrawing drawing{draw_pooling(dice, 2), {}};
  PoolOptions& options = drawing.of.pooling.options;
  options.rounding = Rounding::down;
  if (options.channels_first) {  // there is no such dilation
    options.channels_first = false;
    Shape& x = drawing.of.x;
    const int channels = x.rank() - 3;
    const std::int64_t count = x[channels];
    x[channels] = x[channels + 1];
    x[channels + 1] = x[channels + 2];
    x[-1] = count;
  }
  if (options.strides.rank() == 0) options.strides = {1};
  if (options.dilations.rank() == 0) options.dilations = {1};
  drawing.filter = drawing.of.pooling.window;
  drawing.filter.push_back(drawing.of.x[-1]);
  return drawing;
}

Trial dilation_trial(Dice& dice) {
  DilationDrawing drawing = draw_dilation(dice);
  const DType dtype = dice.pick(DTypes{DType::float32, DType::float64, DType::int32, DType::int64});
  Trial trial;
  if (dice.chance(0.15)) {
    Shape& x = drawing.of.x;
    switch (dice.in(0, 2)) {
      case 0:
        drawing.filter[2] += 1;
        break;
      case 1:
        x = {3, drawing.filter[2]};
        break;
      default:
        drawing.filter = {2, 2};
        break;
    }
    trial.complaint = {"dilation2d: a filter", to_string(drawing.filter), to_string(x)};
  }
  const Pooling pooling = drawing.of.pooling;
  trial.inputs = {drawn(dice, drawing.of.x, dtype), drawn(dice, drawing.filter, dtype)};
  trial.run = [=](Tensors in) {
    return dilation2d(OP_IN(0), OP_IN(1),
                      {.strides = pooling.options.strides,
                       .padding = pooling.options.padding,
                       .dilations = pooling.options.dilations});
  };
  trial.expect = [=](const Arrays& in) {
    const double nothing = dtype == DType::float32   ? -3.4028234663852886e38
                           : dtype == DType::float64 ? -1.7976931348623157e308
                                                     : rounded(-INFINITY, dtype);
    return dilated(in[0], in[1], pooling, nothing);
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 1};
  return trial;
}

Fuzz fuzz_gradient(const char* op, Array (*reference)(const Arrays&, const Pooling&), char first) {
  return {op, {op}, [=](Dice& dice) {
            const DilationDrawing drawing = draw_dilation(dice);
            const Pooling pooling = drawing.of.pooling;
            const Shape x = drawing.of.x;
            const DType dtype = dice.pick(kFloats);
            Trial trial;
            trial.inputs = {drawn(dice,
                                  first == 'y'   ? pooled_shape(pooling, x)
                                  : first == 'x' ? x
                                                 : drawing.filter,
                                  dtype),
                            drawn(dice, x, dtype, {.whole = true}),
                            drawn(dice, drawing.filter, dtype, {.whole = true})};
            trial.run = [=](Tensors in) {
              return internal_call(op, ops::pool_attrs(op, x, pooling.window, pooling.options))(
                  std::move(in), dtype);
            };
            trial.expect = [=](const Arrays& in) { return reference(in, pooling); };
            trial.result = dtype;
            trial.tolerance = {.ulps = 4, .epsilons = 200};
            return trial;
          }};
}

}  // namespace

std::vector<Fuzz> dilation_fuzz() {
  return {{"dilation2d", {"dilation2d"}, dilation_trial},
          fuzz_gradient("dilation2d_backprop_input", dilation_to_input, 'y'),
          fuzz_gradient("dilation2d_backprop_filter", dilation_to_filter, 'y'),
          fuzz_gradient("dilation2d_pick_input", dilation_from_input, 'x'),
          fuzz_gradient("dilation2d_pick_filter", dilation_from_filter, 'f')};
}

}  // namespace tenure::testing
