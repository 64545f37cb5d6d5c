// The tensor handle. Copying it gives another handle to the same tensor; tensors never change.
//
//   tenure::Tensor x = tenure::tensor({1.f, -2.f, 3.f});
//   tenure::Tensor y = tenure::tanh(x);
//   x.dispose();                       // y is untouched
//   float first = y[0].item<float>();
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/device.h"
#include "tenure/dtype.h"
#include "tenure/export.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"
#include "tenure/story.h"

// The line that asks for a size. The library's own code, which works with the numbers that stand
// for free sizes (see function.h), gives none; headers, which the user's program compiles, say so.
#if defined(TENURE_BUILDING)
#define TENURE_SIZE_SITE std::source_location()
#else
#define TENURE_SIZE_SITE std::source_location::current()
#endif

namespace tenure {

template <class T>
class Job;
template <class T>
class Task;
class Tensor;
class Variable;

namespace detail {
template <class T>
inline constexpr bool kIsTask = false;
template <class T>
inline constexpr bool kIsTask<Task<T>> = true;
struct Access;
struct Header;
TENURE_API void retain_handle(Header* header) noexcept;
TENURE_API void release_handle(Header* header) noexcept;
[[noreturn]] TENURE_API void raise_no_host_memory(std::size_t bytes, const char* op,
                                                  std::source_location site);

// A vector for elements on the host; more than it has is an OutOfMemoryError.
template <class T>
std::vector<T> host_vector(std::size_t size, const char* op, std::source_location site) {
  try {
    return std::vector<T>(size);
  } catch (const std::exception&) {
    raise_no_host_memory(size * sizeof(T), op, site);
  }
}
}  // namespace detail

// An index that remembers the line it was written on.
struct Index {
  template <std::integral I>
  Index(I index, std::source_location where = std::source_location::current())
      : value(static_cast<std::int64_t>(index)), site(where) {}
  std::int64_t value;
  std::source_location site;
};

// A tensor's elements as a span that keeps them alive, whatever becomes of the tensor.
template <class T>
class TensorSpan {
 public:
  TensorSpan(TensorSpan&& other) noexcept
      : held_(std::exchange(other.held_, nullptr)), span_(std::exchange(other.span_, {})) {}
  TensorSpan& operator=(TensorSpan&& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(span_, other.span_);
    return *this;
  }
  ~TensorSpan() {
    if (held_ != nullptr) detail::release_handle(held_);
  }
  operator std::span<const T>() const { return span_; }
  const T* data() const { return span_.data(); }
  std::size_t size() const { return span_.size(); }
  const T& operator[](std::size_t i) const { return span_[i]; }
  auto begin() const { return span_.begin(); }
  auto end() const { return span_.end(); }

