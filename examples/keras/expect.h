// What these programs promise is checked: one that breaks a promise says so, and ends non-zero.
#pragma once

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <tenure/tenure.h>

inline void expect(bool holds, const std::string& promise) {
  if (!holds) throw std::runtime_error("not so: " + promise);
}

inline void expect_between(const std::string& name, double value, double low, double high) {
  std::ostringstream promise;
  promise << name << " is " << value << ", it should be between " << low << " and " << high;
  expect(low <= value && value <= high, promise.str());
}

// The exit status of a program, which also promises to leave no tensor behind.
inline int status_of(void (*program)()) {
  try {
    program();
    expect(tenure::memory().tensors == 0, "every tensor is gone in the end");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
