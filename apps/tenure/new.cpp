// `tenure new`: a project to begin with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "commands.h"
#include "new_files.h"
#include "tenure/runtime.h"

namespace tenure::app {
namespace {

namespace fs = std::filesystem;

template <class... A>
[[noreturn]] void refuse(fmt::format_string<A...> text, A&&... values) {
  throw std::runtime_error("new: " + fmt::format(text, std::forward<A>(values)...));
}

// Of a CMake target, and of a program.
void check_name(std::string_view name) {
  constexpr std::array<std::string_view, 9> kTaken{"all",        "clean",   "help",
                                                   "install",    "package", "rebuild_cache",
                                                   "edit_cache", "test",    "tenure"};
  const auto is_letter = [](unsigned char c) { return c < 0x80 && std::isalpha(c) != 0; };
  const auto is_good = [&](unsigned char c) {
    return is_letter(c) || std::isdigit(c) != 0 || c == '_' || c == '-';
  };
  if (name.empty() || !is_letter(static_cast<unsigned char>(name.front())) ||
      !std::ranges::all_of(name, is_good)) {
    refuse("\"{}\" is no name for a project: use letters, digits, _ and -, and begin with a letter",
           name);
  }
  if (std::ranges::count(kTaken, name) != 0) {
    refuse("\"{}\" is taken, by CMake or by Tenure: choose another name", name);
  }
}

void check_free(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) refuse("{}: there is a file of that name", folder.string());
  const bool is_empty = fs::is_empty(folder, error);
  if (error) refuse("{}: {}", folder.string(), error.message());
  if (!is_empty) {
    refuse("{}: the folder is not empty: choose another one, or empty it first", folder.string());
  }
}

std::string filled(std::string_view text, std::string_view name) {
  const std::string_view version = tenure::version();
  const std::string least(version.substr(0, version.rfind('.')));
  std::string result(text);
  for (const auto& [hole, value] :
       {std::pair<std::string_view, std::string_view>{"@NAME@", name}, {"@VERSION@", least}}) {
    for (std::size_t at = 0; (at = result.find(hole, at)) != result.npos; at += value.size()) {
      result.replace(at, hole.size(), value);
    }
  }
  return result;
}

void write(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (error || !file.flush()) refuse("{}: cannot be written", path.string());
}

// Where CMake has to be told to look for Tenure: beside this program, unless it looks there anyway.
std::string prefix_option() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  if (error || prefix == "/usr" || prefix == "/usr/local") return "";
  if (!fs::exists(prefix / "include/tenure/tenure.h", error)) return "";
  return fmt::format(" -DCMAKE_PREFIX_PATH=\"{}\"", prefix.string());
}

}  // namespace

int run_new(const NewOptions& options) {
  const fs::path folder(options.folder);
  fs::path whole = folder.empty() ? folder : fs::absolute(folder).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // my_app/
  const std::string name = whole.filename().string();
  check_name(name);
  check_free(folder);
  for (const ProjectFile& file : project_files()) {
    write(folder / file.path, filled(file.text, name));
    fmt::print("  {}\n", (folder / file.path).string());
  }
  fmt::print(
      "\nBuild it, run it, test it:\n\n"
      "  cd {}\n"
      "  cmake -S . -B build{}\n"
      "  cmake --build build\n"
      "  ./build/{}\n"
      "  ctest --test-dir build --output-on-failure\n",
      folder.string().find(' ') == std::string::npos ? folder.string()
                                                     : fmt::format("\"{}\"", folder.string()),
      prefix_option(), name);
  return 0;
}

}  // namespace tenure::app
