// Errors as data. An error shares its record with its copies, so that copying one cannot fail; who
// adds to an error gives it a record of its own. The text is made when somebody asks for it.
#include "tenure/error.h"

#include <algorithm>
#include <cctype>
#include <mutex>

#include "core/raise.h"

namespace tenure {
namespace detail {
namespace {

std::string summary_of(const ErrorRecord& record) {
  return record.op.empty() ? record.problem : fmt::format("{}: {}", record.op, record.problem);
}

std::string text_of(const ErrorRecord& record) {
  std::string text = record.kind.empty() ? "" : record.kind + ": ";
  text += summary_of(record);
  if (!record.lines.empty()) text += "\n\n" + table(record.lines);
  for (const std::string& paragraph : record.details) text += "\n\n" + paragraph;
  if (!record.remedy.empty()) text += "\n\n  " + record.remedy;
  return text;
}

// Calls `use(index, name)` for each place of a format that a value is put into: which value, and
// the word right before it.
template <class Use>
void for_each_place(std::string_view format, Use&& use) {
  std::size_t next = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '{') continue;
    if (format[at + 1] == '{') {
      ++at;
      continue;
    }
    const std::size_t end = at > 0 && format[at - 1] == ' ' ? at - 1 : at;
    std::size_t begin = end;
    const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    while (begin > 0 && is_word(static_cast<unsigned char>(format[begin - 1]))) --begin;
    const auto digit = static_cast<unsigned char>(format[at + 1]);
    const std::size_t index = std::isdigit(digit) != 0 ? digit - '0' : next++;
    use(index, std::string(format.substr(begin, end - begin)));
  }
}

}  // namespace

struct ErrorState {
  explicit ErrorState(ErrorRecord&& told) : record(std::move(told)) {}

  static void replace(Error& error, ErrorRecord&& record) {
    error.state_ = std::make_shared<const ErrorState>(std::move(record));
  }
  static const ErrorState& of(const Error& error) { return *error.state_; }

  const ErrorRecord record;
  mutable std::once_flag once;
  mutable std::string text;
};

ErrorRecord&& ErrorRecord::told(std::vector<Line> told_lines, std::string_view todo) && {
  lines = std::move(told_lines);
  remedy = todo;
  return std::move(*this);
}

bool ErrorRecord::has(std::string_view label) const {
  return std::ranges::find(lines, label, &Line::label) != lines.end();
}

const ErrorRecord& record_of(const Error& error) { return ErrorState::of(error).record; }

void edit(Error& error, const std::function<void(ErrorRecord&)>& change) noexcept {
  try {
    ErrorRecord record = record_of(error);
    change(record);
    ErrorState::replace(error, std::move(record));
  } catch (...) {  // no memory: what is known is told
  }
}

std::string table(const std::vector<Line>& lines) {
  std::size_t place = 0, what = 0;
  for (const Line& line : lines) {
    if (line.what.empty()) continue;  // a sentence, which stands in no column
    place = std::max(place, line.place.size());
    what = std::max(what, line.what.size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = fmt::format("  {:<9} {:<{}}{:<{}}{}", line.label, line.place, place + 4,
                                  line.what, what + 5, line.rest);
    row.erase(row.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + row;
  }
  return text;
}

ErrorRecord described(fmt::string_view format, fmt::format_args args,
                      std::span<const Field> fields) {
  ErrorRecord record;
  const std::string_view whole(format.data(), format.size());
  const std::size_t end = whole.find(": ");
  record.problem = fmt::vformat(format, args);
  if (end != whole.npos) {
    record.op = fmt::vformat(whole.substr(0, end), args);
    record.problem.erase(0, record.op.size() + 2);
  }
  for_each_place(whole, [&](std::size_t i, std::string name) {
    const Field& field = fields[i];
    if (field.kind == Field::Kind::shape) record.shapes.push_back(*field.shape);
    if (field.kind == Field::Kind::dtype) record.dtypes.push_back(field.dtype);
    if (field.kind == Field::Kind::device) record.devices.push_back(field.device);
    if (field.kind == Field::Kind::integer) {
      record.values.push_back({std::move(name), field.integer});
    }
  });
  return record;
}

template <class E>
void throw_described(fmt::string_view format, fmt::format_args args,
                     std::span<const Field> fields) {
  throw E(described(format, args, fields));
}

using Throws = void(fmt::string_view, fmt::format_args, std::span<const Field>);
template Throws throw_described<Error>;
template Throws throw_described<ShapeError>;
template Throws throw_described<DtypeError>;
template Throws throw_described<ValueError>;
template Throws throw_described<UnsupportedError>;
template Throws throw_described<IoError>;
template Throws throw_described<TapeError>;

}  // namespace detail

using detail::ErrorRecord;
using detail::ErrorState;

Error::Error(const std::string& problem) : Error(ErrorRecord{.problem = problem}) {}

Error::Error(ErrorRecord&& record) : std::runtime_error("") {
  if (!record.has("used")) {
    if (auto line = detail::user_line(record.op)) record.lines.push_back(std::move(*line));
  }
  ErrorState::replace(*this, std::move(record));
}

Error::~Error() = default;

const char* Error::what() const noexcept {
  try {
    std::call_once(state_->once, [&] { state_->text = detail::text_of(state_->record); });
    return state_->text.c_str();
  } catch (...) {
    return state_->record.problem.c_str();
  }
}

std::string Error::summary() const { return detail::summary_of(state_->record); }
const std::string& Error::op() const { return state_->record.op; }
const std::string& Error::problem() const { return state_->record.problem; }
const std::vector<ErrorLine>& Error::lines() const { return state_->record.lines; }
const std::vector<std::string>& Error::details() const { return state_->record.details; }
const std::string& Error::remedy() const { return state_->record.remedy; }
const std::vector<Shape>& Error::shapes() const { return state_->record.shapes; }
const std::vector<DType>& Error::dtypes() const { return state_->record.dtypes; }
const std::vector<Device>& Error::devices() const { return state_->record.devices; }
const std::vector<ErrorValue>& Error::values() const { return state_->record.values; }

void Error::add(ErrorLine line) noexcept {
  detail::edit(*this, [&](ErrorRecord& record) {
    record.lines.insert(std::ranges::find(record.lines, "used", &ErrorLine::label),
                        std::move(line));
  });
}

void Error::within(std::string_view thing) noexcept {
  detail::edit(*this, [&](ErrorRecord& record) {
    record.problem = detail::summary_of(record);
    record.op = thing;
  });
}

void Error::advise(std::string_view paragraph) noexcept {
  detail::edit(*this, [&](ErrorRecord& record) {
    record.remedy += fmt::format("{}{}", record.remedy.empty() ? "" : "\n\n  ", paragraph);
  });
}

TapeError::TapeError(ErrorRecord&& record, std::source_location first_use)
    : Error(std::move(record)), first_use_(first_use) {}

LifetimeError::LifetimeError(ErrorRecord&& record, Story story, std::source_location used_at)
    : Error(std::move(record)),
      story_(std::make_shared<const Story>(std::move(story))),
      used_at_(used_at) {}

OutOfMemoryError::OutOfMemoryError(ErrorRecord&& record, std::size_t requested, std::size_t budget,
                                   std::vector<Story> largest)
    : Error(std::move(record)),
      requested_(requested),
      budget_(budget),
      largest_(std::make_shared<const std::vector<Story>>(std::move(largest))) {}

}  // namespace tenure
