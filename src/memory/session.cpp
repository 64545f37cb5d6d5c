#include "memory/session.h"

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

}  // namespace detail

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

void dispose_all(SessionState* session, std::source_location site) {
  detail::for_each_holder([&](detail::Header& header) {
    if (header.session.load(std::memory_order_relaxed) != session) return;
    kill(header, Cause::owner_disposed, site, session->label);
  });
}

}  // namespace

Session::~Session() {
  if (state_ == nullptr) return;
  // One that runs on another thread keeps what it needs.
  if (state_->running.load() == 0 && !state_->closed.exchange(true)) {
    dispose_all(state_, std::source_location::current());
  }
  state_->release();
}

std::string Session::name() const { return state_ != nullptr ? state_->label->text : "default"; }

MemoryInfo Session::memory() const { return detail::memory_of(state_); }

std::vector<Story> Session::close(std::source_location site) {
  if (state_ == nullptr) raise<ValueError>("close: the default session cannot be closed");
  if (const int running = state_->running.load(); running > 0) {
    std::vector<detail::Line> lines{line_of("born", *state_->label.get())};
    if (const std::source_location at = state_->ran_at.load(); at.line() != 0) {
      lines.push_back({"running", detail::site_text(at), "run"});
    }
    lines.push_back(detail::used_line(site, "close"));
    const std::string problem =
        fmt::format("close: {} is running on {} thread{}", detail::session_name(state_), running,
                    running == 1 ? "" : "s");
    detail::throw_recorded<BusyError>(
        detail::told(problem, lines,
                     "let what runs in it end first: it uses the session's tensors."),
        site);
  }
  std::vector<Story> disposed;  // what was alive, and is about to be disposed
  if (state_->closed.exchange(true)) return disposed;
  state_->closed_at.store(site);
  // The stories first: they may run out of memory, and the session is open again then; the
  // disposing cannot.
  try {
    detail::for_each_holder([&](detail::Header& header) {
      if (header.session.load(std::memory_order_relaxed) != state_) return;
      if (header.role == detail::Role::tensor) disposed.push_back(detail::story_of_shown(header));
    });
  } catch (...) {
    state_->closed.store(false);
    throw;
  }
  dispose_all(state_, site);
  return disposed;
}

Session::Entered::Entered(Session& session, std::source_location site)
    : state_(session.state_), outer_(detail::context().session) {
  if (state_ != nullptr) {
    state_->running.fetch_add(1);
    if (state_->closed.load()) {
      state_->running.fetch_sub(1);
      Story story;
      story.name = state_->label->text;
      story.birth.op = "session";
      story.birth.site = state_->label->site;
      story.death = Death{Cause::disposed, state_->closed_at.load(), "close()"};
      detail::raise_ended("run", detail::session_name(state_), std::move(story), site,
                          "run what is left before closing it, or make a new session.", "closed");
    }
  }
  if (state_ != nullptr) state_->ran_at.store(site);
  if (state_ != nullptr) state_->retain();  // a Session may be destroyed while it runs elsewhere
  detail::context().session = state_;
}

Session::Entered::~Entered() {
  detail::context().session = outer_;
  if (state_ == nullptr) return;
  state_->running.fetch_sub(1);
  state_->release();
}

}  // namespace tenure
