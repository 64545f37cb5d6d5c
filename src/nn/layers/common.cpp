#include "nn/layers/common.h"

#include "tenure/math.h"

namespace tenure::nn::detail {

Shape per_axis(const char* layer, const char* what, const Shape& numbers, int axes,
               std::int64_t least) {
  if (numbers.rank() != 1 && numbers.rank() != axes) {
    raise<ValueError>("{}: {} needs one number or {}: {}", layer, what, axes, numbers);
  }
  for (const std::int64_t number : numbers) {
    if (number < least) {
      raise<ValueError>("{}: {} must be {} or more: {}", layer, what, least, numbers);
    }
  }
  return numbers.rank() == axes ? numbers : Shape::filled(axes, numbers[0]);
}

Paddings margins_per_axis(const char* layer, const char* what, const Paddings& margins, int axes) {
  if (margins.size() != 1 && static_cast<int>(margins.size()) != axes) {
    raise<ValueError>("{}: {} needs one pair or {}, was given {}", layer, what, axes,
                      margins.size());
  }
  for (const auto& [before, after] : margins) {
    if (before < 0 || after < 0) {
      raise<ValueError>("{}: {} must not be negative: {}, {}", layer, what, before, after);
    }
  }
  if (static_cast<int>(margins.size()) == axes) return margins;
  return Paddings(static_cast<std::size_t>(axes), margins.front());
}

bool is_channels_first(const char* layer, const std::string& data_format) {
  if (data_format == "channels_first") return true;
  if (data_format == "channels_last") return false;
  raise<ValueError>("{}: no such data_format: \"{}\" (channels_last, channels_first)", layer,
                    data_format);
}

Padding padding_named(const char* layer, const std::string& padding) {
  if (padding == "valid") return Padding::valid;
  if (padding == "same") return Padding::same;
  raise<ValueError>("{}: no such padding: \"{}\" (valid, same{})", layer, padding,
                    std::string_view(layer).ends_with("Conv1D") ? ", causal" : "");
}

void check_rate(const char* layer, double rate) {
  if (!(rate >= 0 && rate < 1)) {
    raise<ValueError>("{}: rate must be 0 or more and less than 1: {}", layer, rate);
  }
}

void check_rank(const Shape& input, int rank) {
  if (input.rank() != rank) {
    raise<ShapeError>("takes inputs of rank {}, was given {}", rank, input);
  }
}

void check_rank_from(const Shape& input, int least) {
  if (input.rank() < least) {
    raise<ShapeError>("takes inputs of rank {} or more, was given {}", least, input);
  }
}

int axis_of(const Shape& input, std::int64_t axis) {
  if (axis < -input.rank() || axis >= input.rank()) {
    raise<ShapeError>("works along axis {}, which an input of {} lacks", axis, input);
  }
  return static_cast<int>(axis < 0 ? axis + input.rank() : axis);
}

void add_activity_loss(const Call& call, const Regularizer& regularizer, const Tensor& y) {
  if (!regularizer.given() || call.losses == nullptr) return;
  call.add_loss(regularizer(y) / static_cast<double>(y.dim(0)));
}

}  // namespace tenure::nn::detail
