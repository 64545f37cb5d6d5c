// Values, memory and errors of every op, from the rows of case.h.
#include "harness.h"

namespace tenure::testing {
namespace {

struct EveryOp : OpTest {};
struct ReferencedOp : OpTest {};
struct OpWithInputs : OpTest {};
struct ReferencedOpWithInputs : OpTest {};
struct LargeOp : OpTest {};
struct OverwritingOp : OpTest {};

// Values.

TEST_P(ReferencedOp, value_matches_double) {
  Random random(1);
  const auto check = [&](const std::vector<Shapes>& all_shapes, Tolerance tolerance) {
    each_run(all_shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
      const Given given = draw_inputs(row, shapes, dtype, random);
      const Tensor y = row.run(given.tensors, dtype);
      EXPECT_TRUE(close(y, row.reference(given.values), row.result(dtype), tolerance));
    });
  };
  check(row.shapes, row.tolerance);
  check(row.value_shapes, row.value_tolerance);
}

class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

TEST_P(LargeOp, any_number_of_threads_gives_the_same_bits) {
  Random random(15);
  each_run(row.value_shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    if (elements_of(shapes) < 30'000) return;
    const Given given = draw_inputs(row, shapes, dtype, random);
    const auto bits_on = [&](int threads) {
      const Threads use(threads);
      return bits_of(row.run(given.tensors, dtype));
    };
    const auto alone = bits_on(1);
    EXPECT_EQ(bits_on(2), alone);
    EXPECT_EQ(bits_on(3), alone);
  });
}

TEST_P(ReferencedOpWithInputs, any_layout_of_the_inputs_gives_the_same_value) {
  Random random(2);
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    each_lay([&](Lays lays) {
      const Given given = draw_inputs(row, shapes, dtype, random, lays);
      const Tensor y = row.run(given.tensors, dtype);
      EXPECT_TRUE(close(y, row.reference(given.values), row.result(dtype), row.tolerance));
    });
  });
}

TEST_P(EveryOp, traced_gives_the_same_bits) {
  Random random(17);
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    set_seed(3);
    const Tensor eager = row.run(given.tensors, dtype);
    Function traced = function("row", [&](Tensors in) { return row.run(std::move(in), dtype); });
    unless_unsupported([&] {
      for (int call = 0; call < 2; ++call) {
        set_seed(3);
        const Tensor y = traced(given.tensors);
        EXPECT_EQ(y.shape(), eager.shape());
        EXPECT_EQ(y.dtype(), eager.dtype());
        EXPECT_EQ(bits_of(y), bits_of(eager));
      }
    });
  });
}

// Memory.

TEST_P(OpWithInputs, moved_inputs_give_the_same_bits_and_shared_ones_stay_unchanged) {
  Random random(3);
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    each_lay([&](Lays lays) {
      const Given given = draw_inputs(row, shapes, dtype, random, lays);
      Tensors fresh = lay_out_again(given, lays);
      const Tensor from_shared = row.run(given.tensors, dtype);
      const Tensor from_moved = row.run(std::move(fresh), dtype);
      EXPECT_EQ(bits_of(from_shared), bits_of(from_moved));
      for (std::size_t i = 0; i < given.tensors.size(); ++i) {
        EXPECT_EQ(to_array(given.tensors[i]).data, given.values[i].data) << "input " << i;
      }
    });
  });
}

TEST_P(OverwritingOp, a_moved_input_of_the_results_size_lends_its_bytes) {
  const ops::Inputs may_overwrite = op_named(row.ops.front()).may_overwrite;
  Random random(4);
  bool lent = false;
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    Given given = draw_inputs(row, shapes, dtype, random);
    const Tensor expected = row.run(given.tensors, dtype);
    const std::byte* lender = nullptr;
    for (std::size_t i = 0; i < shapes.size() && lender == nullptr; ++i) {
      const Tensor& x = given.tensors[i];
      if (!may_overwrite.has(i) || x.numel() == 0) continue;
      if (x.shape() == expected.shape() && x.dtype() == expected.dtype()) lender = bytes_of(x);
    }
    if (lender == nullptr) return;
    lent = true;
    const Tensor y = row.run(std::move(given.tensors), dtype);
    EXPECT_EQ(bytes_of(y), lender);
  });
  EXPECT_TRUE(lent) << "no shape of the row shows it";
}

