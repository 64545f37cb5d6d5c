// Moving bytes: what each device installs for host reads and writes. The runtime's init fills
// these.
#pragma once

#include <cstddef>

#include "core/layout.h"
#include "memory/storage.h"

namespace tenure::detail {

struct DeviceTransfer {
  // The elements of `layout` in row-major order, to host memory or to the device's own.
  void (*to_host)(std::byte* dst, const Storage& src, const Layout& layout) noexcept = nullptr;
  void (*within)(std::byte* dst, const Storage& src, const Layout& layout) noexcept = nullptr;
  void (*from_host)(Storage& dst, const std::byte* src, std::size_t bytes) noexcept = nullptr;
};

DeviceTransfer& device_transfer(DeviceType device);

// Defined by the runtime's init: installs kernels and transfers, reads the environment. Runs once.
void initialise_runtime();
// The same: starts the recording that the environment asks for. Runs once, when the first thread
// has its context.
void record_from_environment();

}  // namespace tenure::detail
