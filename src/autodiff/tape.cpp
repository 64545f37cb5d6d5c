#include "autodiff/tape.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "core/half.h"
#include "core/raise.h"
#include "memory/events.h"
#include "memory/fork.h"
#include "memory/ledger.h"
#include "memory/raise_recorded.h"
#include "memory/text.h"
#include "ops/kernel.h"
#include "tensor/variable_state.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure::detail {
namespace {

bool has_gradient(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

bool has_bit(std::uint16_t bits, std::size_t i) {
  return (bits >> std::min<std::size_t>(i, 15) & 1) != 0;
}

Saved save(const Tensor& tensor, const LabelRef& owner) {
  return Saved(new_saved(*Access::header(tensor), Category::saved_for_backward, owner));
}

// Whether a gradient is computed as its op is: in float32, and rounded at the end. One that reads
// nothing of the forward pass only moves or adds up what flows into it, which is rounded once as it
// is.
bool computes_wide(const TapeNode& node, DeviceType device) {
  const int on = node.op->dispatch_on;
  const TapeValue& told_by = on == ops::OpDef::kOutput0 || node.inputs.size() == 0
                                 ? node.outputs[0]
                                 : node.inputs[static_cast<std::size_t>(on)];
  if (!is_half(told_by.dtype)) [[likely]]
    return false;
  return (node.keep.inputs | node.keep.outputs) != 0 && ops::has_index(*node.op) &&
         ops::kernel_table(device).find(node.op->index, told_by.dtype).widens;
}

// A node's backward step as its gradient function sees it.
class Step final : public ops::GradContext {
 public:
  Step(TapeNode& node, const IdSet& reached, std::vector<Tensor> dy, DeviceType device,
       std::source_location site)
      : node_(node),
        reached_(reached),
        dy_(std::move(dy)),
        wide_(computes_wide(node, device)),
        site_(site) {}

  Tensor dy(int output) override {
    Tensor& gradient = dy_[static_cast<std::size_t>(output)];
    if (gradient.defined()) {
      gradient = widened(std::move(gradient));
    } else {
      const TapeValue& value = node_.outputs[static_cast<std::size_t>(output)];
      gradient = zeros(value.shape, widened(value.dtype));
    }
    return gradient;
  }
  Tensor x(int input) override {
    return widened(kept(node_.inputs[static_cast<std::size_t>(input)], "input"));
  }
  Tensor y(int output) override {
    return widened(kept(node_.outputs[static_cast<std::size_t>(output)], "output"));
  }
  bool needs(int input) const override {
    const TapeValue& value = node_.inputs[static_cast<std::size_t>(input)];
    return value.tracked && reached_.contains(value.id);
  }
  bool flows(int output) const override { return dy_[static_cast<std::size_t>(output)].defined(); }
  const Shape& x_shape(int input) const override {
    return node_.inputs[static_cast<std::size_t>(input)].shape;
  }
  DType x_dtype(int input) const override {
    return widened(node_.inputs[static_cast<std::size_t>(input)].dtype);
  }
  std::size_t inputs() const override { return node_.inputs.size(); }
  ops::AttrsRef attrs() const override { return node_.attrs.ref(); }

  // The gradient of an input, as what was before the op takes it.
  Tensor rounded(Tensor gradient, std::size_t input) const {
    return wide_ ? cast(std::move(gradient), node_.inputs[input].dtype) : gradient;
  }

 private:
  DType widened(DType dtype) const { return wide_ && is_half(dtype) ? DType::float32 : dtype; }
  Tensor widened(Tensor tensor) const {
    return wide_ && is_half(tensor.dtype()) ? cast(std::move(tensor), DType::float32) : tensor;
  }

  Tensor kept(const TapeValue& value, const char* what) const {
    if (!value.saved) {
      raise<TapeError>("gradient of {}: it reads an {} that its OpDef does not keep",
                       node_.op->name, what);
    }
    Header& saved = *value.saved.get();
    if (saved.is_symbolic()) return materialise(saved, node_.op->name, site_);
    if (!try_pin(saved)) raise_disposed(saved, {.op = "gradient", .site = site_});
    const Pinned pinned{saved};
    const SessionState* current = context().session;
    if (!lends_to(saved.session.load(std::memory_order_relaxed), current)) {
      raise_wrong_session(saved, {.op = "gradient", .site = site_}, current);
    }
    return materialise(saved, node_.op->name, site_);
  }

  TapeNode& node_;
  const IdSet& reached_;
  std::vector<Tensor> dy_;
  const bool wide_;
  std::source_location site_;
};

std::uint64_t id_of(const Source& source) {
  if (const VariableState* variable = Access::variable(source)) return variable->id;
  return checked(Access::tensor(source), "gradient").value_id;
}

// What a trace that has ended, or another one, made up means nothing here.
void check_of_this_trace(const Tensor& tensor, std::source_location site) {
  const Header& header = checked(tensor, "gradient");
  if (header.is_symbolic() && header.trace != current_trace()) {
    raise_symbolic(header, {.op = "gradient", .site = site}, current_trace());
  }
}

// A result of its own: disposing one gradient never harms another.
Tensor own_result(Tensor gradient, std::source_location site) {
  if (Access::header(gradient)->owners() > 1) gradient = gradient.clone(site);
  Access::header(gradient)->claim.store(Category::gradient, std::memory_order_relaxed);
  events::claimed(*Access::header(gradient), Category::gradient);
  return gradient;
}

}  // namespace

// Inside the tape, for the time of a call; its user may let go of it meanwhile.
class Tape::Using {
 public:
  Using(Tape& tape, To what, const char* op, std::source_location site)
      : tape_(tape), entered_(tape.enter(what, op, site)) {
    tape_.retain();
  }
  ~Using() {
    if (entered_) tape_.leave();
    tape_.release();
  }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;
  bool entered() const { return entered_; }

