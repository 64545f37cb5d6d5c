#include "backend/cpu/backend.h"

#include <cstring>
#include <string_view>
#include <unordered_map>

#include "backend/cpu/copy.h"
#include "backend/cpu/halves.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_amx.h"
#include "core/raise.h"
#include "ops/op_def.h"

namespace tenure::cpu {
namespace {

void gather(std::byte* dst, const detail::Storage& src, const Layout& layout) noexcept {
  const std::size_t size = size_of(layout.dtype);
  const std::byte* from = src.data + layout.offset * static_cast<std::int64_t>(size);
  if (layout.contiguous) {
    if (const std::size_t bytes = layout.nbytes(); bytes != 0) std::memcpy(dst, from, bytes);
    return;
  }
  copy_strided(dst, contiguous_strides(layout.shape), from, layout.strides, layout.shape, size);
}

void scatter(detail::Storage& dst, const std::byte* src, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(dst.data, src, bytes);
}

}  // namespace

void install(ops::KernelTable& table, detail::DeviceTransfer& transfer) {
  transfer = {.to_host = gather, .within = gather, .from_host = scatter};
  std::unordered_map<std::string_view, std::uint16_t> index;
  for (const ops::OpDef* op : ops::all_ops()) index.emplace(op->name, op->index);
  for (const ops::OpDef* op : ops::graph_ops()) index.emplace(op->name, op->index);
#define TENURE_LIST(name) name##_kernels(),
  for (const auto rows :
       {TENURE_FAMILIES(TENURE_NOT_HERE, TENURE_LIST, TENURE_NOT_HERE, TENURE_NOT_HERE)}) {
#undef TENURE_LIST
    for (const ops::KernelRow& row : rows) {
      const auto op = index.find(row.op);
      if (op == index.end()) raise<ValueError>("cpu: a kernel for an unknown op: {}", row.op);
      table.install(op->second, row.dtype,
                    {row.run, row.scratch_bytes, row.measure, row.loop, row.takes_epilogue,
                     row.takes_prologue, row.wanted_form, row.follow});
    }
  }
  install_halves(table);
  install_amx(table);
}

}  // namespace tenure::cpu
