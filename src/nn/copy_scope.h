// Functions of the user's own in settings that are copied: no file can have them, a copy made in
// this process can.
#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "memory/context.h"
#include "tenure/nn/core_layers.h"

namespace tenure::nn::detail {

using Kept = std::variant<ActivationFn, Initializer, Regularizer, Constraint, LambdaFn>;
template <class P>
inline constexpr bool kIsKept = std::is_same_v<P, Initializer> || std::is_same_v<P, Regularizer> ||
                                std::is_same_v<P, Constraint>;

// While it lasts, settings that are written on this thread may have them: as numbers by which those
// that are read find them.
class CopyScope {
 public:
  CopyScope() : innermost_(innermost(), this) {}

  static CopyScope* current() { return innermost(); }

  template <class P>
  std::size_t keep(const P& part) {
    parts_.emplace_back(part);
    return parts_.size() - 1;
  }
  // Null where that number is of no such part.
  template <class P>
  const P* kept(std::size_t number) const {
    return number < parts_.size() ? std::get_if<P>(&parts_[number]) : nullptr;
  }

 private:
  static CopyScope*& innermost() {
    thread_local CopyScope* scope = nullptr;
    return scope;
  }

  std::vector<Kept> parts_;
  tenure::detail::Meanwhile<CopyScope*> innermost_;
};

}  // namespace tenure::nn::detail
