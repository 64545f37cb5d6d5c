// Every error Tenure throws. Messages read `op: problem: values`; an error about a tensor's life
// also tells the life. Errors hold records, never tensors.
//
//   try { tenure::add(a, b); }
//   catch (const tenure::DisposedError& e) { std::cerr << e.what(); }
#pragma once

#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenure/story.h"

namespace tenure {

class TENURE_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class TENURE_API ShapeError : public Error {
 public:
  using Error::Error;
};

class TENURE_API DtypeError : public Error {
 public:
  using Error::Error;
};

class TENURE_API ValueError : public Error {
 public:
  using Error::Error;
};

class TENURE_API UnsupportedError : public Error {
 public:
  using Error::Error;
};

class TENURE_API IoError : public Error {
 public:
  using Error::Error;
};

class TENURE_API BusyError : public Error {
 public:
  using Error::Error;
};

// A tidy ended while one opened after it was still open, or on a thread that did not open it.
class TENURE_API ScopeError : public Error {
 public:
  using Error::Error;
};

// What a task that was cancelled sees where it awaits, and whoever waits for it.
class TENURE_API CancelledError : public Error {
 public:
  using Error::Error;
};

class TENURE_API TapeError : public Error {
 public:
  explicit TapeError(const std::string& message, std::source_location first_use = {})
      : Error(message), first_use_(first_use) {}
  std::source_location first_use() const { return first_use_; }  // line 0 when there was none

 private:
  std::source_location first_use_;
};

// A tensor was used that cannot be: `story()` is its life, `used_at()` the line that used it.
class TENURE_API LifetimeError : public Error {
 public:
  LifetimeError(const std::string& text, Story story, std::source_location used_at)
      : Error(text), story_(std::move(story)), used_at_(used_at) {}
  const Story& story() const { return story_; }
  std::source_location used_at() const { return used_at_; }

 private:
  Story story_;
  std::source_location used_at_;
};

class TENURE_API DisposedError : public LifetimeError {
 public:
  using LifetimeError::LifetimeError;
};

class TENURE_API InaccessibleTensorError : public LifetimeError {
 public:
  using LifetimeError::LifetimeError;
};

class TENURE_API OutOfMemoryError : public Error {
 public:
  OutOfMemoryError(const std::string& text, std::size_t requested, std::size_t budget,
                   std::vector<Story> largest)
      : Error(text), requested_(requested), budget_(budget), largest_(std::move(largest)) {}
  std::size_t requested() const { return requested_; }
  std::size_t budget() const { return budget_; }                  // 0: no budget was set
  const std::vector<Story>& largest() const { return largest_; }  // live tensors, largest first

 private:
  std::size_t requested_;
  std::size_t budget_;
  std::vector<Story> largest_;
};

}  // namespace tenure
