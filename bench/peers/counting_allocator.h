// The bytes of libtorch's tensors, counted as they come and go.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace bench::peers {

class CountingAllocator final : public c10::Allocator {
 public:
  // From the first call on, all tensors are allocated here.
  static CountingAllocator& install() {
    c10::SetCPUAllocator(&instance(), /*priority=*/1);
    return instance();
  }

  // peak() is the most bytes alive at once from here on, beyond those alive now.
  void restart() {
    const std::lock_guard lock(mutex_);
    before_ = peak_ = live_;
  }
  std::int64_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_ - before_;
  }

  // Some callers want the data themselves for context, so sizes are kept apart.
  c10::DataPtr allocate(std::size_t bytes) const override {
    void* data = c10::alloc_cpu(bytes);
    const std::lock_guard lock(mutex_);
    if (data != nullptr) sizes_[data] = static_cast<std::int64_t>(bytes);
    live_ += static_cast<std::int64_t>(bytes);
    peak_ = std::max(peak_, live_);
    return {data, data, free_data, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_data; }

 private:
  // Never destroyed: libtorch has tensors that outlive main.
  static CountingAllocator& instance() {
    static auto* allocator = new CountingAllocator;
    return *allocator;
  }
  static void free_data(void* data) {
    {
      const std::lock_guard lock(instance().mutex_);
      const auto found = instance().sizes_.find(data);
      if (found != instance().sizes_.end()) {
        instance().live_ -= found->second;
        instance().sizes_.erase(found);
      }
    }
    c10::free_cpu(data);
  }

  mutable std::mutex mutex_;
  mutable std::unordered_map<void*, std::int64_t> sizes_;
  mutable std::int64_t live_ = 0, peak_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace bench::peers
