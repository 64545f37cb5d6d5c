// make_pages <folder>: the pages that the browser test opens.
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <string>

#include "planted_run.h"
#include "report/page.h"
#include "report/page_shell.h"

int main(int argc, char** argv) {
  using namespace tenure::report;
  if (argc != 2) {
    fmt::print(stderr, "usage: make_pages <folder>\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const auto write = [&](const std::string& name, const Planted& planted) {
    write_page(planted.first, planted.second, page_shell(), folder / (name + ".html"));
    fmt::print("{}.html: {} events, {} bytes\n", name, planted.first.events,
               std::filesystem::file_size(folder / (name + ".html")));
  };
  try {
    std::filesystem::create_directories(folder);
    write("small", training_run(9'000));
    write("hundred_thousand", training_run(100'000));
    write("million", training_run(1'000'000));
    write("known", known_run());
    write("hostile", hostile_run());
    write("empty", empty_run());
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_pages: {}\n", error.what());
    return 1;
  }
  return 0;
}
