#include "tenure/function.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <mutex>
#include <set>
#include <unordered_set>

#include "core/raise.h"
#include "graph/checkpoint.h"
#include "graph/donation.h"
#include "graph/free_dims.h"
#include "graph/passes/passes.h"
#include "graph/program.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/fork.h"
#include "memory/out_of_memory.h"
#include "memory/text.h"
#include "memory/user_site.h"
#include "memory/warn.h"
#include "ops/recorder.h"

namespace tenure::detail {

namespace {

struct Entry {
  std::vector<std::int64_t> words;
  std::vector<PlainArgument> plain;
  std::vector<std::shared_ptr<const void>> plain_values;  // what those point at
  std::vector<Layout> arguments;
  std::shared_ptr<graph::Program> program;
  std::shared_ptr<void> result_shape;
  std::uint64_t hits = 0;
  bool shared = false;

  bool matches(const Key& key) const {
    return std::ranges::equal(words, key.words()) &&
           std::ranges::equal(plain, key.plain(), [](const auto& a, const auto& b) {
             return a.equal == b.equal && a.equal(a.value, b.value);
           });
  }
};

std::string signature_of(const Entry& entry) {
  std::string text;
  for (const Layout& argument : entry.arguments) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", argument.dtype, argument.shape);
    if (!argument.contiguous) text += fmt::format(" with strides {}", argument.strides);
  }
  return text;
}

}  // namespace

struct FunctionState {
  FunctionState(LabelRef of, FunctionOptions function_options);
  ~FunctionState();
  FunctionState(const FunctionState&) = delete;
  FunctionState& operator=(const FunctionState&) = delete;

  LabelRef label;
  FunctionOptions options;
  std::uint64_t number;  // no other function's
  Mutex mutex;
  std::list<Entry> entries;  // the most recently used first
  graph::FreeDims free_dims;
  bool warned = false;
  // Signatures that are being traced, and by whom: a function may call itself only with another.
  std::vector<std::pair<Worker, std::vector<std::int64_t>>> in_progress;
};

namespace {

// All functions there are, for whoever asks what memory they keep.
struct Functions {
  static Functions& instance() {
    static Functions* functions = new Functions;
    return *functions;
  }
  ProcessMutex mutex;
  std::set<FunctionState*> all;
};

std::atomic<std::uint64_t> g_made{0};

void list_kept(std::vector<KeptBytes>& kept) {
  Functions& functions = Functions::instance();
  const std::lock_guard lock(functions.mutex);
  for (FunctionState* state : functions.all) {
    const std::unique_lock busy(state->mutex, std::try_to_lock);
    if (!busy) continue;  // being called: it is told of the next time
    std::size_t bytes = 0;
    for (const Entry& entry : state->entries) bytes += held_bytes(entry.program->code());
    kept.push_back({fmt::format("{} (made {}), {} trace{}", label_text(*state->label.get()),
                                site_text(state->label->site), state->entries.size(),
                                state->entries.size() == 1 ? "" : "s"),
                    bytes});
  }
}

}  // namespace

FunctionState::FunctionState(LabelRef of, FunctionOptions function_options)
    : label(std::move(of)), options(function_options), number(++g_made) {
  list_functions.store(list_kept);
  const std::lock_guard lock(Functions::instance().mutex);
  Functions::instance().all.insert(this);
}

FunctionState::~FunctionState() {
  const std::lock_guard lock(Functions::instance().mutex);
  Functions::instance().all.erase(this);
}

