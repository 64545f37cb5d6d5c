#include "io/host_tensor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/transfer.h"

namespace tenure::io {

Strides fortran_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

NewTensor::NewTensor(const Shape& shape, DType dtype) : layout_(contiguous_layout(shape, dtype)) {
  // Asking for the context brings the runtime up.
  detail::SessionState* session = detail::context().session;
  storage_ = detail::StorageRef(detail::allocate_storage(Device{}, layout_.nbytes(), session));
}

void NewTensor::from_fortran_order() {
  Layout layout = layout_;
  layout.strides = fortran_strides(layout.shape);
  layout.contiguous = is_contiguous(layout.shape, layout.strides);
  if (layout.contiguous) return;
  detail::StorageRef ordered(
      detail::allocate_storage(Device{}, layout_.nbytes(), detail::context().session));
  detail::device_transfer(DeviceType::cpu).to_host(ordered->data, *storage_.get(), layout);
  storage_ = std::move(ordered);
}

Tensor NewTensor::finish(const char* op, std::source_location site) && {
  return detail::Access::adopt(
      new_tensor(detail::context(), std::move(layout_), std::move(storage_), op, site));
}

Tensor mapped_tensor(std::shared_ptr<const Mapping> mapping, std::uint64_t offset, Layout layout,
                     const char* op, std::source_location site) {
  detail::Context& context = detail::context();
  auto* data = const_cast<std::byte*>(mapping->data()) + offset;
  detail::StorageRef storage(detail::adopt_storage(Device{}, data, layout.nbytes(), context.session,
                                                   [held = std::move(mapping)] {}));
  return detail::Access::adopt(
      new_tensor(context, std::move(layout), std::move(storage), op, site));
}

HeldTensor::HeldTensor(const Tensor& tensor, const char* op, std::source_location site) {
  const detail::Pin pin(tensor, op, site);
  if (static_cast<std::size_t>(pin->layout.shape.rank()) > kMaxRank) {
    raise<ShapeError>("{}: {} dimensions, files hold up to {}", op, pin->layout.shape.rank(),
                      kMaxRank);
  }
  saved_ = detail::Saved(
      new_saved(*pin, Category::other, detail::LabelRef::make("file", tensor.name(), site)));
}

std::span<const std::byte> HeldTensor::bytes(detail::StorageRef& scratch) const {
  const detail::Header& saved = *saved_.get();
  const Layout& layout = saved.layout;
  if (layout.contiguous) {
    const auto offset = layout.offset * static_cast<std::int64_t>(size_of(layout.dtype));
    return {saved.storage->data + offset, layout.nbytes()};
  }
  scratch = detail::StorageRef(
      detail::allocate_storage(saved.device, layout.nbytes(), detail::context().session));
  detail::device_transfer(saved.device.type).to_host(scratch->data, *saved.storage, layout);
  return {scratch->data, layout.nbytes()};
}

void check_bools(const Origin& origin, std::string_view name, std::span<const std::byte> bytes) {
  const auto wrong =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong == bytes.end()) return;
  origin.fail("{}{}element {} is the byte {}, and a bool is 0 or 1",
              name.empty() ? "" : fmt::format("tensor \"{}\"", printable(name)),
              name.empty() ? "" : ": ", wrong - bytes.begin(), static_cast<int>(*wrong));
}

std::optional<std::uint64_t> bytes_of_shape(std::span<const std::uint64_t> dims,
                                            std::uint64_t element_bits) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  // Strides are products too, of dimensions that may stand beside an empty one.
  std::uint64_t bits = element_bits;
  bool empty = false;
  for (const std::uint64_t dim : dims) {
    empty |= dim == 0;
    if (dim == 0) continue;
    if (dim > kMost || __builtin_mul_overflow(bits, dim, &bits) || bits > kMost) {
      return std::nullopt;
    }
  }
  if (empty) return 0;
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

}  // namespace tenure::io