 private:
  friend class Tensor;
  TensorSpan(detail::Header* held, std::span<const T> span) : held_(held), span_(span) {}
  detail::Header* held_;
  std::span<const T> span_;
};

class TENURE_API Tensor {
 public:
  Tensor() = default;  // an empty handle: any use but dispose() is a ValueError
  Tensor(const Tensor& other) noexcept : header_(other.header_) {
    if (header_ != nullptr) detail::retain_handle(header_);
  }
  Tensor(Tensor&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Tensor& operator=(const Tensor& other) noexcept {
    Tensor copy(other);
    std::swap(header_, copy.header_);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor taken(std::move(other));
    std::swap(header_, taken.header_);
    return *this;
  }
  ~Tensor() {
    if (header_ != nullptr) detail::release_handle(header_);
  }

  // What stays readable after dispose(). Sizes that are free (see function.h) cannot be read.
  bool defined() const { return header_ != nullptr; }  // false for an empty handle
  std::uint64_t id() const;
  const Shape& shape(std::source_location site = TENURE_SIZE_SITE) const;
  // Negative axes count from the end.
  std::int64_t dim(int axis, std::source_location site = TENURE_SIZE_SITE) const;
  int rank() const;
  std::int64_t numel(std::source_location site = TENURE_SIZE_SITE) const;
  std::size_t nbytes(std::source_location site = TENURE_SIZE_SITE) const;
  DType dtype() const;
  Device device() const;
  std::string name() const;
  bool is_disposed() const;
  Story story() const;

  Tensor& set_name(std::string_view name);
  // Ends the tensor. Others, computed from it or sharing its bytes, live on.
  void dispose(std::source_location site = std::source_location::current());
  // A new tensor over the same bytes; nothing is copied.
  Tensor clone(std::source_location site = std::source_location::current()) const;

  Tensor operator[](Index index) const;  // along axis 0; negative counts from the end

  // Host reads. T is the dtype's C++ type.
  template <class T>
  std::vector<T> to_vector(std::source_location site = std::source_location::current()) const {
    // An empty handle is refused below, by its name here.
    const auto size =
        static_cast<std::size_t>(defined() ? numel(std::source_location()) : std::int64_t{0});
    std::vector<T> values = detail::host_vector<T>(size, "to_vector", site);
    if constexpr (std::same_as<T, bool>) {
      const TensorSpan<T> elements = span<T>("to_vector", site);
      values.assign(elements.begin(), elements.end());
    } else {
      read(values.data(), dtype_of<T>, "to_vector", site);
    }
    return values;
  }
  template <class T>
  T item(std::source_location site = std::source_location::current()) const {
    T value;
    read_item(&value, dtype_of<T>, site);
    return value;
  }
  // Row-major elements, pinned: no copy where the tensor is contiguous.
  template <class T>
  TensorSpan<T> view(std::source_location site = std::source_location::current()) const {
    return span<T>("view", site);
  }
  // The values, read in the background; the tensor may be disposed meanwhile. Needs tenure/job.h.
  template <class T>
  Job<std::vector<T>> read_async(std::source_location site = std::source_location::current()) const;

 private:
  friend struct detail::Access;
  struct Held {
    detail::Header* header;
    const void* data;
    std::size_t size;
  };
  void read(void* to, DType dtype, const char* op, std::source_location site) const;
  void read_item(void* to, DType dtype, std::source_location site) const;
  Held hold(DType dtype, const char* op, std::source_location site) const;
  template <class T>
  TensorSpan<T> span(const char* op, std::source_location site) const {
    const auto [held, data, size] = hold(dtype_of<T>, op, site);
    return {held, std::span<const T>(static_cast<const T*>(data), size)};
  }

  detail::Header* header_ = nullptr;
};

// What an operation takes: a tensor (moved in, it may be overwritten), a variable, or a number that
// takes the other operand's dtype; and the line it was written on. A tensor that is not moved in is
// not copied either: its handle has to stay where it is until the operation is done.
class TENURE_API Arg {
 public:
  Arg(const Tensor& tensor, std::source_location site = std::source_location::current())
      : site_(site), borrowed_(&tensor) {}
  Arg(Tensor&& tensor, std::source_location site = std::source_location::current())
      : site_(site), tensor_(std::move(tensor)) {}
  Arg(const Variable& variable, std::source_location site = std::source_location::current());
  template <class N>
    requires std::is_arithmetic_v<N>
  Arg(N number, std::source_location site = std::source_location::current())
      : site_(site), scalar_(number) {}

  std::source_location site() const { return site_; }
  const std::optional<Scalar>& scalar() const { return scalar_; }
  const Tensor& tensor() const& { return borrowed_ != nullptr ? *borrowed_ : tensor_; }
  Tensor tensor() && {
    if (borrowed_ != nullptr) return *borrowed_;
    return std::move(tensor_);
  }
  bool is_borrowed() const { return borrowed_ != nullptr; }

 protected:
  void keep() {
    if (borrowed_ != nullptr) tensor_ = *std::exchange(borrowed_, nullptr);
  }

 private:
  std::source_location site_;
  std::optional<Scalar> scalar_;
  const Tensor* borrowed_ = nullptr;
  Tensor tensor_;
};

// An Arg that options keep: it holds a tensor's handle itself.
class TENURE_API KeptArg : public Arg {
 public:
  template <class T>
    requires(std::is_constructible_v<Arg, T, std::source_location>)
  KeptArg(T&& value, std::source_location site = std::source_location::current())
      : Arg(std::forward<T>(value), site) {
    keep();
  }
  KeptArg(Arg arg) : Arg(std::move(arg)) { keep(); }
};

// Values like NumPy's, summarised when large. A disposed tensor prints its story.
TENURE_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
TENURE_API std::string to_string(const Tensor& tensor);

}  // namespace tenure
