// The library's way into the public handles.
#pragma once

#include <memory>
#include <utility>

#include "memory/header.h"
#include "tenure/gradient.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::detail {

struct Access {
  static Header* header(const Tensor& tensor) { return tensor.header_; }
  static Tensor adopt(Header* header) {  // takes over one handle
    Tensor tensor;
    tensor.header_ = header;
    return tensor;
  }
  // Leaves the handle empty; its count stays.
  static void forget(Tensor& tensor) { tensor.header_ = nullptr; }
  static const std::shared_ptr<VariableState>& state(const Variable& v) { return v.state_; }
  static Variable variable(std::shared_ptr<VariableState> state) {
    return Variable(std::move(state));
  }
  static const Tensor& tensor(const Source& source) { return source.tensor_; }
  static VariableState* variable(const Source& source) { return source.variable_.get(); }
};

// An owned saved value.
class Saved {
 public:
  Saved() = default;
  explicit Saved(Header* owned) : header_(owned) {}
  Saved(Saved&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Saved& operator=(Saved&& other) noexcept {
    Saved taken(std::move(other));
    std::swap(header_, taken.header_);
    return *this;
  }
  ~Saved() {
    if (header_ != nullptr) detail::release(header_);
  }
  Header* get() const { return header_; }
  Header* give() noexcept { return std::exchange(header_, nullptr); }
  explicit operator bool() const { return header_ != nullptr; }

 private:
  Header* header_ = nullptr;
};

// The header of a handle that must not be empty.
[[noreturn]] void raise_empty(std::string_view op, int input, std::source_location site);
inline Header& checked(const Tensor& tensor, const char* op, int input = -1,
                       std::source_location site = {}) {
  Header* header = Access::header(tensor);
  if (header == nullptr) [[unlikely]]
    raise_empty(op, input, site);
  return *header;
}

// A pin on a tensor that must be alive and of the current session, for as long as it is in scope.
class Pin {
 public:
  // `own_handles` as in Use.
  Pin(const Tensor& tensor, const char* op, std::source_location site,
      std::uint32_t own_handles = 0);
  ~Pin() { unpin(header_); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  Header& operator*() const { return header_; }
  Header* operator->() const { return &header_; }

 private:
  Header& header_;
};

// A tensor over a saved value's bytes, with its value identity; it joins no scope and no count of
// the saved value is taken.
Tensor materialise(const Header& saved, const char* op, std::source_location site);

}  // namespace tenure::detail
