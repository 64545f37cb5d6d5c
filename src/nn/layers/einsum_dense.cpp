// A dense layer along any axes, by an equation of einsum.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>

#include "nn/layers/common.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/nn/core_layers.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, EinsumDenseOptions& o) {
  TENURE_FIELDS(visit, o, equation, output_shape, activation);
  std::optional<std::string> bias_axes;  // null for none
  if (!o.bias_axes.empty()) bias_axes = o.bias_axes;
  visit("bias_axes", bias_axes);
  o.bias_axes = bias_axes.value_or("");
  TENURE_FIELDS(visit, o, kernel_initializer, bias_initializer, kernel_regularizer,
                bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint);
}

namespace {

constexpr std::string_view kDots = "...";

// The letters of an equation, and where it leaves axes out.
struct Equation {
  std::string input, kernel, output;
  bool elided_first = false;  // ...ab,bc->...ac
  bool elided_last = false;   // ab...,bc->ac...
};

bool has(const std::string& text, char letter) { return text.find(letter) != text.npos; }

bool are_letters(std::string_view text) {
  std::string sorted(text);
  std::ranges::sort(sorted);
  return !text.empty() && std::ranges::adjacent_find(sorted) == sorted.end() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

Equation parsed(const std::string& text) {
  Equation parts;
  std::string compact;
  std::ranges::copy_if(text, std::back_inserter(compact), [](char c) { return c != ' '; });
  const std::size_t comma = compact.find(','), arrow = compact.find("->");
  bool fits = comma != compact.npos && arrow != compact.npos && comma < arrow;
  if (fits) {
    std::string_view input = std::string_view(compact).substr(0, comma);
    std::string_view output = std::string_view(compact).substr(arrow + 2);
    parts.elided_first = input.starts_with(kDots);
    parts.elided_last = !parts.elided_first && input.ends_with(kDots);
    if (parts.elided_first) {
      fits = output.starts_with(kDots);
      input.remove_prefix(kDots.size());
      output.remove_prefix(fits ? kDots.size() : 0);
    } else if (parts.elided_last) {
      fits = output.ends_with(kDots);
      input.remove_suffix(kDots.size());
      output.remove_suffix(fits ? kDots.size() : 0);
    }
    parts.input = input;
    parts.output = output;
    parts.kernel = compact.substr(comma + 1, arrow - comma - 1);
    fits = fits && are_letters(input) && are_letters(output) && are_letters(parts.kernel);
  }
  if (!fits) {
    raise<ValueError>(
        "EinsumDense: the equation must be as \"ab,bc->ac\", \"...ab,bc->...ac\" or "
        "\"ab...,bc->ac...\": \"{}\"",
        text);
  }
  return parts;
}

class EinsumDenseLayer final : public ConfiguredLayer<EinsumDenseOptions> {
 public:
  explicit EinsumDenseLayer(EinsumDenseOptions options)
      : ConfiguredLayer(std::move(options)), equation_(parsed(options_.equation)) {
    for (const char letter : equation_.output + equation_.kernel) {
      const bool known = has(equation_.input, letter) || has(equation_.kernel, letter);
      const bool read = has(equation_.input, letter) || has(equation_.output, letter);
      if (!known || !read) {
        raise<ValueError>("EinsumDense: \"{}\": no other part has the \"{}\" of its {}",
                          options_.equation, letter, known ? "kernel" : "output");
      }
    }
    for (const char letter : options_.bias_axes) {
      if (!has(equation_.output, letter)) {
        raise<ValueError>("EinsumDense: bias_axes has \"{}\", which the output of \"{}\" lacks",
                          letter, options_.equation);
      }
    }
  }
  const char* class_name() const override { return "EinsumDense"; }
  bool passes_mask() const override { return true; }

  void build(const Shape& input) override {
    const Shape output = output_of(input);
    for (const char letter : equation_.output) size_of(letter, input, output);  // or refuses
    Shape kernel;
    for (const char letter : equation_.kernel) kernel.push_back(size_of(letter, input, output));
    kernel_ = add_weight("kernel", kernel, TENURE_WEIGHT_OPTIONS(options_, kernel));
    if (options_.bias_axes.empty()) return;
    bias_ = add_weight("bias", bias_shape(input, output), TENURE_WEIGHT_OPTIONS(options_, bias));
  }

  Tensor call(const Tensor& x, const Call& call) override {
    check_input(x.shape());
    Tensor y = einsum(options_.equation, x, kernel_);
    if (bias_.defined()) y = std::move(y) + bias_;
    y = options_.activation(std::move(y));
    add_activity_loss(call, options_.activity_regularizer, y);
    return y;
  }

 private:
  static int letters(const std::string& text) { return static_cast<int>(text.size()); }

  // How many axes the equation leaves out.
  int check_input(const Shape& input) const {
    const int elided = input.rank() - letters(equation_.input);
    const bool may_elide = equation_.elided_first || equation_.elided_last;
    if (elided < 0 || (elided > 0 && !may_elide)) {
      raise<ShapeError>("\"{}\" is of inputs of rank {}{}, was given {}", options_.equation,
                        letters(equation_.input), may_elide ? " or more" : "", input);
    }
    return elided;
  }

  // With the batch and the axes that the equation leaves out.
  Shape output_of(const Shape& input) const {
    const int elided = check_input(input);
    Shape output{input[0]};
    const int before = equation_.elided_first ? elided : 1;
    for (int axis = 1; axis < before; ++axis) output.push_back(input[axis]);
    for (const std::int64_t size : options_.output_shape) output.push_back(size);
    for (int axis = input.rank() - elided; equation_.elided_last && axis < input.rank(); ++axis) {
      output.push_back(input[axis]);
    }
    if (output.rank() != letters(equation_.output) + elided) {
      raise<ShapeError>("output_shape {}, without the batch{}, does not fit the output of \"{}\"",
                        options_.output_shape, elided > 0 ? " and what \"...\" stands for" : "",
                        options_.equation);
    }
    return output;
  }

  // Of a letter in one of the two; kAny where neither says it.
  std::int64_t size_of(char letter, const Shape& input, const Shape& output) const {
    const auto size_in = [&](const std::string& text, const Shape& shape) {
      const std::size_t at = text.find(letter);
      if (at == text.npos) return kAny;
      const int first = equation_.elided_first ? shape.rank() - letters(text) : 0;
      return shape[first + static_cast<int>(at)];
    };
    const std::int64_t given = size_in(equation_.input, input);
    const std::int64_t wanted = size_in(equation_.output, output);
    if (given != kAny && wanted != kAny && given != wanted) {
      raise<ShapeError>("\"{}\": the size of \"{}\" is {} in the input {}, {} in output_shape {}",
                        options_.equation, letter, given, input, wanted, options_.output_shape);
    }
    return given != kAny ? given : wanted;
  }

  // From the first of its axes on, with 1 for those that are none of them.
  Shape bias_shape(const Shape& input, const Shape& output) const {
    const std::string& axes = options_.bias_axes;
    Shape shape;
    for (const char letter : equation_.output) {
      const bool varies = has(axes, letter);
      if (varies || shape.rank() > 0) shape.push_back(varies ? size_of(letter, input, output) : 1);
    }
    const int elided = equation_.elided_last ? check_input(input) : 0;
    for (int axis = 0; axis < elided; ++axis) shape.push_back(1);
    return shape;
  }

  const Equation equation_;
  Variable kernel_, bias_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(EinsumDense, EinsumDenseOptions, EinsumDenseLayer)

std::span<const detail::LayerRow> detail::einsum_layers() { return rows_of<EinsumDense>(); }

}  // namespace tenure::nn
