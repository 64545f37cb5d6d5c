// The one road (see apply.h), in order: pin the inputs, infer the results, let the tapes take what
// they keep, find memory, run the kernel, record the births. Whatever throws on the way leaves the
// inputs as they were, unless they were given up.
#include "ops/apply.h"

#include <algorithm>
#include <array>
#include <forward_list>
#include <type_traits>

#include "core/raise.h"
#include "core/small_vector.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/ledger.h"
#include "memory/out_of_memory.h"
#include "memory/reuse.h"
#include "memory/text.h"
#include "memory/user_site.h"
#include "ops/forms.h"
#include "ops/kernel.h"
#include "ops/recorder.h"
#include "ops/step.h"
#include "ops/tracer.h"
#include "ops/views.h"
#include "tensor/access.h"
#include "tensor/read_hook.h"
#include "tenure/math.h"

namespace tenure::ops {
namespace {

using detail::Access;
using detail::Context;
using detail::Header;
using detail::StorageRef;

// A list of as many as a call has inputs or results. Most have one or two: those are made for that
// size, which leaves the compiler no loop and no question where the elements are.
constexpr std::size_t kAnyNumber = 0;

template <class T, std::size_t n>
struct FixedList : std::array<T, n> {
  explicit FixedList(std::size_t) {}
};
template <class T, std::size_t n, std::size_t usual>
using List = std::conditional_t<n == kAnyNumber, SmallVector<T, usual>, FixedList<T, n>>;
template <class T, std::size_t n>
using InputList = List<T, n, 3>;
template <class T, std::size_t n>
using ResultList = List<T, n, 1>;

// What the user called: the op, or the function that is made of it.
const char* op_name(const Context& context, const OpDef& op) {
  return context.call.op != nullptr ? context.call.op : op.name;
}

// Step 1: every input alive and of this session, pinned until the op is done.
template <std::size_t n>
class PinnedInputs {
 public:
  PinnedInputs(const Context& context, const OpDef& op, std::span<Tensor> in,
               std::source_location site, Inputs borrowed)
      : borrowed_(borrowed), headers_(in.size()), layouts_(in.size()) {
    try {
      for (; pinned_ < in.size(); ++pinned_) pin(context, op, in, site);
    } catch (...) {
      unpin_all();
      throw;
    }
  }
  ~PinnedInputs() { unpin_all(); }
  PinnedInputs(const PinnedInputs&) = delete;
  PinnedInputs& operator=(const PinnedInputs&) = delete;

  std::size_t size() const { return headers_.size(); }
  bool is_borrowed(std::size_t i) const { return borrowed_.has(i); }
  Header& operator[](std::size_t i) const { return *headers_[i]; }
  std::span<const Layout* const> layouts() const { return {layouts_.data(), layouts_.size()}; }

 private:
  void pin(const Context& context, const OpDef& op, std::span<Tensor> in,
           std::source_location site) {
    Header* const handle_header = Access::header(in[pinned_]);
    if (handle_header == nullptr) [[unlikely]] {
      detail::raise_empty(op_name(context, op), static_cast<int>(pinned_), site);
    }
    Header& header = *handle_header;
    if (!try_pin(header)) [[unlikely]] {
      detail::raise_disposed(header, use(context, op, in, site));
    }
    headers_[pinned_] = &header;
    layouts_[pinned_] = &header.layout;
    if (header.session.load(std::memory_order_relaxed) != context.session) [[unlikely]] {
      detail::unpin(header);
      detail::raise_wrong_session(header, use(context, op, in, site), context.session);
    }
  }
  detail::Use use(const Context& context, const OpDef& op, std::span<const Tensor> in,
                  std::source_location site) const {
    const Header* header = Access::header(in[pinned_]);
    std::uint32_t copies = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      copies += Access::header(in[i]) == header && !is_borrowed(i) ? 1 : 0;
    }
    return {op_name(context, op), static_cast<int>(pinned_),
            context.call.op != nullptr ? context.call.site : site, copies};
  }
  void unpin_all() noexcept {
    while (pinned_ > 0) detail::unpin(*headers_[--pinned_]);
  }

  std::size_t pinned_ = 0;
  const Inputs borrowed_;
  InputList<Header*, n> headers_;
  InputList<const Layout*, n> layouts_;
};

std::byte* first_element(const detail::Storage& storage, const Layout& layout) {
  return storage.data + layout.offset * static_cast<std::int64_t>(size_of(layout.dtype));
}

KernelView bytes_of(const Header& header) {
  return view_of(header.layout, first_element(*header.storage, header.layout));
}

[[noreturn, gnu::noinline]] void raise_no_kernel(const OpDef& op, Device device, DType dtype) {
  std::string able;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kernel_table(device.type).find(op.index, static_cast<DType>(i)).run == nullptr) continue;
    if (!able.empty()) able += ", ";
    able += name(static_cast<DType>(i));
  }
  raise<DtypeError>("{}: not defined for {} (but for {}): {} the input first",
                    op_name(detail::context(), op), dtype, able,
                    is_complex(dtype) ? "take real() or imag() of" : "cast");
}

