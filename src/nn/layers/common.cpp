#include "nn/layers/common.h"

#include <fmt/format.h>

#include "memory/text.h"
#include "nn/layer_state.h"
#include "tenure/indexing.h"
#include "tenure/math.h"

namespace tenure::nn::detail {

using tenure::detail::ErrorRecord;

Shape per_axis(const char* layer, const char* what, const Shape& numbers, int axes,
               std::int64_t least) {
  if (numbers.rank() != 1 && numbers.rank() != axes) {
    raise<ValueError>("{}: {} takes one number{}, was given {}", layer, what,
                      axes == 1 ? "" : fmt::format(", or {}", axes), numbers);
  }
  for (const std::int64_t number : numbers) {
    if (number < least) {
      raise<ValueError>("{}: {} must be {} or more: {}", layer, what, least, numbers);
    }
  }
  return numbers.rank() == axes ? numbers : Shape::filled(axes, numbers[0]);
}

namespace {

// Pairs of the numbers that were given; of one axis, two numbers are a pair.
Paddings paired(const char* layer, const char* what, const Sizes& numbers, int axes) {
  if (axes == 1 && numbers.rank() == 2) return {{numbers[0], numbers[1]}};
  if (numbers.rank() != 1 && numbers.rank() != axes) {
    raise<ValueError>("{}: {} takes one number{}, was given {}", layer, what,
                      axes == 1 ? " or a pair" : fmt::format(", {}, or as many pairs", axes),
                      numbers);
  }
  Paddings pairs;
  for (const std::int64_t number : numbers) pairs.emplace_back(number, number);
  return pairs;
}

}  // namespace

Paddings margins_per_axis(const char* layer, const char* what, const Margins& margins, int axes) {
  const bool numbers = margins.numbers().rank() > 0;
  Paddings pairs = numbers ? paired(layer, what, margins.numbers(), axes) : margins.pairs();
  if (pairs.size() != 1 && static_cast<int>(pairs.size()) != axes) {
    raise<ValueError>("{}: {} needs one pair or {}, was given {}", layer, what, axes, pairs.size());
  }
  for (const auto& [before, after] : pairs) {
    if (before < 0 || after < 0) {
      raise<ValueError>("{}: {} must not be negative: {}, {}", layer, what, before, after);
    }
  }
  if (static_cast<int>(pairs.size()) == axes) return pairs;
  return Paddings(static_cast<std::size_t>(axes), pairs.front());
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

namespace {

// One axis too few is that of the examples, or that of the features.
[[noreturn]] void raise_rank(ErrorRecord record, const Shape& input, int wanted) {
  const char* remedy = "";
  if (input.rank() + 1 == wanted) {
    remedy = input.rank() == 1
                 ? kOneExample
                 : "where it is one example, give a batch: dataset.batch(32), or expand_dims(x, "
                   "0); where each place is one number, say so: expand_dims(x, -1).";
  }
  throw ShapeError(std::move(record).told({}, remedy));
}

}  // namespace

void check_rank(const Shape& input, int rank) {
  if (input.rank() == rank) return;
  raise_rank(describe("takes inputs of rank {}, was given {}", rank, input), input, rank);
}

void check_rank_from(const Shape& input, int least) {
  if (input.rank() >= least) return;
  raise_rank(describe("takes inputs of rank {} or more, was given {}", least, input), input, least);
}

int axis_of(const Shape& input, std::int64_t axis) {
  if (axis < -input.rank() || axis >= input.rank()) {
    raise<ShapeError>("works along axis {}, which an input of {} lacks", axis, input);
  }
  return static_cast<int>(axis < 0 ? axis + input.rank() : axis);
}

Tensor as_indices(const Tensor& x) {
  if (x.dtype() == DType::int32 || x.dtype() == DType::int64) return x;
  return cast(is_floating(x.dtype()) ? where(equal(x, x), x, -1) : x, DType::int32);
}

void name_index(Error& error, const LayerBase& layer, const char* option, std::int64_t count) {
  if (error.values().size() < 2) return;
  const std::int64_t index = error.values()[0].value, position = error.values()[1].value;
  tenure::detail::edit(error, [&](ErrorRecord& record) {
    // Of what gather was given, the second is the input.
    std::erase_if(record.lines, [](const ErrorLine& line) { return line.label == "input 0"; });
    for (ErrorLine& line : record.lines) {
      if (line.label == "input 1") line.label = "input 0";
    }
    record.lines.insert(record.lines.begin(),
                        line_of("born", *LayerAccess::state(layer).label.get()));
    record.op = layer_text(layer);
    record.problem = fmt::format("index {} at position {} is out of range: {} is {}", index,
                                 position, option, count);
    record.remedy =
        fmt::format("indices go from 0 to {}{}.", count - 1,
                    index < 0 ? ""
                              : fmt::format(": this one needs {} {} of {}",
                                            *option == 'i' ? "an" : "a", option, index + 1));
  });
}

Tensor masked(Tensor scores, const Tensor& mask) {
  if (!mask.defined()) return scores;
  const double far = scores.dtype() == DType::float16 ? 6e4 : 1e9;
  const DType dtype = scores.dtype();
  return std::move(scores) + (cast(mask, dtype) - 1) * far;
}

void add_activity_loss(const Call& call, const Regularizer& regularizer, const Tensor& y,
                       int batch_axis) {
  if (!regularizer.given() || call.losses == nullptr) return;
  Tensor loss = regularizer(y);
  call.add_loss(y.rank() > 0 ? std::move(loss) / static_cast<double>(y.dim(batch_axis))
                             : std::move(loss));
}

}  // namespace tenure::nn::detail
