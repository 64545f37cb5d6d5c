// Traced functions: a C++ callable recorded once per signature, its memory planned, then replayed.
//
//   tenure::Function step = tenure::function("step", [&](tenure::Tensor a) {
//     return tenure::tanh(tenure::matmul(a, w));
//   });
//   tenure::Tensor y = step(a);   // the first call with a's shape and dtype traces, later ones
//   replay
//
// Arguments and results are tensors, or whatever tidy accepts. Numbers, enums and strings among the
// arguments are part of the signature: each value has its own trace. While tracing, tensors are
// symbolic: they have a shape and a dtype, and no values.
//
//   step.input({tenure::dyn, 32});   // one trace for batches of any size
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/scope.h"
#include "tenure/tensor.h"

namespace tenure {

struct FunctionOptions {
  std::size_t most_traces = 64;                   // kept; the least recently used goes first
  std::size_t most_bytes = std::size_t{1} << 30;  // of constants and captures they hold
  bool check_escapes = false;  // report symbolic tensors that outlive their trace (or set
                               // TENURE_CHECK_ESCAPES=1)
};

class Dim;

// A free dimension, see Function::input.
struct Dyn {
  Dim operator()(std::string_view name) const;  // dyn("rows"): another than dyn, or dyn("columns")
};
inline constexpr Dyn dyn;

// A dimension of a function's argument: a size, or free.
class Dim {
 public:
  template <std::integral I>
  Dim(I size) : size_(static_cast<std::int64_t>(size)) {}
  Dim(Dyn) : free_(true) {}
  bool is_free() const { return free_; }
  std::int64_t size() const { return size_; }
  const std::string& name() const { return name_; }

 private:
  friend struct Dyn;
  std::int64_t size_ = 0;
  bool free_ = false;
  std::string name_;
};

inline Dim Dyn::operator()(std::string_view name) const {
  Dim dim(*this);
  dim.name_ = name;
  return dim;
}

// A trace in a function's cache.
struct TraceInfo {
  std::string signature;        // float32 [32, 4], 7
  std::size_t nodes = 0;        // operations as written
  std::size_t steps = 0;        // kernel calls per run
  std::size_t arena_bytes = 0;  // that a call needs for what is neither argument nor result
  std::size_t bound_bytes = 0;  // the most of them alive at once: no plan needs less
  std::size_t held_bytes = 0;   // constants
  std::uint64_t hits = 0;
  bool shared = false;  // made of a trace that serves other sizes too
};

// An eager tensor that a function uses and holds on to.
struct CaptureInfo {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  std::size_t nbytes = 0;
  std::source_location born;
};

namespace detail {

// What tells one trace of a function from another: shapes and dtypes, and plain values.
class Key {
 public:
  void add(std::int64_t word) { words_.push_back(word); }
  TENURE_API void add(const Tensor& tensor);
  TENURE_API void add(std::string_view text);
  void clear() { words_.clear(); }
  const std::vector<std::int64_t>& words() const { return words_; }

 private:
  std::vector<std::int64_t> words_;
};

template <class T>
void add_plain(Key& key, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto wide = static_cast<double>(value);
    std::int64_t bits;
    static_assert(sizeof bits == sizeof wide);
    __builtin_memcpy(&bits, &wide, sizeof bits);
    key.add(bits);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    key.add(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    key.add(std::string_view(value));
  }
}

struct FunctionState;
struct TraceEntry;

// The part of a Function that does not depend on its types.
class TENURE_API FunctionCore {
 public:
  FunctionCore(std::string_view name, FunctionOptions options, std::source_location site);

  // Traces: given symbolic arguments, calls the user's function, and gives the tensors in its
  // result and (as `shape`) the result with empty handles.
  using Tracing = std::function<std::vector<Tensor>(std::vector<Tensor>, std::shared_ptr<void>&)>;
  // One call: `in` are the arguments' tensors, `out` becomes the result's. Returns the result's
  // shape.
  std::shared_ptr<void> call(const Key& key, const std::vector<Tensor>& in,
                             std::vector<Tensor>& out, const Tracing& trace,
                             std::source_location site) const;

