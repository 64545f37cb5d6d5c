// Every row, and its gradient, with each dimension of its first input free: one trace, and the bits
// of eager code at each size. A row whose call has the size in it (reshape to [4, 3]) is refused,
// and shows as skipped.
#include "harness.h"

namespace tenure::testing {
namespace {

using Callable = std::function<Tensors(Tensors)>;

// Free is an axis of input 0 and, if `alike`, that axis of other inputs that have its size there.
struct Free {
  int axis = 0;
  bool alike = false;

  bool is_of(const Shapes& shapes, std::size_t i) const {
    if (i == 0) return true;
    return alike && axis < shapes[i].rank() && shapes[i][axis] == shapes[0][axis];
  }
  void declare(Function<Tensors(Tensors)>& f, const Shapes& shapes) const {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      std::vector<Dim> dims(shapes[i].begin(), shapes[i].end());
      if (is_of(shapes, i)) dims[static_cast<std::size_t>(axis)] = dyn;
      f.input(static_cast<int>(i), dims);
    }
  }
  Shapes resized(const Shapes& shapes, std::int64_t n) const {
    Shapes result = shapes;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (is_of(shapes, i)) result[i][axis] = n;
    }
    return result;
  }
};

bool is_refusal(const std::string& text) {
  for (const char* part :
       {"has no size while", "which is free", "was traced for any size of",
        "shape of its result depends on values", "set_seed: inside a traced function"}) {
    if (text.find(part) != text.npos) return true;
  }
  return false;
}

// At one size, eager and traced give the same or both throw. Returns why the function is refused.
std::string compare(const Callable& run, const Function<Tensors(Tensors)>& f, const Tensors& in) {
  Tensors eager, traced;
  std::string eager_error;
  set_seed(3);
  try {
    eager = run(in);
  } catch (const Error& error) {
    eager_error = error.what();
  }
  set_seed(3);
  try {
    traced = f(in);
  } catch (const Error& error) {
    if (is_refusal(error.what())) return error.what();
    EXPECT_NE(eager_error, "") << "only the traced function throws: " << error.what();
    return {};
  }
  EXPECT_EQ(eager_error, "") << "only eager code throws";
  if (!eager_error.empty()) return {};
  EXPECT_EQ(traced.size(), eager.size());
  for (std::size_t i = 0; i < eager.size(); ++i) {
    EXPECT_EQ(traced[i].shape(), eager[i].shape());
    EXPECT_EQ(traced[i].dtype(), eager[i].dtype());
    EXPECT_EQ(bits_of(traced[i]), bits_of(eager[i])) << traced[i] << eager[i];
  }
  return {};
}

struct FreeOp : OpTest {
  // `make` gives what to run for a dtype.
  void check(const DTypes& dtypes, const std::function<Callable(DType)>& make) {
    std::string refusal;
    bool served = false;
    each_run(row.shapes, dtypes, [&](const Shapes& shapes, DType dtype) {
      const Callable run = make(dtype);
      for (int axis = 0; axis < shapes[0].rank() && !HasFailure(); ++axis) {
        SCOPED_TRACE("axis " + std::to_string(axis));
        std::string why = refused(run, shapes, dtype, {axis, true});
        if (!why.empty()) why = refused(run, shapes, dtype, {axis, false});
        if (why.empty()) {
          served = true;
        } else {
          refusal = why;
        }
      }
    });
    if (!served && !refusal.empty()) GTEST_SKIP() << refusal;
    EXPECT_TRUE(shared_ > 0 || !served) << "every size had a trace of its own";
  }

  int shared_ = 0;  // sizes that one trace served

  // Why a function is refused, if it is; else it is called at many sizes.
  std::string refused(const Callable& run, const Shapes& shapes, DType dtype, Free free) {
    Random random(19);
    Function f = function("row", run);
    free.declare(f, shapes);
    const std::string why = compare(run, f, draw_inputs(row, shapes, dtype, random).tensors);
    if (!why.empty()) return why;
    for (const std::int64_t n : {2, 3, 4, 5, 6, 8, 11, 101, 1, 0}) {
      SCOPED_TRACE(n);
      const Shapes others = free.resized(shapes, n);
      EXPECT_EQ(compare(run, f, draw_inputs(row, others, dtype, random).tensors), "");
      if (HasFailure()) break;
    }
    for (const TraceInfo& trace : f.traces()) shared_ += trace.shared ? 1 : 0;
    return {};
  }
};

TEST_P(FreeOp, one_trace_gives_the_bits_of_every_size) {
  check(row.dtypes, [&](DType dtype) -> Callable {
    return [this, dtype](Tensors in) { return Tensors{row.run(std::move(in), dtype)}; };
  });
}

TEST_P(FreeOp, one_trace_gives_the_bits_of_every_sizes_gradient) {
  if (!row.differentiable) return;
  check({DType::float32}, [&](DType dtype) -> Callable {
    return [this, dtype](const Tensors& in) {
      GradientTape tape;
      std::vector<Source> sources;
      for (const Tensor& x : in) {
        if (!is_floating(x.dtype())) continue;
        tape.watch(x);
        sources.emplace_back(x);
      }
      const Tensor y = row.run(in, dtype);
      return tape.gradient(sum(y * y), sources, {.zero_if_unconnected = true});
    };
  });
}

// Ops that only gradients call trust their attributes, which a row of theirs fixes.
bool is_checked(const Case& row) {
  const std::string_view op = row.ops.front();
  for (const char* part : {"_grad", "_pick", "_backprop", "unslice", "undiagonal", "recurrence"}) {
    if (op.find(part) != op.npos) return false;
  }
  return !row.inputs.empty();
}

INSTANTIATE_TEST_SUITE_P(Ops, FreeOp, rows_where(is_checked), row_name);

}  // namespace
}  // namespace tenure::testing
