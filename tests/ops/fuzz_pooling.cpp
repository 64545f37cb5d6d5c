#include "internal_call.h"
#include "ops/pooling.h"
#include "reference_pooling.h"

namespace tenure::testing {
namespace {

// One of the things that can be wrong with a pooling, as the error must tell it.
void spoil(Dice& dice, std::string_view name, PoolingOfShape& drawn,
           std::vector<std::string>& complaint) {
  const std::string op = std::string(name) + ": ";
  auto& [x, pooling] = drawn;
  const int axes = pooling.window.rank();
  switch (dice.in(0, 5)) {
    case 0:
      x = dice.chance(0.5) ? Shape{3} : Shape{1, 2, 1, 2, 1, 2};
      complaint = {op + "window", to_string(pooling.window), std::to_string(axes + 2),
                   to_string(x)};
      return;
    case 1:
      pooling.window[0] = -dice.in(0, 2);
      complaint = {op + "window", to_string(pooling.window), "must be 1 or more"};
      return;
    case 2:
      pooling.options.strides = dice.chance(0.5) ? Shape{0} : Shape{1, 2, 3, 4};
      complaint = {op + "strides", to_string(pooling.options.strides)};
      return;
    case 3:
      pooling.options.dilations = dice.chance(0.5) ? Shape{-1} : Shape{1, 1, 1, 1};
      complaint = {op + "dilations", to_string(pooling.options.dilations)};
      return;
    case 4:
      pooling.options.padding =
          dice.chance(0.5) ? Padding(-1) : Padding({{0, 0}, {1, 1}, {0, 0}, {2, 2}});
      complaint = {op + "padding", to_string(pooling.options.padding.before)};
      return;
    default:
      pooling.options.padding = Padding::valid;
      pooling.options.dilations = {};
      pooling.window[0] = 99;
      complaint = {op + "window", to_string(pooling.window), "does not fit", to_string(x)};
  }
}

// `pool` cannot have both.
std::vector<std::string> stride_and_dilation(const Pooling& pooling) {
  const auto listed = [&](const Shape& list) {
    if (list.rank() == pooling.window.rank()) return list;
    return Shape::filled(pooling.window.rank(), list.rank() == 0 ? 1 : list[0]);
  };
  const Shape strides = listed(pooling.options.strides);
  const Shape dilations = listed(pooling.options.dilations);
  const Shape ones = Shape::filled(pooling.window.rank(), 1);
  if (strides == ones || dilations == ones) return {};
  return {"pool: strides " + to_string(strides), "dilations " + to_string(dilations)};
}

using Call = Tensor (*)(Arg x, const Shape& window, const PoolOptions& options);

Fuzz fuzz(const char* name, DTypes dtypes, DType (*result)(DType), Call call,
          std::function<Array(const Array&, const Pooling&, DType)> expect, Tolerance tolerance,
          std::vector<std::string_view> ops = {}) {
  if (ops.empty()) ops = {name};
  return {name, ops, [=](Dice& dice) {
            PoolingOfShape drawn = draw_pooling(dice);
            Trial trial;
            if (dice.chance(0.15)) spoil(dice, ops.front(), drawn, trial.complaint);
            if (ops.front() == "pool" && trial.complaint.empty()) {
              trial.complaint = stride_and_dilation(drawn.pooling);
            }
            const DType dtype = dice.pick(dtypes);
            const Pooling pooling = drawn.pooling;
            trial.inputs = {testing::drawn(dice, drawn.x, dtype, {.whole = dice.chance(0.3)})};
            trial.run = [=](Tensors in) { return call(OP_IN(0), pooling.window, pooling.options); };
            trial.expect = [=](const Arrays& in) { return expect(in[0], pooling, result(dtype)); };
            trial.result = result(dtype);
            trial.tolerance = tolerance;
            return trial;
          }};
}

Array largest(const Array& x, const Pooling& pooling, DType dtype) {
  return max_pooled(x, pooling, least_of(dtype));
}

Pooling with_unit_strides(Pooling pooling) {
  if (pooling.options.strides.rank() == 0) pooling.options.strides = {1};
  return pooling;
}

// The ops that only gradients call: on what the reference says the output's shape is.
Fuzz fuzz_internal(const char* name, bool of_gradient, bool with_x,
                   std::function<Array(const Arrays&, const PoolingOfShape&)> expect) {
  return {
      name, {name}, [=](Dice& dice) {
        const PoolingOfShape drawn = draw_pooling(dice);
        const DType dtype = dice.pick(kFloats);
        const Shape first = of_gradient ? pooled_shape(drawn.pooling, drawn.x) : drawn.x;
        Trial trial;
        trial.inputs = {testing::drawn(dice, first, dtype)};
        if (with_x) {
          trial.inputs.push_back(testing::drawn(dice, drawn.x, dtype, {.whole = dice.chance(0.3)}));
        }
        trial.run = [=](Tensors in) {
          return internal_call(name, ops::pool_attrs(name, drawn.x, drawn.pooling.window,
                                                     drawn.pooling.options))(std::move(in), dtype);
        };
        trial.expect = [=](const Arrays& in) { return expect(in, drawn); };
        trial.result = dtype;
        trial.tolerance = {.ulps = 4, .epsilons = 64};
        return trial;
      }};
}

Fuzz fuzz_global(const char* name, bool largest, Tensor (*call)(Arg x, GlobalPoolOptions options)) {
  return {name, {name}, [=](Dice& dice) {
            const DType dtype = dice.pick(kFloats);
            const bool refused = dice.chance(0.15);
            const GlobalPoolOptions options{dice.chance(0.5), dice.chance(0.5)};
            const Shape shape = refused ? dice.shape(0, 2) : dice.shape(3, 5, 5, 1);
            Trial trial;
            if (refused)
              trial.complaint = {std::string(name) + ": there is no axis between",
                                 to_string(shape)};
            trial.inputs = {testing::drawn(dice, shape, dtype)};
            trial.run = [=](Tensors in) { return call(OP_IN(0), options); };
            trial.expect = [=](const Arrays& in) {
              Pooling whole;
              const int first = options.channels_first ? 2 : 1;
              Axes axes;
              double count = 1;
              for (int i = 0; i < shape.rank() - 2; ++i) {
                axes.push_back(first + i);
                count *= static_cast<double>(shape[first + i]);
              }
              Array result = folded(
                  in[0], axes, options.keep_dims, largest ? -INFINITY : 0,
                  [=](long double a, long double b) { return largest ? std::max(a, b) : a + b; });
              for (double& value : result.data) value = largest ? value : value / count;
              return result;
            };
            trial.result = dtype;
            trial.tolerance = {.ulps = 2, .epsilons = 10};
            return trial;
          }};
}

}  // namespace

std::vector<Fuzz> pooling_fuzz() {
  const Tolerance sums{.ulps = 4, .epsilons = 64};
  return {
      fuzz("max_pool", kNumbers, number_dtype, max_pool, largest, {}),
      fuzz(
          "avg_pool", kNumbers, float_dtype, avg_pool,
          [](const Array& x, const Pooling& pooling, DType) { return avg_pooled(x, pooling); },
          sums),
      fuzz("max_pool_with_argmax", kNumbers, number_dtype,
           [](Arg x, const Shape& window, const PoolOptions& options) {
             return max_pool_with_argmax(std::move(x), window, options).values;
           },
           largest, {}),
      fuzz(
          "max_pool_with_argmax_indices", kNumbers, int32_dtype,
          [](Arg x, const Shape& window, const PoolOptions& options) {
            return max_pool_with_argmax(std::move(x), window, options).indices;
          },
          [](const Array& x, const Pooling& pooling, DType) {
            return places_of_largest(x, pooling, false);
          },
          {}, {"max_pool_with_argmax"}),
      fuzz(
          "max_pool_with_argmax_indices_in_batch", kNumbers, int32_dtype,
          [](Arg x, const Shape& window, const PoolOptions& options) {
            return max_pool_with_argmax(std::move(x), window, options,
                                        {.include_batch_in_index = true})
                .indices;
          },
          [](const Array& x, const Pooling& pooling, DType) {
            return places_of_largest(x, pooling, true);
          },
          {}, {"max_pool_with_argmax"}),
      fuzz(
          "pool_max", kNumbers, number_dtype,
          [](Arg x, const Shape& window, const PoolOptions& options) {
            return pool(std::move(x), window, PoolType::max, options);
          },
          [](const Array& x, const Pooling& pooling, DType dtype) {
            return largest(x, with_unit_strides(pooling), dtype);
          },
          {}, {"pool"}),
      fuzz(
          "pool_avg", kNumbers, float_dtype,
          [](Arg x, const Shape& window, const PoolOptions& options) {
            return pool(std::move(x), window, PoolType::avg, options);
          },
          [](const Array& x, const Pooling& pooling, DType) {
            return avg_pooled(x, with_unit_strides(pooling));
          },
          sums, {"pool"}),
      fuzz_internal("max_pool_grad", true, true,
                    [](const Arrays& in, const PoolingOfShape& drawn) {
                      return max_pool_gradient(in[0], in[1], drawn.pooling);
                    }),
      fuzz_internal("max_pool_pick", false, true,
                    [](const Arrays& in, const PoolingOfShape& drawn) {
                      return max_pool_picked(in[0], in[1], drawn.pooling);
                    }),
      fuzz_internal("avg_pool_grad", true, false,
                    [](const Arrays& in, const PoolingOfShape& drawn) {
                      return avg_pool_gradient(in[0], drawn.x, drawn.pooling);
                    }),
      fuzz_global("global_max_pool", true, global_max_pool),
      fuzz_global("global_avg_pool", false, global_avg_pool),
  };
}

}  // namespace tenure::testing
