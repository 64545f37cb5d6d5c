// The table as a binding uses it: ops that say what they take run on whatever inputs and attributes
// anyone hands them, or refuse them with an error of ours.
#include <limits>

#include "fuzz.h"
#include "harness.h"
#include "ops/call.h"

namespace tenure::testing {
namespace {

using ops::OpDef;
using ops::Takes;

// Runs an op as a binding does: from the table alone.
std::vector<Tensor> run(const OpDef& op, Tensors in, ops::AttrsBox attrs) {
  std::vector<Arg> args;
  std::vector<Arg*> each;
  args.reserve(in.size());
  for (Tensor& x : in) each.push_back(&args.emplace_back(std::move(x)));
  ops::take(op, each, in);
  if (op.settle != nullptr) op.settle(op.name, in, attrs.data());
  std::vector<Tensor> out(static_cast<std::size_t>(op.outputs));
  ops::apply_into(op, in, attrs.ref(), std::source_location::current(), out);
  return out;
}

ops::AttrsBox defaults(const OpDef& op) {
  return op.attrs != nullptr ? ops::AttrsBox(*op.attrs) : ops::AttrsBox();
}

// Values that fit, that nearly do, and that never do.
class Disorder final : public ops::FieldVisitor {
 public:
  explicit Disorder(Dice& dice) : dice_(dice) {}
  void integer(std::string_view, std::int64_t& value) override { value = whole(); }
  void real(std::string_view, double& value) override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    value = dice_.pick(std::vector<double>{0, 0.5, 1, -1, 1e300, kInfinity, std::nan("")});
  }
  void flag(std::string_view, bool& value) override { value = dice_.chance(0.5); }
  void dtype(std::string_view, DType& value) override {
    value = static_cast<DType>(dice_.in(0, kDTypeCount - 1));
  }
  void number(std::string_view name, Scalar& value) override {
    double number = 0;
    real(name, number);
    value = dice_.chance(0.5) ? Scalar(number) : Scalar(whole());
  }
  void integers(std::string_view, Shape& values) override {
    values = Shape::filled(static_cast<int>(dice_.in(0, 4)), 0);
    for (std::int64_t& value : values) value = whole();
  }
  void choice(std::string_view, std::size_t& value, std::span<const char* const> names) override {
    value = static_cast<std::size_t>(dice_.in(0, static_cast<std::int64_t>(names.size()) - 1));
  }

 private:
  std::int64_t whole() {
    using Limits = std::numeric_limits<std::int64_t>;
    return dice_.chance(0.9) ? dice_.in(-2, 4)
                             : dice_.pick(std::vector<std::int64_t>{Limits::min(), Limits::max(),
                                                                    std::int64_t{1} << 31});
  }
  Dice& dice_;
};

struct TableOp : OpTest {
  const OpDef& op = op_named(row.ops.front());
};

// Whether the row is of one op that is for everyone, and of nothing made of it.
bool is_callable(const Case& row) {
  const OpDef& op = op_named(row.ops.front());
  const bool all_inputs =
      op.inputs == OpDef::kVariadic || row.inputs.size() == static_cast<std::size_t>(op.inputs);
  return row.ops.size() == 1 && all_inputs && op.takes != Takes::prepared;
}

TEST_P(TableOp, runs_on_the_inputs_of_its_row_with_what_its_attributes_are_by_default) {
  Random random(3);
  each_run(row.shapes, row.dtypes, [&](const Shapes& shapes, DType dtype) {
    const Given given = draw_inputs(row, shapes, dtype, random);
    try {
      for (const Tensor& y : run(op, given.tensors, defaults(op))) EXPECT_TRUE(y.defined());
    } catch (const Error& error) {
      EXPECT_NE(op.attrs, nullptr) << error.what();  // it has none that could be wrong
    }
  });
}

TEST_P(TableOp, refuses_what_cannot_be_or_does_it) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    Tensors in;
    const std::size_t count = op.inputs == OpDef::kVariadic ? 2 : std::size_t(op.inputs);
    for (std::size_t i = 0; i < count; ++i) {
      const DType dtype = dice.pick(dice.chance(0.8) ? row.dtypes : kAnything);
      const Drawn input = drawn(dice, dice.shape(), dtype);
      in.push_back(lay_out(input.values, input.dtype, input.lay));
    }
    ops::AttrsBox attrs = defaults(op);
    Disorder disorder(dice);
    if (op.attrs != nullptr) op.attrs->visit(attrs.data(), disorder);
    try {
      for (const Tensor& y : run(op, std::move(in), std::move(attrs))) EXPECT_TRUE(y.defined());
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find(": "), std::string_view::npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, TableOp, rows_where(is_callable), row_name);

TEST(Table, every_field_of_attributes_that_callers_set_has_a_default_and_a_name_of_its_own) {
  for (const OpDef* op : ops::all_ops()) {
    if (op->attrs == nullptr) continue;
    EXPECT_NE(op->takes, Takes::prepared) << op->name;
    ASSERT_NE(op->attrs->visit, nullptr) << op->name;
    EXPECT_NE(ops::AttrsBox(*op->attrs).ref().print(), "") << op->name;
  }
}

TEST(Table, elementwise_ops_are_for_everyone) {
  for (const OpDef* op : ops::all_ops()) {
    const bool plain = op->accepts == ops::Accepts::elementwise && op->view == nullptr;
    if (plain && op->tfjs != nullptr && op->takes == Takes::prepared) {
      EXPECT_TRUE(std::string_view(op->name) == "where" || std::string_view(op->name) == "cast")
          << op->name << " does not say what it takes";
    }
  }
}

}  // namespace
}  // namespace tenure::testing
