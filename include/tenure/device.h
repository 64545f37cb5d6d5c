// Where a tensor's bytes live and its kernels run.
#pragma once

#include <cstdint>
#include <string>

#include "tenure/export.h"

namespace tenure {

enum class DeviceType : std::uint8_t { cpu };
inline constexpr int kDeviceTypes = 1;

struct Device {
  DeviceType type = DeviceType::cpu;
  std::uint8_t index = 0;
  friend bool operator==(Device, Device) = default;
};

TENURE_API std::string to_string(Device device);  // "cpu:0"

}  // namespace tenure
