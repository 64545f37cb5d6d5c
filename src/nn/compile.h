// What a model was compiled with, output by output.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenure/nn/compile.h"

namespace tenure::nn::detail {

// One output, as it is judged.
struct JudgedOutput {
  std::string name;
  OutputLoss loss;
  double loss_weight = 1;
  std::vector<Metric> metrics;
  std::vector<Metric> weighted_metrics;
  // Whether a target is to be given for it.
  bool is_judged() const { return loss.given() || !metrics.empty() || !weighted_metrics.empty(); }
};

// A ValueError where the options do not fit outputs of these names.
std::vector<JudgedOutput> judged_outputs(const CompileOptions& options,
                                         const std::vector<std::string>& names);

// The same, as far as can be told before the outputs are known.
// A model with steps of its own may do without a loss.
void check_parts(const CompileOptions& options);

// Names that are not among those of `taken`, which they join: "auc", "auc_1".
class UniqueNames {
 public:
  explicit UniqueNames(const std::vector<std::string>& taken = {})
      : taken_(taken.begin(), taken.end()) {}
  bool has(const std::string& name) const;
  std::string add(const std::string& name);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> numbers_;  // the last one given to a name
};

}  // namespace tenure::nn::detail
