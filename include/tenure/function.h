// Traced functions: a C++ callable recorded once per signature, its memory planned, then replayed.
//
//   tenure::Function step = tenure::function("step", [&](tenure::Tensor a) {
//     return tenure::tanh(tenure::matmul(a, w));
//   });
//   tenure::Tensor y = step(a);   // the first call with a's shape and dtype traces
//   y = step(tenure::donate(y));  // y's bytes are given away: the result may take them
//
// Arguments and results are tensors, or whatever tidy accepts. Other arguments (numbers, enums,
// strings, containers of them, anything with std::hash and ==) are part of the signature: each
// value has its own trace. While tracing, tensors are symbolic: they have a shape and a dtype, and
// no values. A struct's walk_tensors should visit its plain members too: only what it visits is
// part of the signature.
//
//   step.input({tenure::dyn, 32});   // one trace for batches of any size
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/scope.h"
#include "tenure/signature.h"
#include "tenure/tensor.h"

namespace tenure {

struct FunctionOptions {
  std::size_t most_traces = 64;                   // kept; the least recently used goes first
  std::size_t most_bytes = std::size_t{1} << 30;  // of the constants and captures they hold
  bool check_escapes = false;  // report symbolic tensors that outlive their trace (or set
                               // TENURE_CHECK_ESCAPES=1)
  bool checkpoint = false;     // see checkpoint()
  std::string advice = {};     // to who calls it with too many sizes, in place of the usual one
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
  std::size_t held_bytes = 0;   // constants and captures
  std::size_t stack_bytes = 0;  // the most that a call kept of a while_loop's states for a gradient
  std::uint64_t hits = 0;
  double plan_us = 0;   // microseconds that it took to place the bytes of the arena
  bool shared = false;  // made of a trace that serves other sizes too
};

// A value's place in the arena of a call, or a kernel's scratch.
struct PlannedBuffer {
  std::string op;              // that writes it first
  std::size_t first_step = 0;  // from the step that writes it
  std::size_t last_step = 0;   // to the last that reads it
  std::size_t offset = 0;
  std::size_t nbytes = 0;
};

struct PlanInfo {
  std::size_t arena_bytes = 0;
  std::size_t bound_bytes = 0;
  std::vector<PlannedBuffer> buffers;
};

struct DumpOptions {
  bool optimised = false;  // the graph as it runs, not as it was written
};

// An eager tensor that a function uses and holds on to.
struct CaptureInfo {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  std::size_t nbytes = 0;
  std::source_location born;
};

// An argument whose tensors are given away; see donate().
template <class T>
struct Donated {
  T value;
  std::source_location site;
};

// Gives a traced function the bytes of an argument, for its results: the tensor dies of the call.
// It is an error if anything else uses those bytes, or if no result has their dtype and size.
template <class T>
Donated<T> donate(T value, std::source_location site = std::source_location::current()) {
  return {std::move(value), site};
}

namespace detail {

struct FunctionState;

// What only the typed half of a call can do.
struct Tracing {
  void* object = nullptr;
  // Given symbolic arguments, calls the user's function, and gives the tensors in its result and
  // (as `shape`) the result with empty handles.
  std::vector<Tensor> (*trace)(void* object, std::vector<Tensor> symbols,
                               std::shared_ptr<void>& shape) = nullptr;
  // Makes room for a result of that shape, before the call changes anything.
  void (*expect)(void* object, const void* shape) = nullptr;
};

// The part of a Function that does not depend on its types.
class TENURE_API FunctionCore {
 public:
  FunctionCore(std::string_view name, FunctionOptions options, std::source_location site);

  // One call: `in` are the arguments' tensors (those of `donated` given away, by position), `out`
  // becomes the result's.
  void call(Key& key, std::span<const Tensor> in, std::span<const std::size_t> donated,
            TensorList& out, const Tracing& tracing, std::source_location site) const;

  void input(int argument, std::vector<Dim> dims);  // -1: the next

  std::string name() const;
  std::vector<TraceInfo> traces() const;
  std::vector<CaptureInfo> captures() const;
  PlanInfo plan() const;
  std::string dump(DumpOptions options) const;
  std::string dot() const;

 private:
  std::shared_ptr<FunctionState> state_;
};

template <class T>
inline constexpr bool kIsDonated = false;
template <class T>
inline constexpr bool kIsDonated<Donated<T>> = true;

}  // namespace detail

template <class Signature>
class Function;

// A copyable handle; copies share the traces.
template <class R, class... A>
class Function<R(A...)> {
 public:
  Function(std::string_view name, std::function<R(A...)> fn, FunctionOptions options = {},
           std::source_location site = std::source_location::current())
      : core_(name, options, site), fn_(std::make_shared<std::function<R(A...)>>(std::move(fn))) {
    detail::check_function("function \"" + core_.name() + "\"", *fn_, site,
                           "the std::function it was made of");
  }

