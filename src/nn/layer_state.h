// What every layer holds, and the library's way into the public handles.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "memory/context.h"
#include "memory/fork.h"
#include "memory/label.h"
#include "tenure/function.h"
#include "tenure/job.h"
#include "tenure/nn/layer.h"
#include "tenure/story.h"

namespace tenure::nn::detail {

// A weight and what the training step has to do about it.
struct Weight {
  Variable variable;
  Regularizer regularizer;
  Constraint constraint;
  bool trainable = true;
};

struct LayerDeath {
  std::source_location site;
  tenure::detail::LabelRef by;  // the model that owned it; none: the user disposed of the layer
};

struct LayerState {
  LayerOptions options;
  tenure::detail::LabelRef label;  // class, name, and where it was made
  std::vector<Weight> weights;
  std::vector<Layer> layers;
  std::unordered_set<const LayerBase*> members;  // the same
  std::vector<Variable> slots;                   // made by add_state
  // What is in files, but is no weight and no state of a sequence: numbers of draws, boundaries.
  std::vector<Variable> records;
  std::atomic<bool> built{false};
  std::vector<Shape> built_for;           // its inputs then
  std::atomic<std::uint64_t> changed{0};  // see last_change
  tenure::detail::RecursiveMutex building;
  std::atomic<bool> trainable{true};
  std::atomic<bool> recompute{false};
  std::atomic<std::optional<DType>> precision{};  // that a model was compiled with (precision.h)
  std::atomic<int> owners{0};                     // models (or layers) that it is part of
  mutable tenure::detail::Mutex dying;            // guards `death`
  std::atomic<bool> disposed{false};
  std::optional<LayerDeath> death;
  // The call as one operation whose gradient runs it again.
  std::optional<Function<std::vector<Tensor>(std::vector<Tensor>,
                                             std::vector<std::optional<Tensor>>, int precision)>>
      recomputed;
  std::size_t recomputed_outputs = 0;  // what it gives after these are losses
  std::atomic<bool> warned_of_mask{false};
  std::vector<std::weak_ptr<const NodeCall>> calls;  // on Nodes; with `building` held
  std::size_t calls_to_sift = 8;                     // so many, and those that are gone go
};

// What goes into a layer, or comes out of it: with masks, for those that have one.
struct Specs {
  std::vector<Spec> values;
  std::vector<std::optional<Spec>> masks = {};  // of the first so many
};

// The call of a layer that gave a node; an input has no inputs of its own.
struct NodeCall {
  ~NodeCall();  // however long the chain is that it ends

  Layer layer;
  std::vector<Node> inputs;
  std::vector<Spec> outputs;
  std::source_location site;
  std::optional<bool> training = {};  // as the user settled it
  bool of_data = false;               // an input with the sizes of what a model was first given
  std::vector<std::optional<Spec>> masks = {};  // of the outputs, as far as there are some
};

// A call that its layer knows of.
std::shared_ptr<const NodeCall> noted(NodeCall call);

struct LayerAccess {
  static LayerBase& base(const Layer& layer) { return *layer.base_; }
  static const std::shared_ptr<LayerBase>& shared(const Layer& layer) {
    return layer.base_.pointer();
  }
  static LayerState& state(const LayerBase& base) { return *base.state_; }
  static LayerState& state(const Layer& layer) { return *layer.base_->state_; }
  static Node node(std::shared_ptr<const NodeCall> call, std::size_t output) {
    return Node(std::move(call), output);
  }
  static const std::shared_ptr<const NodeCall>& call(const Node& node) {
    (void)*node.call_;  // an empty one is refused
    return node.call_.pointer();
  }
  static std::size_t output(const Node& node) { return node.output_; }
  // Of the state's records.
  static Variable add_record(LayerBase& owner, std::string_view name, const Shape& shape,
                             DType dtype);
  static void add_layer(LayerBase& owner, const Layer& layer) { owner.add_layer(layer); }
};

// While a layer is called on nodes: the layer that gave the first of them, for errors.
class NodeGiver {
 public:
  explicit NodeGiver(const std::vector<Node>& inputs);
  ~NodeGiver();
  NodeGiver(const NodeGiver&) = delete;
  NodeGiver& operator=(const NodeGiver&) = delete;
  static const LayerBase* current();  // or null

 private:
  const LayerBase* outer_;
};

// "dense", "dense_1", ...: each but once.
std::string next_name(const std::string& stem);
// What is wrong with an input that lacks the axis of the examples.
inline constexpr const char* kOneExample =
    "it is one example, not a batch: give a dataset as dataset.batch(32), a tensor as "
    "expand_dims(x, 0).";

// Gives the layer its name and label where it has none yet.
void complete(LayerBase& base, std::source_location site = {});

// A new built-in layer, made at `site`.
template <class T, class... A>
std::shared_ptr<LayerBase> make_base(std::source_location site, A&&... args) {
  const tenure::detail::CallScope call("layer", site);  // layers that it makes of its own, too
  auto base = std::make_shared<T>(std::forward<A>(args)...);
  complete(*base, site);
  return base;
}

// One call of a layer: refused when it is disposed; builds it at first.
std::vector<Tensor> call_layer(LayerBase& base, const std::vector<Tensor>& inputs, const Call& call,
                               std::source_location site);
// `inputs` are there where they are known, for errors.
void ensure_built(LayerBase& base, const std::vector<Spec>& specs, std::source_location site,
                  const std::vector<Tensor>& inputs = {});
// What the layer gives for such inputs: it is traced, at sizes that stand for those that may vary.
Specs outputs_for(LayerBase& base, const Specs& inputs, std::source_location site);
std::vector<Spec> output_specs(LayerBase& base, const std::vector<Spec>& inputs,
                               std::source_location site);

// The weights of a layer and those in it, each once. `trainable` false freezes what is below.
struct LayerWeight {
  Weight* weight;
  LayerBase* layer;
  bool trainable;
};
std::vector<LayerWeight> all_weights(LayerBase& base);
std::int64_t count_weights(LayerBase& base);  // their elements
std::vector<Variable> all_states(LayerBase& base);
// Whether a state has a row for each example of a batch; kAny: of a batch of any size.
bool keeps_rows(LayerBase& base, std::int64_t batch);
// When a Sequential in it was last changed, by a count of all such changes; 0: never.
std::uint64_t last_change(LayerBase& base);
bool contains(const LayerBase& whole, const LayerBase& part);  // also where they are the same

// `op` is what the user called.
void check_alive(const LayerBase& base, std::source_location used, const char* op = "call");

// What a call that is to give one tensor gave.
Tensor first_of(const LayerBase& base, std::vector<Tensor> outputs);
// For layers that look at their first input before they know how many there are.
void check_has_input(const LayerBase& base, std::size_t inputs);

std::string layer_text(const LayerBase& base);  // Dense "dense_1"
Spec spec_of(const Tensor& tensor);
// A floating-point tensor in another such dtype; any other as it is.
Tensor floating_as(const Tensor& x, DType dtype);

}  // namespace tenure::nn::detail
