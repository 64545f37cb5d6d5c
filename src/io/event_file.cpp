#include "io/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "core/raise.h"
#include "io/endian.h"

namespace tenure::io {

namespace {

// ---- Protocol buffers, as far as events need them

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7F) | 0x80);
  to += static_cast<char>(value);
}
void append_key(std::string& to, int field, Wire wire) {
  append_varint(to, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}
template <class N>
void append_fixed(std::string& to, N value) {
  std::array<std::byte, sizeof(N)> bytes{};
  store_little(bytes.data(), value);
  to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}
void append_double(std::string& to, int field, double value) {
  append_key(to, field, Wire::fixed64);
  append_fixed(to, value);
}
void append_float(std::string& to, int field, float value) {
  append_key(to, field, Wire::fixed32);
  append_fixed(to, value);
}
void append_bytes(std::string& to, int field, std::string_view bytes) {
  append_key(to, field, Wire::bytes);
  append_varint(to, bytes.size());
  to += bytes;
}
void append_doubles(std::string& to, int field, std::span<const double> values) {
  std::string packed;
  for (const double value : values) append_fixed(packed, value);
  append_bytes(to, field, packed);
}

// Numbers of fields in tensorflow/core/util/event.proto and framework/summary.proto.
namespace in_event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace in_summary {
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2, kHistogram = 5;
}
namespace in_histogram {
constexpr int kMin = 1, kMax = 2, kCount = 3, kSum = 4, kSumOfSquares = 5, kLimits = 6,
              kBuckets = 7;
}

// ---- Records

std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8U; }

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string summary(const std::string& tag, int kind, std::string_view value) {
  std::string one;
  append_bytes(one, in_summary::kTag, tag);
  if (kind == in_summary::kHistogram) {
    append_bytes(one, kind, value);
  } else {
    one += value;
  }
  std::string all, fields;
  append_bytes(all, in_summary::kValue, one);
  append_bytes(fields, in_event::kSummary, all);
  return fields;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t rest = i;
      for (int bit = 0; bit < 8; ++bit)
        rest = (rest & 1) != 0 ? rest >> 1 ^ 0x82f63b78U : rest >> 1;
      made[i] = rest;
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

EventFile::EventFile(const std::string& folder) {
  static std::atomic<int> files{0};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) raise<IoError>("TensorBoard: {}: cannot be made: {}", folder, error.message());
  // TensorBoard looks for "tfevents" in names, and reads a folder's files in their order.
  path_ = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}.v2", folder,
                      static_cast<std::int64_t>(now()), host_name(), ::getpid(), files++);
  file_.open(path_, std::ios::binary | std::ios::trunc);
  std::string version;
  append_bytes(version, in_event::kFileVersion, "brain.Event:2");
  event(version, 0);
  flush();
}

void EventFile::event(std::string_view fields, std::int64_t step) {
  std::string message;
  append_double(message, in_event::kWallTime, now());
  if (step != 0) {  // what is not there is 0
    append_key(message, in_event::kStep, Wire::varint);
    append_varint(message, static_cast<std::uint64_t>(step));
  }
  message += fields;
  std::string record;
  append_fixed(record, static_cast<std::uint64_t>(message.size()));
  append_fixed(record, masked(crc32c(record)));
  record += message;
  append_fixed(record, masked(crc32c(message)));
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
}

void EventFile::scalar(const std::string& tag, std::int64_t step, double value) {
  std::string field;
  append_float(field, in_summary::kSimpleValue, static_cast<float>(value));
  event(summary(tag, in_summary::kSimpleValue, field), step);
}

void EventFile::histogram(const std::string& tag, std::int64_t step,
                          std::span<const double> values) {
  constexpr std::size_t kBuckets = 30;
  double low = 0, high = 0, sum = 0, squares = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;  // which no bucket holds
    low = count == 0 ? value : std::min(low, value);
    high = count == 0 ? value : std::max(high, value);
    sum += value;
    squares += value * value;
    count += 1;
  }
  const double width = high > low ? (high - low) / kBuckets : 1.0 / kBuckets;
  std::array<double, kBuckets> limits{}, buckets{};
  for (std::size_t i = 0; i < kBuckets; ++i) limits[i] = low + width * static_cast<double>(i + 1);
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const auto at = static_cast<std::size_t>((value - low) / width);
    buckets[std::min(at, kBuckets - 1)] += 1;
  }
  std::string message;
  append_double(message, in_histogram::kMin, low);
  append_double(message, in_histogram::kMax, high);
  append_double(message, in_histogram::kCount, count);
  append_double(message, in_histogram::kSum, sum);
  append_double(message, in_histogram::kSumOfSquares, squares);
  append_doubles(message, in_histogram::kLimits, limits);
  append_doubles(message, in_histogram::kBuckets, buckets);
  event(summary(tag, in_summary::kHistogram, message), step);
}

void EventFile::flush() {
  file_.flush();
  if (!file_) raise<IoError>("TensorBoard: cannot write {}", path_);
}

}  // namespace tenure::io
