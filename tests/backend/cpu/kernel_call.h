// Calls kernels directly, without the runtime above them, on any of the targets they are compiled
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "core/layout.h"
#include "hwy/targets.h"
#include "ops/kernel.h"

namespace tenure::cpu::testing {

inline std::int64_t ordinal(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}
inline std::int64_t ordinal(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : bits;
}

// The targets that this machine can run, best first.
inline std::vector<std::int64_t> targets() { return hwy::SupportedAndGeneratedTargets(); }

// While it lives, the ..._kernels() functions answer with rows of `target`.
class UseTarget {
 public:
  explicit UseTarget(std::int64_t target) { set(target); }
  ~UseTarget() { set(0); }
  UseTarget(const UseTarget&) = delete;
  UseTarget& operator=(const UseTarget&) = delete;

 private:
  static void set(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
  }
};

inline ops::KernelFn find(std::span<const ops::KernelRow> rows, std::string_view op, DType dtype) {
  for (const ops::KernelRow& row : rows) {
    if (row.op == op && row.dtype == dtype) return row.run;
  }
  throw std::runtime_error("no kernel for " + std::string(op) + " of " + std::string(name(dtype)));
}

// A view of elements that someone else owns.
struct Operand {
  const void* data;
  Layout layout;

  template <class T>
  Operand(const T* values, Shape shape)
      : data(values), layout(contiguous_layout(std::move(shape), dtype_of<T>)) {}
  template <class T>
  Operand(const T* values, Shape shape, Strides strides)
      : data(values), layout{std::move(shape), std::move(strides), 0, dtype_of<T>, false} {}

  ops::KernelView view() const {
    return {static_cast<std::byte*>(const_cast<void*>(data)), &layout.shape, &layout.strides,
            layout.dtype};
  }
};

// dst is contiguous, of shape `out.layout.shape`.
inline void call(ops::KernelFn kernel, const std::vector<Operand>& in, const Operand& out,
                 ops::AttrsRef attrs = {}) {
  std::vector<ops::KernelView> views;
  for (const Operand& operand : in) views.push_back(operand.view());
  const ops::KernelView dst = out.view();
  kernel({views, {&dst, 1}, attrs, nullptr});
}

template <class T>
void call_flat(ops::KernelFn kernel, std::span<const T> src, std::span<T> dst) {
  const Shape shape{static_cast<std::int64_t>(src.size())};
  call(kernel, {Operand(src.data(), shape)}, Operand(dst.data(), shape));
}

}  // namespace tenure::cpu::testing
