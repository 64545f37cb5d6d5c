#include "tenure/create.h"

#include <cstring>
#include <vector>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/text.h"
#include "memory/transfer.h"
#include "memory/warn.h"
#include "tensor/access.h"
#include "tensor/create.h"

namespace tenure {

using detail::Access;
using detail::Context;
using detail::StorageRef;

namespace detail {

void check_shape(std::string_view op, const Shape& shape, DType dtype) {
  if (!is_countable(shape, dtype)) raise_not_countable(op, shape, dtype);
}

Tensor tensor_from(const void* data, std::size_t count, DType from, DType to, const Shape& shape,
                   std::source_location site) {
  const CallScope call("tensor", site);
  check_shape("tensor", shape, to);
  if (static_cast<std::size_t>(shape.numel()) != count) {
    raise<ShapeError>("tensor: {} values do not fill {}", count, shape);
  }
  Context& current = context();
  Layout layout = contiguous_layout(shape, to);
  StorageRef storage(allocate_storage(Device{}, layout.nbytes(), current.session));
  const DeviceTransfer& transfer = device_transfer(storage->device.type);
  if (from == to) {
    transfer.from_host(*storage.get(), static_cast<const std::byte*>(data), layout.nbytes());
  } else {  // double literals on their way to float32
    const auto* values = static_cast<const double*>(data);
    const std::vector<float> floats(values, values + count);
    transfer.from_host(*storage.get(), reinterpret_cast<const std::byte*>(floats.data()),
                       layout.nbytes());
  }
  return Access::adopt(new_tensor(current, std::move(layout), std::move(storage), "tensor", site));
}

}  // namespace detail

namespace {

// It runs where nothing may be thrown: what it throws is told, and goes no further.
void run_deleter(const std::function<void()>& deleter, std::source_location site) noexcept {
  const auto tell = [&](const char* what) {
    detail::warn(fmt::format("from_buffer at {}: the deleter threw{}{}", detail::site_text(site),
                             *what == '\0' ? "" : ": ", what));
  };
  try {
    deleter();
  } catch (const std::exception& error) {
    tell(error.what());
  } catch (...) {
    tell("");
  }
}

}  // namespace

Tensor from_buffer(const void* data, const Shape& shape, DType dtype, std::function<void()> deleter,
                   std::source_location site) {
  if (!deleter) deleter = [] {};
  // From here on the deleter runs, whatever happens.
  struct Guard {
    std::function<void()>* deleter;
    std::source_location site;
    ~Guard() {
      if (deleter != nullptr) run_deleter(*deleter, site);
    }
  } guard{&deleter, site};
  const detail::UserLine line(site);
  detail::check_shape("from_buffer", shape, dtype);
  if (data == nullptr && shape.numel() != 0) {
    raise<ValueError>("from_buffer: a null pointer for {}", shape);
  }
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
    raise<ValueError>("from_buffer: the pointer is not aligned for {}", dtype);
  }
  Context& current = detail::context();
  Layout layout = contiguous_layout(shape, dtype);
  const std::size_t bytes = layout.nbytes();
  std::function<void()> owned = [deleter, site] { run_deleter(deleter, site); };
  StorageRef storage(detail::adopt_storage(Device{}, const_cast<void*>(data), bytes,
                                           current.session, std::move(owned)));
  guard.deleter = nullptr;
  return Access::adopt(
      new_tensor(current, std::move(layout), std::move(storage), "from_buffer", site));
}

}  // namespace tenure