 private:
  Tape& tape_;
  bool entered_;
};

Tape::Tape(TapeOptions options, std::source_location site)
    : Recorder(context()),
      options_(std::move(options)),
      label_(LabelRef::make("tape", options_.name, site)) {
  ops::list_tape(context(), *this);
  events::span_began(this, "tape", options_.name, site, 0);
}

void Tape::stop() noexcept { recording_.store(false, std::memory_order_release); }

// A tape whose thread or task ended records no more, and is there until its user lets go of it.
void Tape::end_span() noexcept {
  if (span_open_.exchange(false, std::memory_order_relaxed)) events::span_ended(this);
}

void Tape::close() noexcept {
  stop();
  end_span();
  if (user_.fetch_or(kClosed, std::memory_order_acq_rel) == 0) clear();
  if (Context* current = t_context) ops::drop_stopped(*current);
  release();
}

void Tape::clear() noexcept {
  nodes_.clear();
  tracked_.clear();
  derived_.clear();
  derived_values_.clear();
}

bool Tape::enter(To what, const char* op, std::source_location site) {
  const auto self = reinterpret_cast<std::uintptr_t>(&t_context);  // no other thread's
  std::uintptr_t inside = 0;
  if (!user_.compare_exchange_strong(inside, self, std::memory_order_acquire,
                                     std::memory_order_relaxed)) [[unlikely]] {
    // Closed: its home still has it in its list.
    if (inside == self || (inside & kClosed) != 0) return false;
    if (is_left_behind() && what == To::record) {
      stop();
      return false;
    }
    raise_in_use(op, site);
  }
  user_forks_.store(forks(), std::memory_order_relaxed);
  user_site_.store(site, std::memory_order_relaxed);
  user_op_.store(op, std::memory_order_relaxed);
  return true;
}

void Tape::leave() noexcept {
  std::uintptr_t inside = user_.load(std::memory_order_relaxed);
  if ((inside & kClosed) == 0 && user_.compare_exchange_strong(inside, 0, std::memory_order_release,
                                                               std::memory_order_relaxed)) {
    return;
  }
  clear();
}

bool Tape::is_left_behind() const { return user_forks_.load(std::memory_order_relaxed) != forks(); }

void Tape::raise_in_use(const char* op, std::source_location site) {
  const std::source_location other = user_site_.load(std::memory_order_relaxed);
  const char* other_op = user_op_.load(std::memory_order_relaxed);
  throw_recorded<TapeError>(
      describe("{}: {} {}", op, title(),
               is_left_behind() ? "was in use on a thread that a fork left in the parent"
                                : "is in use on another thread")
          .told({line_of("born", *label_.get()),
                 {"in use", site_text(other), other_op != nullptr ? other_op : ""},
                 used_line(site, op)},
                is_left_behind() ? "what it saved may not be whole: make a new tape in the child."
                                 : "a tape is used by one thread at a time: let the other finish "
                                   "first, or give each "
                                   "thread a tape of its own."),
      site, other);
}

bool Tape::before(const ops::OpDef& op, std::span<const Tensor> in, ops::AttrsRef attrs,
                  std::source_location site) {
  if (!records() || !enter(To::record, op.name, site)) return false;
  ops::Keep keep;
  Watched watched;
  bool any = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!is_tracked(*Access::header(in[i]))) continue;
    any = true;
    if (i < watched.size()) watched.set(i);
    keep = keep | op.grad_keeps.of(i);
  }
  const bool derives = !derived_values_.empty() &&
                       std::ranges::any_of(in, [&](const Tensor& x) { return is_derived(x); });
  if (!any && !derives) {
    leave();
    return false;
  }
  try {
    if (derives) [[unlikely]] {
      new_derived_ = {.nodes_before = nodes_.size(), .op = op.name, .site = site};
      for (const Tensor& x : in) new_derived_->from.push_back(Access::header(x)->value_id);
    }
    has_new_node_ = any;
    if (!any) return true;
    nodes_.emplace_back();  // filled where it lies: it is large
    try {
      fill_in(nodes_.back(), op, in, attrs, keep, watched);
    } catch (...) {
      nodes_.pop_back();
      throw;
    }
  } catch (...) {
    new_derived_.reset();
    leave();
    throw;
  }
  return true;
}

