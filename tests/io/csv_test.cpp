#include <cmath>

#include "io/files.h"

namespace tenure::io {
namespace {

using testing::fixture;
using testing::Floats;
using testing::floats;
using testing::here;
using testing::message_of;

class Csv : public testing::Folder {
 protected:
  std::string complaint(const std::string& text, const CsvOptions& options = {}) {
    const std::string path = file(text);
    const std::string found = message_of<IoError>([&] { read_csv(path, options); });
    const std::string prefix = "csv: " + path + ": ";
    EXPECT_TRUE(found.starts_with(prefix)) << found;
    return found.substr(std::min(found.size(), prefix.size()));
  }
};
using Names = std::vector<std::string>;

TEST_F(Csv, a_header_names_the_columns_of_a_matrix) {
  const CsvTable table = read_csv(file("x,y\n1,2\n-3.5,4e2\n"));
  EXPECT_EQ(table.columns, (Names{"x", "y"}));
  EXPECT_EQ(table.values.shape(), (Shape{2, 2}));
  EXPECT_EQ(table.values.dtype(), DType::float32);
  EXPECT_EQ(floats(table.values), (Floats{1, 2, -3.5f, 400}));
}

TEST_F(Csv, without_a_header_columns_have_positions) {
  const CsvTable table = read_csv(file("1,2\n3,4"));
  EXPECT_EQ(table.columns, (Names{"0", "1"}));
  EXPECT_EQ(floats(table.values), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(floats(read_csv(file("1,2\n3,4"), {.header = CsvHeader::yes}).values), (Floats{3, 4}));
  EXPECT_HAS(complaint("a,b\n3,4", {.header = CsvHeader::no}),
             "line 1: column \"0\": not a number of float32: \"a\"");
}

TEST_F(Csv, the_measurements_of_mauna_loa_load) {
  const CsvTable table =
      read_csv(fixture("co2-mauna-loa.csv"), {.columns = {"CO2", "adjusted CO2"}});
  EXPECT_EQ(table.values.shape(), (Shape{741, 2}));
  const Floats values = floats(table.values);
  EXPECT_EQ(values[0], 315.70f);
  EXPECT_EQ(values[1], 314.44f);
  EXPECT_EQ(values[1481], 413.35f);
  EXPECT_HAS(message_of<IoError>([] { read_csv(fixture("co2-mauna-loa.csv")); }),
             "line 2: column \"Date\": not a number of float32: \"1958-03-01\"");
}

TEST_F(Csv, columns_are_chosen_and_ordered_by_name_or_position) {
  const std::string path = file("date,x,y\nMon,1,2\nTue,3,4\n");
  EXPECT_EQ(floats(read_csv(path, {.columns = {"y", "x"}}).values), (Floats{2, 1, 4, 3}));
  const CsvTable table = read_csv(path, {.columns = {2, "x", 2}});
  EXPECT_EQ(table.columns, (Names{"y", "x", "y"}));
  EXPECT_EQ(floats(table.values), (Floats{2, 1, 2, 4, 3, 4}));
  EXPECT_HAS(complaint("a,b\n", {.columns = {"c"}}), "no column \"c\"; there are: a, b");
  EXPECT_HAS(complaint("a,b\n", {.columns = {2}}), "no column 2: there are 2, from 0");
  EXPECT_HAS(complaint("a,b\n", {.columns = {-1}}), "no column -1");
  EXPECT_HAS(complaint("a,a\n", {.columns = {"a"}}), "two columns are named \"a\"");
  EXPECT_HAS(complaint("1,2\n", {.columns = {"a"}}), "there is no header");
  EXPECT_HAS(complaint("", {.columns = {"a"}}), "is empty: 1 column was asked for");
}

TEST_F(Csv, quotes_line_ends_comments_blanks_and_marks_are_understood) {
  const std::string path = file(
      "\xef\xbb\xbf# written by hand\r\n"
      "\"a, \"\"b\"\"\n\",c\r\n"
      "\r\n"
      "  # more\n"
      "\" 1.5 \",2\r\n"
      "   \n"
      "\t+3 ,\"-4\"\r\n"
      "# the end");
  const CsvTable table = read_csv(path);
  EXPECT_EQ(table.columns, (Names{"a, \"b\"\n", "c"}));
  EXPECT_EQ(floats(table.values), (Floats{1.5f, 2, 3, -4}));
  EXPECT_EQ(
      floats(read_csv(file("a;b\n%x\n1;'2'\n"), {.delimiter = ';', .quote = '\'', .comment = '%'})
                 .values),
      (Floats{1, 2}));
  EXPECT_EQ(floats(read_csv(file("1\t\t3\n"), {.delimiter = '\t'}).values).size(), 3u);
}

TEST_F(Csv, empty_fields_are_nan) {
  const Floats values = floats(read_csv(file("a,b,c\n,2,\"\"\n nan ,-inf, \n")).values);
  ASSERT_EQ(values.size(), 6u);
  for (const std::size_t i : {0u, 2u, 3u, 5u}) EXPECT_TRUE(std::isnan(values[i])) << i;
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(values[4], -INFINITY);
  EXPECT_HAS(complaint("a,b\n1,\n", {.dtype = DType::int32}),
             "line 2: column \"b\": empty, and int32 has no NaN");
}

TEST_F(Csv, every_numeric_dtype_is_read_exactly) {
  EXPECT_EQ(read_csv(file("0.1\n1e308\n"), {.dtype = DType::float64}).values.to_vector<double>(),
            (std::vector<double>{0.1, 1e308}));
  EXPECT_EQ(read_csv(file("9223372036854775807\n-1\n"), {.dtype = DType::int64})
                .values.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{9223372036854775807ll, -1}));
  EXPECT_EQ(read_csv(file("255\n"), {.dtype = DType::uint8}).values.item<std::uint8_t>(), 255);
  EXPECT_HAS(complaint("256\n", {.dtype = DType::uint8}), "out of the range of uint8: \"256\"");
  EXPECT_HAS(complaint("1.5\n", {.dtype = DType::int32}), "not a number of int32: \"1.5\"");
  EXPECT_THROW(read_csv(file("1\n"), {.dtype = DType::boolean}), DtypeError);
  EXPECT_THROW(read_csv(file("1\n"), {.dtype = DType::bfloat16}), DtypeError);
}

TEST_F(Csv, numbers_past_the_range_are_errors_and_numbers_near_0_are_0) {
  EXPECT_EQ(floats(read_csv(file("1e-60\n-1e-400\n0.0000e99999999999999999999\n1e-45\n")).values),
            (Floats{0, -0.f, 0, 1e-45f}));
  EXPECT_HAS(complaint("1e39\n"), "out of the range of float32: \"1e39\"");
  EXPECT_HAS(complaint("-1e+999999999999999999999\n"), "out of the range");
  EXPECT_HAS(complaint(std::string(400, '9') + "\n"), "out of the range");
  EXPECT_EQ(floats(read_csv(file("0." + std::string(400, '0') + "1\n")).values), Floats{0});
}

TEST_F(Csv, what_is_no_number_is_named_with_line_and_column) {
  for (const char* text : {"x", "1x", "--1", "+-1", "+", "0x10", "1 2", "1,"}) {
    EXPECT_HAS(complaint("a\n1\n\n\"" + std::string(text) + "\"\n"),
               "line 4: column \"a\": not a number of float32: \"" + std::string(text) + "\"");
  }
  EXPECT_HAS(complaint("a\n\"1\n\"\n"), "not a number of float32: \"1\\x0a\"");
}

TEST_F(Csv, broken_rows_are_named) {
  EXPECT_HAS(complaint("a,b\n1,2\n3\n"), "line 3: 1 fields, not 2 as in the first row");
  EXPECT_HAS(complaint("a,b\n1,2,3\n"), "line 2: 3 fields, not 2");
  EXPECT_HAS(complaint("a\n\"1\n2\n"), "line 2: column 1: the quote is never closed");
  EXPECT_HAS(complaint("a\n\"1\"2\n"), "line 2: column 1: text follows the closing quote");
  EXPECT_THROW(read_csv(file("1"), {.delimiter = '"'}), ValueError);
  EXPECT_THROW(read_csv(file("1"), {.delimiter = '\n'}), ValueError);
  EXPECT_HAS(message_of<IoError>([&] { read_csv(at("none")); }), "cannot be opened");
  EXPECT_HAS(message_of<IoError>([&] { read_csv(at("")); }), "is a folder");
}

TEST_F(Csv, few_rows_or_none_make_a_matrix_too) {
  EXPECT_EQ(read_csv(file("")).values.shape(), (Shape{0, 0}));
  EXPECT_EQ(read_csv(file("\n\n# nothing\n")).values.shape(), (Shape{0, 0}));
  EXPECT_EQ(read_csv(file("a,b")).values.shape(), (Shape{0, 2}));
  EXPECT_EQ(read_csv(file("5")).values.shape(), (Shape{1, 1}));
}

TEST_F(Csv, rows_are_the_same_wherever_a_block_ends) {
  // Rows of every length around the size of the reader's buffer, with quotes across its end.
  std::string text = "a,b\n";
  Floats expected;
  for (int i = 0; i < 60'000; ++i) {
    const std::string blanks(static_cast<std::size_t>(i) % 7, ' ');
    text += blanks + std::to_string(i) + ",\"" + std::to_string(i % 100) + ".5\"\n";
    expected.push_back(static_cast<float>(i));
    expected.push_back(static_cast<float>(i % 100) + 0.5f);
  }
  EXPECT_EQ(floats(read_csv(file(text)).values), expected);
  const std::string wide = "\"" + std::string(1'000'000, ' ') + "1\",2\n";
  EXPECT_EQ(floats(read_csv(file(wide + wide)).values), (Floats{1, 2, 1, 2}));
}

TEST_F(Csv, a_reader_gives_rows_one_by_one) {
  CsvReader rows(file("day,x\nMon,1\n\n\"Tue\nsday\",2\nWed,3\n"));
  EXPECT_EQ(rows.columns(), (Names{"day", "x"}));
  EXPECT_THROW(rows.field(0), ValueError) << "before next()";
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.field(0), "Mon");
  EXPECT_EQ(rows.value<float>(1), 1.f);
  EXPECT_EQ(rows.line(), 2u);
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.field(0), "Tue\nsday");
  EXPECT_EQ(rows.value<std::int64_t>(1), 2);
  EXPECT_EQ(rows.line(), 4u);
  EXPECT_THROW(rows.field(2), ValueError);
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.line(), 6u);
  EXPECT_FALSE(rows.next());
  EXPECT_FALSE(rows.next());
  EXPECT_THROW(rows.field(0), ValueError);
}

TEST_F(Csv, a_row_without_end_is_refused_before_it_fills_the_memory) {
  {
    std::ofstream big(at("big"));
    const std::string megabyte(1 << 20, 'x');
    big << '"';
    for (int i = 0; i < 65; ++i) big << megabyte;
  }
  EXPECT_HAS(message_of<IoError>([&] { read_csv(at("big")); }),
             "line 1: a row of more than 67108864 bytes");
  EXPECT_HAS(complaint(std::string(2 << 20, ',')), "line 1: more than 1048576 fields");
}

TEST_F(Csv, the_table_is_born_at_the_users_line) {
  const std::string path = file("1");
  const auto line = here().line() + 1;
  const Tensor x = read_csv(path).values;
  EXPECT_EQ(x.story().birth.site.line(), line);
  EXPECT_EQ(x.story().birth.op, "read_csv");
}

}  // namespace
}  // namespace tenure::io
