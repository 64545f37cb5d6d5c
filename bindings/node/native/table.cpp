// The table of ops as JavaScript sees it, and the one way to run an op of it: inputs as many as its
// OpDef says, attributes in the order of their struct's fields, results as the op gives them.
#include "table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "core/raise.h"
#include "memory/transfer.h"
#include "ops/call.h"
#include "ops/kernel.h"
#include "stored.h"
#include "tensor/access.h"

namespace tenure::node {
namespace {

using ops::OpDef;
using ops::Takes;

constexpr std::size_t kMostInputs = 4;  // of an op that has a fixed number

// Who calls an op from outside must not be able to harm: it says what it takes.
bool is_callable(const OpDef& op) {
  return op.takes != Takes::prepared && op.inputs != 0 &&
         op.inputs <= static_cast<int>(kMostInputs) && op.outputs != OpDef::kVariadic;
}

DType dtype_of(const Tensor& x) { return detail::Access::header(x)->layout.dtype; }

// Attributes as JavaScript wrote them.
class FieldReader final : public ops::FieldVisitor {
 public:
  FieldReader(Call& call, DType dtype) : call_(call), dtype_(dtype) {}
  void integer(std::string_view, std::int64_t& value) override { value = call_.integer(); }
  void real(std::string_view, double& value) override { value = call_.number(); }
  void flag(std::string_view, bool& value) override { value = call_.flag(); }
  void dtype(std::string_view, DType& value) override { value = call_.dtype(); }
  void number(std::string_view, Scalar& value) override {
    value = stored_scalar(call_.number(), dtype_);
  }
  void integers(std::string_view, Shape& values) override { values = call_.shape(); }
  void choice(std::string_view, std::size_t& value, std::span<const char* const> names) override {
    value = call_.index(names.size());
  }

 private:
  Call& call_;
  DType dtype_;  // of the first input
};

// Operands as the op takes them. Truth values are what is not zero; integers stay exact, and what
// is made of them is rounded once.
void take(const OpDef& op, std::span<Tensor> in) {
  std::vector<Arg> args;
  std::vector<Arg*> each;
  args.reserve(in.size());
  for (Tensor& x : in) {
    if (op.takes == Takes::booleans) x = truth(std::move(x));
    if (op.takes == Takes::floats && x.dtype() == DType::int32) {
      x = cast(std::move(x), DType::float64);
    }
    each.push_back(&args.emplace_back(std::move(x)));
  }
  ops::take(op, each, in);
}

bool is_taken_as_it_is(const OpDef& op, std::span<const Tensor> in) {
  if (op.takes == Takes::booleans || op.takes == Takes::complexes) return false;
  return std::ranges::all_of(in, [](const Tensor& x) { return dtype_of(x) == DType::float32; });
}

// The dtype of the result for inputs of a dtype, by the op's own rule, with attributes at their
// defaults; none if it refuses them.
std::optional<DType> result_dtype(const OpDef& op, DType dtype) {
  ops::AttrsBox attrs;
  if (op.attrs != nullptr) attrs = ops::AttrsBox(*op.attrs);
  for (const Shape& shape : {Shape{1}, Shape{1, 1}}) {
    const Layout one = contiguous_layout(shape, dtype);
    const std::vector<const Layout*> in(static_cast<std::size_t>(std::abs(op.inputs)), &one);
    std::vector<Layout> out(static_cast<std::size_t>(op.outputs));
    ops::Infer infer{op.name, in, attrs.ref(), out};
    try {
      op.infer(infer);
      return out[0].dtype;
    } catch (const Error&) {  // of inputs of that rank
    }
  }
  return {};
}

// Whether the result has the inputs' dtype.
bool follows_inputs(const OpDef& op) {
  static const std::vector<bool> all = [] {
    std::vector<bool> follow;
    for (const OpDef* each : ops::all_ops()) {
      follow.push_back(is_callable(*each) && result_dtype(*each, DType::float64) == DType::float64);
    }
    return follow;
  }();
  return all[op.index];
}

// TensorFlow.js has no float64.
Tensor rounded(Tensor x) {
  return dtype_of(x) == DType::float64 ? cast(std::move(x), DType::float32) : x;
}

// With `as_tfjs`, a result that has its inputs' dtype has the one that JavaScript knows the first
// by, as in TensorFlow.js. The dtype of a sum is the op's own.
void run_op(const OpDef& op, bool as_tfjs, Call& call) {
  std::array<Tensor, kMostInputs> fixed;
  std::vector<Tensor> list;
  std::span<Tensor> in(fixed);
  if (op.inputs == OpDef::kVariadic) {
    list = call.tensors();
    in = list;
    if (in.empty()) raise<ValueError>("{}: no tensors", op.name);
  } else {
    in = in.first(static_cast<std::size_t>(op.inputs));
    for (Tensor& x : in) x = call.tensor();
  }
  const DType known = dtype_of(in[0]);
  if (!is_taken_as_it_is(op, in)) take(op, in);
  const DType taken = dtype_of(in[0]);
  ops::AttrsBox attrs;
  if (op.attrs != nullptr) {
    attrs = ops::AttrsBox(*op.attrs);
    FieldReader reader(call, known);
    op.attrs->visit(attrs.data(), reader);
    if (op.settle != nullptr) op.settle(op.name, in, attrs.data());
  }
  const std::source_location site = std::source_location::current();
  if (op.outputs == 1) {
    Tensor out;
    ops::apply_into(op, in, attrs.ref(), site, {&out, 1});
    const bool is_other = as_tfjs && known != taken && op.takes != Takes::totals;
    if (is_other && follows_inputs(op)) out = stored(std::move(out), known);
    call.give(rounded(std::move(out)));
    return;
  }
  std::vector<Tensor> out(static_cast<std::size_t>(op.outputs));
  ops::apply_into(op, in, attrs.ref(), site, out);
  for (Tensor& each : out) each = rounded(std::move(each));
  call.give(std::move(out));
}

// Whether the op makes floats of floats, element by element: JavaScript then knows what its result
// is before it is computed.
bool is_known_beforehand(const OpDef& op) {
  const ops::Kernel& kernel = ops::kernel_table(DeviceType::cpu).find(op.index, DType::float32);
  return op.accepts == ops::Accepts::elementwise && op.attrs == nullptr &&
         (op.inputs == 1 || op.inputs == 2) && follows_inputs(op) && kernel.run != nullptr;
}

class Maker {
 public:
  explicit Maker(napi_env env) : env_(env) {}
  napi_value text(std::string_view value) const {
    napi_value result = nullptr;
    check(env_, napi_create_string_utf8(env_, value.data(), value.size(), &result));
    return result;
  }
  napi_value number(double value) const {
    napi_value result = nullptr;
    check(env_, napi_create_double(env_, value, &result));
    return result;
  }
  napi_value truth(bool value) const {
    napi_value result = nullptr;
    check(env_, napi_get_boolean(env_, value, &result));
    return result;
  }
  napi_value list() const {
    napi_value result = nullptr;
    check(env_, napi_create_array(env_, &result));
    return result;
  }
  napi_value object() const {
    napi_value result = nullptr;
    check(env_, napi_create_object(env_, &result));
    return result;
  }
  void add(napi_value list, napi_value value) const {
    std::uint32_t length = 0;
    check(env_, napi_get_array_length(env_, list, &length));
    check(env_, napi_set_element(env_, list, length, value));
  }
  void set(napi_value object, const char* name, napi_value value) const {
    check(env_, napi_set_named_property(env_, object, name, value));
  }

