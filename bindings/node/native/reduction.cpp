// Reductions over axes, and functions along one.
#include "call.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

using Reduction = Tensor (*)(Arg, const Axes&, ReduceOptions);

template <Reduction op>
void reduce(Call& call) {
  Tensor x = call.tensor();
  const Axes axes = call.shape();
  const bool keep_dims = call.flag();
  call.give(op(std::move(x), axes, {.keep_dims = keep_dims}));
}

// Of truth values, the largest is whether there is a true one, and the least whether all are.
template <Reduction op, Reduction of_truth>
void extreme(Call& call) {
  Tensor x = call.tensor();
  const Axes axes = call.shape();
  const bool keep_dims = call.flag();
  const Reduction reduction = x.dtype() == DType::boolean ? of_truth : op;
  call.give(reduction(std::move(x), axes, {.keep_dims = keep_dims}));
}

void run_mean(Call& call) {
  Tensor x = call.tensor();
  const Axes axes = call.shape();
  const bool keep_dims = call.flag();
  call.give(mean(cast(std::move(x), DType::float32), axes, {.keep_dims = keep_dims}));
}

template <Tensor (*op)(Arg, int)>
void along(Call& call) {
  Tensor x = call.tensor();
  call.give(op(std::move(x), call.integer()));
}

template <Tensor (*op)(Arg, int, ScanOptions)>
void scan(Call& call) {
  Tensor x = call.tensor();
  const int axis = call.integer();
  const bool exclusive = call.flag();
  const bool reverse = call.flag();
  call.give(op(std::move(x), axis, {.exclusive = exclusive, .reverse = reverse}));
}

constexpr Row kRows[] = {
    {"sum", reduce<sum>},
    {"prod", reduce<prod>},
    {"mean", run_mean},
    {"max", extreme<max, any>},
    {"min", extreme<min, all>},
    {"any", reduce<any>},
    {"all", reduce<all>},
    {"arg_max", along<arg_max>},
    {"arg_min", along<arg_min>},
    {"softmax", along<softmax>},
    {"log_softmax", along<log_softmax>},
    {"cumsum", scan<cumsum>},
    {"cumprod", scan<cumprod>},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace tenure::node
