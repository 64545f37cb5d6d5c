// No op without a row, a kernel, and a gradient or the reason why there is none.
#include <algorithm>
#include <array>
#include <set>

#include "case.h"
#include "ops/kernel.h"

namespace tenure::testing {
namespace {

using ops::OpDef;
using Problems = std::vector<std::string>;

bool has_row(const OpDef& op, const std::vector<Case>& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const Case& row) {
    return std::find(row.ops.begin(), row.ops.end(), op.name) != row.ops.end();
  });
}

bool has_differentiable_row(const OpDef& op, const std::vector<Case>& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const Case& row) {
    return row.differentiable && row.ops.front() == op.name;
  });
}

bool has_kernel(const OpDef& op) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const ops::Kernel& kernel =
        ops::kernel_table(DeviceType::cpu).find(op.index, static_cast<DType>(i));
    if (kernel.run != nullptr) return true;
  }
  return false;
}

// Whether a row shows the op to compute element by element in the dtype it is given: then an input
// that is no longer needed can lend its bytes.
bool could_overwrite(const OpDef& op, const std::vector<Case>& rows) {
  if (op.accepts != ops::Accepts::elementwise || op.view != nullptr || op.inputs == 0) return false;
  return std::any_of(rows.begin(), rows.end(), [&](const Case& row) {
    return row.ops.size() == 1 && row.ops.front() == op.name &&
           std::all_of(kFloats.begin(), kFloats.end(), [&](DType dtype) {
             return std::find(row.dtypes.begin(), row.dtypes.end(), dtype) != row.dtypes.end() &&
                    row.result(dtype) == dtype;
           });
  });
}

Problems problems_of(const OpDef& op, const std::vector<Case>& rows) {
  Problems problems;
  const std::string name = op.name;
  if (op.infer == nullptr) problems.push_back(name + " has no shape rule");
  if (!has_row(op, rows)) problems.push_back(name + " has no case row");
  if (op.view == nullptr && !has_kernel(op)) problems.push_back(name + " has no kernel");
  if (op.grad == nullptr && op.no_gradient == nullptr) {
    problems.push_back(name + " has neither a gradient nor a reason for none");
  }
  if (op.grad != nullptr && op.no_gradient != nullptr) {
    problems.push_back(name + " has both a gradient and a reason for none");
  }
  if (op.grad != nullptr && op.same_value) {
    problems.push_back(name + " is the same value, so its gradient would count twice");
  }
  if (op.grad != nullptr && !has_differentiable_row(op, rows)) {
    problems.push_back(name + " has a gradient that no row checks");
  }
  if (op.may_overwrite.bits == 0 && could_overwrite(op, rows)) {
    problems.push_back(name + " could overwrite an input and does not say so");
  }
  return problems;
}

Problems problems_of(std::span<const OpDef* const> all, const std::vector<Case>& rows) {
  Problems problems;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!names.insert(all[i]->name).second)
      problems.push_back(std::string(all[i]->name) + " is there twice");
    if (all[i]->index != i) problems.push_back(std::string(all[i]->name) + " has another's index");
    for (std::string& problem : problems_of(*all[i], rows)) problems.push_back(std::move(problem));
  }
  for (const Case& row : rows) {
    for (const std::string_view op : row.ops) {
      if (!names.contains(op))
        problems.push_back("row " + row.name + " is of no op: " + std::string(op));
    }
  }
  return problems;
}

TEST(Completeness, every_op_has_a_row_a_kernel_and_a_gradient_or_a_reason) {
  EXPECT_EQ(problems_of(ops::all_ops(), all_cases()), Problems{});
}

TEST(Completeness, row_names_are_unique) {
  std::set<std::string_view> names;
  for (const Case& row : all_cases()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

// The checker itself, on ops and rows with one thing wrong each.

constexpr std::uint16_t kNoKernels = ops::KernelTable::kMaxOps - 1;

OpDef sound_op() {
  OpDef op = op_named("tanh");
  op.name = "planted";
  return op;
}

Case row_of(const char* op, bool differentiable = true) {
  return {.name = "planted", .ops = {op}, .run = {}, .differentiable = differentiable};
}

TEST(Completeness, the_check_passes_a_sound_op) {
  EXPECT_EQ(problems_of(sound_op(), {row_of("planted")}), Problems{});
}

TEST(Completeness, the_check_reports_a_missing_row) {
  const OpDef op = sound_op();
  EXPECT_EQ(problems_of(op, {row_of("tanh")}),
            (Problems{"planted has no case row", "planted has a gradient that no row checks"}));
  EXPECT_EQ(problems_of(op, {row_of("planted", false)}),
            Problems{"planted has a gradient that no row checks"});
}

TEST(Completeness, the_check_reports_a_missing_kernel) {
  OpDef op = sound_op();
  op.index = kNoKernels;
  EXPECT_EQ(problems_of(op, {row_of("planted")}), Problems{"planted has no kernel"});
  op.view = op_named("clone").view;
  EXPECT_EQ(problems_of(op, {row_of("planted")}), Problems{});
}

TEST(Completeness, the_check_reports_a_missing_gradient) {
  OpDef op = sound_op();
  op.grad = nullptr;
  EXPECT_EQ(problems_of(op, {row_of("planted")}),
            Problems{"planted has neither a gradient nor a reason for none"});
  op.no_gradient = "a reason";
  EXPECT_EQ(problems_of(op, {row_of("planted")}), Problems{});
}

TEST(Completeness, the_check_reports_a_gradient_too_many) {
  OpDef op = sound_op();
  op.no_gradient = "a reason";
  EXPECT_EQ(problems_of(op, {row_of("planted")}),
            Problems{"planted has both a gradient and a reason for none"});
  op.no_gradient = nullptr;
  op.same_value = true;
  EXPECT_EQ(problems_of(op, {row_of("planted")}),
            Problems{"planted is the same value, so its gradient would count twice"});
}

TEST(Completeness, the_check_reports_an_elementwise_op_that_overwrites_nothing) {
  OpDef op = sound_op();
  op.may_overwrite = {};
  EXPECT_EQ(problems_of(op, {row_of("planted")}),
            Problems{"planted could overwrite an input and does not say so"});
  Case comparison = row_of("planted");
  comparison.result = bool_dtype;
  EXPECT_EQ(problems_of(op, {comparison}), Problems{});
}

TEST(Completeness, the_check_reports_names_and_indices_out_of_order) {
  OpDef first = sound_op(), second = sound_op();
  first.index = 0;
  second.index = 1;
  const std::array<const OpDef*, 2> all{&first, &second};
  EXPECT_EQ(problems_of(all, {row_of("planted")}), Problems{"planted is there twice"});
  second.name = "other";
  EXPECT_EQ(problems_of(all, {row_of("planted"), row_of("other"), row_of("gone")}),
            Problems{"row planted is of no op: gone"});
  second.index = 7;
  EXPECT_EQ(problems_of(all, {row_of("planted"), row_of("other")}),
            Problems{"other has another's index"});
}

}  // namespace
}  // namespace tenure::testing
