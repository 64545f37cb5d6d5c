#include "report/columns.h"

#include <bit>
#include <cstring>

namespace tenure::report {

void Columns::append_varint(std::string& to, std::uint64_t value) {
  char bytes[kMostVarint];
  to.append(bytes, put_varint(bytes, value));
}

void Columns::append(std::string_view name, Kind kind, std::size_t count, std::string_view bytes) {
  bytes_.push_back(static_cast<char>(name.size()));
  bytes_ += name;
  bytes_.push_back(static_cast<char>(kind));
  append_varint(bytes_, count);
  append_varint(bytes_, bytes.size());
  bytes_ += bytes;
}

void Columns::reals(std::string_view name, const std::vector<double>& values) {
  std::string bytes;
  bytes.reserve(values.size() * sizeof(double));
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(bits >> shift));
  }
  append(name, Kind::reals, values.size(), bytes);
}

void Columns::texts(std::string_view name, const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  append(name, Kind::bytes, all.size(), all);
  whole(std::string(name) + ".length", texts, [](const std::string& text) { return text.size(); });
}

}  // namespace tenure::report