namespace {

bool escapes_checked(const FunctionOptions& options) {
  static const bool always = [] {
    const char* value = std::getenv("TENURE_CHECK_ESCAPES");
    return value != nullptr && std::string_view(value) != "0";
  }();
  return always || options.check_escapes;
}

// What kept changing from trace to trace, and what to do about it.
std::string what_changes(const std::list<Entry>& entries, const std::string& advice) {
  const Entry& first = entries.front();
  for (std::size_t a = 0; a < first.arguments.size(); ++a) {
    std::set<DType> dtypes;
    std::set<int> ranks;
    std::set<std::vector<std::int64_t>> strides;  // none of what is row-major
    for (const Entry& entry : entries) {
      if (entry.arguments.size() != first.arguments.size()) continue;
      dtypes.insert(entry.arguments[a].dtype);
      ranks.insert(entry.arguments[a].shape.rank());
      const Layout& layout = entry.arguments[a];
      strides.emplace(layout.strides.begin(),
                      layout.contiguous ? layout.strides.begin() : layout.strides.end());
    }
    if (dtypes.size() > 1) {
      return fmt::format("the dtype of argument {} kept changing: cast it before the call", a);
    }
    if (ranks.size() > 1) {
      return fmt::format("the rank of argument {} kept changing: reshape it before the call", a);
    }
    for (int axis = 0; axis < first.arguments[a].shape.rank(); ++axis) {
      std::set<std::int64_t> sizes;
      for (const Entry& entry : entries) {
        if (entry.arguments.size() == first.arguments.size()) {
          sizes.insert(entry.arguments[a].shape[axis]);
        }
      }
      if (sizes.size() < 2) continue;
      return fmt::format(
          "dimension {} of argument {} kept changing (it was {} to {}): {}", axis, a,
          *sizes.begin(), *sizes.rbegin(),
          advice.empty() ? "pad it to a few sizes, or in a function of your own declare it free "
                           "with input({dyn, ...})"
                         : advice);
    }
    if (strides.size() > 1) {
      return fmt::format(
          "argument {} is a view that kept lying otherwise in memory: call it with contiguous(...)",
          a);
    }
  }
  return "an argument that is no tensor kept changing: each of its values has its own trace";
}

// A function may give an argument back, or a value twice: each result is a tensor of its own.
void own_results(std::span<const Tensor> in, std::span<Tensor> out, std::source_location site) {
  std::unordered_set<const Header*> others;
  for (const Tensor& argument : in) others.insert(Access::header(argument));
  for (Tensor& result : out) {
    if (!others.insert(Access::header(result)).second) result = result.clone(site);
  }
}

class InProgress {
 public:
  InProgress(FunctionState& state, const Key& key, std::source_location site)
      : state_(state), mine_{this_thread(), {key.words().begin(), key.words().end()}} {
    const std::lock_guard lock(state.mutex);
    if (std::ranges::find(state.in_progress, mine_) != state.in_progress.end()) {
      throw UnsupportedError(
          describe("{} calls itself with the arguments it is being traced for, without end",
                   label_text(*state.label.get()))
              .told({line_of("born", *state.label.get()), used_line(site, "call")},
                    "use while_loop, or call it with a number that counts down."));
    }
    state.in_progress.push_back(mine_);
  }
  ~InProgress() {  // also when there is no memory: it makes nothing
    const std::lock_guard lock(state_.mutex);
    state_.in_progress.erase(std::ranges::find(state_.in_progress, mine_));
  }
  InProgress(const InProgress&) = delete;
  InProgress& operator=(const InProgress&) = delete;

 private:
  FunctionState& state_;
  std::pair<Worker, std::vector<std::int64_t>> mine_;
};

Entry make_entry(FunctionState& state, const Key& key, std::span<const Tensor> in,
                 std::span<const std::size_t> donated, const Tracing& tracing,
                 std::source_location site) {
  const InProgress in_progress(state, key, site);
  const events::Span span("trace", state.label->text, site, state.number);
  Entry entry;
  entry.words.assign(key.words().begin(), key.words().end());
  for (PlainArgument plain : key.plain()) {
    entry.plain_values.push_back(plain.copy(plain.value));
    plain.value = entry.plain_values.back().get();
    entry.plain.push_back(plain);
  }
  for (const Tensor& x : in) entry.arguments.push_back(Access::header(x)->layout);
  const graph::NewCall call{
      state.label, in, donated, key.kinds(), tracing, escapes_checked(state.options), site};
  std::optional<graph::TracedGraph> traced;
  // Templates are found by words: where equality must decide, each size is traced.
  if (state.free_dims.any_declared() && key.plain().empty()) {
    traced = state.free_dims.graph_for(call, state.options.most_traces);
  }
  entry.shared = traced.has_value();
  if (!traced) traced = graph::trace_call(call);
  entry.result_shape = std::move(traced->result_shape);
  std::vector<bool> donates = graph::check_donations(traced->graph, donated, site);
  const auto written = std::make_shared<const graph::Graph>(std::move(traced->graph));
  entry.program = std::make_shared<graph::Program>(
      written, graph::make_code(graph::optimise(*written), {.donated = std::move(donates)}));
  return entry;
}

// Takes out what has not been used for longest while there is too much; `warning` says so, once.
// The caller lets go of it, and warns, without the lock: both may call the user's code.
std::list<Entry> enforce_bounds(FunctionState& state, std::source_location site,
                                std::string& warning) {
  const FunctionOptions& options = state.options;
  std::size_t bytes = 0;
  for (const Entry& entry : state.entries) bytes += held_bytes(entry.program->code());
  const auto too_much = [&] {
    return state.entries.size() > options.most_traces || bytes > options.most_bytes;
  };
  std::list<Entry> dropped;
  if (!too_much() || state.entries.size() < 2) return dropped;
  if (!state.entries.front().shared && !std::exchange(state.warned, true)) {
    const bool traces = state.entries.size() > options.most_traces;
    warning = fmt::format(
        "{}, made {}, called {}, has {}, of which the least recently used are dropped: {}",
        label_text(*state.label.get()), site_text(state.label->site), site_text(user_site(site)),
        traces ? fmt::format("more than {} traces", options.most_traces)
               : fmt::format("traces that hold {} bytes, more than {}", bytes, options.most_bytes),
        what_changes(state.entries, options.advice));
  }
  while (too_much() && state.entries.size() > 1) {
    bytes -= held_bytes(state.entries.back().program->code());
    dropped.splice(dropped.begin(), state.entries, std::prev(state.entries.end()));
  }
  return dropped;
}

FunctionState& checked(const std::shared_ptr<FunctionState>& state, const char* what) {
  if (state == nullptr) [[unlikely]] {
    raise<ValueError>(
        "{}: the Function is empty (moved from): use the one it was moved to, or a copy", what);
  }
  return *state;
}

}  // namespace

