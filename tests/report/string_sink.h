#pragma once

#include <span>
#include <string>

#include "report/writer.h"

namespace tenure::testing {

class StringSink final : public report::Sink {
 public:
  void write(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::string text;
};

}  // namespace tenure::testing