TEST_P(OverwritingOp, bytes_that_two_inputs_share_are_not_overwritten) {
  Random random(5);
  const std::vector<Shapes> shapes{
      row.shared_shapes.empty() ? Shapes(row.inputs.size(), Shape{3, 5}) : row.shared_shapes};
  each_run(shapes, row.dtypes, [&](const Shapes& each, DType dtype) {
    const Given given = draw_inputs(row, each, dtype, random);
    // All inputs of its dtype become the last one, as `share` makes another of it.
    const auto run_on = [&](auto&& share) {
      const Tensors& x = given.tensors;
      Tensors in = x;
      in.back() = to_tensor(given.values.back(), x.back().dtype());
      for (std::size_t i = 0; i + 1 < in.size(); ++i) {
        const bool alike = in[i].dtype() == in.back().dtype() && each[i] == each.back();
        if (alike) in[i] = share(in.back());
      }
      return bits_of(row.run(std::move(in), dtype));
    };
    const auto expected = run_on([](const Tensor& x) { return to_tensor(to_array(x), x.dtype()); });
    EXPECT_EQ(run_on([](const Tensor& x) { return x; }), expected);
    EXPECT_EQ(run_on([](const Tensor& x) { return x.clone(); }), expected);
  });
}

TEST_P(EveryOp, leaves_its_result_and_nothing_else) {
  Random random(6);
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    const MemoryInfo before = memory();
    {
      const Tensor y = row.run(given.tensors, dtype);
      bool is_view = false;
      for (const Tensor& x : given.tensors) is_view |= bytes_of(x) == bytes_of(y);
      EXPECT_EQ(memory().tensors, before.tensors + 1);
      EXPECT_EQ(memory().live_bytes, before.live_bytes + (is_view ? 0 : y.nbytes()));
    }
    EXPECT_EQ(memory().tensors, before.tensors);
    EXPECT_EQ(memory().storages, before.storages);
    EXPECT_EQ(memory().live_bytes, before.live_bytes);
  });
}

// Errors.

TEST_P(OpWithInputs, a_disposed_input_is_named_and_nothing_leaks) {
  Random random(7);
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Given given = draw_inputs(row, shapes, dtype, random);
      given.tensors[i].dispose();
      const MemoryInfo before = memory();
      const std::string text = message_of<DisposedError>([&] { row.run(given.tensors, dtype); });
      if (!row.error_name.empty()) {
        EXPECT_HAS(text, row.error_name + ": input " + std::to_string(i) + " was disposed");
      }
      EXPECT_EQ(memory().tensors, before.tensors);
      EXPECT_EQ(memory().live_bytes, before.live_bytes);
    }
  });
}

TEST_P(OpWithInputs, an_empty_handle_is_named_and_nothing_leaks) {
  Random random(8);
  each_run({row.shapes.front()}, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Given given = draw_inputs(row, shapes, dtype, random);
      given.tensors[i] = Tensor();
      const MemoryInfo before = memory();
      const std::string text = message_of<ValueError>([&] { row.run(given.tensors, dtype); });
      EXPECT_HAS(text, " is an empty handle");
      if (!row.error_name.empty()) {
        const std::string input = shapes.size() > 1 ? "input " + std::to_string(i) : "";
        EXPECT_EQ(text.rfind(row.error_name + ": " + input, 0), 0u) << text;
      }
      EXPECT_EQ(memory().tensors, before.tensors);
      EXPECT_EQ(memory().live_bytes, before.live_bytes);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, rows_where([](const Case&) { return true; }), row_name);
INSTANTIATE_TEST_SUITE_P(Ops, ReferencedOp,
                         rows_where([](const Case& row) { return bool(row.reference); }), row_name);
INSTANTIATE_TEST_SUITE_P(Ops, OpWithInputs,
                         rows_where([](const Case& row) { return !row.inputs.empty(); }), row_name);
INSTANTIATE_TEST_SUITE_P(Ops, ReferencedOpWithInputs, rows_where([](const Case& row) {
                           return row.reference && !row.inputs.empty();
                         }),
                         row_name);
INSTANTIATE_TEST_SUITE_P(Ops, LargeOp,
                         rows_where([](const Case& row) { return !row.value_shapes.empty(); }),
                         row_name);
INSTANTIATE_TEST_SUITE_P(Ops, OverwritingOp, rows_where([](const Case& row) {
                           return op_named(row.ops.front()).may_overwrite.bits != 0;
                         }),
                         row_name);

}  // namespace
}  // namespace tenure::testing