bool Tape::is_tracked(const Header& header) const {
  if (!has_gradient(header.layout.dtype)) return false;
  const bool of_variable = (header.value_id & kTrainable) != 0;
  return (of_variable && options_.watch_variables) || tracked_.contains(header.value_id);
}

void Tape::fill_in(TapeNode& node, const ops::OpDef& op, std::span<const Tensor> in,
                   ops::AttrsRef attrs, ops::Keep keep, Watched watched) const {
  node.op = &op;
  node.attrs = ops::AttrsBox(attrs);
  node.keep = keep;
  node.inputs.resize(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Header& header = *Access::header(in[i]);
    TapeValue& value = node.inputs[i];
    value.id = header.value_id;
    value.shape = header.layout.shape;
    value.dtype = header.layout.dtype;
    value.tracked = i < watched.size() ? watched[i] : is_tracked(header);
    const bool kept =
        op.keeps_input != nullptr ? op.keeps_input(attrs, i) : has_bit(keep.inputs, i);
    if (kept) value.saved = save(in[i], label_);
  }
}

void Tape::after(std::span<const Tensor> out) {
  if (new_derived_) [[unlikely]]
    note_derived(out);
  if (has_new_node_) fill_in_outputs(nodes_.back(), out);
  leave();
}

void Tape::fill_in_outputs(TapeNode& node, std::span<const Tensor> out) {
  node.outputs.resize(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Header& header = *Access::header(out[i]);
    TapeValue& value = node.outputs[i];
    value.id = header.value_id;
    value.shape = header.layout.shape;
    value.dtype = header.layout.dtype;
    const bool kept = node.op->keeps_output != nullptr ? node.op->keeps_output(node.attrs.ref(), i)
                                                       : has_bit(node.keep.outputs, i);
    if (kept) value.saved = save(out[i], label_);
    if (has_gradient(value.dtype)) tracked_.insert(value.id);
  }
}

bool Tape::is_derived(const Tensor& tensor) const {
  return derived_values_.contains(Access::header(tensor)->value_id);
}

void Tape::note_derived(std::span<const Tensor> out) {
  for (const Tensor& tensor : out) {
    const Header& header = *Access::header(tensor);
    if (!has_gradient(header.layout.dtype)) continue;
    new_derived_->values.push_back(header.value_id);
    if (!has_new_node_) derived_values_.insert(header.value_id);
  }
  derived_.push_back(std::move(*new_derived_));
  new_derived_.reset();
}

// A result that is a value of before, as a seed that nothing changed, is known as what it is.
void Tape::note_given(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                      std::span<const Tensor> results, std::uint64_t first_new,
                      std::source_location site) {
  Derived seeded{.nodes_before = nodes_.size(), .op = "gradient", .site = site, .is_given = true};
  for (const Tensor& result : results) {
    if (!result.defined()) continue;
    const std::uint64_t id = Access::header(result)->value_id;
    if ((id & kTrainable) != 0 || id < first_new) continue;
    seeded.values.push_back(id);
    derived_values_.insert(id);
  }
  if (seeded.values.empty()) return;
  for (const Tensor& target : targets) seeded.from.push_back(Access::header(target)->value_id);
  for (const Tensor& seed : seeds) {
    if (seed.defined()) seeded.from.push_back(Access::header(seed)->value_id);
  }
  derived_.push_back(std::move(seeded));
}

