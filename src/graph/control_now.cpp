#include "graph/control_now.h"

#include "core/raise.h"
#include "graph/control_flow.h"
#include "memory/context.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/views.h"

namespace tenure::graph {
namespace {

Tensor scalar(std::int64_t counter) { return tensor({counter}, Shape{}); }

std::int64_t value_of(const Tensor& counter) { return counter.item<std::int64_t>(); }

// Takes the last of them, a counter, if there is one.
Tensor take_counter(const Flow& flow, std::vector<Tensor>& in) {
  if (!flow.has_counter) return {};
  Tensor counter = std::move(in.back());
  in.pop_back();
  return counter;
}

class CallOnTensors {
 public:
  CallOnTensors(const Flow& flow, const BodyFunction& body, std::vector<Tensor> in)
      : body_(body), counter_(take_counter(flow, in)), in_(std::move(in)) {}
  std::int64_t counter(std::size_t) const { return value_of(counter_); }
  void tell_counter(std::size_t, std::int64_t counter) { told_ = scalar(counter); }
  void call() { out_ = body_(std::move(in_)); }
  std::vector<Tensor> outputs() {
    if (told_.defined()) out_.push_back(std::move(told_));
    return std::move(out_);
  }

 private:
  const BodyFunction& body_;
  Tensor counter_, told_;
  std::vector<Tensor> in_, out_;
};

class LoopOnTensors {
 public:
  LoopOnTensors(const Flow& flow, const BodyFunction& goes_on, const BodyFunction& body,
                std::vector<Tensor> in, std::source_location site)
      : flow_(flow), goes_on_(goes_on), body_(body), site_(site), now_(std::move(in)) {}
  void tell_counter(std::size_t, std::int64_t counter) { told_ = scalar(counter); }
  bool goes_on() { return read_predicate("while_loop", goes_on_(now_).at(0), site_); }
  void advance() {
    std::vector<Tensor> next = body_(now_);
    for (std::size_t i = 0; i < flow_.state; ++i) now_[i] = std::move(next[i]);
  }
  std::vector<Tensor> outputs() {
    now_.resize(flow_.state);
    if (told_.defined()) now_.push_back(std::move(told_));
    return std::move(now_);
  }

 protected:
  const Flow& flow_;
  const BodyFunction& goes_on_;
  const BodyFunction& body_;
  std::source_location site_;
  std::vector<Tensor> now_;  // the state, and what is the same throughout

 private:
  Tensor told_;
};

class LoopGradOnTensors : public LoopOnTensors {
 public:
  LoopGradOnTensors(const Flow& flow, const BodyFunction& goes_on, const BodyFunction& body,
                    const BodyFunction& back, std::vector<Tensor> in, std::vector<Tensor> grads,
                    Tensor counter, std::source_location site)
      : LoopOnTensors(flow, goes_on, body, std::move(in), site),
        back_(back),
        counter_(std::move(counter)),
        grads_(std::move(grads)) {}
  std::int64_t counter(std::size_t) const { return value_of(counter_); }
  void keep(std::int64_t counter) { kept_.push_back({{now_.begin(), state_end()}, counter}); }
  void turn_back() { now_.erase(now_.begin(), state_end()); }
  bool has_kept() const { return !kept_.empty(); }
  std::int64_t kept_counter() const { return kept_.back().counter; }
  void drop() { kept_.pop_back(); }
  void go_back() {
    std::vector<Tensor> in = std::move(grads_);
    in.insert(in.end(), kept_.back().state.begin(), kept_.back().state.end());
    in.insert(in.end(), now_.begin(), now_.end());
    grads_ = back_(std::move(in));
  }
  std::vector<Tensor> outputs() { return std::move(grads_); }

 private:
  struct Kept {
    std::vector<Tensor> state;
    std::int64_t counter = 0;
  };
  std::vector<Tensor>::iterator state_end() {
    return now_.begin() + static_cast<std::ptrdiff_t>(flow_.state);
  }

