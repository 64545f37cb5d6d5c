// Layers around other layers.
#include <fmt/format.h>

#include <array>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/rows.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

namespace {

struct BidirectionalSettings : BidirectionalOptions {
  std::optional<Layer> layer = {};
};
void fields(Fields& visit, BidirectionalSettings& o) {
  std::optional<std::string> mode;  // null for "none"
  if (o.merge_mode != "none") mode = o.merge_mode;
  visit("merge_mode", mode);
  o.merge_mode = mode.value_or("none");
  visit.need({"layer"});
  TENURE_FIELDS(visit, o, layer);
  if (visit.reads() || o.backward_layer) TENURE_FIELDS(visit, o, backward_layer);
}

struct TimeDistributedSettings : TimeDistributedOptions {
  std::optional<Layer> layer = {};
};
void fields(Fields& visit, TimeDistributedSettings& o) {
  visit.need({"layer"});
  TENURE_FIELDS(visit, o, layer);
}

std::source_location call_site() { return tenure::detail::context().call.site; }

// ---- Bidirectional

const SequenceBase& recurrent(const Layer& layer) {
  const auto* sequence = layer.as<SequenceBase>();
  if (sequence == nullptr) {
    raise<ValueError>("Bidirectional: takes a recurrent layer, was given {}",
                      layer_text(LayerAccess::base(layer)));
  }
  return *sequence;
}

// Two layers that go the two ways and are otherwise alike.
void check_pair(const Layer& forward, const Layer& backward) {
  const SequenceOptions& a = recurrent(forward).sequence();
  const SequenceOptions& b = recurrent(backward).sequence();
  if (a.go_backwards == b.go_backwards) {
    raise<ValueError>("Bidirectional: both layers have go_backwards = {}: one must go each way",
                      a.go_backwards);
  }
  const std::array<std::tuple<const char*, bool, bool>, 4> same{
      {{"return_sequences", a.return_sequences, b.return_sequences},
       {"return_state", a.return_state, b.return_state},
       {"stateful", a.stateful, b.stateful},
       {"time_major", a.time_major, b.time_major}}};
  for (const auto& [name, one, other] : same) {
    if (one != other) {
      raise<ValueError>("Bidirectional: {} is {} in the layer and {} in the backward_layer", name,
                        one, other);
    }
  }
}

class BidirectionalLayer final : public ConfiguredLayer<BidirectionalSettings> {
 public:
  BidirectionalLayer(BidirectionalSettings settings, std::source_location site)
      : ConfiguredLayer(std::move(settings)),
        forward_(going(false, site)),
        backward_(going(true, site)) {
    check_pair(forward_, backward_);
    const std::string& mode = options_.merge_mode;
    if (mode != "concat" && mode != "sum" && mode != "mul" && mode != "ave" && mode != "none") {
      raise<ValueError>("Bidirectional: merge_mode must be concat, sum, mul, ave or none: \"{}\"",
                        mode);
    }
    track(forward_);
    track(backward_);
  }
  const char* class_name() const override { return "Bidirectional"; }
  bool casts_inputs() const override { return false; }  // the layers do

  void build_all(const std::vector<Shape>& inputs) override {
    check_has_input(*this, inputs.size());
    // States are split between the two; neither is built with them.
    for (const Layer& layer : {forward_, backward_}) {
      ensure_built(LayerAccess::base(layer), {{inputs[0], options_.dtype}},
                   LayerAccess::state(layer).label->site);
    }
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override {
    const std::size_t states = recurrent(forward_).state_count();
    if (inputs.size() != 1 && inputs.size() != 1 + 2 * states) {
      raise<ValueError>(
          "{}: takes one sequence, or one and {} initial states, {} for each way, was given {} "
          "inputs",
          layer_text(*this), 2 * states, states, inputs.size());
    }
    std::vector<Tensor> there{inputs[0]}, back{inputs[0]};
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      (i <= states ? there : back).push_back(inputs[i]);
    }
    const Call inner{.training = call.training, .masks = {call.mask()}, .losses = call.losses};
    there = call_layer(LayerAccess::base(forward_), there, inner, call_site());
    back = call_layer(LayerAccess::base(backward_), back, inner, call_site());
    const SequenceOptions& sequence = recurrent(forward_).sequence();
    if (sequence.return_sequences) back[0] = reverse(std::move(back[0]), {sequence.time_axis()});
    std::vector<Tensor> outputs = merged(std::move(there[0]), std::move(back[0]));
    outputs.insert(outputs.end(), there.begin() + 1, there.end());
    outputs.insert(outputs.end(), back.begin() + 1, back.end());
    return outputs;
  }

  Tensor compute_mask(const std::vector<Tensor>&, const std::vector<Tensor>& masks) override {
    const bool goes_on = recurrent(forward_).sequence().return_sequences && !masks.empty();
    return goes_on ? masks.front() : Tensor();
  }

 private:
  Layer going(bool backward, std::source_location site) const {
    const Layer& layer = *options_.layer;
    if (options_.backward_layer) return backward ? *options_.backward_layer : layer;
    const SequenceBase& like = recurrent(layer);
    return like.copy((backward ? "backward_" : "forward_") + layer.name(),
                     like.sequence().go_backwards != backward, site);
  }

