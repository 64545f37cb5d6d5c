// Every error Tenure throws. An error is data: what was called, what is wrong with it, the lines
// that tell how it came to be, what to do about it. what() puts that into words: `op: problem:
// values`, the lines, the remedy. Errors hold records, never tensors.
//
//   try { tenure::add(a, b); }
//   catch (const tenure::ShapeError& e) { std::cerr << e.what(); retry_with(e.shapes()); }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/story.h"

namespace tenure {

// One line of what an error tells: what happened, where, what did it, and more of it.
struct ErrorLine {
  std::string label;  // "born", "used", "layer", ...
  std::string place;  // "rnn.cpp:41"
  std::string what = {};
  std::string rest = {};
};

// A number that an error names: axis 2, index 7.
struct ErrorValue {
  std::string name;  // the word before it in the problem; may be empty
  std::int64_t value = 0;
};

namespace detail {
struct ErrorRecord;
struct ErrorState;
}  // namespace detail

class TENURE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& problem);
  explicit Error(detail::ErrorRecord&& record);
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  ~Error() override;

  const char* what() const noexcept override;
  std::string summary() const;  // "op: problem", the first line of what()

  const std::string& op() const;                    // "matmul"
  const std::string& problem() const;               // "inner dimensions differ: [2, 3] x [4, 5]"
  const std::vector<ErrorLine>& lines() const;      // in order; the line of use last
  const std::vector<std::string>& details() const;  // paragraphs between the lines and the remedy
  const std::string& remedy() const;                // may be empty

  // What the problem names, in its order.
  const std::vector<Shape>& shapes() const;
  const std::vector<DType>& dtypes() const;
  const std::vector<Device>& devices() const;
  const std::vector<ErrorValue>& values() const;

  // Whoever an error passes on its way tells of itself and throws it on:
  //   catch (tenure::Error& e) { e.add({"model", "train.cpp:12", "scorer"}); throw; }
  // Copies that were made before do not change. Without memory for it, the error stays as it is.
  void add(ErrorLine line) noexcept;                 // before the line of use
  void within(std::string_view thing) noexcept;      // "thing: op: problem"
  void advise(std::string_view paragraph) noexcept;  // after the remedy

 private:
  friend struct detail::ErrorState;
  std::shared_ptr<const detail::ErrorState> state_;
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
  using Error::Error;
  TapeError(detail::ErrorRecord&& record, std::source_location first_use);
  std::source_location first_use() const { return first_use_; }  // line 0 when there was none

 private:
  std::source_location first_use_;
};

// A tensor was used that cannot be: `story()` is its life, `used_at()` the line that used it.
class TENURE_API LifetimeError : public Error {
 public:
  LifetimeError(detail::ErrorRecord&& record, Story story, std::source_location used_at);
  const Story& story() const { return *story_; }
  std::source_location used_at() const { return used_at_; }

 private:
  std::shared_ptr<const Story> story_;
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
  OutOfMemoryError(detail::ErrorRecord&& record, std::size_t requested, std::size_t budget,
                   std::vector<Story> largest);
  std::size_t requested() const { return requested_; }
  std::size_t budget() const { return budget_; }                   // 0: no budget was set
  const std::vector<Story>& largest() const { return *largest_; }  // live tensors, largest first

 private:
  std::size_t requested_;
  std::size_t budget_;
  std::shared_ptr<const std::vector<Story>> largest_;
};

}  // namespace tenure
