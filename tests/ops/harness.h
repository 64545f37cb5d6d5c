// What the property tests share: drawing a row's inputs, and going through its shapes, dtypes and
// layouts. A test stops at the first combination that fails; the trace names it.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "case.h"

namespace tenure::testing {

// How the inputs of one run lie: input i as lay first + i * step.
struct Lays {
  int first = 0;
  int step = 0;
  Lay of(std::size_t i) const {
    return static_cast<Lay>((first + static_cast<int>(i) * step) % kLays);
  }
};

struct Given {
  Arrays values;
  Tensors tensors;
};

inline Given draw_inputs(const Case& row, const Shapes& shapes, DType dtype, Random& random,
                         Lays lays = {}) {
  Given given;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    const DType own = row.input_dtype(i, dtype);
    given.values.push_back(fitted(draw(shapes[i], row.inputs[i], own, random), lays.of(i)));
    given.tensors.push_back(lay_out(given.values.back(), own, lays.of(i)));
    EXPECT_EQ(to_array(given.tensors.back()).data, given.values.back().data) << "input " << i;
  }
  return given;
}

// Others with the same values and lays, and nobody else's.
inline Tensors lay_out_again(const Given& given, Lays lays = {}) {
  Tensors tensors;
  for (std::size_t i = 0; i < given.values.size(); ++i) {
    tensors.push_back(lay_out(given.values[i], given.tensors[i].dtype(), lays.of(i)));
  }
  return tensors;
}

template <class F>
void each_run(const std::vector<Shapes>& all_shapes, const DTypes& dtypes, F&& fn) {
  for (const Shapes& shapes : all_shapes) {
    for (const DType dtype : dtypes) {
      std::ostringstream trace;
      trace << dtype;
      for (const Shape& shape : shapes) trace << ' ' << shape;
      SCOPED_TRACE(trace.str());
      fn(shapes, dtype);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

template <class F>
void each_lay(F&& fn) {
  for (int first = 0; first < kLays; ++first) {
    for (int step = 0; step < 3; ++step) {
      SCOPED_TRACE("lays " + std::to_string(first) + " + " + std::to_string(step) + " i");
      fn(Lays{first, step});
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Runs fn, which calls a traced function: refused are only shapes that depend on values, and seeds.
template <class F>
void unless_unsupported(F&& fn) {
  try {
    fn();
  } catch (const UnsupportedError& error) {
    const std::string text = error.what();
    const bool known = text.find("shape of its result depends on values") != text.npos ||
                       text.find("set_seed: inside a traced function") != text.npos;
    EXPECT_TRUE(known) << text;
  }
}

inline std::int64_t elements_of(const Shapes& shapes) {
  std::int64_t elements = 0;
  for (const Shape& shape : shapes) elements += shape.numel();
  return elements;
}

// A row as a test's parameter.
struct Param {
  const Case* row;
};
inline void PrintTo(const Param& param, std::ostream* out) { *out << param.row->name; }
inline std::string row_name(const ::testing::TestParamInfo<Param>& test) {
  return test.param.row->name;
}

struct OpTest : ::testing::TestWithParam<Param> {
  const Case& row = *GetParam().row;
};

inline auto rows_where(bool (*applies)(const Case&)) {
  std::vector<Param> params;
  for (const Case& row : all_cases()) {
    if (applies(row)) params.push_back({&row});
  }
  return ::testing::ValuesIn(params);
}

}  // namespace tenure::testing
