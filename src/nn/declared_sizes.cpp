#include "nn/declared_sizes.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>

#include "core/raise.h"
#include "tenure/nn/layer.h"

namespace tenure::nn::detail {

namespace {

using tenure::detail::ErrorRecord;

std::string_view number_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
  return text.substr(at, end - at);
}

// Two texts that differ in numbers only, as one.
std::optional<std::string> merged(std::string_view a, std::string_view b) {
  std::string text;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const std::string_view one = number_at(a, i), other = number_at(b, j);
    if (!one.empty() && !other.empty()) {
      text += one == other ? std::string(one) : std::to_string(kAny);
      i += one.size();
      j += other.size();
    } else if (a[i] == b[j]) {
      text += a[i];
      ++i;
      ++j;
    } else {
      return std::nullopt;
    }
  }
  if (i < a.size() || j < b.size()) return std::nullopt;
  return text;
}

bool merge(std::string& text, const std::string& second) {
  std::optional<std::string> both = merged(text, second);
  if (both) text = *std::move(both);
  return both.has_value();
}

// A tensor of a try is gone: its number is of no use.
void drop_number(std::string& text) {
  const std::string number = fmt::format(" (#{})", kAny);
  for (std::size_t at = text.find(number); at != text.npos; at = text.find(number)) {
    text.erase(at, number.size());
  }
}

bool merge(ErrorRecord& record, const ErrorRecord& second) {
  bool same = merge(record.op, second.op) && merge(record.problem, second.problem) &&
              merge(record.remedy, second.remedy) && record.lines.size() == second.lines.size() &&
              record.details.size() == second.details.size() &&
              record.shapes.size() == second.shapes.size() &&
              record.values.size() == second.values.size();
  for (std::size_t i = 0; same && i < record.lines.size(); ++i) {
    same = merge(record.lines[i].rest, second.lines[i].rest) &&
           record.lines[i].label == second.lines[i].label;
    drop_number(record.lines[i].rest);
  }
  for (std::size_t i = 0; same && i < record.details.size(); ++i) {
    same = merge(record.details[i], second.details[i]);
  }
  for (std::size_t i = 0; same && i < record.shapes.size(); ++i) {
    Shape& shape = record.shapes[i];
    same = shape.rank() == second.shapes[i].rank();
    for (int axis = 0; same && axis < shape.rank(); ++axis) {
      if (shape[axis] != second.shapes[i][axis]) shape[axis] = kAny;
    }
  }
  for (std::size_t i = 0; same && i < record.values.size(); ++i) {
    if (record.values[i].value != second.values[i].value) record.values[i].value = kAny;
  }
  return same;
}

}  // namespace

bool tell_declared_sizes(Error& error, const Error& second) {
  if (typeid(error) != typeid(second)) return false;
  bool same = false;
  tenure::detail::edit(error, [&](ErrorRecord& record) {
    ErrorRecord both = record;
    same = merge(both, tenure::detail::record_of(second));
    if (same) record = std::move(both);
  });
  return same;
}

}  // namespace tenure::nn::detail