[[gnu::always_inline]] inline const Kernel& kernel_for(const OpDef& op, Device device,
                                                       DType dtype) {
  const Kernel& kernel = kernel_table(device.type).find(op.index, dtype);
  if (kernel.run == nullptr) [[unlikely]]
    raise_no_kernel(op, device, dtype);
  return kernel;
}
[[gnu::always_inline]] inline const Kernel& kernel_for(const OpDef& op, Device device,
                                                       std::span<const Layout* const> in,
                                                       std::span<const Layout> out) {
  return kernel_for(op, device,
                    op.dispatch_on == OpDef::kOutput0
                        ? out[0].dtype
                        : in[static_cast<std::size_t>(op.dispatch_on)]->dtype);
}

// Row-major copies of inputs whose strides the kernel does not take. Memory of the op, no tensors.
struct Copies {
  struct Copy {
    StorageRef storage;
    Strides strides;
  };
  std::forward_list<Copy> copies;

  KernelView add(const KernelView& view, Device device, detail::SessionState* session) {
    Copy& copy = copies.emplace_front();
    copy.storage = StorageRef(detail::allocate_storage(device, view.nbytes(), session));
    copy.strides = contiguous_strides(*view.shape);
    const KernelView to{copy.storage->data, view.shape, &copy.strides, view.dtype};
    copy_elements(device, view, to);
    return to;
  }
};

// Step 5: memory for one result, taken over from an input where the rule allows it.
template <std::size_t n>
StorageRef result_storage(const Context& context, const OpDef& op, const PinnedInputs<n>& in,
                          AttrsRef attrs, std::size_t output, const Layout& layout, Device device) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in.is_borrowed(i) || !may_take(op, attrs, i, in[i].layout, output, layout)) continue;
    if (StorageRef taken = detail::take_for_reuse(in[i])) return taken;
  }
  return StorageRef(detail::allocate_storage(device, layout.nbytes(), context.session));
}

// Whether a result is a view of its input's bytes; `layout` then says how. It is a row-major copy
// otherwise.
bool lies_over(const OpDef& op, const Layout& in, AttrsRef attrs, Layout& layout) {
  if (!op.view(in, attrs, layout)) return false;
  layout.contiguous = is_contiguous(layout.shape, layout.strides);
  return true;
}

// A result that is a view of the input's bytes, or of a row-major copy of them.
StorageRef view_storage(const Context& context, const detail::RunningOp& running, const OpDef& op,
                        Header& in, AttrsRef attrs, Layout& layout) {
  if (lies_over(op, in.layout, attrs, layout)) {
    detail::retain(in.storage);
    return StorageRef(in.storage);
  }
  StorageRef copy(detail::allocate_storage(in.device, layout.nbytes(), context.session));
  const KernelView from = bytes_of(in);
  const Strides strides = contiguous_strides(in.layout.shape);
  const KernelView to{copy->data, &in.layout.shape, &strides, in.layout.dtype};
  const Kernel& kernel = kernel_for(kCopy, in.device, in.layout.dtype);
  run_step(running, kernel.run, {.in = {&from, 1}, .out = {&to, 1}, .attrs = {}});
  return copy;
}

// A kernel about to run: the one for the op, its inputs as it takes them, and its scratch.
template <std::size_t n, std::size_t results>
struct KernelCall {
  Device device;
  const Kernel& kernel;
  InputList<KernelView, n> from;
  ResultList<KernelView, results> to;  // without data
  Copies copies;
  StorageRef form;
  StorageRef scratch;
  Problem problem;
  KernelArgs args;

