#include "report/recorder.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "memory/context.h"
#include "memory/event_rings.h"
#include "memory/events.h"
#include "memory/fork.h"
#include "memory/raise_recorded.h"
#include "memory/text.h"
#include "memory/warn.h"
#include "report/encoder.h"

namespace tenure::report {
namespace {

constexpr std::int64_t kDrainEvery = 20;  // milliseconds: what a crash may lose

// Who records. In the child of a fork nobody does.
struct Current {
  detail::ProcessMutex mutex;
  int process = 0;  // 0: nobody
  std::source_location site;
};

Current& current() {
  static Current* only = new Current;
  return *only;
}

std::string program() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line(std::istreambuf_iterator<char>(file), {});
  while (!line.empty() && line.back() == '\0') line.pop_back();
  for (char& c : line) {
    if (c == '\0') c = ' ';
  }
  return line;
}

std::int64_t since_1970() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void check_free(const Current& now, std::source_location site) {
  if (now.process != getpid()) return;
  detail::throw_recorded<BusyError>(
      describe("recording: one is running already, started {}",
               now.site.line() == 0 ? "by TENURE_TRACE"
                                    : fmt::format("at {}", detail::site_text(now.site)))
          .told({detail::used_line(site, "recording")}, "stop it first."),
      site);
}

// A new thread takes no signals that the program's own are waiting for.
template <class Make>
void without_signals(Make&& make) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    make();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

class Recorder::Drain final : public events::RecordVisitor {
 public:
  Drain(std::unique_ptr<Sink> sink, bool to_the_end)
      : sink_(std::move(sink)),
        to_the_end_(to_the_end),
        start_(events::now()),
        writer_(*sink_, {program(), TENURE_VERSION, since_1970()}),
        encoder_(writer_, start_) {}

  void start() {
    without_signals([this] { thread_ = std::thread([this] { run(); }); });
  }
  void stop() noexcept {
    events::turn_off();
    stopping_.store(true, std::memory_order_release);
    events::ring_bell();
    thread_.join();
  }
  void flush() noexcept {
    // The round that is under way may have passed this thread's ring: the one after it has not.
    const std::uint64_t enough = rounds_.load(std::memory_order_acquire) + 2;
    for (int i = 0; i < 1000 && rounds_.load(std::memory_order_acquire) < enough; ++i) {
      events::ring_bell();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::uint64_t events() const { return written_.load(std::memory_order_relaxed); }

  void visit(const events::Record& record, std::uint32_t thread) noexcept override {
    attempt([&] { encoder_.write(record, thread); });
  }

 private:
  void run() {
    while (!stopping_.load(std::memory_order_acquire)) {
      events::wait_for_bell(kDrainEvery);
      events::drain(*this);
      attempt([&] { writer_.flush(); });
      if (events::rings_failed()) fail("there is no memory for its events");
      written_.store(writer_.events(), std::memory_order_relaxed);
      rounds_.fetch_add(1, std::memory_order_release);
    }
    events::finish_rings(*this);
    attempt([&] {
      writer_.flush();
      writer_.close(events::now() - start_, to_the_end_);
    });
    written_.store(writer_.events(), std::memory_order_relaxed);
  }
  // After the first failure records are taken from the rings and forgotten: nobody waits for them.
  template <class Step>
  void attempt(Step&& step) noexcept {
    if (failed_) return;
    try {
      step();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  void fail(const char* why) noexcept {
    if (std::exchange(failed_, true)) return;
    events::turn_off();
    try {
      detail::warn(fmt::format("the recording ends here: {}", why));
    } catch (...) {  // a sink that throws: there is nobody left to tell
    }
  }

  std::unique_ptr<Sink> sink_;
  bool to_the_end_;  // of the process: started by TENURE_TRACE
  std::int64_t start_;
  Writer writer_;
  Encoder encoder_;
  bool failed_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> rounds_{0};  // of draining and writing
  std::thread thread_;
};

void check_not_recording(std::source_location site) {
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  check_free(now, site);
}

Recorder::Recorder(std::unique_ptr<Sink> sink, std::source_location site)
    : drain_(nullptr), process_(getpid()) {
  if constexpr (!detail::kLifetimes) {
    raise<UnsupportedError>("recording: the library was built without lifetimes");
  }
  detail::context();  // the runtime is up
  auto drain = std::make_unique<Drain>(std::move(sink), site.line() == 0);
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  check_free(now, site);
  try {
    drain->start();
  } catch (const std::system_error& error) {
    raise<IoError>("recording: no thread to write it: {}", error.what());
  }
  drain_ = drain.release();
  now.process = process_;
  now.site = site;
  events::start_rings();
  events::tell_what_lives();
}

Recorder::~Recorder() {
  stop();
  if (process_ == getpid()) delete drain_;
}

void Recorder::stop() noexcept {
  if (process_ != getpid()) return;
  Current& now = current();
  {
    const std::lock_guard lock(now.mutex);
    if (std::exchange(stopped_, true)) return;
  }
  drain_->stop();  // which may still have to warn, and the user's sink may ask for anything
  const std::lock_guard lock(now.mutex);
  now.process = 0;
}

void Recorder::flush() noexcept {
  if (process_ == getpid() && !stopped_) drain_->flush();
}

std::uint64_t Recorder::events() const { return drain_->events(); }

}  // namespace tenure::report
