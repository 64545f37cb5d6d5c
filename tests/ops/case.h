// One row per op: how to call it, on what, and what should come out. The harness makes every test
// of an op from its row; a new op is a new row in the file of its family.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "array.h"
#include "ops/family_list.h"
#include "ops/op_def.h"
#include "reference.h"

namespace tenure::testing {

using DTypes = std::vector<DType>;
inline const DTypes kFloats{DType::float32, DType::float64};
inline const DTypes kIntegers{DType::int32, DType::int64, DType::uint8, DType::int8};
inline const DTypes kWholeTypes{DType::int32, DType::int64, DType::uint8, DType::int8,
                                DType::boolean};
inline const DTypes kIndexTypes{DType::int32, DType::int64};
inline const DTypes kNumbers{DType::float32, DType::float64, DType::int32,  DType::int64,
                             DType::uint8,   DType::int8,    DType::boolean};
inline const DTypes kAnything{DType::float32, DType::float64, DType::int32,
                              DType::int64,   DType::uint8,   DType::int8,
                              DType::boolean, DType::float16, DType::bfloat16};

// The result's dtype, from the inputs'.
inline DType same_dtype(DType dtype) { return dtype; }
inline DType number_dtype(DType dtype) { return dtype == DType::boolean ? DType::int32 : dtype; }
inline DType total_dtype(DType dtype) {
  const bool small = dtype == DType::boolean || dtype == DType::uint8 || dtype == DType::int8;
  return small ? DType::int32 : dtype;
}
inline DType float_dtype(DType dtype) { return is_floating(dtype) ? dtype : DType::float32; }
inline DType bool_dtype(DType) { return DType::boolean; }
inline DType int32_dtype(DType) { return DType::int32; }

using Shapes = std::vector<Shape>;  // one per input

struct Case {
  std::string name;                   // of its tests: letters, digits and underscores
  std::vector<std::string_view> ops;  // the OpDefs it runs; the first is the one the row is about
  std::function<Tensor(Tensors, DType)> run;  // moves its inputs into the op
  std::vector<Input> inputs = {};
  std::vector<Shapes> shapes = {{}};      // every property holds for each
  std::vector<Shapes> value_shapes = {};  // more of them, large or many, for the value alone
  Shapes shared_shapes = {};  // at which inputs of one dtype may be one tensor; else all [3, 5]
  Reference reference = {};   // none: a random op, which has its own tests
  Tolerance tolerance = {};
  Tolerance value_tolerance = tolerance;  // for `value_shapes`
  DTypes dtypes = kFloats;
  DType (*result)(DType) = same_dtype;
  bool several_calls =
      false;  // `run` makes the op's operands with others: halves are rounded there
  bool differentiable = true;
  double step = 1e-6;            // of finite differences
  double gradient_error = 1e-6;  // of finite differences, relative
  // How an error names the op and input i; empty where it names something or some number else.
  std::string error_name = std::string(ops.front());

  DType input_dtype(std::size_t i, DType dtype) const { return inputs[i].dtype.value_or(dtype); }
};

#define TENURE_DECLARE(name) std::vector<Case> name##_cases();
TENURE_FAMILIES(TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_DECLARE, TENURE_NOT_HERE)
#undef TENURE_DECLARE
const std::vector<Case>& all_cases();

// The op of that name in the registry.
const ops::OpDef& op_named(std::string_view name);

// Functions of one element, for special values.
struct UnaryRow {
  const char* name;
  Tensor (*run)(Arg x);
  long double (*value)(long double x);
  double ulps;
  Input input;
  DTypes dtypes;
  DType (*result)(DType);
};
const std::vector<UnaryRow>& unary_rows();
void PrintTo(const UnaryRow& row, std::ostream* out);

}  // namespace tenure::testing

// A function as a row calls it, with its inputs moved in as `in`.
#define OP_CALL(...) [](Tensors in, DType) -> Tensor { return __VA_ARGS__; }
#define OP_IN(i) std::move(in[i])
