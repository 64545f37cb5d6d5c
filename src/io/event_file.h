// TensorBoard's event files: records (a length, its checksum, the bytes, theirs), each a message of
// tensorflow's Event protocol buffer. https://github.com/tensorflow/tensorboard reads them.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace tenure::io {

std::uint32_t crc32c(std::string_view bytes);

class EventFile {
 public:
  // A new file in the folder, which is made.
  explicit EventFile(const std::string& folder);
  void scalar(const std::string& tag, std::int64_t step, double value);
  void histogram(const std::string& tag, std::int64_t step, std::span<const double> values);
  void flush();  // an IoError where something could not be written

 private:
  void event(std::string_view fields, std::int64_t step);
  std::string path_;
  std::ofstream file_;
};

}  // namespace tenure::io