 private:
  napi_env env_;
};

// The fields of a struct whose fields are at their defaults: {name, kind, value, choices}.
class FieldLister final : public ops::FieldVisitor {
 public:
  explicit FieldLister(const Maker& make) : make_(make), fields(make.list()) {}
  void integer(std::string_view name, std::int64_t& value) override {
    field(name, "integer", make_.number(static_cast<double>(value)));
  }
  void real(std::string_view name, double& value) override {
    field(name, "real", make_.number(value));
  }
  void flag(std::string_view name, bool& value) override {
    field(name, "flag", make_.truth(value));
  }
  void dtype(std::string_view name, DType& value) override {
    field(name, "dtype", make_.text(tenure::name(value)));
  }
  void number(std::string_view name, Scalar& value) override {
    field(name, "number", make_.number(value.to_double()));
  }
  void integers(std::string_view name, Shape&) override { field(name, "integers", make_.list()); }
  void choice(std::string_view name, std::size_t& value,
              std::span<const char* const> names) override {
    const napi_value choices = make_.list();
    for (const char* each : names) make_.add(choices, make_.text(each));
    make_.set(field(name, "choice", make_.text(names[value])), "choices", choices);
  }

 private:
  napi_value field(std::string_view name, const char* kind, napi_value value) {
    const napi_value row = make_.object();
    make_.set(row, "name", make_.text(name));
    make_.set(row, "kind", make_.text(kind));
    make_.set(row, "value", value);
    make_.add(fields, row);
    return row;
  }
  const Maker& make_;

 public:
  napi_value fields;
};

}  // namespace

void run(std::int32_t code, Call& call) {
  static const std::vector<const OpDef*> table = [] {  // as long as the rows, then the ops
    std::vector<const OpDef*> callable(all_rows().size());
    for (const OpDef* op : ops::all_ops()) callable.push_back(is_callable(*op) ? op : nullptr);
    return callable;
  }();
  const std::size_t place = static_cast<std::uint32_t>(code & ~kAsTfjs);
  const OpDef* const op = place < table.size() ? table[place] : nullptr;
  if (op != nullptr) return run_op(*op, (code & kAsTfjs) != 0, call);
  if (place >= all_rows().size()) throw ValueError("tfjs: there is no op of that number");
  all_rows()[place].run(call);
}

napi_value table_of_ops(napi_env env) {
  detail::initialise_runtime();  // which numbers the ops
  const Maker make(env);
  const napi_value table = make.list();
  for (const OpDef* op : ops::all_ops()) {
    if (!is_callable(*op)) continue;
    const napi_value row = make.object();
    make.set(row, "name", make.text(op->name));
    make.set(row, "code", make.number(static_cast<double>(all_rows().size() + op->index)));
    make.set(row, "tfjs", make.text(op->tfjs != nullptr ? op->tfjs : ""));
    make.set(row, "inputs", make.number(op->inputs));
    make.set(row, "outputs", make.number(op->outputs));
    make.set(row, "mayWait", make.truth(is_known_beforehand(*op)));
    make.set(row, "moves", make.truth(op->takes == Takes::anything || op->takes == Takes::alike));
    FieldLister lister(make);
    if (op->attrs != nullptr) {
      ops::AttrsBox defaults(*op->attrs);
      op->attrs->visit(defaults.data(), lister);
    }
    make.set(row, "fields", lister.fields);
    make.add(table, row);
  }
  return table;
}

}  // namespace tenure::node
