#include "ops/attrs.h"

#include "core/raise.h"

namespace tenure::ops {

std::string print_field(const Shape& value) { return to_string(value); }
std::string print_field(const Scalar& value) { return to_string(value); }
std::string print_field(DType value) { return std::string(name(value)); }
std::string print_field(bool value) { return value ? "true" : "false"; }
std::string print_field(double value) { return fmt::format("{}", value); }
std::string print_field(std::int64_t value) { return fmt::format("{}", value); }
std::string print_field(std::uint64_t value) { return fmt::format("{}", value); }

}  // namespace tenure::ops