void Key::add(const Tensor& tensor) {
  if (!tensor.defined()) return add(std::int64_t{-1});  // no call with it comes far
  const Header& header = *Access::header(tensor);
  const Layout& layout = header.layout;
  const std::int64_t kind = static_cast<std::int64_t>(header.device.type) << 16 |
                            static_cast<std::int64_t>(layout.dtype) << 8 | layout.shape.rank();
  constexpr std::int64_t kIsView = std::int64_t{1} << 32;
  kinds_.push_back(kind);
  words_.push_back(layout.contiguous ? kind : kind | kIsView);
  for (const std::int64_t dim : layout.shape) words_.push_back(dim);
  if (layout.contiguous) return;
  for (const std::int64_t stride : layout.strides) words_.push_back(stride);
}

void Key::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  for (const char c : text) add(static_cast<std::int64_t>(c));
}

FunctionCore::FunctionCore(std::string_view name, FunctionOptions options,
                           std::source_location site)
    : state_(std::make_shared<FunctionState>(LabelRef::make("function", name, site), options)) {}

void FunctionCore::call(Key& key, std::span<const Tensor> in, std::span<const std::size_t> donated,
                        TensorList& out, const Tracing& tracing, std::source_location site) const {
  const UserLine line(site);
  checked(state_, "call");
  for (std::size_t i = 0; i < in.size(); ++i) checked(in[i], "call", static_cast<int>(i));
  const events::Span span("call", state_->label->text, site, state_->number);
  graph::Donation donation(in, donated, state_->label, site);
  Context& current = context();
  const bool watched = current.trace != nullptr || ops::tapes_of(current) != nullptr;
  // What is computed again for a gradient is computed from the arguments' bytes.
  const bool keeps_arguments = watched && state_->options.checkpoint;
  const std::span<const std::size_t> taken =
      keeps_arguments ? std::span<const std::size_t>() : donated;
  for (const std::size_t i : taken) key.add(static_cast<std::int64_t>(i));
  std::shared_ptr<graph::Program> program;
  std::shared_ptr<void> shape;
  {
    const std::lock_guard lock(state_->mutex);
    const auto match = std::ranges::find_if(state_->entries,
                                            [&](const Entry& entry) { return entry.matches(key); });
    if (match != state_->entries.end()) {
      ++match->hits;
      state_->entries.splice(state_->entries.begin(), state_->entries, match);
      program = match->program;
      shape = match->result_shape;
    }
  }
  if (program == nullptr) {
    // Traced without the lock: the user's function may call this one, or take its time.
    Entry entry = make_entry(*state_, key, in, taken, tracing, site);
    program = entry.program;
    shape = entry.result_shape;
    std::string warning;
    std::list<Entry> dropped;
    {
      const std::lock_guard lock(state_->mutex);
      // Not at sizes that stand for others, while another function is traced.
      if (context().free == nullptr) state_->entries.push_front(std::move(entry));
      dropped = enforce_bounds(*state_, site, warning);
    }
    dropped.clear();
    if (!warning.empty()) warn(warning);
  }
  tracing.expect(tracing.object, shape.get());
  const graph::Graph& written = program->written();
  out.resize(written.results.size());
  if (keeps_arguments) graph::check_donations(written, donated, site);
  graph::check_captures(written, site);
  if (!watched) {
    program->run(in, out.span(), site, &donation);
    return;
  }
  graph::check_arguments(written, in, site);
  if (state_->options.checkpoint) {
    graph::call_as_one(*program, in, out.span(), site);
  } else {
    graph::interpret(written, in, out.span(), site);
    own_results(in, out.span(), site);
  }
  donation.end();
}

