#include "memory/session.h"

#include <fmt/format.h>

#include <mutex>
#include <ostream>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/ledger.h"
#include "memory/raise_recorded.h"
#include "memory/text.h"
#include "tenure/session.h"

namespace tenure {
namespace detail {

std::string session_name(const SessionState* session) {
  return session != nullptr ? label_text(*session->label.get()) : "the default session";
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
    report.disposed.push_back(detail::story_of_shown(header));
  } else if (!ends_with_session(header)) {
    report.passed_on.push_back(detail::holder_of_shown(header));
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
  detail::for_each_holder([&](Header& header) {
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
  std::uint32_t inside = 0;
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
    : state_(session.state_), outer_(detail::context().session) {
  if (state_ != nullptr) {
    if (!state_->try_enter()) {
      raise_closed(*state_, "run", site,
                   "run what is left before closing it, or make a new session.");
    }
    state_->ran_at.store(site);
    state_->retain();  // a Session may be destroyed while it runs elsewhere
  }
  detail::context().session = state_;
}

Session::Entered::~Entered() {
  detail::context().session = outer_;
  if (state_ == nullptr) return;
  if (state_->leave()) detail::end_abandoned(*state_);
  state_->release();
}

}  // namespace tenure