void Tape::abandon() noexcept {
  if (has_new_node_) nodes_.pop_back();
  new_derived_.reset();
  leave();
}

void Tape::watch(const Tensor& tensor, std::source_location site) {
  const Header& header = checked(tensor, "watch");
  const bool of_this_trace = header.is_symbolic() && header.trace == current_trace();
  std::optional<Pin> pin;
  if (!of_this_trace) pin.emplace(tensor, "watch", site);
  if (!has_gradient(header.layout.dtype)) {
    throw DtypeError(describe("watch: {} has no gradient: only floating and complex dtypes do",
                              header.layout.dtype)
                         .told({line_of("born", header), line_of("tape", *label_.get()),
                                used_line(site, "watch")},
                               "cast it to a floating dtype first, and watch the result."));
  }
  const Using inside(*this, To::use, "watch", site);
  if (first_gradient_.line() != 0 && !options_.persistent) {
    raise_used_up("watch", fmt::format("{} was used up by its gradient()", title()), site);
  }
  tracked_.insert(header.value_id);
}

std::string Tape::title() const {
  return options_.name.empty() ? "the tape" : label_text(*label_.get());
}

void Tape::raise_used_up(const char* op, const std::string& problem, std::source_location site) {
  const char* what = "what it had saved was freed";
  if (giving_ == Giving::now) what = "which is being computed, and called this";
  if (giving_ == Giving::failed) what = "which failed; what it had saved was freed";
  throw_recorded<TapeError>(
      describe("{}: {}", op, problem)
          .told(
              {line_of("born", *label_.get()),
               {giving_ == Giving::now ? "asked" : "used up", site_text(first_gradient_),
                "gradient", what},
               used_line(site, op)},
              "make a new tape, or this one persistent: GradientTape tape({.persistent = true})."),
      site, first_gradient_);
}

Tape::Reach Tape::reach_of(const IdSet& sources) const {
  Reach reach{.values = sources, .derived = {}, .behind = std::vector<bool>(nodes_.size())};
  auto derived = derived_.begin();
  for (std::size_t i = 0; i <= nodes_.size(); ++i) {
    for (; derived != derived_.end() && derived->nodes_before == i; ++derived) {
      const IdSet& on = derived->is_given ? reach.values : reach.derived;
      if (std::ranges::none_of(derived->from, [&](auto id) { return on.contains(id); })) continue;
      for (const std::uint64_t id : derived->values) {
        reach.values.insert(id);
        reach.derived.insert(id);
      }
    }
    if (i == nodes_.size()) break;
    const TapeNode& node = nodes_[i];
    reach.behind[i] = std::ranges::any_of(node.inputs,
                                          [&](const TapeValue& value) {
                                            return value.tracked && reach.values.contains(value.id);
                                          }) ||
                      std::ranges::any_of(node.outputs, [&](const TapeValue& value) {
                        return reach.derived.contains(value.id);
                      });
    if (!reach.behind[i]) continue;
    for (const TapeValue& value : node.outputs) reach.values.insert(value.id);
  }
  return reach;
}

void Tape::refuse_derived(std::uint64_t value, const Reach& reach,
                          std::source_location site) const {
  if (!reach.derived.contains(value)) return;
  // Back to the gradient that it came from, and the operation that used that.
  std::vector<Line> lines{line_of("born", *label_.get())};
  const Derived* user = nullptr;
  for (auto derived = derived_.rbegin(); derived != derived_.rend(); ++derived) {
    if (std::ranges::find(derived->values, value) == derived->values.end()) continue;
    if (derived->is_given) {
      lines.push_back({"gave", site_text(derived->site), derived->op});
      break;
    }
    const auto from = std::ranges::find_if(
        derived->from, [&](std::uint64_t id) { return reach.derived.contains(id); });
    if (from == derived->from.end()) continue;
    user = &*derived;
    value = *from;
  }
  if (user != nullptr) lines.push_back({"through", site_text(user->site), user->op});
  lines.push_back(used_line(site, "gradient"));
  throw TapeError(
      describe("gradient: it flows through a gradient that {} gave, and a tape does not record "
               "what it gives",
               title())
          .told(std::move(lines),
                "let another tape record it: GradientTape outer, made before it is asked for; or, "
                "where that gradient is meant as a number, use stop_gradient() of it."));
}

