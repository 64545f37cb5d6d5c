// Calls kernels that book scratch, and finds out whether they stay within it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/parallel.h"
#include "kernel_call.h"

namespace tenure::cpu::testing {

inline const ops::KernelRow& find_row(std::span<const ops::KernelRow> rows, std::string_view op,
                                      DType dtype) {
  for (const ops::KernelRow& row : rows) {
    if (row.op == op && row.dtype == dtype) return row;
  }
  throw std::runtime_error("no kernel for " + std::string(op) + " of " + std::string(name(dtype)));
}

template <class Attrs>
void call(const ops::KernelRow& row, const std::vector<Operand>& in, const Operand& out,
          const Attrs& attrs) {
  constexpr std::size_t kGuard = 256;
  constexpr std::byte kMark{0xA5};
  std::vector<ops::KernelView> views;
  for (const Operand& operand : in) views.push_back(operand.view());
  const ops::KernelView dst = out.view();
  ops::KernelArgs args{views, {&dst, 1}, ops::AttrsRef(&attrs, nullptr), nullptr};
  std::size_t bytes = 0;
  if (row.scratch_bytes != nullptr) {
    std::vector<ops::KernelView> blind = views;
    for (ops::KernelView& view : blind) view.data = nullptr;
    ops::KernelView blind_dst = dst;
    blind_dst.data = nullptr;
    bytes = row.scratch_bytes({blind, {&blind_dst, 1}, args.attrs, nullptr});
  }
  const std::size_t rounded = (bytes + 63) / 64 * 64;
  const std::unique_ptr<std::byte, decltype(&std::free)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(64, rounded + kGuard)), &std::free);
  std::fill_n(scratch.get(), rounded + kGuard, kMark);
  if (bytes != 0) args.scratch = scratch.get();
  row.run(args);
  for (std::size_t i = bytes; i < rounded + kGuard; ++i) {
    ASSERT_EQ(scratch.get()[i], kMark) << "written " << i - bytes << " bytes behind the scratch";
  }
}

// While it lives, kernels may use this many threads.
class UseThreads {
 public:
  explicit UseThreads(int threads) : before_(num_threads()) { set_num_threads(threads); }
  ~UseThreads() { set_num_threads(before_); }
  UseThreads(const UseThreads&) = delete;
  UseThreads& operator=(const UseThreads&) = delete;

 private:
  int before_;
};

}  // namespace tenure::cpu::testing
