// The one place where layers that do not know each other are put together.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "backend/cpu/backend.h"
#include "core/raise.h"
#include "memory/transfer.h"
#include "memory/warn.h"
#include "ops/kernel.h"
#include "ops/op_def.h"
#include "report/recorder.h"
#include "report/writer.h"
#include "runtime/settings.h"
#include "tenure/memory.h"
#include "tenure/runtime.h"
#include "tenure/story.h"

namespace tenure::detail {

void initialise_runtime() {
  ops::index_ops();
  if (const char* target = std::getenv("TENURE_TARGET"); target && !cpu::use_target(target)) {
    warn_after_start(fmt::format("TENURE_TARGET={} is none of {}, which kernels have here: ignored",
                                 target, fmt::join(cpu::targets(), ", ")));
  }
  cpu::install(ops::kernel_table(DeviceType::cpu), device_transfer(DeviceType::cpu));
  if (const char* budget = std::getenv("TENURE_MEMORY_BUDGET")) {
    if (const auto bytes = parse_bytes(budget)) {
      set_memory_budget(*bytes);
    } else {
      warn_after_start(
          fmt::format("TENURE_MEMORY_BUDGET={} is no size (such as 512MiB): ignored", budget));
    }
  }
  if (const char* stacks = std::getenv("TENURE_STACKS")) {
    set_call_stacks(std::string_view(stacks) != "0");
  }
}

namespace {

report::Recorder* g_recorder = nullptr;  // of TENURE_TRACE
std::terminate_handler g_terminate = nullptr;

// Registered before the program that uses the library makes any static of its own: when this runs,
// all of them are gone, and what lives still was never freed.
[[gnu::constructor(101)]] void stop_at_exit() {
  std::atexit([] {
    if (g_recorder != nullptr) g_recorder->stop();
  });
}

}  // namespace

void record_from_environment() {
  const char* setting = std::getenv("TENURE_TRACE");
  if (setting == nullptr || *setting == '\0') return;
  std::string path = setting;
  for (std::size_t at = 0; (at = path.find("%p", at)) != path.npos;) {
    const std::string process = std::to_string(getpid());
    path.replace(at, 2, process);
    at += process.size();
  }
  try {
    g_recorder =
        new report::Recorder(std::make_unique<report::FileSink>(path), std::source_location());
    // An error that nobody catches is what a recording is wanted for most.
    g_terminate = std::set_terminate([] {
      g_recorder->flush();
      if (g_terminate != nullptr) g_terminate();
      std::abort();
    });
  } catch (const Error& error) {
    warn_after_start(
        fmt::format("TENURE_TRACE={}: nothing is recorded: {}", setting, error.what()));
  }
}

}  // namespace tenure::detail