void Tape::step_back(TapeNode& node, const Reach& reach, Gradients& gradients, const IdSet& sources,
                     std::source_location site) {
  std::vector<Tensor> dy(node.outputs.size());
  bool flows = false;
  DeviceType device{};
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const auto gradient = gradients.find(node.outputs[i].id);
    if (gradient == gradients.end()) continue;
    flows = true;
    refuse_derived(gradient->first, reach, site);
    device = Access::header(gradient->second)->device.type;
    if (sources.contains(gradient->first)) {
      dy[i] = gradient->second;
    } else {  // nothing earlier adds to it, and nobody asked for it
      dy[i] = std::move(gradient->second);
      gradients.erase(gradient);
    }
  }
  if (!flows) return;
  const CallScope call(node.op->name, site, true);
  Step step(node, reach.values, std::move(dy), device, site);
  if (node.op->add_grad != nullptr) {
    const auto sum = gradients.find(node.inputs[0].id);
    if (sum != gradients.end()) {
      sum->second = node.op->add_grad(step, std::move(sum->second));
      return;
    }
  }
  ops::Grads grads = node.op->grad(step);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i >= grads.size() || !grads[i].defined() || !step.needs(static_cast<int>(i))) continue;
    Tensor& sum = gradients[node.inputs[i].id];
    Tensor flow = step.rounded(std::move(grads[i]), i);
    sum = sum.defined() ? std::move(sum) + std::move(flow) : std::move(flow);
  }
}

void Tape::check_target(const Header& target, const Tensor& seed, std::source_location site) {
  if (!has_gradient(target.layout.dtype)) {
    throw DtypeError(
        describe("gradient: the target is {}: only floating and complex dtypes have one",
                 target.layout.dtype)
            .told({line_of("target", target), used_line(site, "gradient")},
                  "cast it to a floating dtype while the tape records."));
  }
  if (seed.defined() && seed.shape() != target.layout.shape) {
    throw ShapeError(describe("gradient: output_gradient is {}, the target {}", seed.shape(),
                              target.layout.shape)
                         .told({line_of("target", target), line_of("given", *Access::header(seed)),
                                used_line(site, "gradient")},
                               "the gradient that flows into a target has the target's shape."));
  }
  if (seed.defined() && seed.dtype() != target.layout.dtype) {
    throw DtypeError(describe("gradient: output_gradient is {}, the target {}", seed.dtype(),
                              target.layout.dtype)
                         .told({line_of("target", target), line_of("given", *Access::header(seed)),
                                used_line(site, "gradient")},
                               "the gradient that flows into a target has the target's dtype."));
  }
}

// What a function, a branch or a loop computes while it is traced, only tapes made in it record.
void Tape::check_seen(const Header& target, std::source_location site) const {
  const bool left_its_trace = trace_ != 0 && current_trace() == 0;
  if (is_tracked(target) || !(left_its_trace || (recording_ && target.is_symbolic()))) return;
  for (const ops::Recorder* tape = context().tapes; tape != nullptr; tape = tape->outer) {
    if (tape == this) return;
  }
  if (left_its_trace) {
    throw TapeError(
        describe("gradient: {} was made while a function was traced, and records only there",
                 title())
            .told({line_of("target", target), line_of("tape", *label_.get()),
                   used_line(site, "gradient")},
                  "make a tape outside the function for what is computed outside."));
  }
  throw TapeError(
      describe("gradient: the target is computed where {} does not look: inside a function, a "
               "branch or a loop that is being traced",
               title())
          .told({line_of("target", target), line_of("tape", *label_.get()),
                 used_line(site, "gradient")},
                "make a tape inside it, or return the target and take its gradient outside."));
}

