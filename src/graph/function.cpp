#include "tenure/function.h"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <mutex>

#include "core/raise.h"
#include "core/warn.h"
#include "graph/free_dims.h"
#include "graph/program.h"
#include "memory/context.h"
#include "memory/text.h"

namespace tenure::detail {

struct TraceEntry {
  std::vector<std::int64_t> key;
  std::string signature;
  std::shared_ptr<graph::Program> program;
  std::shared_ptr<void> result_shape;
  std::uint64_t hits = 0;
  bool shared = false;
};

struct FunctionState {
  LabelRef label;
  FunctionOptions options;
  std::mutex mutex;
  std::list<TraceEntry> entries;  // the most recently used first
  graph::FreeDims free_dims;
  bool warned = false;
};

namespace {

std::string signature_of(const std::vector<Tensor>& in) {
  std::string text;
  for (const Tensor& x : in) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", x.dtype(), x.shape());
  }
  return text;
}

bool escapes_checked(const FunctionOptions& options) {
  static const bool always = [] {
    const char* value = std::getenv("TENURE_CHECK_ESCAPES");
    return value != nullptr && std::string_view(value) != "0";
  }();
  return always || options.check_escapes;
}

// The argument and dimension in which two signatures of one form differ, as text.
std::string difference(const TraceEntry& a, const TraceEntry& b) {
  return fmt::format("({}) and ({})", a.signature, b.signature);
}

// What of a signature is no tensor.
std::span<const std::int64_t> plain_part(const Key& key, const std::vector<Tensor>& in) {
  std::size_t words = 0;
  for (const Tensor& x : in) words += 1 + static_cast<std::size_t>(x.rank());
  return std::span(key.words()).subspan(words);
}

TraceEntry make_entry(FunctionState& state, const Key& key, const std::vector<Tensor>& in,
                      const FunctionCore::Tracing& trace, std::source_location site) {
  TraceEntry entry{key.words(), signature_of(in), nullptr, nullptr, 0, false};
  const graph::NewCall call{
      state.label, in, plain_part(key, in), trace, escapes_checked(state.options), site};
  std::optional<graph::TracedGraph> traced;
  if (state.free_dims.any_declared())
    traced = state.free_dims.graph_for(call, state.options.most_traces);
  entry.shared = traced.has_value();
  if (!traced) traced = graph::trace_call(call);
  entry.result_shape = std::move(traced->result_shape);
  entry.program =
      std::make_shared<graph::Program>(std::make_shared<graph::Graph>(std::move(traced->graph)));
  return entry;
}

}  // namespace

void Key::add(const Tensor& tensor) {
  const Header& header = checked(tensor, "call", static_cast<int>(words_.size()));
  add(static_cast<std::int64_t>(header.layout.dtype) << 8 | header.layout.shape.rank());
  for (const std::int64_t dim : header.layout.shape) add(dim);
}

void Key::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  for (const char c : text) add(static_cast<std::int64_t>(c));
}

FunctionCore::FunctionCore(std::string_view name, FunctionOptions options,
                           std::source_location site)
    : state_(std::make_shared<FunctionState>()) {
  state_->label = LabelRef::make("function", name, site);
  state_->options = options;
}

std::shared_ptr<void> FunctionCore::call(const Key& key, const std::vector<Tensor>& in,
                                         std::vector<Tensor>& out, const Tracing& trace,
                                         std::source_location site) const {
  Context& current = context();
  std::shared_ptr<graph::Program> program;
  std::shared_ptr<void> shape;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = std::ranges::find(state_->entries, key.words(), &TraceEntry::key);
    if (found != state_->entries.end()) {
      ++found->hits;
      state_->entries.splice(state_->entries.begin(), state_->entries, found);
      program = found->program;
      shape = found->result_shape;
    }
  }
  if (program == nullptr) {
    // Traced without the lock: the user's function may call this one, or take its time.
    TraceEntry entry = make_entry(*state_, key, in, trace, site);
    program = entry.program;
    shape = entry.result_shape;
    const std::lock_guard lock(state_->mutex);
    // Not at sizes that stand for others, while another function is traced.
    if (current.free == nullptr) state_->entries.push_front(std::move(entry));
    if (state_->entries.size() > state_->options.most_traces) {
      if (!state_->entries.front().shared && !std::exchange(state_->warned, true)) {
        warn(fmt::format(
            "{} was traced for more than {} signatures, of which the oldest are "
            "dropped: {} are two of them. Give it arguments of fewer shapes, or declare what "
            "differs free: input({{dyn, 32}}).",
            label_text(*state_->label.get()), state_->options.most_traces,
            difference(state_->entries.front(), *std::next(state_->entries.begin()))));
      }
      state_->entries.pop_back();
    }
  }
  out.resize(program->written().results.size());
  if (current.trace != nullptr || current.tapes != nullptr) {
    graph::interpret(program->written(), in, out, site);
  } else {
    program->run(in, out, site);
  }
  return shape;
}

void FunctionCore::input(int argument, std::vector<Dim> dims) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->entries.empty()) {
    raise<ValueError>("input: {} was called before: declare its arguments first",
                      label_text(*state_->label.get()));
  }
  state_->free_dims.declare(*state_->label.get(), argument, std::move(dims));
}

std::string FunctionCore::name() const { return state_->label->text; }

std::vector<TraceInfo> FunctionCore::traces() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<TraceInfo> infos;
  for (const TraceEntry& entry : state_->entries) {
    const graph::Program& program = *entry.program;
    infos.push_back({entry.signature, program.written().nodes.size(), program.steps(),
                     program.arena_bytes(), program.bound_bytes(), program.constant_bytes(),
                     entry.hits, entry.shared});
  }
  return infos;
}

std::vector<CaptureInfo> FunctionCore::captures() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<CaptureInfo> infos;
  const auto add = [&infos](const graph::Graph& graph) {
    for (const graph::Capture& capture : graph.captures) {
      const Header& saved = capture.header();
      const LabelRef name = name_of(saved);
      infos.push_back({name ? name->text : "", saved.layout.shape, saved.layout.dtype,
                       saved.layout.nbytes(), saved.birth.site});
    }
  };
  for (const TraceEntry& entry : state_->entries) {
    if (!entry.shared) add(entry.program->written());
  }
  state_->free_dims.each_template(add);
  return infos;
}

std::string FunctionCore::dump() const {
  const std::lock_guard lock(state_->mutex);
  std::string text;
  for (const TraceEntry& entry : state_->entries) text += graph::dump(entry.program->written());
  return text;
}

std::string FunctionCore::dot() const {
  const std::lock_guard lock(state_->mutex);
  std::string text;
  for (const TraceEntry& entry : state_->entries) text += graph::dot(entry.program->written());
  return text;
}

}  // namespace tenure::detail
