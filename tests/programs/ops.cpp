#include "ops.h"

#include <cmath>
#include <stdexcept>

#include "statements.h"
#include "tenure/create.h"

namespace tenure::programs {
namespace {

// literals: the elements. Its type is the output's, which the generator and the shrinker know.
const OpRow kConstant{"constant", 0, nullptr,
                      [](Tensors, const Statement& s) {
                        const Shape shape(std::span<const std::int64_t>(s.numbers).subspan(1));
                        return make_tensor({static_cast<DType>(s.numbers[0]), shape}, s.literals);
                      },
                      [](const Arithmetic&, const Arrays&, const Statement& s, Array& result) {
                        for (std::size_t i = 0; i < result.at.size(); ++i)
                          result.at[i] = Num(s.literals[i]);
                      }};

template <class T> std::vector<T> values_of(const std::vector<double>& data) {
  std::vector<T> values;
  for (const double each : data) values.push_back(static_cast<T>(each));
  return values;
}

}  // namespace

Tensor make_tensor(const Type& type, const std::vector<double>& data) {
  switch (type.dtype) {
    case DType::float32:
      return tensor(values_of<float>(data), type.shape);
    case DType::float64:
      return tensor(data, type.shape);
    case DType::int32:
      return tensor(values_of<std::int32_t>(data), type.shape);
    case DType::boolean:
      return tensor(values_of<bool>(data), type.shape);
    default:
      throw std::logic_error("no random program has this dtype");
  }
}

Array converted(const Array& array, DType dtype, int tapes) {
  if (array.type.dtype == dtype) return array;
  const Arithmetic from(array.type.dtype, tapes), to(dtype, tapes);
  Array result = array;
  result.type.dtype = dtype;
  for (Num& each : result.at) {
    if (to.unit() == 0) {
      const double value = std::trunc(each.at[0]);
      if (!each.is_exact() && std::abs(each.at[0] - std::round(each.at[0])) <= 4 * each.error[0]) {
        throw Unsteady("an integer hangs on a rounding error");
      }
      each = Num(value);
      continue;
    }
    each.at[0] = to.rounded(each.at[0]);
    if (!each.is_exact()) each.error[0] += to.unit() * std::abs(each.at[0]);
    // A gradient goes back through both dtypes.
    for (unsigned m = 1; m < Num::kCount; ++m) {
      each.error[m] += 4 * (from.unit() + to.unit()) * std::abs(each.at[m]);
    }
  }
  return result;
}

Statement constant(Value value, const Type& type, std::vector<double> data) {
  Statement statement = statement_of("op");
  statement.op = &kConstant;
  statement.outputs = {value};
  statement.numbers = {static_cast<std::int64_t>(type.dtype)};
  statement.numbers.insert(statement.numbers.end(), type.shape.begin(), type.shape.end());
  statement.literals = std::move(data);
  return statement;
}

std::vector<const OpRow*> all_ops() {
  std::vector<const OpRow*> rows{&kConstant};
  for (const auto* family : {&elementwise_ops(), &logic_ops(), &view_ops(), &joining_ops(),
                             &reduction_ops(), &indexing_ops()}) {
    for (const OpRow& row : *family) rows.push_back(&row);
  }
  return rows;
}

const OpRow& op_named(std::string_view name) {
  for (const OpRow* row : all_ops()) {
    if (row->name == name) return *row;
  }
  throw std::logic_error("no such operation: " + std::string(name));
}

}  // namespace tenure::programs
