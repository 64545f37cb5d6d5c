#include "memory/transfer.h"

namespace tenure::detail {

DeviceTransfer& device_transfer(DeviceType device) {
  static DeviceTransfer transfers[kDeviceTypes];
  return transfers[static_cast<int>(device)];
}

}  // namespace tenure::detail
