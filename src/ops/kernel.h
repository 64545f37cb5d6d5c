// What a kernel is given, and the table a device installs its kernels in.
//
// A kernel computes; it decides nothing about memory. It is noexcept, allocates nothing (scratch is
// booked beforehand through `scratch_bytes`), and may find that out[0] is the same memory as an
// input its OpDef said may be overwritten (then both have the same shape and are contiguous).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/attrs_ref.h"
#include "ops/element_loop.h"
#include "tenure/device.h"
#include "tenure/dtype.h"
#include "tenure/shape.h"

namespace tenure::ops {

// A tensor as a kernel sees it: `data` points at element 0 (the view's offset is already applied).
struct KernelView {
  std::byte* data = nullptr;
  const Shape* shape = nullptr;
  const Strides* strides = nullptr;  // in elements
  DType dtype = DType::float32;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  std::int64_t numel() const { return shape->numel(); }
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype); }
};

inline std::size_t result_bytes(std::span<const KernelView> out) {
  std::size_t bytes = 0;
  for (const KernelView& view : out) bytes += view.nbytes();
  return bytes;
}

// What a kernel found wrong with the values it was given, such as an index out of range: a format
// whose {0}, {1} and {2} are `values`. The road makes a ValueError of it and drops the results.
struct Problem {
  const char* format = nullptr;
  std::array<std::int64_t, 3> values{};
};

// What is to be done to elements [begin, end) of out[0], counted in row-major order, once they have
// their final values: where out[0] lies, or at `piece` if it has no memory. The kernel calls it
// from any of its threads, once for each element.
struct Epilogue {
  void (*run)(const void* context, std::int64_t begin, std::int64_t end,
              std::byte* piece) noexcept = nullptr;
  const void* context = nullptr;

  void operator()(std::int64_t begin, std::int64_t end, std::byte* piece = nullptr) const {
    run(context, begin, end, piece);
  }
  explicit operator bool() const { return run != nullptr; }
};

// Whether a kernel calls an epilogue, and if so, whether its result must have memory.
enum class TakesEpilogue : std::uint8_t { no, in_place, in_pieces };

// Where elements [begin, end) of in[0], counted in row-major order, come from if that has no data:
// computed now, into `dst`, by any thread.
struct Prologue {
  void (*run)(const void* context, std::int64_t begin, std::int64_t end,
              std::byte* dst) noexcept = nullptr;
  const void* context = nullptr;

  void operator()(std::int64_t begin, std::int64_t end, std::byte* dst) const {
    run(context, begin, end, dst);
  }
  explicit operator bool() const { return run != nullptr; }
};

// An input rearranged, such as a transposed filter: what a kernel makes in its scratch on every
// call, unless it is given in `form`. The road keeps it where the input is a variable's value.
struct WantedForm {
  using Sizes = std::array<std::int64_t, 3>;
  std::size_t input = 0;
  std::size_t bytes = 0;  // 0: this call takes the input as it lies
  Sizes sizes{};          // what it depends on besides the input's bytes
  void (*make)(const std::byte* src, const Sizes& sizes, std::byte* dst) noexcept = nullptr;
};

struct KernelArgs {
  std::span<const KernelView> in;
  std::span<const KernelView> out;  // contiguous, uninitialised
  AttrsRef attrs;
  std::byte* scratch = nullptr;  // 64-byte aligned, as many bytes as `scratch_bytes` asked for
  Problem* problem = nullptr;
  Epilogue epilogue{};              // only for a kernel that takes one
  bool in_pieces = false;           // out[0] has no memory: the epilogue uses its pieces up
  Prologue prologue{};              // only if the kernel said that it takes one
  const std::byte* form = nullptr;  // what the kernel's `wanted_form` asked for, or nothing

  // The first complaint counts. Not for use inside a parallel region: look before you compute.
  void complain(const char* format, std::int64_t a = 0, std::int64_t b = 0,
                std::int64_t c = 0) const noexcept {
    if (problem != nullptr && problem->format == nullptr) *problem = {format, {a, b, c}};
  }
};

using KernelFn = void (*)(const KernelArgs&) noexcept;
using ScratchFn = std::size_t (*)(const KernelArgs&) noexcept;  // data pointers are not set yet
// Of an op whose result's shape depends on the values: fills in as many sizes as its OpDef says.
// There are no outputs yet; scratch is there.
using MeasureFn = void (*)(const KernelArgs&, std::span<std::int64_t> sizes) noexcept;
using WantedFormFn = WantedForm (*)(const KernelArgs&) noexcept;  // data pointers are not set yet
// Runs another kernel, which makes in[operand], with an epilogue that does this kernel's work on
// each piece. in[operand] has memory if what makes it has.
using FollowFn = void (*)(const KernelArgs& args, std::size_t operand, KernelFn producer,
                          KernelArgs of_producer) noexcept;

// One row of a device's kernel list.
struct KernelRow {
  std::string_view op;
  DType dtype;  // of the input the OpDef dispatches on (output 0 where there is no input)
  KernelFn run;
  ScratchFn scratch_bytes = nullptr;
  MeasureFn measure = nullptr;
  LoopFn loop = nullptr;  // of an elementwise kernel
  TakesEpilogue takes_epilogue = TakesEpilogue::no;
  bool (*takes_prologue)(const KernelArgs&) noexcept = nullptr;  // data pointers are not set yet
  WantedFormFn wanted_form = nullptr;
  FollowFn follow = nullptr;  // of one that can work on pieces of an input of the results' shape
};

struct Kernel {
  KernelFn run = nullptr;
  ScratchFn scratch_bytes = nullptr;
  MeasureFn measure = nullptr;
  LoopFn loop = nullptr;  // of an elementwise kernel
  TakesEpilogue takes_epilogue = TakesEpilogue::no;
  bool (*takes_prologue)(const KernelArgs&) noexcept = nullptr;
  WantedFormFn wanted_form = nullptr;
  FollowFn follow = nullptr;  // of one that can work on pieces of an input of the results' shape
  bool widens = false;        // of float16 or bfloat16: runs float32's kernel between casts
};

// Direct [op][dtype] lookup. Filled once, by the runtime's init, before any op runs.
class KernelTable {
 public:
  static constexpr int kMaxOps = 512;
  const Kernel& find(std::uint16_t op_index, DType dtype) const {
    return kernels_[op_index][static_cast<std::size_t>(dtype)];
  }
  void install(std::uint16_t op_index, DType dtype, Kernel kernel) {
    kernels_[op_index][static_cast<std::size_t>(dtype)] = kernel;
  }

 private:
  std::array<std::array<Kernel, kDTypeCount>, kMaxOps> kernels_{};
};

KernelTable& kernel_table(DeviceType device);

// What a kernel's complaint becomes.
[[noreturn]] void raise_problem(const Problem& problem, const char* op);

}  // namespace tenure::ops
