#include "nn/layers/common.h"

#include "tenure/math.h"

namespace tenure::nn::detail {

namespace {

std::int64_t whole(const Json& json, const std::string& what) {
  std::int64_t value = 0;
  from_json(json, what, value);
  return value;
}

}  // namespace

Json to_json(const Numbers& value) {
  if (value.list.rank() == 0 && !value.is_list) return nullptr;
  if (value.list.rank() == 1 && !value.is_list) return value.list[0];
  Json list = Json::array();
  for (const std::int64_t number : value.list) list.push_back(number);
  return list;
}

void from_json(const Json& json, const std::string& what, Numbers& value) {
  value.list = {};
  if (json.is_null()) return;
  if (!json.is_array()) {
    value.list.push_back(whole(json, what));
    return;
  }
  // TensorFlow.js writes an open size as null.
  for (const Json& each : json) value.list.push_back(each.is_null() ? kAny : whole(each, what));
}

Json to_json(const Margins& value) {
  Json list = Json::array();
  for (const auto& [before, after] : value.pairs) list.push_back(Json::array({before, after}));
  return value.axes == 1 && list.size() == 1 ? list[0] : list;
}

void from_json(const Json& json, const std::string& what, Margins& value) {
  value.pairs.clear();
  const auto pair_of = [&](const Json& each) {
    if (!each.is_array()) return std::pair(whole(each, what), whole(each, what));
    if (each.size() != 2) raise<ValueError>("{} should have pairs: {}", what, json.dump());
    return std::pair(whole(each[0], what), whole(each[1], what));
  };
  const bool is_one =
      !json.is_array() || (value.axes == 1 && json.size() == 2 && !json[0].is_array());
  if (is_one) {
    value.pairs.push_back(pair_of(json));
  } else {
    for (const Json& each : json) value.pairs.push_back(pair_of(each));
  }
}

Shape per_axis(const char* layer, const char* what, const Shape& given, int axes,
               std::int64_t least) {
  if (given.rank() != 1 && given.rank() != axes) {
    raise<ValueError>("{}: {} needs one number or {}: {}", layer, what, axes, given);
  }
  for (const std::int64_t number : given) {
    if (number < least) {
      raise<ValueError>("{}: {} must be {} or more: {}", layer, what, least, given);
    }
  }
  return given.rank() == axes ? given : Shape::filled(axes, given[0]);
}

Paddings margins_per_axis(const char* layer, const char* what, const Paddings& given, int axes) {
  if (given.size() != 1 && static_cast<int>(given.size()) != axes) {
    raise<ValueError>("{}: {} needs one pair or {}, was given {}", layer, what, axes, given.size());
  }
  for (const auto& [before, after] : given) {
    if (before < 0 || after < 0) {
      raise<ValueError>("{}: {} must not be negative: {}, {}", layer, what, before, after);
    }
  }
  if (static_cast<int>(given.size()) == axes) return given;
  return Paddings(static_cast<std::size_t>(axes), given.front());
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
