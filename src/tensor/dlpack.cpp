#include "tenure/dlpack.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/ledger.h"
#include "memory/transfer.h"
#include "tensor/access.h"
#include "tensor/create.h"

namespace tenure {
namespace {

using detail::Access;

struct TypeRow {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
// DLPack 0.6 has no code for bool; byte-sized unsigned integers stand for it elsewhere too.
constexpr TypeRow kTypes[] = {
    {DType::float32, kDLFloat, 32}, {DType::float64, kDLFloat, 64},
    {DType::int32, kDLInt, 32},     {DType::int64, kDLInt, 64},
    {DType::uint8, kDLUInt, 8},     {DType::int8, kDLInt, 8},
    {DType::float16, kDLFloat, 16}, {DType::bfloat16, kDLBfloat, 16},
    {DType::boolean, kDLUInt, 8},   {DType::complex64, kDLComplex, 64},
};

DLDataType to_dl(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return {row.code, row.bits, 1};
  }
  raise<DtypeError>("to_dlpack: no DLPack type for {}", dtype);
}

DType from_dl(DLDataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  raise<DtypeError>("from_dlpack: no dtype for DLPack code {}, {} bits, {} lanes", type.code,
                    type.bits, type.lanes);
}

// What to_dlpack hands out: the managed tensor, its arrays, and a saved value that holds the bytes.
struct Exported {
  DLManagedTensor managed{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  detail::Saved saved;
};

struct Deleter {
  void operator()(DLManagedTensor* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

constexpr std::int64_t kWidest = 8;  // bytes of an element

// The bytes from element 0 to past the last one; strides are never negative here.
std::int64_t extent(const Layout& layout) {
  if (layout.shape.numel() == 0) return 0;
  std::int64_t last = 0;
  for (int axis = 0; axis < layout.shape.rank(); ++axis) {
    if (layout.strides[axis] < 0) {
      raise<UnsupportedError>("from_dlpack: negative strides: {}", layout.strides);
    }
    std::int64_t along = 0;
    if (__builtin_mul_overflow(layout.shape[axis] - 1, layout.strides[axis], &along) ||
        __builtin_add_overflow(last, along, &last) ||
        last >= std::numeric_limits<std::int64_t>::max() / kWidest) {
      raise<ValueError>("from_dlpack: {} by strides {} reaches further than memory does",
                        layout.shape, layout.strides);
    }
  }
  return (last + 1) * static_cast<std::int64_t>(size_of(layout.dtype));
}

}  // namespace

Tensor from_dlpack(DLManagedTensor* managed, std::source_location site) {
  const detail::UserLine line(site);
  if (managed == nullptr) raise<ValueError>("from_dlpack: a null pointer");
  std::shared_ptr<DLManagedTensor> owned(managed, Deleter{});
  const DLTensor& theirs = managed->dl_tensor;
  if (theirs.device.device_type != kDLCPU) {
    raise<UnsupportedError>("from_dlpack: device type {}: only host memory can be taken",
                            static_cast<int>(theirs.device.device_type));
  }
  if (theirs.ndim < 0) raise<ValueError>("from_dlpack: {} dimensions", theirs.ndim);
  if (theirs.ndim > 0 && theirs.shape == nullptr) {
    raise<ValueError>("from_dlpack: {} dimensions and no shape", theirs.ndim);
  }
  Layout layout = contiguous_layout(
      Shape(std::span(theirs.shape, static_cast<std::size_t>(theirs.ndim))), from_dl(theirs.dtype));
  detail::check_shape("from_dlpack", layout.shape, layout.dtype);
  if (theirs.strides != nullptr) {
    layout.strides = Strides(std::span(theirs.strides, static_cast<std::size_t>(theirs.ndim)));
    layout.contiguous = is_contiguous(layout.shape, layout.strides);
  }
  if (theirs.data == nullptr && layout.shape.numel() > 0) {
    raise<ValueError>("from_dlpack: a null pointer for {}", layout.shape);
  }
  auto* data = static_cast<std::byte*>(theirs.data) + theirs.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(layout.dtype) != 0) {
    raise<ValueError>("from_dlpack: the data is not aligned for {}", layout.dtype);
  }
  detail::Context& context = detail::context();
  const auto bytes = static_cast<std::size_t>(extent(layout));
  detail::StorageRef storage(
      detail::adopt_storage(Device{}, data, bytes, context.session, [held = std::move(owned)] {}));
  return Access::adopt(
      new_tensor(context, std::move(layout), std::move(storage), "from_dlpack", site));
}

DLManagedTensor* to_dlpack(const Tensor& tensor, std::source_location site) {
  const detail::Pin pin(tensor, "to_dlpack", site);
  auto exported = std::make_unique<Exported>();
  exported->saved = detail::Saved(new_saved(
      *pin, Category::other, detail::LabelRef::make("DLPack export", tensor.name(), site)));
  detail::Header& saved = *exported->saved.get();
  const Strides& strides = pin->layout.strides;
  if (std::any_of(strides.begin(), strides.end(), [](std::int64_t step) { return step < 0; })) {
    // Most importers refuse negative strides.
    detail::StorageRef copy(
        detail::allocate_storage(pin->device, pin->layout.nbytes(), detail::context().session));
    detail::device_transfer(pin->device.type).to_host(copy->data, *pin->storage, pin->layout);
    const std::lock_guard lock(detail::storage_moves());
    saved.layout = contiguous_layout(pin->layout.shape, pin->layout.dtype);
    detail::Storage* old = std::exchange(saved.storage, copy.give());
    detail::events::moved(saved, true);
    detail::release(old);
  }
  const Layout& layout = saved.layout;
  exported->shape.assign(layout.shape.begin(), layout.shape.end());
  exported->strides.assign(layout.strides.begin(), layout.strides.end());
  DLTensor& out = exported->managed.dl_tensor;
  out.data = saved.storage->data;
  out.byte_offset = static_cast<std::uint64_t>(layout.offset) * size_of(layout.dtype);
  out.device = {kDLCPU, 0};
  out.ndim = layout.shape.rank();
  out.dtype = to_dl(layout.dtype);
  out.shape = exported->shape.data();
  out.strides = exported->strides.data();
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return &exported.release()->managed;
}

}  // namespace tenure
