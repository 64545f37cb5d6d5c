// What handles (layers, datasets, readers) hold their objects by. A handle that was moved from, or
// made without an object, holds none: any use of it but dropping it or putting another into it is a
// ValueError that says so.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <source_location>
#include <string_view>
#include <utility>

#include "tenure/export.h"

namespace tenure::detail {

[[noreturn]] TENURE_API void raise_empty_handle(const char* name);

// The name of a handle's class, as an argument of a template.
template <std::size_t n>
struct HandleName {
  constexpr HandleName(const char (&literal)[n]) {
    for (std::size_t i = 0; i < n; ++i) text[i] = literal[i];
  }
  char text[n];
};

// A name in brackets, and the line that it stands on.
struct NameAt {
  template <std::convertible_to<std::string_view> Name>
  NameAt(const Name& text, std::source_location where = std::source_location::current())
      : name(text), site(where) {}
  std::string_view name;
  std::source_location site;
};

// A std::shared_ptr or std::unique_ptr that is not followed when it is null.
template <class Pointer, HandleName name>
class Held {
 public:
  Held() = default;
  Held(Pointer pointer) : pointer_(std::move(pointer)) {}
  auto& operator*() const { return *checked(); }
  auto* operator->() const { return checked().get(); }
  const Pointer& pointer() const { return pointer_; }  // may be null
  bool operator==(const Held& other) const = default;

 private:
  const Pointer& checked() const {
    if (pointer_ == nullptr) [[unlikely]]
      raise_empty_handle(name.text);
    return pointer_;
  }
  Pointer pointer_;
};

enum class NoOptions : char {};  // what {} is read as before it is read as options, or as a handle

}  // namespace tenure::detail

// In a handle that is made of options which may be left out: Name({}) is Name(). Otherwise it could
// as well be a copy of Name(), and would not compile.
#define TENURE_EMPTY_OPTIONS(Name, Options)                                  \
  explicit Name(tenure::detail::NoOptions,                                   \
                std::source_location site = std::source_location::current()) \
      : Name(Options(), site) {}
