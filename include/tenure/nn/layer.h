// Layers: copyable handles to something with weights that turns tensors into tensors.
//
//   nn::Dense dense({.units = 8, .activation = "relu"});
//   Tensor y = dense(x);                 // makes the weights at the first call
//   nn::Node node = dense(nn::Input({.shape = {4}}));   // a place in a model, nothing computed
//
// A layer of your own:
//
//   struct Scale : nn::LayerBase {
//     void build(const Shape& input) override {
//       gain = add_weight("gain", {input[-1]}, {.initializer = "ones"});
//     }
//     Tensor call(const Tensor& x, const nn::Call&) override { return x * gain; }
//     Variable gain;
//   };
//   nn::Layer scale = nn::make_layer<Scale>();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/nn/dtype_policy.h"
#include "tenure/nn/parts.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::nn {

class Layer;
class LayerBase;

inline constexpr std::int64_t kAny = -1;  // a size that may vary: Keras's None

// What becomes of a layer or a model that is disposed.
struct Disposal {
  int ref_count = 0;  // models that still own it
  int variables = 0;  // that were freed
};

// How a layer is called.
struct Call {
  bool training = false;
  std::vector<Tensor> masks = {};               // per input; empty, or empty handles, for none
  std::vector<Tensor>* losses = nullptr;        // collects what add_loss is given
  std::vector<Tensor>* output_masks = nullptr;  // where a model tells the masks of its outputs

  Tensor mask(std::size_t input = 0) const {
    return input < masks.size() ? masks[input] : Tensor();
  }
  // A term of the training loss that depends on this call.
  void add_loss(Tensor loss) const {
    if (losses != nullptr) losses->push_back(std::move(loss));
  }
};

// Shape and dtype of a value that is yet to be computed; kAny where a size may vary.
struct Spec {
  Shape shape;
  DType dtype = DType::float32;
};

namespace detail {
struct LayerState;
struct NodeCall;
struct LayerAccess;
}  // namespace detail

// A place in a model: an input, or one output of one call of a layer.
class TENURE_API Node {
 public:
  const Shape& shape() const;
  DType dtype() const;
  operator Spec() const { return {shape(), dtype()}; }
  Layer layer() const;  // that gives it

 private:
  friend struct detail::LayerAccess;
  Node(std::shared_ptr<const detail::NodeCall> call, std::size_t output)
      : call_(std::move(call)), output_(output) {}
  tenure::detail::Held<std::shared_ptr<const detail::NodeCall>, "Node"> call_;
  std::size_t output_;
};

// What of a layer's calls in a model is settled where it is called on Nodes.
struct NodeOptions {
  // Keras's `training=False`: in training, too, the layer is called as it is otherwise.
  std::optional<bool> training = {};
};

struct InputOptions {
  Shape shape = {};  // of one example
  std::int64_t batch_size = kAny;
  DType dtype = DType::float32;
  std::string name = {};
};
TENURE_API Node Input(InputOptions options,
                      std::source_location site = std::source_location::current());

// A layer that may be gone.
class TENURE_API WeakLayer {
 public:
  std::optional<Layer> lock() const;  // none when it is disposed, or nobody holds it
  bool expired() const;

 private:
  friend class Layer;
  std::weak_ptr<LayerBase> base_;
};

// A copyable handle; copies stand for the same layer. Dropping the last one frees its weights.
class TENURE_API Layer {
 public:
  explicit Layer(std::shared_ptr<LayerBase> base);
  // The layer of an Input, for a Sequential to begin with. Another Node is a ValueError.
  Layer(const Node& input, std::source_location site = std::source_location::current());

  // One tensor in and out, several in, or several in and out.
  Tensor operator()(Arg x, Call call = {}) const;
  Tensor operator()(std::vector<Tensor> inputs, Call call = {},
                    std::source_location site = std::source_location::current()) const;
  std::vector<Tensor> apply(std::vector<Tensor> inputs, Call call = {},
                            std::source_location site = std::source_location::current()) const;
  // On places in a model: nothing is computed.
  Node operator()(const Node& input, NodeOptions options = {},
                  std::source_location site = std::source_location::current()) const;
  Node operator()(std::vector<Node> inputs, NodeOptions options = {},
                  std::source_location site = std::source_location::current()) const;
  std::vector<Node> apply(std::vector<Node> inputs, NodeOptions options = {},
                          std::source_location site = std::source_location::current()) const;

  // The places that the layer takes from and gives to, as long as a model or a Node has them: of a
  // model its own, of another layer those of its calls on Nodes, which must agree (ValueError).
  // Empty where there are none.
  std::vector<Node> inputs(std::source_location site = std::source_location::current()) const;
  std::vector<Node> outputs(std::source_location site = std::source_location::current()) const;
  // The only one; ValueError where there is none, or are several.
  Node input(std::source_location site = std::source_location::current()) const;
  Node output(std::source_location site = std::source_location::current()) const;

  std::string name() const;
  std::string class_name() const;  // "Dense"
  bool trainable() const;
  // Of the layer and all those in it. A model that was trained has to be compiled again.
  void set_trainable(bool trainable,
                     std::source_location site = std::source_location::current()) const;
  // What a call computes is computed again for the gradient instead of being kept.
  void set_recompute(bool recompute,
                     std::source_location site = std::source_location::current()) const;

