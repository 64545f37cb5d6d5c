#include "build_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <string_view>
#include <vector>

#include "backend/cpu/backend.h"
#include "memory/header.h"
#include "report/page_shell.h"
#include "tenure/create.h"
#include "tenure/runtime.h"

namespace tenure::app {
namespace {

std::string system_text() {
  utsname system{};
  if (uname(&system) != 0) return "unknown";
  return fmt::format("{} {}, {}", system.sysname, system.release, system.machine);
}

}  // namespace

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}", __clang_version__);
#else
  return fmt::format("gcc {}", __VERSION__);
#endif
}

std::string version_text() {
  const std::vector<std::string_view> had = cpu::targets();
  zeros({});  // what the environment says is read with the first tensor
  return fmt::format(
      "tenure {}\n"
      "compiler      {}, {}\n"
      "system        {}\n"
      "instructions  {} (of {})\n"
      "lifetimes     {}\n"
      "report page   {}",
      version(), compiler(), TENURE_BUILD_TYPE, system_text(), cpu::targets()[0],
      fmt::join(had, ", "), detail::kLifetimes ? "on" : "off",
      report::page_shell().empty() ? "left out" : "built in");
}

}  // namespace tenure::app
