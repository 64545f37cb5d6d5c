// Logic of booleans and of the bits of integers.
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/logical.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

struct And {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

// Bytes of booleans are 0 or 1.
struct Not {
  static HWY_INLINE std::uint8_t of(std::uint8_t x) { return x ^ 1; }
};

template <class Op, class T>
constexpr ops::KernelRow row(std::string_view op, DType dtype = dtype_of<T>) {
  return elementwise_row<PairLoop<Op, T, T>>(op, dtype);
}

constexpr ops::KernelRow kRows[] = {
    row<And, std::uint8_t>("logical_and", DType::boolean),
    row<Or, std::uint8_t>("logical_or", DType::boolean),
    row<Xor, std::uint8_t>("logical_xor", DType::boolean),
    elementwise_row<PlainLoop<Not, std::uint8_t, std::uint8_t>>("logical_not", DType::boolean),
    row<And, std::int32_t>("bitwise_and"),
    row<And, std::int64_t>("bitwise_and"),
    row<And, std::uint8_t>("bitwise_and"),
    row<And, std::int8_t>("bitwise_and"),
    row<Or, std::int32_t>("bitwise_or"),
    row<Or, std::int64_t>("bitwise_or"),
    row<Or, std::uint8_t>("bitwise_or"),
    row<Or, std::int8_t>("bitwise_or"),
    row<Xor, std::int32_t>("bitwise_xor"),
    row<Xor, std::int64_t>("bitwise_xor"),
    row<Xor, std::uint8_t>("bitwise_xor"),
    row<Xor, std::int8_t>("bitwise_xor"),
};

std::span<const ops::KernelRow> logical_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(logical_rows);

std::span<const ops::KernelRow> logical_kernels() { return HWY_DYNAMIC_DISPATCH(logical_rows)(); }

}  // namespace tenure::cpu
#endif