  // Makes the weights, before or without a call. kAny for the batch size.
  void build(const Shape& input, std::source_location site = std::source_location::current()) const;
  bool is_built() const;
  // Of the layer and those in it; trainable ones first, as in Keras.
  std::vector<Variable> weights(std::source_location site = std::source_location::current()) const;
  std::vector<Variable> trainable_weights(
      std::source_location site = std::source_location::current()) const;
  std::vector<Variable> non_trainable_weights(
      std::source_location site = std::source_location::current()) const;
  std::vector<Tensor> get_weights(
      std::source_location site = std::source_location::current()) const;
  void set_weights(const std::vector<Tensor>& values,
                   std::source_location site = std::source_location::current()) const;
  // ValueError before it is built.
  std::int64_t count_params(std::source_location site = std::source_location::current()) const;
  // Those directly in it.
  std::vector<Layer> layers(std::source_location site = std::source_location::current()) const;

  // Recurrent state, of the layer and those in it.
  void reset_states(std::source_location site = std::source_location::current()) const;
  void reset_states(const std::vector<Tensor>& values,
                    std::source_location site = std::source_location::current()) const;
  std::vector<Tensor> get_states(std::source_location site = std::source_location::current()) const;

  // The mask that goes on with the output of a call with these.
  Tensor compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>& masks,
                      std::source_location site = std::source_location::current()) const;
  Spec output_spec(const std::vector<Spec>& inputs) const;  // builds it

  // Frees the weights, unless a model still owns the layer.
  Disposal dispose(std::source_location site = std::source_location::current()) const;
  bool is_disposed() const;
  WeakLayer weak() const;
  bool operator==(const Layer& other) const { return base_ == other.base_; }
  std::string config() const;  // JSON, in Keras's schema

  // The layer as what it was made from, or null.
  template <class T>
  T* as() const {
    return dynamic_cast<T*>(&*base_);
  }

 protected:
  friend struct detail::LayerAccess;
  tenure::detail::Held<std::shared_ptr<LayerBase>, "Layer"> base_;
};

struct WeightOptions {
  Initializer initializer = "glorot_uniform";
  Regularizer regularizer = {};
  Constraint constraint = {};
  bool trainable = true;
  DType dtype = DType::float32;
  // Read in the dtype that the layer computes in, where precision is mixed.
  bool autocast = true;
};

struct LayerOptions {
  std::string name = {};         // default: the class in snake case and a number
  bool trainable = true;         // and all that is in it, as set_trainable
  Shape input_shape = {};        // of one example, for the first layer of a Sequential
  Shape batch_input_shape = {};  // with the batch size
  DTypePolicy dtype = {};        // of the weights, and what is computed in
  // Where a layer of your own was made: by default, where its class makes its options.
  std::source_location site = std::source_location::current();
};

// What layers are made of. Override build and call, or the versions for several tensors.
class TENURE_API LayerBase {
 public:
  explicit LayerBase(LayerOptions options = {});
  virtual ~LayerBase();
  LayerBase(const LayerBase&) = delete;
  LayerBase& operator=(const LayerBase&) = delete;

  // Makes the weights: once, before the first call.
  virtual void build(const Shape& input);
  virtual void build_all(const std::vector<Shape>& inputs);
  // Eager or in a trace; shapes may be read, but sizes that were kAny differ from trace to trace.
  virtual Tensor call(const Tensor& x, const Call& call);
  virtual std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call);
  // Default: the first input's mask goes on where `passes_mask`, and ends here where not.
  virtual Tensor compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>& masks);
  virtual bool passes_mask() const { return false; }
  // Whether floating inputs are cast to the dtype that the layer computes in.
  virtual bool casts_inputs() const { return true; }
  // Whether it computes in the dtype of its weights where precision is mixed. What it gives is
  // cast.
  virtual bool keeps_precision() const { return false; }

  virtual const char* class_name() const { return "Layer"; }
  virtual std::string config() const;  // its settings as a JSON object

  // State that lasts from call to call.
  virtual void reset_states(std::source_location site);
  virtual void reset_states(const std::vector<Tensor>& values, std::source_location site);
  virtual std::vector<Variable> states() const { return {}; }

  // Before the weights go; throws where they must not, and lets go of what else there is.
  virtual void before_dispose(std::source_location site);

  const std::string& name() const;
  bool trainable() const;
  const LayerOptions& layer_options() const;

 protected:
  Variable add_weight(std::string_view name, const Shape& shape, WeightOptions options = {});
  // A slot that no scope, no tape and no disposed output touches; counted as layer state.
  Variable add_state(std::string_view name, const Shape& shape, DType dtype = DType::float32);
  // A layer in this one: its weights count as this one's.
  template <class L>
  L track(L layer) {
    add_layer(layer);
    return layer;
  }

 private:
  friend struct detail::LayerAccess;
  void add_layer(const Layer& layer);
  std::unique_ptr<detail::LayerState> state_;
};

// A handle to a layer of your own.
template <class T, class... A>
Layer make_layer(A&&... args) {
  return Layer(std::make_shared<T>(std::forward<A>(args)...));
}

// Lets files name a layer of your own: `make` is given what its config() wrote.
TENURE_API void register_layer(const std::string& class_name,
                               std::function<Layer(const std::string& config)> make,
                               std::source_location site = std::source_location::current());

}  // namespace tenure::nn
