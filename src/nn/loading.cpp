#include "nn/loading.h"

#include <utility>

#include "core/raise.h"

namespace tenure::nn::detail {

namespace {

thread_local LoadScope* t_current = nullptr;

void take(const char* what, std::string_view name, const Shape& shape, DType dtype,
          std::uint64_t& left) {
  std::uint64_t bytes = size_of(dtype);
  bool fits = true;
  for (const std::int64_t size : shape) {
    fits = fits && size >= 0 &&
           !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  if (!fits || bytes > left) {
    raise<ValueError>("{} \"{}\" would have shape {}: the file has {} bytes left for it", what,
                      name, shape, left);
  }
  left -= bytes;
}

}  // namespace

LoadScope::LoadScope(std::uint64_t weight_bytes, std::uint64_t state_bytes)
    : current_(t_current, this), weight_bytes_(weight_bytes), state_bytes_(state_bytes) {}

LoadScope* LoadScope::current() { return t_current; }

void LoadScope::take_weight(std::string_view name, const Shape& shape, DType dtype) {
  take("weight", name, shape, dtype, weight_bytes_);
}

void LoadScope::take_state(std::string_view name, const Shape& shape, DType dtype) {
  take("state", name, shape, dtype, state_bytes_);
}

}  // namespace tenure::nn::detail
