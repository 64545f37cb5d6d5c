#include <algorithm>
#include <deque>
#include <utility>

#include "core/raise.h"
#include "io/csv_access.h"
#include "io/csv_number.h"
#include "io/csv_rows.h"
#include "io/host_tensor.h"
#include "memory/context.h"
#include "tenure/io.h"

namespace tenure::io {
namespace {

void check_options(const CsvOptions& options) {
  const char d = options.delimiter;
  if (d == '\0' || d == '\n' || d == '\r' || d == options.quote || d == options.comment ||
      options.quote == '\n' || options.comment == '\n' ||
      (options.quote != '\0' && options.quote == options.comment)) {
    raise<ValueError>(
        "csv: delimiter, quote and comment must differ and be no line ends: {}, {}, {}",
        printable({&d, 1}), printable({&options.quote, 1}), printable({&options.comment, 1}));
  }
}

bool is_number(std::string_view text) {
  double value = 0;
  return text.find_first_not_of(" \t") != text.npos &&
         parse_number(text, DType::float64, &value) != NumberFault::not_a_number;
}

}  // namespace

struct CsvReader::State {
  State(const std::string& path, CsvOptions csv_options)
      : options((check_options(csv_options), std::move(csv_options))),
        rows(path, options.delimiter, options.quote, options.comment) {
    pending = rows.next();
    if (!pending) {
      if (!options.columns.empty()) fail_empty();
      return;
    }
    width = rows.size();
    std::vector<std::string> header;
    bool any_number = false;
    for (std::size_t i = 0; i < width; ++i) {
      header.emplace_back(rows.field(i));
      any_number |= is_number(header.back());
    }
    const bool has_header =
        options.header == CsvHeader::yes || (options.header == CsvHeader::automatic && !any_number);
    if (has_header) {
      pending = false;
    } else {
      for (std::size_t i = 0; i < width; ++i) header[i] = std::to_string(i);
    }
    choose(header, has_header);
  }

  [[noreturn]] void fail_empty() const {
    const std::size_t asked = options.columns.size();
    rows.origin().fail("is empty: {} column{} asked for", asked, asked == 1 ? " was" : "s were");
  }

  void choose(const std::vector<std::string>& header, bool has_header) {
    if (options.columns.empty()) {
      for (std::size_t i = 0; i < width; ++i) chosen.push_back(i);
    }
    for (const CsvColumn& column : options.columns) {
      if (const std::optional<int>& position = column.position()) {
        if (*position < 0 || static_cast<std::size_t>(*position) >= width) {
          rows.origin().fail("no column {}: there are {}, from 0", *position, width);
        }
        chosen.push_back(static_cast<std::size_t>(*position));
        continue;
      }
      const std::string& name = column.name();
      if (!has_header) {
        rows.origin().fail("no column \"{}\": there is no header; columns have positions from 0",
                           printable(name));
      }
      const auto place = std::find(header.begin(), header.end(), name);
      if (place == header.end()) {
        rows.origin().fail("no column \"{}\"; there are: {}", printable(name),
                           printable(fmt::format("{}", fmt::join(header, ", "))));
      }
      if (std::find(place + 1, header.end(), name) != header.end()) {
        rows.origin().fail("two columns are named \"{}\": choose by position", printable(name));
      }
      chosen.push_back(static_cast<std::size_t>(place - header.begin()));
    }
    for (const std::size_t i : chosen) names.push_back(header[i]);
  }

  bool advance() {
    has_row = std::exchange(pending, false) || rows.next();
    return has_row;
  }
  std::optional<std::string> wrong_width() const {
    if (rows.size() == width) return std::nullopt;
    return fmt::format("{} fields, not {} as in the first row", rows.size(), width);
  }
  bool next() {
    if (!advance()) return false;
    if (const auto wrong = wrong_width()) rows.origin().fail("line {}: {}", rows.line(), *wrong);
    return true;
  }
  // Nothing for a row that has fewer fields.
  std::optional<std::string_view> field(std::size_t column) const {
    check(column);
    if (chosen[column] >= rows.size()) return std::nullopt;
    return rows.field(chosen[column]);
  }
  // Reads a number, or tells why there is none.
  std::optional<std::string> fault(std::size_t column, DType dtype, void* to) const {
    const std::optional<std::string_view> text = field(column);
    const auto told = [&](const std::string& what) {
      return fmt::format("column \"{}\": {}", printable(names[column]), what);
    };
    if (!text) return told("missing");
    switch (parse_number(*text, dtype, to)) {
      case NumberFault::none:
        return std::nullopt;
      case NumberFault::unsupported:
        raise<DtypeError>("csv: numbers are read as float32, float64 or integers, not {}", dtype);
      case NumberFault::empty:
        return told(fmt::format("empty, and {} has no NaN", dtype));
      case NumberFault::out_of_range:
        return told(fmt::format("out of the range of {}: \"{}\"", dtype, printable(*text)));
      case NumberFault::not_a_number:
        break;
    }
    return told(fmt::format("not a number of {}: \"{}\"", dtype, printable(*text)));
  }

