// Models that are made of layers by the library: Sequential, and those with a graph of nodes.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "nn/config.h"
#include "nn/model_state.h"

namespace tenure::nn::detail {

class Container : public ModelBase {
 public:
  using ModelBase::ModelBase;
  bool casts_inputs() const override { return false; }  // its layers do
  // Null while the inputs are not known.
  virtual const Structure* structure() const = 0;
};

// How many times layers were added to a Sequential, or popped, so far.
std::uint64_t changes_of_layers();

// Refuses what an input was not declared, or built, for, from an axis on.
void check_input(const Node& declared, const Tensor& input, int from);

// Models in Keras's schema, by class name: "Sequential", "Functional" (or "Model").
Layer sequential_from_json(const Json& config);
Layer functional_from_json(const Json& config);

class GraphModel final : public Container {
 public:
  GraphModel(std::vector<Node> inputs, std::vector<Node> outputs, const ModelOptions& options);
  const char* class_name() const override { return "Functional"; }
  std::string config() const override;
  const Structure* structure() const override { return &structure_; }
  void build_all(const std::vector<Shape>& inputs) override;
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override;

 private:
  struct Place {  // of a value among those of a call: an argument, or an output of an earlier call
    std::size_t index;
  };
  struct Step {
    Layer layer;
    std::vector<Place> inputs;
    std::size_t first_output;
    std::size_t outputs;
    std::vector<std::size_t> last_used;  // values that no later step needs
    std::optional<bool> training;        // as the user settled it
  };
  void add_calls();
  void make_steps();

  Structure structure_;
  std::vector<Step> steps_;
  std::vector<std::size_t> results_;
  std::size_t values_ = 0;
};

class SequentialModel final : public Container {
 public:
  SequentialModel(std::vector<Layer> layers, const ModelOptions& options,
                  std::source_location site);
  const char* class_name() const override { return "Sequential"; }
  std::string config() const override;
  const Structure* structure() const override;
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override;
  void build_all(const std::vector<Shape>& inputs) override;
  void add(const Layer& layer, std::source_location site);
  void pop();
  std::vector<Layer> chain() const;

 private:
  void begin(const Node& input);
  void build_along(const Node& input, std::source_location site);
  void extend(const Layer& layer, std::source_location site);
  std::optional<Node> declared_input() const;
  void begin_with(const Layer& first, std::source_location site);
  void note_change();

  std::vector<Layer> chain_;
  std::unordered_set<std::string> names_;         // of these
  mutable tenure::detail::RecursiveMutex mutex_;  // layers that are called under it may ask
  std::shared_ptr<Structure> structure_;          // null while the inputs are not known
  bool is_declared_ = false;                      // the inputs were, not only seen
};

}  // namespace tenure::nn::detail
