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

Session::~Session() {
  if (state_ == nullptr) return;
  try {
    close();
  } catch (const Error&) {           // running on another thread: it keeps what it needs
  } catch (const std::bad_alloc&) {  // stories could not be told; the rest was done
  }
  state_->release();
}

std::string Session::name() const { return state_ != nullptr ? state_->label->text : "default"; }

MemoryInfo Session::memory() const { return detail::memory_of(state_); }

std::vector<Story> Session::close(std::source_location site) {
  if (state_ == nullptr) raise<ValueError>("close: the default session cannot be closed");
  if (const int running = state_->running.load(); running > 0) {
    detail::throw_recorded<BusyError>(
        fmt::format("close: {} is running on {} thread{}", detail::session_name(state_), running,
                    running == 1 ? "" : "s"),
        site);
  }
  std::vector<Story> disposed;  // what was alive, and is about to be disposed
  if (state_->closed.exchange(true)) return disposed;
  // The stories first: they may run out of memory, the disposing cannot.
  detail::for_each_holder([&](detail::Header& header) {
    if (header.session.load(std::memory_order_relaxed) != state_) return;
    if (header.role == detail::Role::tensor) disposed.push_back(detail::make_story(header));
  });
  detail::for_each_holder([&](detail::Header& header) {
    if (header.session.load(std::memory_order_relaxed) != state_) return;
    kill(header, Cause::owner_disposed, site, state_->label);
  });
  return disposed;
}

Session::Entered::Entered(Session& session, std::source_location site)
    : state_(session.state_), outer_(detail::context().session) {
  if (state_ != nullptr) {
    state_->running.fetch_add(1);
    if (state_->closed.load()) {
      state_->running.fetch_sub(1);
      raise<ValueError>("run: {} was closed, and run at {}", detail::session_name(state_),
                        detail::site_text(site));
    }
  }
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
