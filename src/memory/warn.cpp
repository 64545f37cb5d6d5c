#include "memory/warn.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "memory/context.h"
#include "memory/fork.h"
#include "tenure/runtime.h"

namespace tenure {
namespace detail {
namespace {

struct Sink {
  ProcessMutex mutex;
  std::function<void(std::string_view)> write;
  std::vector<std::string> of_start;
};

Sink& sink() {
  static Sink* warnings = new Sink;
  return *warnings;
}

// User's code in the middle of whatever is going on here.
struct UsersContext : Meanwhile<Context> {
  UsersContext() : Meanwhile(context(), context().eager()) {
    now().call = {};
    now().random = &default_random();
    now().watch = nullptr;
  }
};

}  // namespace

void warn(std::string_view message) {
  static constinit thread_local bool t_warning = false;
  std::function<void(std::string_view)> write;
  {
    const std::lock_guard lock(sink().mutex);
    write = sink().write;
  }
  if (!write || t_warning) {  // what a sink brings about itself does not go to it, without end
    std::fputs(fmt::format("tenure: {}\n", message).c_str(), stderr);
    return;
  }
  struct Warning {
    Warning() { t_warning = true; }
    ~Warning() { t_warning = false; }
  } const warning;
  const UsersContext users;
  // Warnings come from destructors too.
  const auto failed = [&](const char* why) {
    std::fputs(
        fmt::format("tenure: {}\ntenure: the warning sink failed: {}\n", message, why).c_str(),
        stderr);
  };
  try {
    write(message);
  } catch (const std::exception& error) {
    failed(error.what());
  } catch (...) {
    failed("an exception that is no std::exception");
  }
}

void warn_after_start(std::string message) {
  const std::lock_guard lock(sink().mutex);
  sink().of_start.push_back(std::move(message));
}

void warn_of_start() {
  std::vector<std::string> messages;
  {
    const std::lock_guard lock(sink().mutex);
    messages.swap(sink().of_start);
  }
  for (const std::string& message : messages) warn(message);
}

}  // namespace detail

void set_warning_sink(std::function<void(std::string_view)> write) {
  const std::lock_guard lock(detail::sink().mutex);
  detail::sink().write.swap(write);  // the one before goes without the lock
}

}  // namespace tenure
