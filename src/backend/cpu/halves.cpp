// Kernels of float16 and bfloat16 that compute in float32.
//
// A result is what float32 gives for the same inputs, rounded once: sums and products are never
// rounded half way. The float32 operands lie in scratch, before that of the kernel itself, so such
// a kernel allocates no more than any other.
//
// A kernel is a plain function that is not told which op it is, so there is one for each: a
// trampoline that knows the op's place in the table.
#include "backend/cpu/halves.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "backend/cpu/copy.h"
#include "backend/cpu/elementwise.h"
#include "core/half.h"
#include "core/layout.h"
#include "core/small_vector.h"
#include "ops/arithmetic.h"
#include "ops/attrs.h"
#include "ops/op_def.h"

namespace tenure::cpu {
namespace {

using ops::KernelArgs;
using ops::KernelView;

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

RunLoop cast_loop(DType from, DType to) {
  const ops::CastAttrs attrs{to};
  return ops::kernel_table(DeviceType::cpu)
      .find(ops::kCast.index, from)
      .loop({&attrs, nullptr})
      .loop;
}

void cast(const std::byte* src, DType from, std::byte* dst, DType to, std::int64_t count) {
  if (count != 0) run_flat(cast_loop(from, to), Run{{src}, dst, count, 1});
}

// What there is of a view's elements to cast: one along an axis where they repeat.
Shape distinct(const KernelView& view) {
  Shape shape = *view.shape;
  if (view.numel() == 0) return shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if ((*view.strides)[axis] == 0) shape[axis] = 1;
  }
  return shape;
}

// The strides once gaps between these are closed. Axes keep their order in memory, on which the
// order of a kernel's sums may depend; the last of equal ones is the innermost.
Strides closed_up(const KernelView& view) {
  const Strides& strides = *view.strides;
  const Shape shape = distinct(view);
  Strides closed = Strides::filled(shape.rank(), 0);
  std::int64_t next = 1;
  for (int done = 0; done < shape.rank(); ++done) {
    int inner = -1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (strides[axis] == 0 || closed[axis] != 0) continue;
      if (inner < 0 || std::abs(strides[axis]) < std::abs(strides[inner])) inner = axis;
    }
    if (inner < 0) break;
    closed[inner] = next;
    next *= std::max<std::int64_t>(shape[inner], 1);
  }
  return closed;
}

bool has_gaps(const KernelView& view) {
  const Strides closed = closed_up(view);
  for (int axis = 0; axis < closed.rank(); ++axis) {
    if ((*view.shape)[axis] > 1 && closed[axis] != (*view.strides)[axis]) return true;
  }
  return false;
}

// The operands of an op as float32, in scratch.
class Wide {
 public:
  Wide(std::uint16_t op, const KernelArgs& args)
      : kernel_(ops::kernel_table(DeviceType::cpu).find(op, DType::float32)), given_(args) {}

  // What scratch holds: views and strides of all operands, float32 operands, and, of an input that
  // has gaps, its elements without them; then what the float32 kernel wants.
  std::size_t scratch_bytes() {
    std::size_t bytes =
        aligned(operands() * sizeof(KernelView)) + aligned(operands() * sizeof(Strides));
    for (const auto& views : {given_.in, given_.out}) {
      for (const KernelView& view : views) {
        if (!is_half(view.dtype)) continue;
        const auto count = static_cast<std::size_t>(distinct(view).numel());
        bytes += aligned(count * sizeof(float));
        if (has_gaps(view)) bytes += aligned(count * size_of(view.dtype));
      }
    }
    if (kernel_.scratch_bytes != nullptr) {
      constexpr std::size_t kUsual = 16;
      SmallVector<KernelView, kUsual> views(operands());
      SmallVector<Strides, kUsual> strides(operands());
      lay_out(views.data(), strides.data());
      bytes += kernel_.scratch_bytes(wide_);
    }
    return bytes;
  }

  void run() {
    const Views views(*this);
    kernel_.run(wide_);
    for (std::size_t i = 0; i < given_.out.size(); ++i) {
      const KernelView &from = wide_.out[i], &to = given_.out[i];
      if (is_half(to.dtype)) cast(from.data, DType::float32, to.data, to.dtype, to.numel());
    }
  }

