// The operations of random programs, one row each: how one is drawn, what the library is asked for,
// and what the interpreter makes of it. To add an operation, add a row.
#pragma once

#include <string>
#include <vector>

#include "array.h"
#include "ast.h"
#include "tenure/tensor.h"

namespace tenure::programs {

class Generator;

using Arrays = std::vector<Array>;
using Tensors = std::vector<Tensor>;

struct OpRow {
  const char* name;
  int weight;  // how often it is drawn, beside the others
  // Picks inputs and numbers; gives the result's type. False where no value suits.
  bool (*draw)(Generator&, Statement&, Type& result);
  Tensor (*run)(Tensors in, const Statement&);
  // `result` has its type, and zeros.
  void (*interpret)(const Arithmetic&, const Arrays& in, const Statement&, Array& result);
  bool is_view = false;         // the result may share the first input's bytes
  bool keeps_identity = false;  // and is the same to a gradient
  const char* text = nullptr;   // how it is printed, {0} for the first input; default: name(...)
};

std::vector<const OpRow*> all_ops();
const OpRow& op_named(std::string_view name);

// The array in another dtype, as an operand is where dtypes differ.
Array converted(const Array& array, DType dtype, int tapes);

// A statement that makes a tensor of numbers.
Statement constant(Value value, const Type& type, std::vector<double> data);
Tensor make_tensor(const Type& type, const std::vector<double>& data);

// One list per family.
const std::vector<OpRow>& elementwise_ops();
const std::vector<OpRow>& logic_ops();
const std::vector<OpRow>& view_ops();
const std::vector<OpRow>& joining_ops();
const std::vector<OpRow>& reduction_ops();
const std::vector<OpRow>& indexing_ops();

}  // namespace tenure::programs