void FunctionCore::input(int argument, std::vector<Dim> dims) {
  const std::lock_guard lock(checked(state_, "input").mutex);
  if (!state_->entries.empty()) {
    throw ValueError(describe("input: {} was called before: declare its arguments first",
                              label_text(*state_->label.get()))
                         .told({line_of("born", *state_->label.get())}));
  }
  state_->free_dims.declare(*state_->label.get(), argument, std::move(dims));
}

std::string FunctionCore::name() const { return checked(state_, "name").label->text; }

std::vector<TraceInfo> FunctionCore::traces() const {
  const std::lock_guard lock(checked(state_, "traces").mutex);
  std::vector<TraceInfo> infos;
  for (const Entry& entry : state_->entries) {
    const graph::Program& program = *entry.program;
    const graph::Code& code = program.code();
    infos.push_back({signature_of(entry), program.written().nodes.size(), code.steps.size(),
                     code.arena.bytes, code.arena.bound_bytes, held_bytes(code),
                     program.stack_bytes(), entry.hits, code.arena.plan_us, entry.shared});
  }
  return infos;
}

std::vector<CaptureInfo> FunctionCore::captures() const {
  const std::lock_guard lock(checked(state_, "captures").mutex);
  std::vector<CaptureInfo> infos;
  const auto add = [&infos](const graph::Graph& graph) {
    for (const graph::Capture& capture : graph.captures) {
      const Header& saved = capture.header();
      const LabelRef name = name_of(saved);
      infos.push_back({name ? name->text : "", saved.layout.shape, saved.layout.dtype,
                       saved.layout.nbytes(), saved.birth.site});
    }
  };
  for (const Entry& entry : state_->entries) {
    if (!entry.shared) add(entry.program->written());
  }
  state_->free_dims.each_template(add);
  return infos;
}

PlanInfo FunctionCore::plan() const {
  const std::lock_guard lock(checked(state_, "plan").mutex);
  PlanInfo info;
  if (state_->entries.empty()) return info;
  const graph::Code& code = state_->entries.front().program->code();
  const graph::PlanView view = plan_view(code);
  info.arena_bytes = code.arena.bytes;
  info.bound_bytes = code.arena.bound_bytes;
  std::vector<std::optional<PlannedBuffer>> planned(view.buffers.size());
  for (std::size_t s = 0; s < view.steps.size(); ++s) {
    const graph::PlanView::Step& step = view.steps[s];
    const auto touch = [&](std::uint32_t buffer) {
      const graph::PlanView::Buffer& placed = view.buffers[buffer];
      if (placed.offset == graph::PlanView::kElsewhere) return;
      if (!planned[buffer]) {
        planned[buffer] = {std::string(step.op), s, s, static_cast<std::size_t>(placed.offset),
                           static_cast<std::size_t>(placed.bytes)};
      }
      planned[buffer]->last_step = s;
    };
    std::ranges::for_each(step.writes, touch);
    std::ranges::for_each(step.reads, touch);
  }
  for (std::optional<PlannedBuffer>& buffer : planned) {
    if (buffer) info.buffers.push_back(std::move(*buffer));
  }
  return info;
}

std::string FunctionCore::dump(DumpOptions options) const {
  const std::lock_guard lock(checked(state_, "dump").mutex);
  std::string text;
  for (const Entry& entry : state_->entries) {
    const graph::Program& program = *entry.program;
    text += graph::dump(options.optimised ? program.code().graph : program.written());
  }
  return text;
}

std::string FunctionCore::dot() const {
  const std::lock_guard lock(checked(state_, "dot").mutex);
  std::string text;
  for (const Entry& entry : state_->entries) text += graph::dot(entry.program->written());
  return text;
}

}  // namespace tenure::detail