  void check(std::size_t column) const {
    if (!has_row) raise<ValueError>("csv: {}: no current row: call next()", rows.origin().path);
    if (column >= chosen.size()) {
      raise<ValueError>("csv: {}: no column {}: {} were chosen", rows.origin().path, column,
                        chosen.size());
    }
  }

  CsvOptions options;
  CsvRows rows;
  std::size_t width = 0;
  std::vector<std::size_t> chosen;
  std::vector<std::string> names;
  bool pending = false;  // the first row was read, and is no header
  bool has_row = false;
};

std::uint64_t CsvAccess::offset(const CsvReader& reader) { return reader.state_->rows.offset(); }
void CsvAccess::seek(CsvReader& reader, std::uint64_t offset, std::size_t line) {
  reader.state_->pending = reader.state_->has_row = false;
  reader.state_->rows.seek(offset, line);
}
bool CsvAccess::advance(CsvReader& reader) { return reader.state_->advance(); }
std::optional<std::string> CsvAccess::wrong_width(const CsvReader& reader) {
  return reader.state_->wrong_width();
}
std::optional<std::string_view> CsvAccess::field(const CsvReader& reader, std::size_t column) {
  return reader.state_->field(column);
}
std::optional<std::string> CsvAccess::fault(const CsvReader& reader, std::size_t column,
                                            DType dtype, void* to) {
  return reader.state_->fault(column, dtype, to);
}
void CsvAccess::parse(const CsvReader& reader, std::size_t column, DType dtype, void* to) {
  reader.parse(column, dtype, to, {});
}

CsvReader::CsvReader(const std::string& path, CsvOptions options, std::source_location site) {
  const detail::UserLine user(site, "CsvReader");
  state_ = std::make_unique<State>(path, std::move(options));
}
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

const std::vector<std::string>& CsvReader::columns() const { return state_->names; }
bool CsvReader::next(std::source_location site) {
  const detail::UserLine user(site, "next");
  return state_->next();
}
std::size_t CsvReader::line() const { return state_->rows.line(); }
std::string_view CsvReader::field(std::size_t column, std::source_location site) const {
  const detail::UserLine user(site, "field");
  state_->check(column);
  return state_->rows.field(state_->chosen[column]);
}

void CsvReader::parse(std::size_t column, DType dtype, void* to, std::source_location site) const {
  const detail::UserLine user(site, "value");
  const auto fault = state_->fault(column, dtype, to);
  if (fault) state_->rows.origin().fail("line {}: {}", line(), *fault);
}

CsvTable read_csv(const std::string& path, const CsvOptions& options, std::source_location site) {
  const detail::UserLine user(site, "read_csv");
  double probe = 0;
  if (parse_number("0", options.dtype, &probe) == NumberFault::unsupported) {
    raise<DtypeError>("read_csv: float32, float64 and integers are read, not {}", options.dtype);
  }
  CsvReader reader(path, options);
  const std::size_t width = reader.columns().size();
  const std::size_t size = size_of(options.dtype);
  const std::size_t row_bytes = width * size;
  // How many rows there are is known at the end: blocks are kept, and copied once.
  const std::size_t block_rows =
      std::max<std::size_t>(1, (std::size_t{1} << 20) / std::max<std::size_t>(1, row_bytes));
  std::deque<std::vector<std::byte>> blocks;
  std::size_t row_count = 0;
  while (reader.next()) {
    if (row_count % block_rows == 0) blocks.emplace_back().reserve(block_rows * row_bytes);
    std::vector<std::byte>& block = blocks.back();
    const std::size_t begin = block.size();
    block.resize(begin + row_bytes);
    for (std::size_t i = 0; i < width; ++i) {
      reader.parse(i, options.dtype, block.data() + begin + i * size, site);
    }
    ++row_count;
  }
  NewTensor table({static_cast<std::int64_t>(row_count), static_cast<std::int64_t>(width)},
                  options.dtype);
  auto to = table.bytes().begin();
  for (; !blocks.empty(); blocks.pop_front()) {
    to = std::copy(blocks.front().begin(), blocks.front().end(), to);
  }
  return {reader.columns(), std::move(table).finish("read_csv", site)};
}

}  // namespace tenure::io
