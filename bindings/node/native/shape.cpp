// Making, cutting, joining and rearranging tensors.
#include <algorithm>

#include "call.h"
#include "stored.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

void run_fill(Call& call) {
  const Shape shape = call.shape();
  const DType dtype = call.dtype();
  call.give(full(shape, stored_scalar(call.number(), dtype), dtype));
}

void run_stack(Call& call) {
  std::vector<Tensor> tensors = call.tensors();
  call.give(stack(std::move(tensors), call.integer()));
}

void run_split(Call& call) {
  Tensor x = call.tensor();
  const int axis = call.integer();
  call.give(split(std::move(x), call.shape(), axis));
}

void run_unstack(Call& call) {
  Tensor x = call.tensor();
  call.give(unstack(std::move(x), call.integer()));
}

void run_tile(Call& call) {
  Tensor x = call.tensor();
  call.give(tile(std::move(x), call.shape()));
}

Paddings paddings(Call& call) {
  const Shape before = call.shape();
  const Shape after = call.shape();
  Paddings all;
  for (int i = 0; i < before.rank(); ++i) all.emplace_back(before[i], after[i]);
  return all;
}

void run_pad(Call& call) {
  Tensor x = call.tensor();
  const Paddings around = paddings(call);
  const Scalar value = stored_scalar(call.number(), x.dtype());
  call.give(pad(std::move(x), around, value));
}

void run_mirror_pad(Call& call) {
  Tensor x = call.tensor();
  const Paddings around = paddings(call);
  call.give(mirror_pad(std::move(x), around, call.flag() ? Mirror::reflect : Mirror::symmetric));
}

void run_space_to_batch(Call& call) {
  Tensor x = call.tensor();
  const Shape block = call.shape();
  call.give(space_to_batch_nd(std::move(x), block, paddings(call)));
}

void run_batch_to_space(Call& call) {
  Tensor x = call.tensor();
  const Shape block = call.shape();
  call.give(batch_to_space_nd(std::move(x), block, paddings(call)));
}

void run_depth_to_space(Call& call) {
  Tensor x = call.tensor();
  const std::int64_t block = call.integer();
  const bool channels_first = call.flag();
  call.give(
      depth_to_space(std::move(x), block, channels_first ? ImageLayout::nchw : ImageLayout::nhwc));
}

void run_linspace(Call& call) {
  const double start = call.number();
  const double stop = call.number();
  call.give(linspace(start, stop, call.integer()));
}

constexpr Row kShapeRows[] = {
    {"fill", run_fill},
    {"stack", run_stack},
    {"split", run_split},
    {"unstack", run_unstack},
    {"tile", run_tile},
    {"pad", run_pad},
    {"mirror_pad", run_mirror_pad},
    {"space_to_batch", run_space_to_batch},
    {"batch_to_space", run_batch_to_space},
    {"depth_to_space", run_depth_to_space},
    {"linspace", run_linspace},
};

}  // namespace

std::span<const Row> shape_rows() { return kShapeRows; }

}  // namespace tenure::node
