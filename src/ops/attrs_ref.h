// A type-erased look at an attribute struct, and a box that owns a copy of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tenure/dtype.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"

namespace tenure::ops {

// Sees a struct's fields one by one, in the order of its list, and may change them.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void integer(std::string_view name, std::int64_t& value) = 0;
  virtual void real(std::string_view name, double& value) = 0;
  virtual void flag(std::string_view name, bool& value) = 0;
  virtual void dtype(std::string_view name, DType& value) = 0;
  virtual void number(std::string_view name, Scalar& value) = 0;
  virtual void integers(std::string_view name, Shape& values) = 0;
  // One of an enumeration, by its place among the names.
  virtual void choice(std::string_view name, std::size_t& value,
                      std::span<const char* const> names) = 0;
};

// What can be done with attributes without knowing their struct: `kAttrs<A>` in attrs.h. Those that
// have more than the fields a visitor knows have no `visit`, and nobody but the library makes them.
struct AttrsType {
  void* (*make)() = nullptr;  // with every field at its default
  void* (*copy)(const void* value);
  void (*destroy)(void* value) noexcept;
  bool (*equal)(const void* a, const void* b);
  std::string (*print)(const void* value);  // axes=[0], keep_dims=true
  void (*visit)(void* value, FieldVisitor& visitor) = nullptr;
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
  explicit AttrsBox(const AttrsType& type) : value_(type.make(), AttrsDeleter{&type}) {}
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
