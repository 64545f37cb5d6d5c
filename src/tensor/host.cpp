// Reading a tensor's elements on the host.
#include <cstring>
#include <mutex>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/ledger.h"
#include "memory/out_of_memory.h"
#include "memory/text.h"
#include "memory/transfer.h"
#include "tensor/access.h"
#include "tenure/job.h"
#include "tenure/tensor.h"

namespace tenure {

using detail::Header;
using detail::Pin;

namespace {

void check_dtype(std::string_view op, const Header& header, DType wanted,
                 std::source_location site) {
  if (header.layout.dtype == wanted) return;
  const std::vector<detail::Line> lines{line_of("born", header),
                                        detail::used_line(site, std::string(op))};
  if (is_complex(header.layout.dtype)) {
    throw DtypeError(
        describe("{}: complex64 elements read as {}: use real() or imag() first", op, wanted)
            .told(lines));
  }
  throw DtypeError(describe("{}: {} elements read as {}: cast(x, DType::{}) first", op,
                            header.layout.dtype, wanted, wanted)
                       .told(lines));
}

detail::StorageRef allocate_for(const Header& header, const char* op, std::source_location site) {
  const detail::CallScope call(op, site);
  return detail::StorageRef(
      detail::allocate_storage(header.device, header.layout.nbytes(), detail::context().session));
}

}  // namespace

void detail::raise_no_host_memory(std::size_t bytes, const char* op, std::source_location site) {
  const CallScope call(op, site);
  raise_out_of_memory({.requested = bytes});
}

void Tensor::read(void* to, DType dtype, const char* op, std::source_location site) const {
  const Pin pin(*this, op, site);
  check_dtype(op, *pin, dtype, site);
  detail::device_transfer(pin->device.type)
      .to_host(static_cast<std::byte*>(to), *pin->storage, pin->layout);
}

void Tensor::read_item(void* to, DType dtype, std::source_location site) const {
  const Header& header = detail::checked(*this, "item", -1, site);
  if (header.layout.shape.numel() != 1) {
    const Pin pin(*this, "item", site);  // one that has ended says that first
    throw ShapeError(
        describe("item: {} elements in {}, item reads exactly one", header.layout.shape.numel(),
                 header.layout.shape)
            .told({line_of("born", header), detail::used_line(site, "item")},
                  "take one element first, x[i], reduce it, or read all with to_vector."));
  }
  read(to, dtype, "item", site);
}

Tensor::Held Tensor::hold(DType dtype, const char* op, std::source_location site) const {
  const Pin pin(*this, op, site);
  check_dtype(op, *pin, dtype, site);
  const bool later = std::string_view(op) == "read_async";
  detail::LabelRef owner = detail::LabelRef::make(later ? "read in flight" : "span", name(), site);
  detail::Saved saved(new_saved(*pin, Category::other, std::move(owner)));
  if (!pin->layout.contiguous) {
    detail::StorageRef copy = allocate_for(*pin, op, site);
    detail::device_transfer(pin->device.type).to_host(copy->data, *pin->storage, pin->layout);
    const std::lock_guard lock(detail::storage_moves());
    saved.get()->layout = contiguous_layout(pin->layout.shape, dtype);
    detail::Storage* old = std::exchange(saved.get()->storage, copy.give());
    detail::events::moved(*saved.get(), true);
    detail::release(old);
  }
  const Header& held = *saved.get();
  const std::byte* data =
      held.storage->data + held.layout.offset * static_cast<std::int64_t>(size_of(dtype));
  const auto size = static_cast<std::size_t>(held.layout.shape.numel());
  return {saved.give(), data, size};
}

}  // namespace tenure
