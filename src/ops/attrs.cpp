#include "ops/attrs.h"

#include "core/raise.h"

namespace tenure::ops {
namespace {

class Printer final : public FieldVisitor {
 public:
  void integer(std::string_view name, std::int64_t& value) override { put(name, value); }
  void real(std::string_view name, double& value) override { put(name, value); }
  void flag(std::string_view name, bool& value) override { put(name, value); }
  void dtype(std::string_view name, DType& value) override { put(name, value); }
  void number(std::string_view name, Scalar& value) override { put(name, value); }
  void integers(std::string_view name, Shape& values) override { put(name, values); }
  void choice(std::string_view name, std::size_t& value,
              std::span<const char* const> names) override {
    put(name, names[value]);
  }
  std::string text;

 private:
  void put(std::string_view name, const auto& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
};

}  // namespace

std::string print_fields(const void* value, void (*visit)(void*, FieldVisitor&)) {
  Printer printer;
  visit(const_cast<void*>(value), printer);  // which changes nothing
  return std::move(printer.text);
}

}  // namespace tenure::ops
