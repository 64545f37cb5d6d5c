// Runs one snippet of the documentation by name, or with --tests the tests that stand in it.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "snippets.h"
#include "tenure/error.h"

static std::map<std::string, std::function<void()>>& all() {
  static std::map<std::string, std::function<void()>> runs;
  return runs;
}

bool snippets::add(const std::string& name, std::function<void()> run) {
  return all().emplace(name, std::move(run)).second;
}

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string name = argc == 2 ? argv[1] : "";
  if (name == "--tests") return RUN_ALL_TESTS();
  const auto found = all().find(name);
  if (found == all().end()) {
    std::cerr << "no such snippet: " << name << "\n";
    return 2;
  }
  try {
    found->second();
  } catch (const tenure::Error& error) {
    std::cout << error.what() << std::endl;
  }
}