  void input(int argument, std::vector<Dim> dims);  // -1: the next

  std::string name() const;
  std::vector<TraceInfo> traces() const;
  std::vector<CaptureInfo> captures() const;
  std::string dump() const;
  std::string dot() const;

 private:
  std::shared_ptr<FunctionState> state_;
};

}  // namespace detail

template <class Signature>
class Function;

// A copyable handle; copies share the traces.
template <class R, class... A>
class Function<R(A...)> {
 public:
  Function(std::string_view name, std::function<R(A...)> fn, FunctionOptions options = {},
           std::source_location site = std::source_location::current())
      : core_(name, options, site), fn_(std::make_shared<std::function<R(A...)>>(std::move(fn))) {}

  R operator()(std::type_identity_t<A>... args,
               std::source_location site = std::source_location::current()) const {
    using Arguments = std::tuple<std::remove_cvref_t<A>...>;
    Arguments arguments(std::move(args)...);
    detail::Key key;
    std::vector<Tensor> in, out;
    detail::walk(arguments, [&](Tensor& tensor) {
      key.add(tensor);
      in.push_back(tensor);
    });
    std::apply([&](const auto&... each) { (detail::add_plain(key, each), ...); }, arguments);
    const auto trace = [&](std::vector<Tensor> symbols, std::shared_ptr<void>& shape) {
      Arguments symbolic = arguments;
      std::size_t next = 0;
      detail::walk(symbolic, [&](Tensor& tensor) { tensor = std::move(symbols[next++]); });
      std::vector<Tensor> results;
      if constexpr (std::is_void_v<R>) {
        std::apply(*fn_, std::move(symbolic));
      } else {
        auto result = std::make_shared<R>(std::apply(*fn_, std::move(symbolic)));
        detail::walk(*result, [&](Tensor& tensor) { results.push_back(std::move(tensor)); });
        shape = std::move(result);
      }
      return results;
    };
    const std::shared_ptr<void> shape = core_.call(key, in, out, trace, site);
    if constexpr (!std::is_void_v<R>) {
      R result = *static_cast<const R*>(shape.get());
      std::size_t next = 0;
      detail::walk(result, [&](Tensor& tensor) { tensor = std::move(out[next++]); });
      return result;
    }
  }

  // Says what a tensor argument is like, in order or by position (tensors in containers count one
  // by one). A trace serves every size of a free dimension; dimensions of one name are of one size,
  // and so are all plain dyn. Reading such a size in the function is an InaccessibleTensorError, a
  // function that does other things at other sizes an UnsupportedError. To be said before the first
  // call.
  Function& input(std::vector<Dim> dims) { return input(-1, std::move(dims)); }
  Function& input(int argument, std::vector<Dim> dims) {
    core_.input(argument, std::move(dims));
    return *this;
  }

  std::string name() const { return core_.name(); }
  std::vector<TraceInfo> traces() const { return core_.traces(); }
  std::vector<CaptureInfo> captures() const { return core_.captures(); }  // of all traces
  std::string dump() const { return core_.dump(); }                       // the graphs, readable
  std::string dot() const { return core_.dot(); }  // the graphs, for Graphviz

 private:
  detail::FunctionCore core_;
  std::shared_ptr<std::function<R(A...)>> fn_;
};

namespace detail {
template <class F>
struct SignatureOf;
template <class S>
struct SignatureOf<std::function<S>> {
  using Type = S;
};
}  // namespace detail

template <class F>
auto function(std::string_view name, F fn, FunctionOptions options = {},
              std::source_location site = std::source_location::current()) {
  using Signature = typename detail::SignatureOf<decltype(std::function(fn))>::Type;
  return Function<Signature>(name, std::move(fn), options, site);
}

template <class R, class... A>
Function(const Function<R(A...)>&) -> Function<R(A...)>;

}  // namespace tenure