std::vector<Tensor> Tape::gradient(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                                   const std::vector<Source>& sources,
                                   const GradientOptions& options, std::source_location site) {
  for (const Tensor& target : targets) check_of_this_trace(target, site);
  IdSet source_ids;
  for (const Source& source : sources) {
    if (Access::variable(source) == nullptr) check_of_this_trace(Access::tensor(source), site);
    source_ids.insert(id_of(source));
  }
  const Using inside(*this, To::use, "gradient", site);
  if (first_gradient_.line() != 0 && !options_.persistent) {
    const char* gave = "gave it";
    if (giving_ == Giving::now) gave = "is computing it";
    if (giving_ == Giving::failed) gave = "failed to";
    raise_used_up("gradient",
                  fmt::format("a tape gives its gradient once, and {} {} at {}", title(), gave,
                              site_text(first_gradient_)),
                  site);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    check_target(*Access::header(targets[i]), seeds[i], site);
    check_seen(*Access::header(targets[i]), site);
  }
  if (first_gradient_.line() == 0) first_gradient_ = site;
  giving_ = Giving::now;
  const std::uint64_t first_new = next_tensor_id();

  // Whatever happens from here on, a tape that is not persistent ends empty.
  struct Finish {
    Tape& tape;
    ~Finish() {
      if (tape.giving_ == Giving::now) tape.giving_ = Giving::failed;
      if (tape.options_.persistent) return;
      tape.clear();
      ops::drop_stopped(context());
      tape.end_span();
    }
  } const finish{*this};
  if (!options_.persistent) stop();

  const Reach reach = reach_of(source_ids);
  Gradients gradients;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Header& goal = *Access::header(targets[i]);
    refuse_derived(goal.value_id, reach, site);
    const CallScope call("gradient", site);
    Tensor seed = seeds[i].defined() ? seeds[i] : ones(goal.layout.shape, goal.layout.dtype, site);
    Tensor& flow = gradients[goal.value_id];
    if (flow.defined()) seed = std::move(flow) + std::move(seed);
    flow = std::move(seed);
  }
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (reach.behind[i]) step_back(nodes_[i], reach, gradients, source_ids, site);
    if (!options_.persistent) nodes_.pop_back();
  }

  std::vector<Tensor> results;
  results.reserve(sources.size());
  for (const Source& source : sources) {
    const auto gradient = gradients.find(id_of(source));
    results.push_back(gradient != gradients.end() ? gradient->second : Tensor());
  }
  gradients.clear();
  for (Tensor& result : results) {
    if (result.defined()) result = own_result(std::move(result), site);
  }
  if (options_.persistent) note_given(targets, seeds, results, first_new, site);
  for (std::size_t i = 0; options.zero_if_unconnected && i < results.size(); ++i) {
    if (results[i].defined()) continue;
    const VariableState* variable = Access::variable(sources[i]);
    const CallScope call("gradient", site);
    results[i] = own_result(variable != nullptr ? zeros(variable->shape, variable->dtype, site)
                                                : zeros_like(Access::tensor(sources[i]), site),
                            site);
  }
  giving_ = Giving::done;
  return results;
}

std::size_t Tape::saved_bytes(std::source_location site) {
  const Using inside(*this, To::use, "saved_bytes", site);
  std::unordered_set<const Storage*> storages;
  std::size_t bytes = 0;
  const auto add = [&](const TapeValue& value) {
    if (!value.saved || value.saved.get()->is_dead()) return;  // symbolic ones hold no bytes
    const Storage* storage = value.saved.get()->storage;
    if (storages.insert(storage).second) bytes += storage->nbytes;
  };
  for (const TapeNode& node : nodes_) {
    for (const TapeValue& value : node.inputs) add(value);
    for (const TapeValue& value : node.outputs) add(value);
  }
  return bytes;
}

}  // namespace tenure::detail

namespace tenure {

GradientTape::GradientTape(TapeOptions options, std::source_location site)
    : tape_(new detail::Tape(std::move(options), site)) {}

GradientTape::~GradientTape() { tape_->close(); }

void GradientTape::watch(const Tensor& tensor, std::source_location site) {
  const detail::UserLine line(site);
  tape_->watch(tensor, site);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Source>& sources,
                                           GradientOptions options, std::source_location site) {
  const detail::UserLine line(site);
  return tape_->gradient({&target, 1}, {&options.output_gradient, 1}, sources, options, site);
}

std::vector<Tensor> GradientTape::gradients(const std::vector<Tensor>& targets,
                                            const std::vector<Tensor>& output_gradients,
                                            const std::vector<Source>& sources,
                                            GradientOptions options, std::source_location site) {
  const detail::UserLine line(site);
  if (output_gradients.size() != targets.size()) {
    raise<ValueError>("gradients: {} output gradients for {} targets", output_gradients.size(),
                      targets.size());
  }
  return tape_->gradient(targets, output_gradients, sources, options, site);
}

std::size_t GradientTape::saved_bytes(std::source_location site) const {
  return tape_->saved_bytes(site);
}

}  // namespace tenure
