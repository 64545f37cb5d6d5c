#include "memory/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <ostream>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/ledger.h"
#include "memory/raise_recorded.h"
#include "memory/text.h"
#include "memory/warn.h"
#include "tenure/session.h"

namespace tenure {
namespace detail {

std::string session_name(const SessionState* session) {
  return session != nullptr ? label_text(*session->label.get()) : "the default session";
}

namespace {

RecursiveMutex& doors() noexcept {
  static ProcessMutex mutex;
  return mutex;
}

}  // namespace

bool SessionState::try_enter(Worker worker) {
  const std::lock_guard lock(doors());
  if (is_closed()) return false;
  workers_.push_back(worker);
  return true;
}

bool SessionState::leave(Worker worker) noexcept {
  const std::lock_guard lock(doors());
  const auto at = std::ranges::find(workers_, worker);
  if (at == workers_.end()) return false;  // a fork came between, and it was left without it
  workers_.erase(at);
  return abandoned_ && is_left();
}

bool SessionState::is_left() noexcept {
  std::erase_if(workers_, is_left_behind);
  return workers_.empty();
}

std::size_t SessionState::inside() noexcept {
  const std::lock_guard lock(doors());
  return workers_.size();
}

bool SessionState::try_close() noexcept {
  const std::lock_guard lock(doors());
  if (is_closed() || !is_left()) return false;
  closed_.store(true, std::memory_order_release);
  return true;
}

bool SessionState::abandon() noexcept {
  const std::lock_guard lock(doors());
  abandoned_ = true;
  return !is_closed() && is_left();
}

void raise_closed(const SessionState& session, std::string_view op, std::source_location site,
                  std::string_view todo) {
  Story story;
  story.name = session.label->text;
  story.birth.op = "session";
  story.birth.site = session.label->site;
  {
    const std::lock_guard lock(storage_moves());
    story.death = Death{Cause::disposed, session.closed_at, "close()"};
  }
  raise_ended(op, session_name(&session), std::move(story), site, todo, "closed");
}

}  // namespace detail

using detail::Header;
using detail::SessionState;

Session::Session(SessionOptions options, std::source_location site) : state_(nullptr) {
  auto state = std::make_unique<SessionState>();
  state->label = detail::LabelRef::make("session", options.name, site);
  state->budget.store(options.budget, std::memory_order_relaxed);
  state_ = state.release();
}

Session& Session::process() {
  static Session* session = new Session(static_cast<SessionState*>(nullptr));
  return *session;
}

namespace {

// Tensors and the values of variables are the session's own. Any other saved value is what
// somebody (a function, a tape, a span) holds, and may be in use.
bool ends_with_session(const Header& header) {
  return header.role == detail::Role::tensor || header.is_slot;
}

bool is_of(const SessionState* session, const Header& header) {
  return header.session.load(std::memory_order_relaxed) == session;
}

// Ends one of a session's holders, or passes it on.
void end(Header& header, SessionState* session, std::source_location site) noexcept {
  if (ends_with_session(header)) {
    kill(header, Cause::owner_disposed, site, session->label);
  } else {
    detail::move_holder(header, nullptr);
  }
}

void tell(const Header& header, SessionReport& report) {
  if (header.role == detail::Role::tensor) {
    report.disposed.push_back(make_story(header));
  } else if (!ends_with_session(header)) {
    report.passed_on.push_back(detail::holder_of(header));
  }
}

SessionReport told_of(const SessionState* session) {
  SessionReport report;
  detail::for_each_holder([&](const Header& header) {
    if (!is_of(session, header)) return;
    const std::lock_guard lock(detail::storage_moves());
    if (is_of(session, header)) tell(header, report);  // else transferred meanwhile
  });
  return report;
}

// Of a session in which nobody works any more, so that nothing new comes to belong to it.
void end_all(SessionState* session, std::source_location site) noexcept {
  detail::for_each_header([&](Header& header) {
    const auto concerns_it = [&] {
      return is_of(session, header) || detail::is_charged_to(session, *header.storage);
    };
    if (!concerns_it()) return;
    const std::lock_guard lock(detail::storage_moves());
    if (!concerns_it()) return;  // transferred meanwhile
    if (is_of(session, header)) {
      end(header, session, site);
      if (header.is_dead()) return;
    }
    // A saved value, or another session's tensor that shows what a function held.
    if (detail::is_charged_to(session, *header.storage)) {
      detail::try_move_storage(*header.storage, nullptr);
    }
  });
}

// False when it was closed before. BusyError while somebody works in it.
bool begin_closing(SessionState& session, std::source_location site) {
  std::size_t inside = 0;
  while (inside == 0) {
    const std::lock_guard lock(
        detail::storage_moves());  // a transfer into it comes before or after
    if (session.try_close()) {
      session.closed_at = site;
      return true;
    }
    if (session.is_closed()) return false;
    inside = session.inside();
  }
  std::vector<detail::Line> lines{line_of("born", *session.label.get())};
  if (const std::source_location at = session.ran_at.load(); at.line() != 0) {
    lines.push_back({"running", detail::site_text(at), "run"});
  }
  lines.push_back(detail::used_line(site, "close"));
  detail::throw_recorded<BusyError>(
      describe("close: {} is running on {} thread{}", detail::session_name(&session), inside,
               inside == 1 ? "" : "s")
          .told(std::move(lines), "let what runs in it end first: it uses the session's tensors."),
      site);
}

}  // namespace

namespace detail {

void end_abandoned(SessionState& session) noexcept {
  // As with a tidy, the line that can be named is the one where it began.
  const std::source_location site = session.label->site;
  end_all(&session, site);
}

}  // namespace detail

// One that runs on another thread keeps what it needs, and ends when the last has left it.
Session::~Session() {
  if (state_ == nullptr) return;
  if (state_->abandon()) detail::end_abandoned(*state_);
  state_->release();
}

std::string Session::name() const { return state_ != nullptr ? state_->label->text : "default"; }

MemoryInfo Session::memory() const { return detail::memory_of(state_); }

SessionReport Session::close(std::source_location site) {
  if (state_ == nullptr) raise<ValueError>("close: the default session cannot be closed");
  if (!begin_closing(*state_, site)) return {};
  SessionReport report;
  try {
    report = told_of(state_);
  } catch (...) {  // there was no memory to tell: it is as it was, and can be closed again
    state_->reopen();
    throw;
  }
  end_all(state_, site);
  return report;
}

std::string SessionReport::text() const {
  std::string text;
  for (const Story& story : disposed) {
    text += fmt::format("disposed   {}, born {} {}\n", story.title(),
                        detail::site_text(story.birth.site), story.birth.op);
  }
  for (const Holder& holder : passed_on) text += fmt::format("passed on  {}\n", holder.text);
  return text;
}

std::ostream& operator<<(std::ostream& out, const SessionReport& report) {
  return out << report.text();
}

Session::Entered::Entered(Session& session, std::source_location site)
    : state_(session.state_),
      worker_(detail::this_thread()),
      run_(nullptr),
      home_(&detail::context()) {
  auto run = std::make_unique<detail::SessionRun>(state_, home_->session, home_->runs, site);
  if (state_ != nullptr) {
    if (!state_->try_enter(worker_)) {
      raise_closed(*state_, "run", site,
                   "run what is left before closing it, or make a new session.");
    }
    state_->ran_at.store(site);
  }
  home_->session = state_;
  home_->runs = run_ = run.release();
}

Session::Entered::~Entered() {
  if (run_ == nullptr) return;
  try {
    leave();
  } catch (const std::exception& error) {
    detail::warn(error.what());
  }
}

void Session::Entered::leave() {
  detail::Context& current = detail::context();
  detail::SessionRun& run = *std::exchange(run_, nullptr);
  const bool is_here = home_ == &current;
  const bool in_order = is_here && current.runs == &run;
  std::vector<detail::Line> lines;
  std::string name;
  if (!in_order) {
    name = detail::session_name(state_);
    lines.push_back({"run", detail::site_text(run.site), "run"});
    if (is_here) lines.push_back({"open", detail::site_text(current.runs->site), "run"});
  }
  const detail::SessionRef state(state_);
  run.ended.store(true, std::memory_order_release);
  while (is_here && current.runs != nullptr &&
         current.runs->ended.load(std::memory_order_acquire)) {
    const std::unique_ptr<detail::SessionRun> ended(current.runs);
    current.session = ended->outer_session;
    current.runs = ended->outer;
  }
  if (state_ != nullptr && state_->leave(worker_)) detail::end_abandoned(*state_);
  if (in_order) return;
  throw ScopeError(
      describe(
          "run: closed out of order: the run of {} ended {}", name,
          is_here ? "while an inner one was open" : "on a thread or task that did not begin it")
          .told(lines,
                "runs of sessions end in the reverse order of their beginning. A coroutine that "
                "waits inside one must be a tenure::Task."));
}

}  // namespace tenure