  const BodyFunction& back_;
  Tensor counter_;
  std::vector<Tensor> grads_;
  std::vector<Kept> kept_;
};

class ScanOnTensors {
 public:
  ScanOnTensors(const Flow& flow, const BodyFunction& body, std::vector<Tensor> in,
                std::source_location site)
      : flow_(flow),
        body_(body),
        site_(site),
        counters_(take_counter(flow, in)),
        in_(std::move(in)) {}
  std::int64_t counter(std::size_t at) const { return value_of(counters_[Index(at, site_)]); }
  void tell_counter(std::size_t, std::int64_t counter) { told_ = scalar(counter); }
  void step(std::size_t at) {
    const std::size_t state = flow_.state, varying = state + flow_.sequences;
    std::vector<Tensor> in = in_;
    for (std::size_t i = state; i < varying; ++i) in[i] = in_[i][Index(at, site_)];
    std::vector<Tensor> out = body_(std::move(in));
    if (told_.defined()) out.push_back(std::move(told_));
    const std::size_t outputs = out.size() - state;
    if (!has_begun_) {
      stacks_.resize(outputs);
      has_begun_ = true;
    } else if (outputs != stacks_.size()) {
      const detail::UserLine line(site_);
      raise<ValueError>("scan: step {} gives {} beside the state, and those before it gave {}", at,
                        outputs, stacks_.size());
    }
    for (std::size_t i = 0; i < state; ++i) in_[i] = std::move(out[i]);
    for (std::size_t i = 0; i < stacks_.size(); ++i) {
      stacks_[i].resize(static_cast<std::size_t>(flow_.steps));
      stacks_[i][at] = std::move(out[state + i]);
    }
  }
  std::vector<Tensor> outputs() {
    in_.resize(flow_.state);
    for (std::vector<Tensor>& parts : stacks_) in_.push_back(stack(std::move(parts), 0, site_));
    return std::move(in_);
  }

 private:
  const Flow& flow_;
  const BodyFunction& body_;
  std::source_location site_;
  Tensor counters_, told_;
  std::vector<Tensor> in_;  // the state now, sequences, what is the same throughout
  bool has_begun_ = false;
  std::vector<std::vector<Tensor>> stacks_;
};

}  // namespace

bool read_predicate(const char* op, const Tensor& predicate, std::source_location site) {
  const detail::UserLine line(site);
  const Layout& layout = detail::checked(predicate, op).layout;
  if (layout.dtype != DType::boolean || layout.shape.numel() != 1) {
    raise<DtypeError>("{}: the predicate is {} {}: it must be one bool", op, layout.dtype,
                      layout.shape);
  }
  const detail::Pin pin(predicate, op, site);
  return predicate.item<bool>(site);
}

std::vector<Tensor> call_now(const Flow& flow, const BodyFunction& body, std::vector<Tensor> in) {
  CallOnTensors world(flow, body, std::move(in));
  run_call(flow, world);
  return world.outputs();
}

std::vector<Tensor> loop_now(const Flow& flow, const BodyFunction& goes_on,
                             const BodyFunction& body, std::vector<Tensor> in,
                             std::source_location site) {
  LoopOnTensors world(flow, goes_on, body, std::move(in), site);
  run_loop(flow, world);
  return world.outputs();
}

std::vector<Tensor> loop_grad_now(const Flow& flow, const BodyFunction& goes_on,
                                  const BodyFunction& body, const BodyFunction& back,
                                  std::vector<Tensor> in, std::vector<Tensor> grads,
                                  std::source_location site) {
  Tensor counter = take_counter(flow, grads);
  LoopGradOnTensors world(flow, goes_on, body, back, std::move(in), std::move(grads),
                          std::move(counter), site);
  run_loop_grad(flow, world);
  return world.outputs();
}

std::vector<Tensor> scan_now(const Flow& flow, const BodyFunction& body, std::vector<Tensor> in,
                             std::source_location site) {
  ScanOnTensors world(flow, body, std::move(in), site);
  run_scan(flow, world);
  return world.outputs();
}

std::vector<Tensor> empty_stacks(const std::vector<Value>& values, std::source_location site) {
  std::vector<Tensor> stacks;
  for (const Value& value : values) {
    Shape shape{0};
    for (const std::int64_t dim : value.shape) shape.push_back(dim);
    stacks.push_back(zeros(shape, value.dtype, site));
  }
  return stacks;
}

}  // namespace tenure::graph
