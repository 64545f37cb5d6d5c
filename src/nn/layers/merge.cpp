#include "tenure/nn/merge_layers.h"

#include <algorithm>

#include "nn/layers/common.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/norm.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

void fields(Fields&, MergeOptions&) {}

void fields(Fields& visit, ConcatenateOptions& o) { TENURE_FIELDS(visit, o, axis); }

void fields(Fields& visit, DotOptions& o) {
  visit("axes", Numbers{o.axes});
  TENURE_FIELDS(visit, o, normalize);
}

namespace {

void check_count(std::size_t inputs, std::size_t least, std::size_t most = SIZE_MAX) {
  if (inputs < least || inputs > most) {
    raise<ShapeError>("takes {}{} inputs, was given {}", least, least == most ? "" : " or more",
                      inputs);
  }
}

// All of the rank of the largest.
std::vector<Tensor> aligned(std::vector<Tensor> inputs) {
  int rank = 0;
  for (const Tensor& input : inputs) rank = std::max(rank, input.rank());
  for (Tensor& input : inputs) {
    while (input.rank() < rank && input.rank() > 0) input = expand_dims(std::move(input), 1);
  }
  return inputs;
}

enum class Merge : std::uint8_t { add, subtract, multiply, average, maximum, minimum };
constexpr const char* kMergeNames[] = {"Add",     "Subtract", "Multiply",
                                       "Average", "Maximum",  "Minimum"};

template <Merge Kind>
class MergeLayer final : public ConfiguredLayer<MergeOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return kMergeNames[static_cast<int>(Kind)]; }

  void build_all(const std::vector<Shape>& inputs) override { check(inputs.size()); }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call&) override {
    check(inputs.size());
    std::vector<Tensor> terms = aligned(inputs);
    Tensor y = std::move(terms.front());
    for (std::size_t i = 1; i < terms.size(); ++i) {
      switch (Kind) {
        case Merge::add:
        case Merge::average:
          y = std::move(y) + std::move(terms[i]);
          break;
        case Merge::subtract:
          y = std::move(y) - std::move(terms[i]);
          break;
        case Merge::multiply:
          y = std::move(y) * std::move(terms[i]);
          break;
        case Merge::maximum:
          y = maximum(std::move(y), std::move(terms[i]));
          break;
        case Merge::minimum:
          y = minimum(std::move(y), std::move(terms[i]));
          break;
      }
    }
    if (Kind == Merge::average) y = std::move(y) / static_cast<double>(inputs.size());
    return {y};
  }

  // What all of the masks leave out: nothing, where an input has none.
  Tensor compute_mask(const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& masks) override {
    if (masks.size() != inputs.size()) return {};
    Tensor joined;
    for (const Tensor& mask : masks) {
      if (!mask.defined()) return {};
      joined = joined.defined() ? logical_or(std::move(joined), mask) : mask;
    }
    return joined;
  }

 private:
  static void check(std::size_t inputs) {
    check_count(inputs, 2, Kind == Merge::subtract ? 2 : SIZE_MAX);
  }
};

class ConcatenateLayer final : public ConfiguredLayer<ConcatenateOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "Concatenate"; }

  void build_all(const std::vector<Shape>& inputs) override {
    check_count(inputs.size(), 1);
    for (const Shape& input : inputs) axis_of(input, options_.axis);
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call&) override {
    check_count(inputs.size(), 1);
    if (inputs.size() == 1) return {inputs.front().clone()};
    return {concat(inputs, axis_of(inputs.front().shape(), options_.axis))};
  }

  Tensor compute_mask(const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& masks) override {
    const auto is_defined = [](const Tensor& mask) { return mask.defined(); };
    if (std::ranges::none_of(masks, is_defined)) return {};
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& input = inputs[i];
      if (i >= masks.size() || !masks[i].defined()) {
        parts.push_back(ones(input.shape(), DType::boolean));
        continue;
      }
      Tensor mask = masks[i];
      while (mask.rank() < input.rank()) mask = expand_dims(std::move(mask), -1);
      parts.push_back(broadcast_to(std::move(mask), input.shape()));
    }
    const Tensor joined = concat(std::move(parts), axis_of(inputs.front().shape(), options_.axis));
    return all(joined, {-1});
  }
};

class DotLayer final : public ConfiguredLayer<DotOptions> {
 public:
  explicit DotLayer(DotOptions options) : ConfiguredLayer(std::move(options)) {
    if (options_.axes.rank() != 1 && options_.axes.rank() != 2) {
      raise<ValueError>("Dot: axes must be one number or two: {}", options_.axes);
    }
  }
  const char* class_name() const override { return "Dot"; }

  void build_all(const std::vector<Shape>& inputs) override {
    check_count(inputs.size(), 2, 2);
    axes_in(inputs[0], inputs[1]);
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call&) override {
    check_count(inputs.size(), 2, 2);
    Tensor a = inputs[0], b = inputs[1];
    const auto [first, second] = axes_in(a.shape(), b.shape());
    if (options_.normalize) {
      a = l2_normalize(std::move(a), {first});
      b = l2_normalize(std::move(b), {second});
    }
    // a is the batch, z what is summed over.
    std::string left = "a", right = "a", result = "a";
    char next = 'b';
    const auto label = [&](std::string& labels, int rank, int summed) {
      for (int axis = 1; axis < rank; ++axis) {
        labels += axis == summed ? 'z' : next;
        if (axis != summed) result += next++;
      }
    };
    label(left, a.rank(), first);
    label(right, b.rank(), second);
    Tensor y = einsum(left + "," + right + "->" + result, std::move(a), std::move(b));
    if (y.rank() == 1) y = expand_dims(std::move(y), 1);
    return {y};
  }

  Tensor compute_mask(const std::vector<Tensor>&, const std::vector<Tensor>&) override {
    return {};
  }

 private:
  std::pair<int, int> axes_in(const Shape& a, const Shape& b) const {
    check_rank_from(a, 2);
    check_rank_from(b, 2);
    if (a.rank() + b.rank() > 24) {
      raise<ShapeError>("takes inputs of fewer axes: {}, {}", a, b);
    }
    const int first = axis_of(a, options_.axes[0]), second = axis_of(b, options_.axes[-1]);
    if (first == 0 || second == 0) {
      raise<ShapeError>("cannot sum over the batch: axes {} of {} and {}", options_.axes, a, b);
    }
    if (a[first] != b[second] && a[first] != kAny && b[second] != kAny) {
      raise<ShapeError>("the axes {} of {} and {} have sizes {} and {}", options_.axes, a, b,
                        a[first], b[second]);
    }
    return {first, second};
  }
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(Add, MergeOptions, MergeLayer<detail::Merge::add>)
TENURE_DEFINE_LAYER(Subtract, MergeOptions, MergeLayer<detail::Merge::subtract>)
TENURE_DEFINE_LAYER(Multiply, MergeOptions, MergeLayer<detail::Merge::multiply>)
TENURE_DEFINE_LAYER(Average, MergeOptions, MergeLayer<detail::Merge::average>)
TENURE_DEFINE_LAYER(Maximum, MergeOptions, MergeLayer<detail::Merge::maximum>)
TENURE_DEFINE_LAYER(Minimum, MergeOptions, MergeLayer<detail::Merge::minimum>)
TENURE_DEFINE_LAYER(Concatenate, ConcatenateOptions, ConcatenateLayer)
TENURE_DEFINE_LAYER(Dot, DotOptions, DotLayer)

std::span<const detail::LayerRow> detail::merge_layers() {
  return rows_of<Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate, Dot>();
}

}  // namespace tenure::nn
