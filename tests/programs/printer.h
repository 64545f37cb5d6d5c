// A program as text that reads like C++.
#pragma once

#include <string>
#include <vector>

#include "ast.h"

namespace tenure::programs {

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string program();

  // For the rows of statements:
  void line(const std::string& text);
  std::string name(Value value) const;
  std::string name(const Use& use) const;
  std::string names(const std::vector<Value>& values) const;  // {t1, t2}
  std::string names(const std::vector<Use>& uses) const;
  std::string type(Value value) const;
  // `auto [t1, t2] = `, or what fits the number of results.
  std::string results(const Statement& statement) const;
  // Lines of a block, from `head {` to `}tail`.
  void block(const std::string& head, const Block& block, const std::string& tail);
  static std::string numbers(const std::vector<std::int64_t>& list);
  static std::string literals(const std::vector<double>& list);

 private:
  void statements(const Block& block);

  const Program& program_;
  std::string text_;
  int indent_ = 0;
};

}  // namespace tenure::programs