  void measure(std::span<std::int64_t> sizes) {
    const Views views(*this);
    kernel_.measure(wide_, sizes);
  }

 private:
  std::size_t operands() const { return given_.in.size() + given_.out.size(); }

  // The views in scratch, with data.
  class Views {
   public:
    explicit Views(Wide& wide) : count_(wide.operands()) {
      std::byte* at = wide.given_.scratch;
      const auto take = [&at](std::size_t bytes) { return std::exchange(at, at + aligned(bytes)); };
      auto* const views = reinterpret_cast<KernelView*>(take(count_ * sizeof(KernelView)));
      strides_ = reinterpret_cast<Strides*>(take(count_ * sizeof(Strides)));
      std::uninitialized_default_construct_n(views, count_);
      std::uninitialized_default_construct_n(strides_, count_);
      wide.lay_out(views, strides_);
      for (std::size_t i = 0; i < wide.given_.in.size(); ++i) {
        const KernelView& from = wide.given_.in[i];
        if (!is_half(from.dtype)) continue;
        const Shape shape = distinct(from);
        const auto count = static_cast<std::size_t>(shape.numel());
        const std::byte* src = from.data;
        if (has_gaps(from)) {
          std::byte* const packed = take(count * size_of(from.dtype));
          copy_strided(packed, *views[i].strides, from.data, *from.strides, shape,
                       size_of(from.dtype));
          src = packed;
        }
        views[i].data = take(count * sizeof(float));
        cast(src, from.dtype, views[i].data, DType::float32, shape.numel());
      }
      for (std::size_t i = wide.given_.in.size(); i < count_; ++i) {
        const KernelView& to = wide.given_.out[i - wide.given_.in.size()];
        if (is_half(to.dtype)) views[i].data = take(views[i].nbytes());
      }
      wide.wide_.scratch = at;
    }
    ~Views() { std::destroy_n(strides_, count_); }
    Views(const Views&) = delete;
    Views& operator=(const Views&) = delete;

   private:
    std::size_t count_;
    Strides* strides_;
  };

  // Fills in `wide_`: each operand as it is, or as float32 without gaps and without data.
  void lay_out(KernelView* views, Strides* strides) {
    wide_ = given_;
    wide_.in = {views, given_.in.size()};
    wide_.out = {views + given_.in.size(), given_.out.size()};
    for (const auto& operands : {given_.in, given_.out}) {
      for (const KernelView& view : operands) {
        *views = view;
        if (is_half(view.dtype)) {
          *strides = has_gaps(view) ? closed_up(view) : *view.strides;
          *views = {nullptr, view.shape, strides, DType::float32};
        }
        ++views, ++strides;
      }
    }
  }

  const ops::Kernel& kernel_;
  const KernelArgs& given_;
  KernelArgs wide_;
};

template <std::uint16_t op>
void run_wide(const KernelArgs& args) noexcept {
  Wide(op, args).run();
}
template <std::uint16_t op>
std::size_t wide_scratch_bytes(const KernelArgs& args) noexcept {
  return Wide(op, args).scratch_bytes();
}
template <std::uint16_t op>
void measure_wide(const KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  Wide(op, args).measure(sizes);
}

constexpr auto kTrampolines = []<std::uint16_t... op>(std::integer_sequence<std::uint16_t, op...>) {
  return std::array<ops::Kernel, sizeof...(op)>{
      ops::Kernel{.run = &run_wide<op>,
                  .scratch_bytes = &wide_scratch_bytes<op>,
                  .measure = &measure_wide<op>,
                  .widens = true}...};
}(std::make_integer_sequence<std::uint16_t, ops::KernelTable::kMaxOps>());

}  // namespace

void install_halves(ops::KernelTable& table) {
  for (const ops::OpDef* op : ops::all_ops()) {
    const ops::Kernel& wide = table.find(op->index, DType::float32);
    if (wide.run == nullptr) continue;
    for (const DType half : {DType::float16, DType::bfloat16}) {
      if (table.find(op->index, half).run != nullptr) continue;
      ops::Kernel kernel = kTrampolines[op->index];
      if (wide.measure == nullptr) kernel.measure = nullptr;
      table.install(op->index, half, kernel);
    }
  }
}

}  // namespace tenure::cpu