  R operator()(std::type_identity_t<A>... args,
               std::source_location site = std::source_location::current()) const {
    return call(Arguments(std::move(args)...), {}, site);
  }
  // With arguments of which some are donated.
  template <class... G>
    requires(sizeof...(G) == sizeof...(A) && (detail::kIsDonated<std::remove_cvref_t<G>> || ...))
  R operator()(G&&... args) const {
    std::array<bool, sizeof...(A)> donated{detail::kIsDonated<std::remove_cvref_t<G>>...};
    std::source_location site;
    const auto given = [&site]<class T>(T&& value) -> decltype(auto) {
      if constexpr (detail::kIsDonated<std::remove_cvref_t<T>>) {
        site = value.site;
        return std::move(value.value);
      } else {
        return std::forward<T>(value);
      }
    };
    Arguments arguments(given(std::forward<G>(args))...);
    return call(std::move(arguments), donated, site);
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
  // Of the trace that was used last; empty where there is none.
  PlanInfo plan() const { return core_.plan(); }
  // The graphs, readable.
  std::string dump(DumpOptions options = {}) const { return core_.dump(options); }
  std::string dot() const { return core_.dot(); }  // the graphs, for Graphviz

 private:
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;

  R call(Arguments arguments, std::span<const bool> donated, std::source_location site) const {
    detail::Key key;
    detail::TensorList in, out;
    detail::InlineList<std::size_t, 8> given;
    std::size_t position = 0;
    const auto add = [&](auto& argument) {
      const std::size_t first = in.size();
      detail::add_argument(key, in, argument);
      if (!donated.empty() && donated[position]) {
        for (std::size_t i = first; i < in.size(); ++i) given.push_back(i);
      }
      ++position;
    };
    std::apply([&](auto&... each) { (add(each), ...); }, arguments);
    using Result = std::conditional_t<std::is_void_v<R>, std::tuple<>, R>;
    struct Call {
      const Function& function;
      Arguments& arguments;
      std::optional<Result> result = {};
    } object{*this, arguments};
    const auto trace = [](void* call, std::vector<Tensor> symbols, std::shared_ptr<void>& shape) {
      const Call& own = *static_cast<Call*>(call);
      return own.function.trace(own.arguments, std::move(symbols), shape);
    };
    const auto expect = [](void* call, const void* shape) {
      if constexpr (!std::is_void_v<R>) {
        static_cast<Call*>(call)->result.emplace(*static_cast<const R*>(shape));
      }
    };
    core_.call(key, in.span(), given.span(), out, {&object, trace, expect}, site);
    if constexpr (!std::is_void_v<R>) {
      std::size_t next = 0;
      detail::visit_argument(*object.result,
                             [&](Tensor& tensor) { tensor = std::move(out.span()[next++]); });
      return std::move(*object.result);
    }
  }

  std::vector<Tensor> trace(const Arguments& arguments, std::vector<Tensor> symbols,
                            std::shared_ptr<void>& shape) const {
    Arguments symbolic = arguments;
    std::size_t next = 0;
    const auto fill = [&](Tensor& tensor) { tensor = std::move(symbols[next++]); };
    std::apply([&](auto&... each) { (detail::visit_argument(each, fill), ...); }, symbolic);
    std::vector<Tensor> results;
    if constexpr (std::is_void_v<R>) {
      std::apply(*fn_, std::move(symbolic));
    } else {
      auto result = std::make_shared<R>(std::apply(*fn_, std::move(symbolic)));
      detail::visit_argument(*result,
                             [&](Tensor& tensor) { results.push_back(std::move(tensor)); });
      shape = std::move(result);
    }
    return results;
  }

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

// A function of which a tape keeps the arguments and nothing else: the backward pass runs it again,
// with the same random numbers. Time for memory.
template <class F>
auto checkpoint(std::string_view name, F fn, FunctionOptions options = {},
                std::source_location site = std::source_location::current()) {
  options.checkpoint = true;
  return function(name, std::move(fn), options, site);
}
template <class F>
auto checkpoint(F fn, std::source_location site = std::source_location::current()) {
  return checkpoint("checkpoint", std::move(fn), {}, site);
}

template <class R, class... A>
Function(const Function<R(A...)>&) -> Function<R(A...)>;

}  // namespace tenure
