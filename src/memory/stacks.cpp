// The stack is walked by the unwinder that exceptions use. Addresses become lines with libbacktrace
// where the compiler brings it, and names alone without.
#include "memory/stacks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#if defined(TENURE_LIBBACKTRACE) && __has_include(<backtrace.h>)
#define TENURE_LINES_OF_STACKS 1
#include <backtrace.h>
#endif

namespace tenure {
namespace detail {

std::atomic<bool> g_call_stacks{false};

namespace {

constexpr int kMostFrames = 64;

CallStack current_stack() {
  std::array<void*, kMostFrames> frames;
  const int depth = backtrace(frames.data(), kMostFrames);
  return CallStack(
      std::make_shared<const std::vector<void*>>(frames.begin(), frames.begin() + depth));
}

CallStacks& stacks_of(Header& header) {
  CallStacks* stacks = header.stacks.load(std::memory_order_relaxed);
  if (stacks == nullptr) {
    stacks = new CallStacks;
    header.stacks.store(stacks, std::memory_order_release);
  }
  return *stacks;
}

struct Frame {
  std::string symbol;  // mangled where it was
  std::string file;
  int line = 0;
};

#if defined(TENURE_LINES_OF_STACKS)
void ignore_error(void*, const char*, int) {}

backtrace_state* symbols() {
  static backtrace_state* state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  return state;
}

// Inlined calls first; the last is the function itself.
std::vector<Frame> frames_at(std::uintptr_t address) {
  std::vector<Frame> frames;
  const auto add = [](void* to, std::uintptr_t, const char* file, int line, const char* symbol) {
    static_cast<std::vector<Frame>*>(to)->push_back(
        {symbol != nullptr ? symbol : "", file != nullptr ? file : "", line});
    return 0;
  };
  backtrace_pcinfo(symbols(), address, add, ignore_error, &frames);
  if (frames.empty()) frames.emplace_back();
  // The symbol table has the whole name, where the line tables have only its last part.
  const auto name = [](void* to, std::uintptr_t, const char* symbol, std::uintptr_t,
                       std::uintptr_t) {
    if (symbol != nullptr) static_cast<Frame*>(to)->symbol = symbol;
  };
  backtrace_syminfo(symbols(), address, name, ignore_error, &frames.back());
  return frames;
}
#else
std::vector<Frame> frames_at(std::uintptr_t address) {
  Dl_info info{};
  Frame frame;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is one
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_sname != nullptr) {
    frame.symbol = info.dli_sname;
  }
  return {frame};
}
#endif

const void* module_of(const void* address, std::string& name) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return nullptr;
  name = info.dli_fname != nullptr ? info.dli_fname : "";
  return info.dli_fbase;
}

// Of a mangled name; what stands within a function of that namespace is of it too.
bool in_namespace(std::string_view symbol, std::string_view space) {
  if (!symbol.starts_with("_Z")) return false;
  symbol.remove_prefix(std::min(symbol.find_first_not_of('Z', 1), symbol.size()));
  for (const std::string_view start : {"N", "NK"}) {
    if (symbol.starts_with(start) && symbol.substr(start.size()).starts_with(space)) return true;
  }
  return false;
}

// The library's, or the standard library's. What was inlined has no mangled name, and is known by
// its file.
bool is_hidden(const Frame& frame) {
  const std::string_view file = frame.file;
  return in_namespace(frame.symbol, "6tenure") || in_namespace(frame.symbol, "St") ||
         frame.symbol.starts_with("_ZSt") || file.find("include/tenure/") != file.npos ||
         file.find("/include/c++/") != file.npos;
}

std::string readable(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  std::string text = status == 0 ? name.get() : symbol;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kShorter{{
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
       "std::string"},
      {"(anonymous namespace)::", ""},
  }};
  for (const auto& [from, to] : kShorter) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  constexpr std::size_t kMost = 100;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

}  // namespace

void record_birth_stack(Header& header) noexcept {
  try {
    stacks_of(header).birth = current_stack();
  } catch (const std::bad_alloc&) {
  }
}

void record_death_stack(Header& header) noexcept {
  try {
    stacks_of(header).death = current_stack();
  } catch (const std::bad_alloc&) {
  }
}

void share_birth_stack(const Header& from, Header& saved) noexcept {
  const CallStacks* stacks = from.stacks.load(std::memory_order_acquire);
  try {
    if (stacks != nullptr) stacks_of(saved).birth = stacks->birth;
  } catch (const std::bad_alloc&) {
  }
}

void drop_stacks(Header& header) noexcept {
  delete header.stacks.exchange(nullptr, std::memory_order_acquire);
}

}  // namespace detail

void set_call_stacks(bool on) { detail::g_call_stacks.store(on, std::memory_order_relaxed); }

bool call_stacks() { return detail::keeps_call_stacks(); }

std::vector<std::string> CallStack::lines() const {
  std::vector<std::string> lines;
  if (empty()) return lines;
  std::string library_name;
  const void* library =
      detail::module_of(reinterpret_cast<const void*>(&set_call_stacks), library_name);
  std::vector<std::pair<std::string, std::string>> rows;
  for (const void* frame : *frames_) {
    // The address of a call is where it returns to: one back is in the call.
    const auto address = reinterpret_cast<std::uintptr_t>(frame) - 1;
    std::string module_name;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it is one
    const void* module = detail::module_of(reinterpret_cast<const void*>(address), module_name);
    const bool shared = library_name.find(".so") != library_name.npos;
    if (module == library && shared) continue;
    bool last = false;
    for (const detail::Frame& at : detail::frames_at(address)) {
      last = last || at.symbol == "main";
      if (detail::is_hidden(at)) continue;
      if (at.symbol.empty() && at.file.empty()) {
        rows.emplace_back(fmt::format("{}(+{:#x})", detail::file_name(module_name),
                                      address - reinterpret_cast<std::uintptr_t>(module)),
                          "");
        continue;
      }
      rows.emplace_back(at.file.empty() ? detail::file_name(module_name)
                                        : fmt::format("{}:{}", detail::file_name(at.file), at.line),
                        detail::readable(at.symbol));
    }
    if (last) break;
  }
  std::size_t width = 0;
  for (const auto& [place, name] : rows) width = std::max(width, place.size());
  for (const auto& [place, name] : rows) {
    std::string line = fmt::format("{:<{}}{}", place, width + 4, name);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tenure
