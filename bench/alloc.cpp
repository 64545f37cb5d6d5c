// What do buffers cost, and what does keeping their pages save?
#include <array>
#include <cstdlib>
#include <cstring>

#include "memory/storage.h"
#include "rows.h"

namespace bench {

using tenure::Device;
using tenure::detail::allocate_storage;
using tenure::detail::release;
using tenure::detail::Storage;

void alloc(Runner& runner) {
  runner.row("alloc_small", [](Row& row) {
    constexpr std::size_t kBytes = 64;
    row.measure_against(
        [] {
          Storage* storage = allocate_storage(Device{}, kBytes, nullptr);
          use(storage);
          release(storage);
        },
        [] {
          void* bytes = std::malloc(kBytes);
          use(bytes);
          std::free(bytes);
        });
  });
  runner.row("alloc_4m_touch", [](Row& row) {
    constexpr std::size_t kBytes = std::size_t{4} << 20;
    constexpr int kBuffers = 4;
    row.measure_against(
        [] {
          std::array<Storage*, kBuffers> storages;
          for (Storage*& storage : storages) {
            storage = allocate_storage(Device{}, kBytes, nullptr);
            std::memset(storage->data, 1, kBytes);
          }
          use(storages);
          for (Storage* storage : storages) release(storage);
        },
        [] {
          std::array<void*, kBuffers> buffers;
          for (void*& buffer : buffers) {
            buffer = std::malloc(kBytes);
            std::memset(buffer, 1, kBytes);
          }
          use(buffers);
          for (void* buffer : buffers) std::free(buffer);
        });
  });
}

}  // namespace bench
