// Space, batch and depth: blocks of an image moved into other axes. Each is a permutation of the
// elements, which reshapes around one transpose say; the last reshape copies.
#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {

Family space_ops() {
  static constexpr Composite composites[] = {
      {"space_to_batch_nd", "SpaceToBatchND", "pad, reshape, transpose"},
      {"batch_to_space_nd", "BatchToSpaceND", "reshape, transpose, slice"},
      {"depth_to_space", "DepthToSpace", "reshape, transpose"},
      {"space_to_depth", nullptr, "reshape, transpose"},
  };
  Family family;
  family.composites = composites;
  return family;
}

namespace {

void check_block(const char* op, const Shape& shape, const Shape& block, const char* what,
                 const Paddings& amounts) {
  bool sound = block.rank() < shape.rank() && amounts.size() == std::size_t(block.rank());
  for (const std::int64_t size : block) sound = sound && size >= 1;
  for (const auto& [before, after] : amounts) sound = sound && before >= 0 && after >= 0;
  if (!sound) {
    raise<ShapeError>("{}: block {} and {} {} do not fit the axes of {} after the first", op, block,
                      amounts.size(), what, shape);
  }
}

struct Image {
  int height, width, channels;  // axes
};

Image image_of(const char* op, const Shape& shape, std::int64_t block, ImageLayout layout) {
  if (shape.rank() != 4) raise<ShapeError>("{}: {} is not a batch of images", op, shape);
  if (block < 1) raise<ShapeError>("{}: a block of {}", op, block);
  return layout == ImageLayout::nhwc ? Image{1, 2, 3} : Image{2, 3, 1};
}

}  // namespace
}  // namespace ops

using namespace ops;

Tensor space_to_batch_nd(Arg x, const Shape& block, const Paddings& paddings) {
  constexpr const char* kName = "space_to_batch_nd";
  const detail::UserLine site(x.site());
  const detail::CallScope call(kName, site);
  Tensor tensor = live_operand(kName, 0, std::move(x));
  check_block(kName, tensor.shape(), block, "paddings", paddings);
  Paddings all(static_cast<std::size_t>(tensor.rank()));
  for (std::size_t i = 0; i < paddings.size(); ++i) all[i + 1] = paddings[i];
  bool pads = false;
  for (const auto& [before, after] : all) pads = pads || before > 0 || after > 0;
  if (pads) tensor = pad(Arg(std::move(tensor), site), all);
  const Shape shape = tensor.shape();
  Shape split{shape[0]}, wanted{shape[0]};
  Axes order;
  for (int i = 0; i < block.rank(); ++i) {
    const std::int64_t dim = shape[i + 1];
    if (dim % block[i] != 0) {
      raise<ShapeError>("{}: axis {} has {} elements with its padding, not a multiple of {}", kName,
                        i + 1, dim, block[i]);
    }
    split.push_back(dim / block[i]);
    split.push_back(block[i]);
    wanted[0] = count_product(wanted[0], block[i]);
    wanted.push_back(dim / block[i]);
    order.push_back(2 * i + 2);
  }
  order.push_back(0);
  for (int i = 0; i < block.rank(); ++i) order.push_back(2 * i + 1);
  for (int axis = block.rank() + 1; axis < shape.rank(); ++axis) {
    order.push_back(split.rank());
    split.push_back(shape[axis]);
    wanted.push_back(shape[axis]);
  }
  Tensor apart = reshape(Arg(std::move(tensor), site), split);
  return reshape(Arg(transpose(Arg(std::move(apart), site), order), site), wanted);
}