  std::vector<Tensor> merged(Tensor there, Tensor back) const {
    const std::string& mode = options_.merge_mode;
    if (mode == "none") return {std::move(there), std::move(back)};
    if (mode == "concat") return {concat({std::move(there), std::move(back)}, -1)};
    if (mode == "mul") return {std::move(there) * std::move(back)};
    Tensor sum = std::move(there) + std::move(back);
    return {mode == "ave" ? std::move(sum) * 0.5 : std::move(sum)};
  }

  const Layer forward_, backward_;
};

// ---- TimeDistributed

// [batch, time, ...] as [batch * time, ...].
Shape flat_shape(const Tensor& x) {
  Shape shape{-1};
  for (int axis = 2; axis < x.rank(); ++axis) shape.push_back(x.dim(axis));
  return shape;
}

class TimeDistributedLayer final : public ConfiguredLayer<TimeDistributedSettings> {
 public:
  explicit TimeDistributedLayer(TimeDistributedSettings settings)
      : ConfiguredLayer(std::move(settings)), layer_(track(*options_.layer)) {}
  const char* class_name() const override { return "TimeDistributed"; }
  bool casts_inputs() const override { return false; }  // the layer does

  void build_all(const std::vector<Shape>& inputs) override {
    check_has_input(*this, inputs.size());
    std::vector<Spec> specs;
    for (const Shape& input : inputs) {
      if (input.rank() < 3) {
        raise<ShapeError>("takes inputs of rank 3 or more, was given {}", input);
      }
      Spec spec{{input[0] == kAny || input[1] == kAny ? kAny : input[0] * input[1]},
                options_.dtype};
      for (int axis = 2; axis < input.rank(); ++axis) spec.shape.push_back(input[axis]);
      specs.push_back(std::move(spec));
    }
    ensure_built(LayerAccess::base(layer_), specs, LayerAccess::state(layer_).label->site);
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override {
    check_has_input(*this, inputs.size());
    std::vector<Tensor> flat;
    for (const Tensor& input : inputs) {
      if (input.rank() < 3) {
        raise<ShapeError>("takes inputs of rank 3 or more, was given {}", input.shape());
      }
      flat.push_back(reshape(input, flat_shape(input)));
    }
    Call inner{.training = call.training, .masks = {}, .losses = call.losses};
    for (const Tensor& mask : call.masks) {
      inner.masks.push_back(has_inner(mask) ? reshape(mask, flat_shape(mask)) : Tensor());
    }
    std::vector<Tensor> outputs = call_layer(LayerAccess::base(layer_), flat, inner, call_site());
    for (Tensor& output : outputs) {
      Shape shape{-1, inputs[0].dim(1)};
      for (int axis = 1; axis < output.rank(); ++axis) shape.push_back(output.dim(axis));
      output = reshape(std::move(output), shape);
    }
    return outputs;
  }

  // Of steps, and where the layer itself gives a mask, of what is in them.
  Tensor compute_mask(const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& masks) override {
    if (masks.empty() || !has_inner(masks[0])) return masks.empty() ? Tensor() : masks[0];
    std::vector<Tensor> flat, flat_masks;
    for (const Tensor& input : inputs) flat.push_back(reshape(input, flat_shape(input)));
    for (const Tensor& mask : masks) {
      flat_masks.push_back(has_inner(mask) ? reshape(mask, flat_shape(mask)) : Tensor());
    }
    const Tensor inner = layer_.compute_mask(flat, flat_masks);
    if (!inner.defined()) {
      Axes within;
      for (int axis = 2; axis < masks[0].rank(); ++axis) within.push_back(axis);
      return any(masks[0], within);
    }
    Shape shape{-1, masks[0].dim(1)};
    for (int axis = 1; axis < inner.rank(); ++axis) shape.push_back(inner.dim(axis));
    return reshape(inner, shape);
  }

 private:
  // Whether a mask tells of more than whole steps.
  static bool has_inner(const Tensor& mask) { return mask.defined() && mask.rank() > 2; }

  const Layer layer_;
};

template <class L, class S>
Layer around(Fields& settings) {
  S o;
  layer_fields(settings, o);
  return L(*o.layer, o);
}

}  // namespace

std::span<const LayerRow> wrapper_layers() {
  static constexpr LayerRow rows[] = {
      {"Bidirectional", around<Bidirectional, BidirectionalSettings>},
      {"TimeDistributed", around<TimeDistributed, TimeDistributedSettings>},
  };
  return rows;
}

}  // namespace detail

Bidirectional::Bidirectional(Layer layer, BidirectionalOptions options, std::source_location site)
    : Layer(detail::make_base<detail::BidirectionalLayer>(
          site, detail::BidirectionalSettings{std::move(options), std::move(layer)}, site)) {}
TimeDistributed::TimeDistributed(Layer layer, TimeDistributedOptions options,
                                 std::source_location site)
    : Layer(detail::make_base<detail::TimeDistributedLayer>(
          site, detail::TimeDistributedSettings{std::move(options), std::move(layer)})) {}

}  // namespace tenure::nn