  [[gnu::always_inline]] KernelCall(const Context& context, const OpDef& op,
                                    const PinnedInputs<n>& in, AttrsRef attrs,
                                    std::span<const Layout> layouts)
      : device(in.size() > 0 ? in[0].device : Device{}),
        kernel(kernel_for(op, device, in.layouts(), layouts)),
        from(in.size()),
        to(layouts.size()) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      from[i] = bytes_of(in[i]);
      if (!accepts(op, attrs, i, in[i].layout, layouts[0].shape)) [[unlikely]] {
        from[i] = copies.add(from[i], device, context.session);
      }
    }
    for (std::size_t i = 0; i < layouts.size(); ++i) to[i] = view_of(layouts[i]);
    args = {.in = from, .out = to, .attrs = attrs, .problem = &problem};
    if (kernel.wanted_form != nullptr) [[unlikely]]
      find_form(in);
    if (kernel.scratch_bytes != nullptr) {
      if (const std::size_t bytes = kernel.scratch_bytes(args); bytes != 0) {
        scratch = StorageRef(detail::allocate_storage(device, bytes, context.session));
        args.scratch = scratch->data;
      }
    }
  }
  // What an earlier call made of a variable's value, or this one makes for the next.
  [[gnu::noinline]] void find_form(const PinnedInputs<n>& in) {
    bool of_variable = false;
    for (std::size_t i = 0; i < in.size(); ++i) {
      of_variable |= in[i].storage->slots.load(std::memory_order_relaxed) != 0;
    }
    if (!of_variable) return;
    const WantedForm wanted = kernel.wanted_form(args);
    if (wanted.bytes == 0) return;
    const Header& header = in[wanted.input];
    const std::byte* src = from[wanted.input].data;
    if (src != first_element(*header.storage, header.layout)) return;  // a copy, for this call
    form = form_of(wanted, *header.storage, src);
    if (form) args.form = form->data;
  }
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;
};

void check(const Problem& problem, const Context& context, const OpDef& op) {
  if (problem.format == nullptr) [[likely]]
    return;
  if (!op.checks_values)
    raise<Error>("{}: it complains, but its OpDef has no checks_values", op.name);
  raise_problem(problem, op_name(context, op));
}

// For an op whose results' shapes depend on the inputs' values: has the kernel measure them.
template <std::size_t n>
[[gnu::noinline]] void measure(const Context& context, const OpDef& op, const PinnedInputs<n>& in,
                               Infer& infer) {
  SmallVector<std::int64_t, 4> sizes(static_cast<std::size_t>(op.dynamic_sizes));
  const KernelCall<n, kAnyNumber> call(context, op, in, infer.attrs, infer.out);
  call.kernel.measure(call.args, sizes);
  check(call.problem, context, op);
  infer.sizes = sizes;
  op.infer(infer);
  infer.sizes = {};
}

template <std::size_t n, std::size_t results>
[[gnu::always_inline]] inline void run_kernel(const Context& context,
                                              const detail::RunningOp& running, const OpDef& op,
                                              const PinnedInputs<n>& in, AttrsRef attrs,
                                              ResultList<Layout, results>& layouts,
                                              ResultList<StorageRef, results>& storages) {
  KernelCall<n, results> call(context, op, in, attrs, layouts);
  // Inputs are given up only once nothing but the results themselves is left to allocate.
  for (std::size_t i = layouts.size(); i-- > 0;) {
    storages[i] = result_storage(context, op, in, attrs, i, layouts[i], call.device);
    call.to[i].data = storages[i]->data;
  }
  run_step(running, call.kernel.run, call.args);
  check(call.problem, context, op);
}

[[gnu::noinline]] void tell(detail::OpWatch& watch, const detail::RunningOp& running,
                            std::span<const Layout* const> in, std::span<const Tensor> out) {
  SmallVector<KernelView, 3> from(in.size());
  SmallVector<KernelView, 1> to(out.size());
  for (std::size_t i = 0; i < in.size(); ++i) from[i] = view_of(*in[i]);
  for (std::size_t i = 0; i < out.size(); ++i) to[i] = view_of(Access::header(out[i])->layout);
  watch.end(running, from, to);
}

// Inside a trace: the same steps, with a node in place of a kernel, which must be there, and of
// bytes, which lie as they would.
[[gnu::noinline]] void trace_into(Context& context, const OpDef& op, std::span<Tensor> in,
                                  AttrsRef attrs, std::source_location site,
                                  std::span<Tensor> out) {
  Tracer& trace = *context.trace;
  if (op.dynamic_sizes != 0) {
    raise<UnsupportedError>(
        "{}: the shape of its result depends on values, which a traced "
        "function does not have: call it outside, on the function's results",
        op_name(context, op));
  }
  SmallVector<const Layout*, 3> from(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = trace.stand_in(in[i], op_name(context, op), static_cast<int>(i),
                           context.call.op != nullptr ? context.call.site : site);
    from[i] = &Access::header(in[i])->layout;
  }
  SmallVector<Layout, 1> layouts(out.size());
  Infer infer{op.name, from, attrs, layouts};
  op.infer(infer);
  if (op.view != nullptr) {
    lies_over(op, *from[0], attrs, layouts[0]);
  } else if (has_index(op)) {
    kernel_for(op, in.empty() ? Device{} : Access::header(in[0])->device, from, layouts);
  }
  Recording recording(context, op, in, attrs, site);
  trace.append(op, in, attrs, site, layouts, out);
  recording.finish(out);
}

