// Values from a file for the weights of a model: all of them, or none.
#pragma once

#include <cstddef>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "io/origin.h"
#include "nn/weight_paths.h"
#include "tenure/io.h"
#include "tenure/nn/files.h"

namespace tenure::io {

struct WeightPair {
  const nn::detail::NamedVariable* weight;
  std::size_t entry;  // of the file
};

// Collects all that is wrong with a file's weights, to tell it at once.
class WeightFaults {
 public:
  void missing(const std::string& name) { add(missing_, name); }
  void unexpected(const std::string& name) { add(unexpected_, name); }
  void mismatched(const std::string& text) { add(mismatched_, text); }
  // An IoError where there is anything.
  void raise(const Origin& origin, const std::string& what) const;

 private:
  struct List {
    std::vector<std::string> some;  // the first ones
    std::size_t count = 0;
  };
  static void add(List& list, const std::string& text);
  List missing_, unexpected_, mismatched_;
};

// Empty when a value of the file can become the variable's, and else what is in the way.
std::string mismatch(const nn::detail::NamedVariable& weight, const TensorInfo& info);

// Reads every value, then sets every variable, or none. Floats are rounded to the variable's dtype.
void assign_all(const std::vector<WeightPair>& pairs,
                const std::function<Tensor(std::size_t entry)>& read, std::source_location site);

}  // namespace tenure::io
