// An operation as data: its name, its shape rule, what may be reused, what its gradient keeps, and
// the gradient, in one place. Tape, profiler and bindings read this and know no op by name.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "ops/attrs_ref.h"
#include "tenure/tensor.h"

namespace tenure::ops {

// A set of an op's inputs.
struct Inputs {
  std::uint32_t bits = 0;
  constexpr bool has(std::size_t i) const { return i < 32 && ((bits >> i) & 1) != 0; }
  constexpr bool any_from(std::size_t i) const { return i < 32 && bits >> i != 0; }
  friend constexpr Inputs operator|(Inputs a, Inputs b) { return {a.bits | b.bits}; }
};
constexpr Inputs input(int i) { return {1u << i}; }

// What a gradient reads of the forward pass: a set of inputs and outputs.
// Bit 15 stands for all from the sixteenth on.
struct Keep {
  std::uint16_t inputs = 0;
  std::uint16_t outputs = 0;
  friend constexpr Keep operator|(Keep a, Keep b) {
    return {static_cast<std::uint16_t>(a.inputs | b.inputs),
            static_cast<std::uint16_t>(a.outputs | b.outputs)};
  }
};
inline constexpr Keep kNothing{};
inline constexpr Keep kInput{1, 0};
inline constexpr Keep kInput0{1, 0};
inline constexpr Keep kInput1{2, 0};
inline constexpr Keep kOutput{0, 1};

// Per input of the op: what the gradient with respect to that input keeps. The last entry stands
// for all further inputs.
struct GradKeeps {
  static constexpr std::size_t kRows = 6;
  std::array<Keep, kRows> wrt{};
  constexpr GradKeeps() = default;
  constexpr GradKeeps(Keep all) : GradKeeps{all, all} {}
  constexpr GradKeeps(std::initializer_list<Keep> rows) {
    auto row = rows.begin();
    for (Keep& keep : wrt) {
      keep = *row;
      if (row + 1 != rows.end()) ++row;
    }
  }
  constexpr Keep of(std::size_t i) const { return wrt[i < kRows ? i : kRows - 1]; }
};

// What strides a kernel takes; inputs with others are copied to row-major first.
enum class Accepts : std::uint8_t {
  contiguous,   // row-major
  elementwise,  // broadcasting, with stride 0 or 1 along the last axis that is longer than 1
  matrix,       // one of the last two axes with stride 1, the other a leading dimension
  any,
};

// What callers may hand an op, and what is made of it before the op runs (`take` in call.h).
enum class Takes : std::uint8_t {
  prepared,   // inputs and attributes that the library made fit: nobody else calls the op
  anything,   // tensors as they are
  alike,      // tensors of one dtype: others are promoted to a common one
  booleans,   // bool, and nothing is made of others
  numbers,    // alike, and bool becomes int32
  totals,     // the same, and small integers become int32 too
  floats,     // floats or complex, alike: integers and bool become float32
  complexes,  // complex64: real numbers become that
};

// Shape inference: reads the inputs' layouts, writes the outputs'.
struct Infer {
  const char* op;
  std::span<const Layout* const> in;
  AttrsRef attrs;
  std::span<Layout> out;
  std::span<const std::int64_t> sizes{};  // measured; none yet when only the inputs are checked

  std::int64_t measured(std::size_t i) const { return sizes.empty() ? 0 : sizes[i]; }
  const Shape& shape(std::size_t i) const { return in[i]->shape; }
  DType dtype(std::size_t i) const { return in[i]->dtype; }
  void result(Shape shape, DType dtype, std::size_t i = 0) {
    if (!is_countable(shape, dtype)) [[unlikely]]
      raise_not_countable(op, shape, dtype);
    make_contiguous(out[i], std::move(shape), dtype);
  }
};

// The gradients of an op's inputs, in order; an empty handle where none flows.
class Grads {
 public:
  Grads(Tensor only) { values_.push_back(std::move(only)); }
  Grads(Tensor first, Tensor second) {
    values_.reserve(2);
    values_.push_back(std::move(first));
    values_.push_back(std::move(second));
  }
  Grads(std::vector<Tensor> values) : values_(std::move(values)) {}
  std::size_t size() const { return values_.size(); }
  Tensor& operator[](std::size_t i) { return values_[i]; }

