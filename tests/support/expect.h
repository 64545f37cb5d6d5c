// What tests ask again and again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <source_location>
#include <string>
#include <vector>

#include "memory/header.h"
#include "memory/storage.h"
#include "tensor/access.h"
#include "tenure/tenure.h"

namespace tenure::testing {

using Floats = std::vector<float>;

inline Floats floats(const Tensor& x) { return x.to_vector<float>(); }

// Where a tensor's bytes lie; nullptr once they are gone.
inline const std::byte* bytes_of(const Tensor& x) {
  const detail::Header* header = detail::Access::header(x);
  return header != nullptr && header->storage != nullptr ? header->storage->data : nullptr;
}

// The line a call stands on: `const int line = here().line(); f(x);` on one line.
inline std::source_location here(std::source_location at = std::source_location::current()) {
  return at;
}

// Runs fn, which must throw an E, and returns its text.
template <class E, class F>
std::string whole_message_of(F&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// The same without what an operation that refuses its inputs tells of where they came from.
template <class E, class F>
std::string message_of(F&& fn) {
  std::string text = whole_message_of<E>(fn);
  for (const char* begin : {"\n\n  input 0 ", "\n\n  used "}) {
    const std::size_t at = text.find(begin);
    if (at != text.npos) text.erase(at, text.find("\n\n", at + 1) - at);
  }
  return text;
}

#define EXPECT_HAS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "in: " << (text)

}  // namespace tenure::testing
