// Stories: what a header's records say, in the words of every lifetime error.
#include "tenure/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <ostream>
#include <thread>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/header.h"
#include "memory/ledger.h"
#include "memory/session.h"
#include "memory/text.h"
#include "memory/user_site.h"

namespace tenure {
namespace detail {
namespace {

std::vector<Line> life_lines(const Story& story) {
  std::string scope;
  if (story.birth.in_scope) {
    const std::string quoted =
        story.birth.scope.empty() ? "" : fmt::format(" \"{}\"", story.birth.scope);
    scope = fmt::format("in tidy{} (opened {})", quoted, site_text(story.birth.scope_site));
  }
  std::vector<Line> lines{{"born", site_text(story.birth.site), story.birth.op, scope}};
  if (!story.traced_in.empty()) {
    lines.push_back({"traced", site_text(story.traced_at), story.traced_in, ""});
  }
  if (const auto& death = story.death) {
    lines.push_back({"died", site_text(death->site), std::string(name(death->cause)), death->by});
  }
  return lines;
}

// The stacks, a paragraph each, where they were asked for.
std::vector<std::string> stacks_text(const Story& story) {
  std::vector<std::string> paragraphs;
  const auto add = [&](std::string title, const CallStack& stack) {
    for (const std::string& line : stack.lines()) title += fmt::format("\n    {}", line);
    if (!stack.lines().empty()) paragraphs.push_back(std::move(title));
  };
  add("  birth stack", story.birth_stack);
  add("  death stack", story.death_stack);
  return paragraphs;
}

// `owner` is who holds a value that is no tensor; `one` and `more` are what is said of the handles.
void add_holders(std::vector<Line>& lines, const Story& story, std::string_view one,
                 std::string_view more, std::string owner = {}) {
  std::string text = std::move(owner);
  if (text.empty()) {
    text = story.handles == 1 ? fmt::format("1 handle{}", one)
                              : fmt::format("{} handles{}", story.handles, more);
  }
  const bool has_bytes = story.traced_in.empty();
  if (has_bytes && story.death && story.death->cause == Cause::donated) {
    text += "; storage given away";
  } else if (has_bytes && story.death) {
    text += story.storage_freed ? "; storage returned to the pool" : "; others held its storage on";
  }
  lines.push_back({"holders", std::move(text)});
  for (const std::string& other : story.other_holders) lines.push_back({"", other});
}

// A recording is told of an error about a life, then it is thrown.
template <class E>
[[noreturn]] void throw_life(ErrorRecord&& record, Story story, std::source_location site) {
  constexpr const char* kType =
      std::is_same_v<E, DisposedError> ? "DisposedError" : "InaccessibleTensorError";
  record.kind = kType;
  E error(std::move(record), std::move(story), user_site(site));
  events::raised(error, kType, error.used_at(), error.story().id);
  throw E(std::move(error));
}

// `more` are lines between the life and the use.
template <class E>
[[noreturn]] void raise_life(ErrorRecord&& record, Story story, const Use& use,
                             std::string_view todo, std::vector<Line> more = {},
                             std::string owner = {}) {
  record.lines = life_lines(story);
  for (Line& line : more) record.lines.push_back(std::move(line));
  std::string what(use.op);
  if (use.input >= 0) what += fmt::format(", input {}", use.input);
  record.lines.push_back(used_line(use.site, std::move(what)));
  // A call that is made of others has copies of its own, which nobody counts.
  const bool inside = context().call.op != nullptr;
  add_holders(record.lines, story, " (yours)", inside ? ", this call's among them" : "",
              std::move(owner));
  record.details = stacks_text(story);
  record.remedy = todo;
  throw_life<E>(std::move(record), std::move(story), use.site);
}

std::string title_of(const Story& story, std::string_view shape) {
  return fmt::format("{} {}{} (#{})", story.dtype, shape,
                     story.name.empty() ? "" : fmt::format(" \"{}\"", story.name), story.id);
}

std::string input_text(const Use& use) {
  return use.input < 0 ? "the tensor" : fmt::format("input {}", use.input);
}

std::string function_text(const Header& header) {
  return header.owner ? label_text(*header.owner.get()) : "a function";
}

Story story_for(const Header& header, const Use& use) {
  Story story = make_story(header);
  if (header.is_symbolic() && header.trace == current_trace()) --story.handles;  // the trace's own
  // A tensor moved in has no handle left but the op's, which was the user's.
  story.handles = story.handles > use.own_handles ? story.handles - use.own_handles : 1;
  return story;
}

}  // namespace

std::string site_text(std::source_location site) {
  if (site.line() == 0) return "(unknown)";
  std::string_view file = site.file_name();
  if (const auto slash = file.find_last_of('/'); slash != file.npos) file.remove_prefix(slash + 1);
  return fmt::format("{}:{}", file, site.line());
}

std::string bytes_text(std::size_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 10240) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string time_text(std::int64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if (std::abs(value) < 1e3) return fmt::format("{} ns", nanoseconds);
  if (std::abs(value) < 1e6) return fmt::format("{:.1f} us", value / 1e3);
  if (std::abs(value) < 1e9) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string label_text(std::string_view kind, std::string_view text) {
  return text.empty() ? std::string(kind) : fmt::format("{} \"{}\"", kind, text);
}

std::string label_text(const Label& label) { return label_text(label.kind, label.text); }

std::string ended_by(Cause cause, std::string_view kind, std::string_view text) {
  const char* verb = cause == Cause::scope_exit ? "ended"
                     : cause == Cause::donated  ? "took it"
                     : kind == "session"        ? "closed"
                                                : "disposed";
  return fmt::format("{} {}", label_text(kind, text), verb);
}

Line line_of(std::string label, const Label& thing) {
  return {std::move(label), site_text(thing.site), label_text(thing)};
}

Line line_of(std::string label, const Header& tensor) {
  const Story story = make_story(tensor);
  return {std::move(label), site_text(story.birth.site), story.birth.op, story.title()};
}

std::vector<Line> other_holder_lines(Header& tensor) {
  std::vector<Line> lines;
  if (!try_pin(tensor)) return lines;
  const Pinned pinned{tensor};
  for (const Holder& holder : holders_of(*tensor.storage)) {
    const bool is_it = holder.is_tensor && holder.story.id == tensor.id;
    if (!is_it) lines.push_back({"holder", holder.text, ""});
  }
  if (lines.empty()) lines.push_back({"holder", "a call that is using them", ""});
  return lines;
}

std::optional<Line> user_line(std::string_view op) {
  const UserCall call = t_context != nullptr ? t_context->call : UserCall{};
  if (call.site.line() == 0) return std::nullopt;
  const char* function = call.function != nullptr ? call.function : call.op;
  return Line{"used", site_text(call.site), function != nullptr ? function : std::string(op)};
}

Line used_line(std::source_location site, std::string what) {
  return {"used", site_text(user_site(site)), std::move(what)};
}

Story make_story(const Header& header) {
  Story story;
  story.id = header.id;
  story.shape = header.layout.shape;
  story.dtype = header.layout.dtype;
  story.device = header.device;
  if (const LabelRef name = name_of(header)) story.name = name->text;
  story.birth.op =
      header.birth.backward ? fmt::format("gradient of {}", header.birth.op) : header.birth.op;
  story.birth.site = header.birth.site;
  story.birth.thread = header.birth.thread;
  if (const Label* scope = header.birth.scope) {
    story.birth.in_scope = true;
    story.birth.scope = scope->text;
    story.birth.scope_site = scope->site;
  }
  story.handles = header.owners();
  const CallStacks* stacks = header.stacks.load(std::memory_order_acquire);
  if (stacks != nullptr) story.birth_stack = stacks->birth;
  std::uint32_t life = header.life.load(std::memory_order_acquire);
  if (const Label* function = header.is_symbolic() ? header.owner.get() : nullptr) {
    story.traced_in = label_text(*function);
    story.traced_at = function->site;
  }
  if (!header.is_disposed()) return story;
  while ((life & Header::kRecorded) == 0) {  // the thread that ends it is writing the record
    std::this_thread::yield();
    life = header.life.load(std::memory_order_acquire);
  }
  Death death{header.death.cause, header.death.site, ""};
  if (const Label* by = header.death.by.get()) {
    death.by = ended_by(death.cause, by->kind, by->text);
  }
  story.death = std::move(death);
  // Read again: the death may have brought the first of its stacks.
  stacks = header.stacks.load(std::memory_order_acquire);
  if (stacks != nullptr) story.death_stack = stacks->death;
  story.storage_freed = header.death.bytes.load(std::memory_order_relaxed) == Bytes::returned;
  return story;
}

std::string remedy(const Story& story) {
  const std::string name = story.name.empty() ? "it" : story.name;
  switch (story.death ? story.death->cause : Cause::last_handle) {
    case Cause::scope_exit:
      return fmt::format("return it from the tidy, or keep({}) before the tidy ends.",
                         story.name.empty() ? "t" : story.name);
    case Cause::disposed:
      return fmt::format("use {} before it is disposed, or dispose it later.", name);
    case Cause::owner_disposed:
      return fmt::format("use {} before its owner is disposed, or transfer it first.", name);
    case Cause::donated:
      return "do not use a tensor after giving it away, or donate a copy (x + 0).";
    case Cause::last_handle:
      break;
  }
  return fmt::format("keep a handle to {}.", name);
}

namespace {

// A value that somebody owns: a variable's, or one saved for a tape, a function, a span. Its owner
// is what the user knows.
std::string saved_for(const Label& owner) {
  return owner.kind == "variable" ? label_text(owner)
                                  : fmt::format("a value saved for {}", label_text(owner));
}

[[noreturn]] void raise_owner_lost(const Header& header, const Use& use) {
  const Label& owner = *header.owner.get();
  Story story = make_story(header);
  std::vector<Line> lines{line_of("born", owner),
                          {"value", site_text(story.birth.site), story.birth.op}};
  if (const auto& death = story.death) {
    lines.push_back({"died", site_text(death->site), std::string(name(death->cause)), death->by});
  }
  lines.push_back(used_line(use.site, std::string(use.op)));
  std::string todo = "use it before it is disposed, or make a new one: its value is gone.";
  if (story.death && story.death->cause == Cause::owner_disposed) {
    todo = "use it before its owner is disposed or closed: its value is gone.";
  }
  ErrorRecord record = describe("{}: {} was disposed: {}", use.op, saved_for(owner), story.title())
                           .told(std::move(lines), todo);
  record.details = stacks_text(story);
  throw_life<DisposedError>(std::move(record), std::move(story), use.site);
}

}  // namespace

void raise_disposed(const Header& header, const Use& use) {
  if (header.is_symbolic() && !(header.is_disposed() && header.trace == current_trace())) {
    raise_symbolic(header, use, current_trace());
  }
  if (header.role == Role::saved && header.owner) raise_owner_lost(header, use);
  Story story = story_for(header, use);
  ErrorRecord record = describe("{}: {} was disposed: {}", use.op, input_text(use), story.title());
  const std::string todo = remedy(story);
  raise_life<DisposedError>(std::move(record), std::move(story), use, todo);
}

void raise_ended(std::string_view op, std::string_view what, Story story, std::source_location used,
                 std::string_view todo, std::string_view ended) {
  std::vector<Line> lines = life_lines(story);
  lines.push_back(used_line(used, std::string(op)));
  throw_life<DisposedError>(describe("{}: {} was {}", op, what, ended).told(std::move(lines), todo),
                            std::move(story), used);
}

namespace {

[[noreturn]] void raise_inaccessible(const Header& header, const Use& use, const char* where,
                                     const char* todo) {
  Story story = story_for(header, use);
  ErrorRecord record = describe("{}: {} is symbolic, a value of {}, {}: {}", use.op,
                                input_text(use), function_text(header), where, story.title());
  raise_life<InaccessibleTensorError>(std::move(record), std::move(story), use, todo);
}

}  // namespace

void raise_symbolic(const Header& header, const Use& use, std::uint64_t current) {
  if (header.trace == current && use.op == "variable") {
    raise_inaccessible(header, use, "which is being traced",
                       "make the variable before the function is called, and assign to it inside.");
  }
  if (header.trace == current) {
    raise_inaccessible(header, use, "which is being traced",
                       "it has no value yet: return it from the function and read the result; to "
                       "branch on it, use cond.");
  }
  raise_inaccessible(header, use, "used outside its trace",
                     "return it from the function: the call gives the value. A symbolic tensor "
                     "stored elsewhere means nothing once its trace has ended.");
}

void raise_left_body(const Header& header, const Use& use) {
  raise_inaccessible(header, use, "made in a branch or a loop that has ended",
                     "return it from the branch, or make it part of the loop's state.");
}

void raise_free_size(const Header& header, const Use& use, int axis, std::uint64_t dims) {
  Story story = story_for(header, use);
  std::string sizes, which;
  for (int i = 0; i < story.shape.rank(); ++i) {
    const bool free = i < 64 && (dims >> i & 1) != 0;
    if (free) which += fmt::format("{}{}", which.empty() ? "" : ", ", i);
    sizes += fmt::format("{}{}", i == 0 ? "" : ", ", free ? "?" : std::to_string(story.shape[i]));
  }
  ErrorRecord record =
      describe("{}: dimension {} of the tensor is free, and has no size while {} is traced: {}",
               use.op, axis >= 0 ? std::to_string(axis) : which, function_text(header),
               title_of(story, fmt::format("[{}]", sizes)));
  const std::string_view todo =
      axis >= 0 || use.op != "shape"
          ? "let an operation take the size from a tensor (reshape(x, {-1, 32}), broadcasting, "
            "zeros_like(x), mean), or leave the dimension out of input(): then each size has a "
            "trace of its own."
          : "rank() and dim() of the other dimensions can be read. Let an operation take the size "
            "from a tensor (reshape(x, {-1, 32}), broadcasting, zeros_like(x), mean), or leave the "
            "dimension out of input(): then each size has a trace of its own.";
  raise_life<InaccessibleTensorError>(std::move(record), std::move(story), use, todo);
}

void raise_wrong_session(const Header& header, const Use& use, const SessionState* current) {
  const std::lock_guard lock(storage_moves());  // its session does not go away meanwhile
  Story story = story_for(header, use);
  const SessionState* session = header.session.load(std::memory_order_relaxed);
  const std::string home = session_name(session), here = session_name(current);
  const Label* owner = header.role == Role::saved ? header.owner.get() : nullptr;
  ErrorRecord record =
      describe("{}: {} belongs to {} and was used in {}: {}", use.op,
               owner != nullptr ? saved_for(*owner) : input_text(use), home, here, story.title());
  // Another thread may be ending it meanwhile.
  if (auto& shown = const_cast<Header&>(header); try_pin(shown)) {
    const Pinned pinned{shown};
    for (const Holder& holder : holders_of(*header.storage)) {
      const bool is_it = holder.story.id == story.id && holder.is_tensor == (owner == nullptr);
      if (!is_it) story.other_holders.push_back(holder.text);
    }
  }
  std::vector<Line> lines{
      {"alive", session != nullptr ? site_text(session->label->site) : "", "in " + home}};
  if (owner != nullptr) lines.insert(lines.begin(), line_of("owner", *owner));
  std::string todo = fmt::format("transfer it to {}, or run the op in {}.", here, home);
  if (owner != nullptr) {
    todo = fmt::format("run what uses it in {}", home);
    todo += owner->kind != "function" ? "."
                                      : ", or call the function in the default session first: what "
                                        "it captures there serves every session.";
  }
  raise_life<InaccessibleTensorError>(std::move(record), std::move(story), use, todo,
                                      std::move(lines),
                                      owner != nullptr ? label_text(*owner) : std::string());
}

}  // namespace detail

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::last_handle:
      return "last_handle";
    case Cause::disposed:
      return "disposed";
    case Cause::scope_exit:
      return "scope_exit";
    case Cause::owner_disposed:
      return "owner_disposed";
    case Cause::donated:
      return "donated";
  }
  return "";
}

std::string Story::title() const { return detail::title_of(*this, to_string(shape)); }

std::string Story::text() const {
  std::vector<detail::Line> lines = detail::life_lines(*this);
  if (!death && traced_in.empty()) lines.push_back({"alive", ""});
  if (!death && !traced_in.empty()) {
    lines.push_back(
        {"symbolic", fmt::format("a value of {}, which only its calls have", traced_in)});
  }
  detail::add_holders(lines, *this, "", "");
  std::string text = fmt::format("{}\n\n{}\n", title(), detail::table(lines));
  for (const std::string& stack : detail::stacks_text(*this)) text += fmt::format("\n{}\n", stack);
  return text;
}

std::ostream& operator<<(std::ostream& out, const Story& story) { return out << story.text(); }

}  // namespace tenure
