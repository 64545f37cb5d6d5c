// A value that changes. No scope disposes it, and tapes watch it by themselves.
//
//   tenure::Variable w(tenure::random::normal({4, 4}), {.name = "w"});
//   w.assign(w - 0.1 * grad);
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include "tenure/category.h"
#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

namespace detail {
struct VariableState;
}

struct VariableOptions {
  std::string name = {};
  bool trainable = true;                // watched by tapes
  Category kind = Category::parameter;  // which memory() counts its bytes as
};

// A copyable handle; copies stand for the same variable.
class TENURE_API Variable {
 public:
  Variable() = default;  // an empty handle: any use but defined() is a ValueError
  explicit Variable(Tensor value, VariableOptions options = {},
                    std::source_location site = std::source_location::current());

  // A new tensor with the current value, which a later assign does not change.
  Tensor read(std::source_location site = std::source_location::current()) const;
  // Shape and dtype stay. Overwrites the old bytes when nobody else uses them.
  void assign(Arg value);

  bool defined() const { return state_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  std::string name() const;
  bool trainable() const;
  std::uint64_t id() const;  // gradients of all its reads go to this
  void dispose(std::source_location site = std::source_location::current());
  bool is_disposed() const;

 private:
  friend struct detail::Access;
  explicit Variable(std::shared_ptr<detail::VariableState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::VariableState> state_;
};

}  // namespace tenure
