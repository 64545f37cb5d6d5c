// Along a sequence, a step of the cell at a time.
#include <fmt/format.h>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/layers/recurrent.h"
#include "tenure/control.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn::detail {

namespace {

// `now` where the mask is true, else `before`; the mask is [batch].
Tensor chosen(const Tensor& mask, const Tensor& now, const Tensor& before) {
  Shape shape = Shape::filled(now.rank(), 1);
  shape[0] = -1;
  return where(reshape(mask, shape), now, before);
}

Axes swapped_axes(int rank) {
  Axes axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis < 2 ? 1 - axis : axis);
  return axes;
}

Tensor swapped(const Tensor& x, bool needed) {
  return needed ? transpose(x, swapped_axes(x.rank())) : x;
}

class Walk {
 public:
  Walk(CellBase& cell, const Sequence& in, const SequenceOptions& options, const Call& call)
      : cell_(cell), in_(in), options_(options), call_(call) {
    const Shape& whole = in.x.shape();
    steps_ = whole[options.time_axis()];
    if (steps_ == 0) {
      raise<ShapeError>("takes sequences of one step or more, was given {}", whole);
    }
    const Shape step = without_time(whole, options.time_axis());
    output_shape_ = cell.output_shape(step);
    static_cast<Call&>(how_) = {.training = call.training, .masks = {}, .losses = call.losses};
    how_.constants = in.constants;
    how_.drawn = cell.draw(step, call);
    state_shapes_ = cell.state_shapes(step);
    begin();
  }

  SequenceResult loop() {
    std::vector<Tensor> xs = unstack(in_.x, options_.time_axis()), masks, outputs;
    if (in_.mask.defined()) masks = unstack(in_.mask, options_.time_axis());
    std::vector<Tensor> states = begin_;
    Tensor output;
    if (in_.mask.defined()) output = zeros(output_shape_, in_.x.dtype());
    for (std::int64_t s = 0; s < steps_; ++s) {
      const auto at = static_cast<std::size_t>(options_.go_backwards ? steps_ - 1 - s : s);
      CellStep stepped = step(xs[at], states);
      if (in_.mask.defined()) hold(masks[at], states, output, stepped);
      states = std::move(stepped.states);
      output = std::move(stepped.output);
      if (options_.return_sequences) outputs.push_back(output);
    }
    if (options_.return_sequences) output = stack(std::move(outputs), options_.time_axis());
    return {std::move(output), std::move(states)};
  }

  SequenceResult scan() {
    const bool masked = in_.mask.defined(), sequences = options_.return_sequences;
    // The output is carried along where the next step, or nobody but the caller, reads it.
    const bool carries = masked || !sequences;
    std::vector<Tensor> carried = begin_, along{ordered(in_.x)};
    if (carries) carried.push_back(zeros(output_shape_, in_.x.dtype()));
    if (masked) along.push_back(ordered(in_.mask));
    bool adds_loss = false;
    const tenure::detail::BodyFunction body = [&](std::vector<Tensor> at) {
      std::vector<Tensor> losses;
      how_.losses = &losses;
      const auto first = static_cast<std::ptrdiff_t>(begin_.size());
      const std::vector<Tensor> states(at.begin(), at.begin() + first);
      CellStep stepped = step(at[begin_.size() + (carries ? 1 : 0)], states);
      if (masked) hold(at.back(), states, at[begin_.size()], stepped);
      std::vector<Tensor> results = std::move(stepped.states);
      if (carries) results.push_back(stepped.output);
      if (sequences) results.push_back(std::move(stepped.output));
      adds_loss = !losses.empty();
      if (adds_loss) results.push_back(total(losses));
      return results;
    };
    std::vector<Tensor> results =
        tenure::detail::run_scan("scan", body, std::move(carried), std::move(along), steps_,
                                 tenure::detail::context().call.site);
    if (adds_loss) {
      call_.add_loss(sum(results.back()));
      results.pop_back();
    }
    SequenceResult result;
    result.output = sequences ? swapped(results.back(), !options_.time_major) : results.back();
    results.resize(begin_.size());
    result.states = std::move(results);
    return result;
  }