Tensor batch_to_space_nd(Arg x, const Shape& block, const Paddings& crops) {
  constexpr const char* kName = "batch_to_space_nd";
  const detail::UserLine site(x.site());
  const detail::CallScope call(kName, site);
  Tensor tensor = live_operand(kName, 0, std::move(x));
  const Shape shape = tensor.shape();
  check_block(kName, shape, block, "crops", crops);
  std::int64_t batches = 1;
  for (const std::int64_t size : block) batches = count_product(batches, size);
  if (shape[0] % batches != 0) {
    raise<ShapeError>("{}: a batch of {} is not a multiple of the {} elements of a block: {}, {}",
                      kName, shape[0], batches, shape, block);
  }
  Shape split = block, merged{shape[0] / batches}, begin{0}, size{shape[0] / batches};
  Axes order{block.rank()};
  split.push_back(shape[0] / batches);
  bool cropped = false;
  for (int i = 0; i < block.rank(); ++i) {
    const auto& [before, after] = crops[static_cast<std::size_t>(i)];
    const std::int64_t dim = count_product(shape[i + 1], block[i]);
    if (count_sum(before, after) > dim) {
      raise<ShapeError>("{}: crops {} and {} leave nothing of the {} elements of axis {}", kName,
                        before, after, dim, i + 1);
    }
    order.push_back(split.rank());
    order.push_back(i);
    split.push_back(shape[i + 1]);
    merged.push_back(dim);
    begin.push_back(before);
    size.push_back(dim - before - after);
    cropped = cropped || before > 0 || after > 0;
  }
  for (int axis = block.rank() + 1; axis < shape.rank(); ++axis) {
    order.push_back(split.rank());
    split.push_back(shape[axis]);
    merged.push_back(shape[axis]);
    begin.push_back(0);
    size.push_back(shape[axis]);
  }
  Tensor apart = reshape(Arg(std::move(tensor), site), split);
  Tensor whole = reshape(Arg(transpose(Arg(std::move(apart), site), order), site), merged);
  if (!cropped) return whole;
  // A view would keep what was cropped.
  return contiguous(Arg(slice(Arg(std::move(whole), site), begin, size), site));
}

Tensor depth_to_space(Arg x, std::int64_t block, ImageLayout layout) {
  constexpr const char* kName = "depth_to_space";
  const detail::UserLine site(x.site());
  const detail::CallScope call(kName, site);
  Tensor tensor = live_operand(kName, 0, std::move(x));
  Shape shape = tensor.shape();
  const Image at = image_of(kName, shape, block, layout);
  const std::int64_t pixels = count_product(block, block);
  const std::int64_t channels = shape[at.channels] / pixels;
  if (channels * pixels != shape[at.channels]) {
    raise<ShapeError>("{}: {} channels are not a multiple of {} squared: {}", kName,
                      shape[at.channels], block, shape);
  }
  const std::int64_t n = shape[0], h = shape[at.height], w = shape[at.width];
  const bool last = layout == ImageLayout::nhwc;
  const Shape split =
      last ? Shape{n, h, w, block, block, channels} : Shape{n, block, block, channels, h, w};
  shape[at.height] = count_product(h, block);
  shape[at.width] = count_product(w, block);
  shape[at.channels] = channels;
  Tensor apart = reshape(Arg(std::move(tensor), site), split);
  const Axes order = last ? Axes{0, 1, 3, 2, 4, 5} : Axes{0, 3, 4, 1, 5, 2};
  return reshape(Arg(transpose(Arg(std::move(apart), site), order), site), shape);
}

Tensor space_to_depth(Arg x, std::int64_t block, ImageLayout layout) {
  constexpr const char* kName = "space_to_depth";
  const detail::UserLine site(x.site());
  const detail::CallScope call(kName, site);
  Tensor tensor = live_operand(kName, 0, std::move(x));
  Shape shape = tensor.shape();
  const Image at = image_of(kName, shape, block, layout);
  const std::int64_t n = shape[0], c = shape[at.channels];
  const std::int64_t h = shape[at.height] / block, w = shape[at.width] / block;
  if (h * block != shape[at.height] || w * block != shape[at.width]) {
    raise<ShapeError>("{}: blocks of {} do not fill the {} x {} pixels of {}", kName, block,
                      shape[at.height], shape[at.width], shape);
  }
  const bool last = layout == ImageLayout::nhwc;
  const Shape split = last ? Shape{n, h, block, w, block, c} : Shape{n, c, h, block, w, block};
  shape[at.height] = h;
  shape[at.width] = w;
  shape[at.channels] = count_product(c, count_product(block, block));
  Tensor apart = reshape(Arg(std::move(tensor), site), split);
  const Axes order = last ? Axes{0, 1, 3, 2, 4, 5} : Axes{0, 3, 5, 1, 2, 4};
  return reshape(Arg(transpose(Arg(std::move(apart), site), order), site), shape);
}

}  // namespace tenure
