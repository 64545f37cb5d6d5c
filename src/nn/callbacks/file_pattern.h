// Names of files with fields, as Python formats them: "{epoch:02d}-{val_loss:.2f}".
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tenure::nn::detail {

class FilePattern {
 public:
  using Value = std::variant<std::int64_t, double>;
  struct Field {
    std::string name;
    std::string format;  // after the colon
  };
  // ValueError where a brace is open, or a format is none of a number's. `counts` are the fields
  // that are whole numbers.
  FilePattern(const char* who, const std::string& text, const std::vector<std::string>& counts);
  const std::vector<Field>& fields() const { return fields_; }
  // The values of the fields, in their order.
  std::string filled(const std::vector<Value>& values) const;

 private:
  std::vector<std::string> texts_;  // before each field, and after the last
  std::vector<Field> fields_;
};

}  // namespace tenure::nn::detail
