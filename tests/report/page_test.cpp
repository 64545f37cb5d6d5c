#include "report/page.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tenure/error.h"

namespace tenure::report {
namespace {

// An independent reader of what the page is given.
struct Column {
  int kind = 0;
  std::uint64_t count = 0;
  std::string bytes;
};

std::string from_base64(const std::string& text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    EXPECT_GE(digit, 0) << c;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>(group >> bits));
    }
  }
  return out;
}

std::string inflated(const std::string& packed) {
  std::string out(1 << 20, '\0');
  uLongf size = out.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  out.resize(size);
  return out;
}

std::uint64_t varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

std::map<std::string, Column> columns_of(const Run& run, const std::vector<Finding>& findings) {
  const std::string bytes = inflated(from_base64(page_data(run, findings)));
  std::map<std::string, Column> columns;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = static_cast<unsigned char>(bytes.at(at++));
    const std::string name = bytes.substr(at, length);
    at += length;
    Column column;
    column.kind = bytes.at(at++);
    column.count = varint(bytes, at);
    const std::uint64_t size = varint(bytes, at);
    column.bytes = bytes.substr(at, size);
    at += size;
    EXPECT_TRUE(columns.emplace(name, column).second) << name;
  }
  return columns;
}

std::vector<std::int64_t> numbers(const Column& column) {
  std::vector<std::int64_t> out;
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < column.bytes.size();) {
    const std::uint64_t zigzag = varint(column.bytes, at);
    sum += static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
    out.push_back(sum);
  }
  EXPECT_EQ(out.size(), column.count);
  return out;
}

using Numbers = std::vector<std::int64_t>;

class ReportPage : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tenure_page_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string written(const report::Run& run) {
    write_page(run, {}, "<title><!--tenure:title--></title>[<!--tenure:data-->]",
               folder_ / "page.html");
    std::ifstream file(folder_ / "page.html");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
};

TEST_F(ReportPage, columns_hold_the_values_and_none_is_minus_one) {
  report::Run run;
  run.strings = {"", "matmul", "h\xc3\xa9"};
  TensorLife first;
  first.id = 7;
  first.op = 1;
  first.born = 1'000'000'000'000;
  first.died = first.born + 5;
  TensorLife second;
  second.id = 3;
  second.name = 2;
  second.born = first.born + 2;
  second.storage = 4;
  second.is_view = true;
  second.before = true;
  run.tensors = {first, second};
  auto columns = columns_of(run, {});
  EXPECT_EQ(numbers(columns["tensor.id"]), (Numbers{7, 3}));
  EXPECT_EQ(numbers(columns["tensor.born"]), (Numbers{first.born, second.born}));
  EXPECT_EQ(numbers(columns["tensor.lived"]), (Numbers{5, -1}));
  EXPECT_EQ(numbers(columns["tensor.storage"]), (Numbers{-1, 4}));
  EXPECT_EQ(numbers(columns["tensor.flags"]), (Numbers{0, 5}));
  EXPECT_EQ(columns["text"].bytes, "matmulh\xc3\xa9");
  EXPECT_EQ(numbers(columns["text.length"]), (Numbers{0, 6, 3}));
}

TEST_F(ReportPage, memory_changes_come_in_order_of_time_and_a_birth_before_its_end) {
  report::Run run;
  StorageLife long_lived{100,   128, 10, 50, {{10, Category::other}, {20, Category::gradient}},
                         kNone, 0};
  StorageLife at_once{8, 8, 30, 30, {}, kNone, 0};
  StorageLife to_the_end{16, 16, 40, kNever, {{40, Category::parameter}}, kNone, 0};
  run.storages = {long_lived, at_once, to_the_end};
  auto columns = columns_of(run, {});
  EXPECT_EQ(numbers(columns["change.time"]), (Numbers{10, 20, 30, 30, 40, 50}));
  EXPECT_EQ(numbers(columns["change.storage"]), (Numbers{0, 0, 1, 1, 2, 0}));
  EXPECT_EQ(numbers(columns["change.to"]), (Numbers{6, 1, 6, 7, 0, 7}));
  EXPECT_EQ(numbers(columns["storage.slack"]), (Numbers{28, 0, 0}));
}

TEST_F(ReportPage, values_keep_every_bit) {
  report::Run run;
  run.values = {{1, 5, 1, 0.1}, {1, 6, 2, -1e300}};
  auto columns = columns_of(run, {});
  const std::string& bytes = columns["value.value"].bytes;
  ASSERT_EQ(bytes.size(), 16u);
  std::uint64_t bits = 0;
  for (std::size_t i = 8; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  EXPECT_EQ(std::bit_cast<double>(bits), 0.1);
}

TEST_F(ReportPage, findings_keep_their_order_and_their_tensors) {
  Finding leak;
  leak.problem = Problem::outlived;
  leak.title = "leak";
  leak.remedy = "let go";
  leak.site = 2;
  leak.tensors = {5, 6};
  Finding pinned;
  pinned.problem = Problem::pinned;
  pinned.tensors = {9};
  auto columns = columns_of({}, {leak, pinned});
  EXPECT_EQ(numbers(columns["finding.problem"]), (Numbers{1, 2}));
  EXPECT_EQ(numbers(columns["finding.site"]), (Numbers{2, -1}));
  EXPECT_EQ(numbers(columns["finding.tensors"]), (Numbers{2, 1}));
  EXPECT_EQ(numbers(columns["finding.tensor"]), (Numbers{5, 6, 9}));
  EXPECT_EQ(columns["finding.remedy"].bytes, "let go");
}

TEST_F(ReportPage, nothing_from_a_recording_stands_in_the_page_as_markup) {
  report::Run run;
  run.program = "</title><script>alert(1)</script>";
  run.strings = {"", "</script><script>alert(2)</script>"};
  const std::string page = written(run);
  EXPECT_EQ(page.find("<script>"), page.npos) << page;
  EXPECT_EQ(page.find("alert(2)"), page.npos) << page;
  EXPECT_NE(page.find("<title>"), page.npos);
}

TEST_F(ReportPage, the_title_is_the_program_without_folder_and_arguments) {
  report::Run run;
  run.program = "/home/me/build/a&b --steps 3";
  EXPECT_EQ(written(run).find("<title>a&amp;b - Tenure report</title>["), 0u);
  run.program.clear();
  EXPECT_EQ(written(run).find("<title>Tenure report</title>["), 0u);
}

TEST_F(ReportPage, a_shell_without_holes_is_refused_and_no_file_is_left) {
  EXPECT_THROW(write_page({}, {}, "no holes", folder_ / "page.html"), ValueError);
  EXPECT_THROW(write_page({}, {}, "<!--tenure:data--><!--tenure:title-->", folder_ / "page.html"),
               ValueError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(ReportPage, a_folder_that_is_not_there_is_an_io_error) {
  EXPECT_THROW(
      write_page({}, {}, "<!--tenure:title--><!--tenure:data-->", folder_ / "none" / "page.html"),
      IoError);
}

}  // namespace
}  // namespace tenure::report