 private:
  void begin() {
    if (in_.states.empty()) {
      for (const Shape& shape : state_shapes_) begin_.push_back(zeros(shape, in_.x.dtype()));
      return;
    }
    for (std::size_t i = 0; i < state_shapes_.size(); ++i) {
      if (in_.states[i].shape() != state_shapes_[i]) {
        raise<ShapeError>("initial state {} is {}, but must be {} for an input of {}", i,
                          in_.states[i].shape(), state_shapes_[i], in_.x.shape());
      }
    }
    begin_ = in_.states;
  }

  CellStep step(const Tensor& x, const std::vector<Tensor>& states) {
    CellStep stepped = cell_.step(x, states, how_);
    if (stepped.states.size() != states.size()) {
      raise<ValueError>("{}: a step gives {} states, and state_sizes tells of {}",
                        layer_text(cell_), stepped.states.size(), states.size());
    }
    if (stepped.output.shape() != output_shape_) {
      raise<ShapeError>("{}: a step gives an output of {}, and output_shape tells of {}",
                        layer_text(cell_), stepped.output.shape(), output_shape_);
    }
    if (tenure::detail::autocast()) round(stepped);
    for (std::size_t i = 0; i < states.size(); ++i) check_state(i, stepped.states[i]);
    return stepped;
  }

  // Gates are probabilities, and float32 where precision is mixed; what is carried along is not.
  void round(CellStep& stepped) const {
    stepped.output = floating_as(stepped.output, in_.x.dtype());
    for (std::size_t i = 0; i < stepped.states.size(); ++i) {
      if (!stepped.states[i].defined()) continue;  // which is about to be refused
      stepped.states[i] = floating_as(stepped.states[i], begin_[i].dtype());
    }
  }

  // A loop carries its states, and so does a stateful layer: they stay what they are.
  void check_state(std::size_t i, const Tensor& state) const {
    if (!state.defined()) {
      raise<ValueError>("{}: a step gives an empty handle for state {}", layer_text(cell_), i);
    }
    if (state.shape() != state_shapes_[i]) {
      raise<ShapeError>("{}: a step gives state {} of {}, and state_sizes tells of {}",
                        layer_text(cell_), i, state.shape(), state_shapes_[i]);
    }
    if (state.dtype() != begin_[i].dtype()) {
      raise<DtypeError>("{}: a step gives state {} as {}, and was given it as {}",
                        layer_text(cell_), i, state.dtype(), begin_[i].dtype());
    }
  }

  // What a step gave, but what there was before it where the step is skipped.
  static void hold(const Tensor& mask, const std::vector<Tensor>& states, const Tensor& output,
                   CellStep& stepped) {
    stepped.output = chosen(mask, stepped.output, output);
    for (std::size_t i = 0; i < states.size(); ++i) {
      stepped.states[i] = chosen(mask, stepped.states[i], states[i]);
    }
  }

  // Time first, in the order of the steps.
  Tensor ordered(const Tensor& x) const {
    Tensor first = swapped(x, !options_.time_major);
    return options_.go_backwards ? reverse(std::move(first), {0}) : first;
  }

  static Tensor total(const std::vector<Tensor>& losses) {
    Tensor all = losses[0];
    for (std::size_t i = 1; i < losses.size(); ++i) all = std::move(all) + losses[i];
    return all;
  }

  CellBase& cell_;
  const Sequence& in_;
  const SequenceOptions& options_;
  const Call& call_;
  CellCall how_;
  std::int64_t steps_ = 0;
  Shape output_shape_;
  std::vector<Shape> state_shapes_;
  std::vector<Tensor> begin_;
};

}  // namespace

Shape without_time(const Shape& sequence, int time_axis) {
  Shape step;
  for (int axis = 0; axis < sequence.rank(); ++axis) {
    if (axis != time_axis) step.push_back(sequence[axis]);
  }
  return step;
}

SequenceResult take_steps(CellBase& cell, const Sequence& in, const SequenceOptions& options,
                          const Call& call) {
  Walk walk(cell, in, options, call);
  return tenure::detail::is_tracing() && !options.unroll ? walk.scan() : walk.loop();
}

}  // namespace tenure::nn::detail
