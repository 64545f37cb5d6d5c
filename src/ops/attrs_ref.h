// A type-erased look at an attribute struct, and a box that owns a copy of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::ops {

// Sees the numbers among a struct's fields one by one, and may change them.
class NumberVisitor {
 public:
  virtual ~NumberVisitor() = default;
  virtual void integer(std::int64_t& value) = 0;
  virtual void real(double& value) = 0;
};

// What can be done with attributes without knowing their struct. `attrs_type<A>()` in attrs.h makes
// one from A's field list.
struct AttrsType {
  void* (*copy)(const void* value);
  void (*destroy)(void* value) noexcept;
  bool (*equal)(const void* a, const void* b);
  std::string (*print)(const void* value);                       // axes=[0], keep_dims=true
  void (*numbers)(void* value, NumberVisitor& visit) = nullptr;  // in the order of the fields
};

class AttrsRef {
 public:
  AttrsRef() = default;
  AttrsRef(const void* data, const AttrsType* type) : data_(data), type_(type) {}
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(data_);
  }
  const void* data() const { return data_; }
  const AttrsType* type() const { return type_; }
  std::string print() const { return data_ != nullptr ? type_->print(data_) : std::string(); }

 private:
  const void* data_ = nullptr;
  const AttrsType* type_ = nullptr;
};

struct AttrsDeleter {
  const AttrsType* type = nullptr;
  void operator()(void* value) const noexcept { type->destroy(value); }
};

class AttrsBox {
 public:
  AttrsBox() = default;
  explicit AttrsBox(AttrsRef ref)
      : value_(ref.data() != nullptr ? ref.type()->copy(ref.data()) : nullptr,
               AttrsDeleter{ref.type()}) {}
  AttrsBox(const AttrsBox& other) : AttrsBox(other.ref()) {}
  AttrsBox(AttrsBox&&) noexcept = default;
  AttrsBox& operator=(AttrsBox other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~AttrsBox() = default;
  AttrsRef ref() const { return {value_.get(), value_.get_deleter().type}; }
  void* data() { return value_.get(); }

 private:
  std::unique_ptr<void, AttrsDeleter> value_;
};

}  // namespace tenure::ops
