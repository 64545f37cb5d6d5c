#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "golden/situation.h"
#include "support/expect.h"

namespace golden {

std::vector<Situation>& situations() {
  static auto* all = new std::vector<Situation>;
  return *all;
}

Registered::Registered(const char* name, Tells tells, void (*run)(), std::source_location site) {
  situations().push_back({name, tells, run, site});
}

void PrintTo(const Situation& situation, std::ostream* out) { *out << situation.name; }

namespace {

std::filesystem::path expected_file(const Situation& situation) {
  return std::filesystem::path(TENURE_SOURCE_DIR) / "tests/golden/expected" /
         (std::string(situation.name) + ".txt");
}

// What it throws, or else what it is warned of.
std::string text_of(const Situation& situation) {
  std::string text;
  tn::set_warning_sink([&](std::string_view warning) { text += warning; });
  struct Restore {
    ~Restore() { tn::set_warning_sink({}); }
  } const restore;
  try {
    situation.run();
  } catch (const tn::Error& error) {
    return error.what();
  }
  return text.empty() ? "nothing was thrown" : text;
}

// `pattern`'s first group, each different text of it by a number of its own.
std::string numbered(const std::string& text, const std::regex& pattern, const std::string& by) {
  std::map<std::string, std::size_t> seen;
  std::string made;
  std::size_t at = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    const std::size_t number = seen.emplace((*match)[1], seen.size() + 1).first->second;
    made += text.substr(at, static_cast<std::size_t>(match->position()) - at);
    made += by + std::to_string(number);
    at = static_cast<std::size_t>(match->position() + match->length());
  }
  return made + text.substr(at);
}

// Columns follow the longest entry, and entries are changed here: after the first column, whose
// width is fixed, runs of blanks become one width.
std::string with_columns(const std::string& text) {
  std::stringstream lines(text);
  std::string made;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::size_t kLabel = 12;
    if (line.size() > kLabel) {
      line = line.substr(0, kLabel) +
             std::regex_replace(line.substr(kLabel), std::regex("([^ ])   +"), "$1    ");
    }
    made += (made.empty() ? "" : "\n") + line;
  }
  return made;
}

std::string normalised(const Situation& situation, std::string text) {
  const std::string file = std::filesystem::path(situation.site.file_name()).filename().string();
  const std::regex site(file + ":([0-9]+)");
  std::string made;
  std::size_t at = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), site), end; match != end; ++match) {
    const long line = std::stol((*match)[1]) - static_cast<long>(situation.site.line());
    made += text.substr(at, static_cast<std::size_t>(match->position()) - at);
    made += file + ":+" + std::to_string(line);
    at = static_cast<std::size_t>(match->position() + match->length());
  }
  made += text.substr(at);
  made = numbered(made, std::regex("#([0-9]+)"), "#");
  // What the pool happened to hold.
  made = std::regex_replace(made, std::regex("\n  free, but beside[^\n]*\n"), "");
  made = std::regex_replace(made, std::regex("\n  given back before[^\n]*\n"), "");
  made = std::regex_replace(
      made, std::regex(std::filesystem::temp_directory_path().string() + "/[^ \n:]*"), "<file>");
  return with_columns(made);
}

bool has_line(const std::string& text, const std::string& label) {
  return text.find("\n  " + label + " ") != std::string::npos;
}

class Golden : public testing::TestWithParam<Situation> {};

TEST_P(Golden, error_reads_as_expected) {
  const Situation& situation = GetParam();
  const std::string text = normalised(situation, text_of(situation)) + "\n";
  if (std::getenv("TENURE_UPDATE") != nullptr) {
    std::ofstream(expected_file(situation)) << text;
    return;
  }
  std::ifstream file(expected_file(situation));
  ASSERT_TRUE(file) << "there is no " << expected_file(situation) << "; the text is:\n" << text;
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str());
}

TEST_P(Golden, error_tells_all_of_a_life) {
  const Situation& situation = GetParam();
  const std::string text = text_of(situation);
  const std::size_t last = text.find_last_of('\n');
  const std::string todo = last == std::string::npos ? "" : text.substr(last + 1);
  EXPECT_EQ(text.find("(unknown)"), std::string::npos) << text;
  EXPECT_EQ(text.find("src/"), std::string::npos) << "a line of the library's own:\n" << text;
  if (situation.tells == Tells::problem) return;
  EXPECT_TRUE(has_line(text, "used")) << text;
  if (situation.tells == Tells::use) return;
  EXPECT_TRUE(has_line(text, "born")) << text;
  EXPECT_TRUE(todo.starts_with("  ") && todo.ends_with(".")) << "what to do is missing:\n" << text;
  if (situation.tells == Tells::thing) return;
  EXPECT_TRUE(has_line(text, "died") || has_line(text, "alive") || has_line(text, "traced"))
      << text;
  if (situation.tells == Tells::end) return;
  EXPECT_TRUE(has_line(text, "holders")) << text;
}

INSTANTIATE_TEST_SUITE_P(All, Golden, testing::ValuesIn(situations()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(GoldenFiles, there_is_one_for_each_situation_and_none_besides) {
  std::vector<std::string> names, files;
  for (const Situation& situation : situations()) names.emplace_back(situation.name);
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(TENURE_SOURCE_DIR) / "tests/golden/expected")) {
    files.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  std::ranges::sort(files);
  EXPECT_EQ(names, files);
  EXPECT_GE(names.size(), 45u);
}

}  // namespace
}  // namespace golden