 private:
  std::vector<Tensor> values_;
};

// What a gradient function sees: the output's gradient, what was kept, shapes and attributes.
class GradContext {
 public:
  virtual ~GradContext() = default;
  virtual Tensor dy(int output = 0) = 0;  // zeros when nothing flowed into that output
  virtual Tensor x(int input = 0) = 0;    // kept, or it is an error in the OpDef
  virtual Tensor y(int output = 0) = 0;
  virtual bool needs(int input) const = 0;
  virtual bool flows(int output) const = 0;  // whether anything did
  virtual const Shape& x_shape(int input = 0) const = 0;
  virtual DType x_dtype(int input = 0) const = 0;
  virtual std::size_t inputs() const = 0;
  virtual AttrsRef attrs() const = 0;
  template <class A>
  const A& attrs_as() const {
    return attrs().as<A>();
  }
};

struct OpDef {
  const char* name;
  void (*infer)(Infer&);
  int inputs = 1;  // kVariadic for any number
  int outputs = 1;
  // The TensorFlow.js kernels whose work it does: "Elu, EluGrad". What a kernel calls otherwise
  // than inputs x, or a and b, and attributes keepDims for keep_dims: "Softmax(logits, dim=axis)".
  const char* tfjs = nullptr;
  Takes takes = Takes::prepared;
  const AttrsType* attrs = nullptr;  // of the attributes that callers may set
  // Makes those what `infer` and the kernel expect (an axis that is not negative), or raises.
  void (*settle)(const char* op, std::span<const Tensor> in, void* attrs) = nullptr;
  int dynamic_sizes = 0;  // how many sizes of the results only the values tell: measured first
  int dispatch_on = 0;    // the input whose dtype picks the kernel; kOutput0 for the result's
  // A view: fills in strides and offset of a result over the input's bytes; false if it cannot.
  bool (*view)(const Layout& in, AttrsRef attrs, Layout& out) = nullptr;
  bool same_value = false;  // to gradients the result is its last input: one value
  Accepts accepts = Accepts::contiguous;
  Inputs may_overwrite{};
  // Where what an op accepts or overwrites depends on its attributes: asked instead of the two.
  Accepts (*accepts_of)(AttrsRef attrs, std::size_t input) = nullptr;
  bool (*may_take)(AttrsRef attrs, std::size_t input, std::size_t output) = nullptr;
  bool checks_values = false;  // its kernel may complain of them
  GradKeeps grad_keeps{};
  // Where what its gradient keeps of them depends on the attributes.
  bool (*keeps_input)(AttrsRef attrs, std::size_t input) = nullptr;
  bool (*keeps_output)(AttrsRef attrs, std::size_t output) = nullptr;
  Grads (*grad)(GradContext&) = nullptr;
  // For an op of one input whose gradient is zero but for a part: adds it to the gradients that the
  // input has from elsewhere, at the cost of the part. The tape adds the two itself otherwise.
  Tensor (*add_grad)(GradContext&, Tensor sum) = nullptr;
  const char* no_gradient = nullptr;  // why there is none
  // For an op that draws random numbers: makes `attrs`, which were a copy of a traced node's, those
  // of a call whose segments (see reseed.h) begin at these counters.
  void (*reseed)(void* attrs, const void* traced, std::uint64_t seed,
                 std::span<const std::uint64_t> segments) = nullptr;
  mutable std::uint16_t index = 0;  // into the kernel tables; set once, by the registry

  static constexpr int kVariadic = -1;
  static constexpr int kOutput0 = -1;
};

// A public function made of other ops, for the table of ops: it has no OpDef of its own.
struct Composite {
  const char* name;
  const char* tfjs;   // the names of TensorFlow.js kernels
  const char* parts;  // the ops it is made of: "sub, exp, sum, log"
};

// What one file of ops holds.
struct Family {
  std::span<const OpDef* const> ops;
  std::span<const Composite> composites;
  Family() = default;
  template <std::size_t n>
  Family(const OpDef* const (&list)[n], std::span<const Composite> composed = {})
      : ops(list), composites(composed) {}
};

// Every op there is, in order of index.
std::span<const OpDef* const> all_ops();
std::span<const Composite> all_composites();
// Ops that only passes over a graph make. They have kernels and indices like all others, and no
// gradient, because tapes see the graph as it was written.
std::span<const OpDef* const> graph_ops();
// Whether the op has a place in the kernel tables.
inline bool has_index(const OpDef& op) {
  const std::span<const OpDef* const> all = all_ops(), only_in_graphs = graph_ops();
  if (op.index < all.size()) return all[op.index] == &op;
  return op.index < all.size() + only_in_graphs.size() &&
         only_in_graphs[op.index - all.size()] == &op;
}
void index_ops();  // called once, by the runtime's init

}  // namespace tenure::ops
