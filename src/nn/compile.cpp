// From what compile was given to what each output has. Lists go by the order of the outputs; pairs
// and maps go by their names, which are known once the model is.
#include "nn/compile.h"

#include <algorithm>
#include <cmath>

#include "core/listed.h"
#include "core/raise.h"

namespace tenure::nn::detail {

using tenure::detail::listed;

namespace {

using Names = std::vector<std::string>;

std::string names_text(const Names& names) {
  return listed(names, [](const std::string& name) { return "\"" + name + "\""; });
}

std::size_t output_called(const std::string& name, const Names& names, const char* what) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    raise<ValueError>("compile: {}: the model has no output \"{}\" (there are: {})", what, name,
                      names_text(names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

// Where each of the named things belongs. An output that is named twice is refused.
template <class Named, class Put>
void by_name(const std::vector<Named>& named, const Names& names, const char* what,
             const Put& put) {
  std::vector<bool> seen(names.size());
  for (const Named& each : named) {
    const std::size_t output = output_called(each.output, names, what);
    if (seen[output]) {
      raise<ValueError>("compile: {}: output \"{}\" is there twice", what, each.output);
    }
    seen[output] = true;
    put(output, each);
  }
}

void check_count(const char* what, std::size_t count, const Names& names, const char* remedy) {
  if (count == names.size()) return;
  throw ValueError(
      describe("compile: {}: {} for {} outputs: {}", what, count, names.size(), names_text(names))
          .told({}, remedy));
}

void put_losses(const Losses& losses, const Names& names, std::vector<JudgedOutput>& outputs) {
  by_name(losses.named(), names, "loss",
          [&](std::size_t output, const auto& each) { outputs[output].loss = each.value; });
  const std::vector<OutputLoss>& list = losses.list();
  if (list.empty()) return;
  if (list.size() != 1) {
    check_count("loss", list.size(), names, "give one for all, or one for each: {} for none.");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].loss = list[list.size() == 1 ? 0 : i];
}

void put_loss_weights(const LossWeights& weights, const Names& names,
                      std::vector<JudgedOutput>& outputs) {
  by_name(weights.named(), names, "loss_weights", [&](std::size_t output, const auto& each) {
    if (!outputs[output].loss.given()) {
      raise<ValueError>("compile: loss_weights: output \"{}\" has no loss", each.output);
    }
    outputs[output].loss_weight = each.value;
  });
  if (weights.list().empty()) return;
  check_count("loss_weights", weights.list().size(), names,
              "give one for each, or by their names.");
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].loss_weight = weights.list()[i];
}

// ---- Metrics

bool has_name(const Metrics& metrics) { return metrics.name().has_value(); }

// {"name of an output", its metrics}. What follows a name is a list only there.
bool is_pair(const Metrics& metrics, const Names& names) {
  return metrics.list().size() == 2 && has_name(metrics.list()[0]) &&
         (metrics.list()[1].is_list() ||
          std::ranges::find(names, *metrics.list()[0].name()) != names.end());
}

Metric metric_of(const Metrics& leaf, const char* what, const Names& names) {
  const auto tell = [&](Error& error) {
    if (names.size() > 1) {
      error.advise(fmt::format("nor is it an output of the model, of which there are: {}.",
                               names_text(names)));
    }
  };
  const Metric metric = telling<ValueError>(tell, [&] { return leaf.metric(); });
  if (metric.name() == "loss") {
    throw ValueError(describe("compile: {}: a metric is called \"loss\", as the loss is", what)
                         .told({}, "give it another .name."));
  }
  (void)metric.class_name();  // an empty handle is refused here
  return metric;
}

// A metric, or a list of them.
std::vector<Metric> metrics_of(const Metrics& given, const char* what, const Names& names) {
  if (!given.is_list()) return {metric_of(given, what, names)};
  std::vector<Metric> metrics;
  for (const Metrics& each : given.list()) {
    if (each.is_list()) {
      raise<ValueError>("compile: {}: a list in the list of an output's metrics", what);
    }
    metrics.push_back(metric_of(each, what, names));
  }
  return metrics;
}

struct PairOf {
  std::string output;
  const Metrics& metrics;
};

std::vector<std::vector<Metric>> per_output(const Metrics& given, const char* what,
                                            const Names& names) {
  std::vector<std::vector<Metric>> outputs(names.size());
  if (!given.is_list()) {
    check_count(what, 1, names, "give each output's, or name it.");
    outputs.front() = metrics_of(given, what, names);
    return outputs;
  }
  const std::vector<Metrics>& list = given.list();
  std::vector<PairOf> pairs;
  for (const Metrics& each : list) {
    if (is_pair(each, names)) pairs.push_back({*each.list()[0].name(), each.list()[1]});
  }
  if (!pairs.empty()) {
    if (pairs.size() != list.size()) {
      raise<ValueError>(
          "compile: {}: some are given by the name of an output (\"{}\"), others are not", what,
          pairs.front().output);
    }
    by_name(pairs, names, what, [&](std::size_t output, const PairOf& pair) {
      outputs[output] = metrics_of(pair.metrics, what, names);
    });
  } else if (names.size() == 1) {
    for (const Metrics& each : list) {
      for (Metric& metric : metrics_of(each, what, names)) {
        outputs.front().push_back(std::move(metric));
      }
    }
  } else if (!list.empty()) {
    check_count(what, list.size(), names,
                "give a list of metrics for each, {{\"mae\"}, {}}, or by their names, "
                "{{\"name of an output\", {\"mae\"}}}.");
    for (std::size_t i = 0; i < list.size(); ++i) outputs[i] = metrics_of(list[i], what, names);
  }
  return outputs;
}

// What is a metric whatever the outputs are called.
void check_metrics(const Metrics& given, const char* what) {
  if (!given.is_list()) {
    (void)metric_of(given, what, {});
    return;
  }
  const std::vector<Metrics>& list = given.list();
  for (std::size_t i = list.size() == 2 && has_name(list[0]) ? 1 : 0; i < list.size(); ++i) {
    check_metrics(list[i], what);
  }
}

}  // namespace

std::vector<JudgedOutput> judged_outputs(const CompileOptions& options, const Names& names) {
  std::vector<JudgedOutput> outputs(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) outputs[i].name = names[i];
  put_losses(options.loss, names, outputs);
  put_loss_weights(options.loss_weights, names, outputs);
  auto metrics = per_output(options.metrics, "metrics", names),
       weighted = per_output(options.weighted_metrics, "weighted_metrics", names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    outputs[i].metrics = std::move(metrics[i]);
    outputs[i].weighted_metrics = std::move(weighted[i]);
  }
  return outputs;
}

void check_parts(const CompileOptions& options) {
  const auto check_loss = [](const OutputLoss& loss) {
    if (loss.given()) (void)loss->reduction();  // an empty handle is refused here
  };
  for (const OutputLoss& loss : options.loss.list()) check_loss(loss);
  for (const auto& each : options.loss.named()) check_loss(each.value);
  for (const double weight : options.loss_weights.list()) {
    if (!std::isfinite(weight)) raise<ValueError>("compile: loss_weights: {} is no number", weight);
  }
  for (const auto& each : options.loss_weights.named()) {
    if (!std::isfinite(each.value)) {
      raise<ValueError>("compile: loss_weights: that of \"{}\" is no number: {}", each.output,
                        each.value);
    }
  }
  for (const auto& [given, what] : {std::pair(&options.metrics, "metrics"),
                                    std::pair(&options.weighted_metrics, "weighted_metrics")}) {
    // The first of two may be the name of an output in lists of lists only.
    if (!given->is_list()) {
      check_metrics(*given, what);
    } else {
      for (const Metrics& each : given->list()) check_metrics(each, what);
    }
  }
}

bool UniqueNames::has(const std::string& name) const { return taken_.contains(name); }

std::string UniqueNames::add(const std::string& name) {
  std::string unique = name;
  while (!taken_.insert(unique).second) unique = fmt::format("{}_{}", name, ++numbers_[name]);
  return unique;
}

}  // namespace tenure::nn::detail