template <std::size_t n, std::size_t results>
void run_eager(Context& context, const OpDef& op, std::span<Tensor> in, AttrsRef attrs,
               std::source_location site, std::span<Tensor> out, Inputs borrowed) {
  const detail::RunningOp running{.op = op.name, .call = &context.call, .site = site};
  detail::OpWatch watch(context.watch);
  const PinnedInputs<n> inputs(context, op, in, site, borrowed);
  ResultList<Layout, results> layouts(out.size());
  Infer infer{op.name, inputs.layouts(), attrs, layouts};
  op.infer(infer);
  if (op.dynamic_sizes != 0) measure(context, op, inputs, infer);
  Recording recording(context, op, in, attrs, site);
  ResultList<StorageRef, results> storages(out.size());
  if (op.view != nullptr) {
    storages[0] = view_storage(context, running, op, inputs[0], attrs, layouts[0]);
  } else {
    run_kernel<n, results>(context, running, op, inputs, attrs, layouts, storages);
  }
  const std::uint64_t value_id = op.same_value ? inputs[inputs.size() - 1].value_id : 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    out[i] = Access::adopt(new_tensor(context, std::move(layouts[i]), std::move(storages[i]),
                                      op.name, site, value_id));
  }
  recording.finish(out);
  if (watch) [[unlikely]]
    tell(watch, running, inputs.layouts(), out);
}

// What an operation refuses tells where each of its inputs came from, unless one within it did.
[[gnu::noinline, gnu::cold]] void tell_inputs(Error& error, const Context& context, const OpDef& op,
                                              std::span<const Tensor> in,
                                              std::source_location site) {
  const std::vector<detail::Line>& told = error.lines();
  if (!told.empty() && told.front().label != "used") return;
  constexpr std::size_t kMostTold = 16;
  std::vector<detail::Line> lines;
  for (std::size_t i = 0; i < std::min(in.size(), kMostTold); ++i) {
    const Header* header = Access::header(in[i]);
    if (header != nullptr) lines.push_back(line_of(fmt::format("input {}", i), *header));
  }
  if (in.size() > kMostTold) {
    lines.push_back({"inputs", fmt::format("and {} more", in.size() - kMostTold)});
  }
  lines.push_back(detail::used_line(site, op_name(context, op)));
  detail::edit(error, [&](detail::ErrorRecord& record) { record.lines = std::move(lines); });
}

}  // namespace

void apply_into(const OpDef& op, std::span<Tensor> in, AttrsRef attrs, std::source_location site,
                std::span<Tensor> out, Inputs borrowed) {
  Context& context = detail::context();
  try {
    if (context.trace != nullptr) [[unlikely]] {
      trace_into(context, op, in, attrs, site, out);
      return;
    }
    if (out.size() == 1 && in.size() == 2) {
      run_eager<2, 1>(context, op, in, attrs, site, out, borrowed);
    } else if (out.size() == 1 && in.size() == 1) {
      run_eager<1, 1>(context, op, in, attrs, site, out, borrowed);
    } else {
      run_eager<kAnyNumber, kAnyNumber>(context, op, in, attrs, site, out, borrowed);
    }
  } catch (OutOfMemoryError& error) {
    detail::add_use(error, site, op_name(context, op));
    throw;
  } catch (LifetimeError&) {
    throw;
  } catch (Error& error) {
    tell_inputs(error, context, op, in, site);
    throw;
  }
}

void raise_problem(const Problem& problem, const char* op) {
  const auto& [a, b, c] = problem.values;
  raise<ValueError>(fmt::runtime(fmt::format("{{3}}: {}", problem.format)), a, b, c, op);
}

KernelTable& kernel_table(DeviceType device) {
  static KernelTable* tables = new KernelTable[kDeviceTypes];
  return tables[static_cast<int>(device)];
}

}  // namespace tenure::ops

namespace tenure::detail {

bool trace_read(const std::shared_ptr<VariableState>& variable, std::source_location site,
                Tensor& value) {
  ops::Tracer* trace = context().trace;
  if (trace != nullptr) value = trace->read(variable, site);
  return trace != nullptr;
}

bool trace_assign(const std::shared_ptr<VariableState>& variable, const Tensor& value,
                  std::source_location site) {
  ops::Tracer* trace = context().trace;
  if (trace != nullptr) trace->assign(variable, value, site);
  return trace != nullptr;
}

Tensor cast_read(Tensor value, DType dtype, std::source_location site) {
  return cast(Arg(std::move(value), site), dtype);
}

}  // namespace tenure::detail
