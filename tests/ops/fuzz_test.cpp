// Every op, on inputs nobody chose (see fuzz.h).
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>

#include "fuzz.h"

namespace tenure::testing {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string described(const Trial& trial) {
  std::ostringstream text;
  for (const Drawn& input : trial.inputs) {
    text << ' ' << input.dtype << input.values.shape << " lay " << static_cast<int>(input.lay);
  }
  return text.str();
}

void check_refused(const Trial& trial, Tensors in) {
  try {
    trial.run(std::move(in));
    ADD_FAILURE() << "no error; expected one that says " << trial.complaint.front();
  } catch (const Error& error) {
    const bool typed = dynamic_cast<const ShapeError*>(&error) != nullptr ||
                       dynamic_cast<const DtypeError*>(&error) != nullptr ||
                       dynamic_cast<const ValueError*>(&error) != nullptr;
    EXPECT_TRUE(typed) << error.what();
    for (const std::string& text : trial.complaint) EXPECT_HAS(std::string(error.what()), text);
  }
}

void check(const Trial& trial) {
  const MemoryInfo before = memory();
  {
    Tensors in;
    Arrays values;
    for (const Drawn& input : trial.inputs) {
      in.push_back(lay_out(input.values, input.dtype, input.lay));
      values.push_back(input.values);
    }
    if (!trial.complaint.empty()) {
      check_refused(trial, std::move(in));
    } else {
      const Tensor y = trial.run(std::move(in));
      EXPECT_TRUE(close(y, trial.expect(values), trial.result, trial.tolerance));
    }
  }
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().live_bytes, before.live_bytes);
}

struct FuzzParam {
  const Fuzz* row;
};
void PrintTo(const FuzzParam& param, std::ostream* out) { *out << param.row->name; }

std::vector<FuzzParam> params() {
  std::vector<FuzzParam> all;
  for (const Fuzz& row : all_fuzz()) all.push_back({&row});
  return all;
}

struct FuzzedOp : ::testing::TestWithParam<FuzzParam> {};

TEST_P(FuzzedOp, agrees_with_its_reference_or_says_what_is_wrong) {
  static const std::uint64_t draws = from_environment("TENURE_FUZZ_DRAWS", 200);
  static const std::uint64_t first = from_environment("TENURE_FUZZ_SEED", 20261115);
  for (std::uint64_t seed = first; seed < first + draws && !HasFailure(); ++seed) {
    Dice dice(seed);
    const Trial trial = GetParam().row->draw(dice);
    SCOPED_TRACE("TENURE_FUZZ_DRAWS=1 TENURE_FUZZ_SEED=" + std::to_string(seed) + ':' +
                 described(trial));
    check(trial);
  }
  static const bool told = [] {
    std::cout << "fuzz: " << draws << " draws per row from seed " << first << '\n';
    return true;
  }();
  (void)told;
}

INSTANTIATE_TEST_SUITE_P(Ops, FuzzedOp, ::testing::ValuesIn(params()),
                         [](const auto& test) { return test.param.row->name; });

TEST(Fuzz, every_op_and_composite_has_a_row) {
  std::set<std::string_view> covered;
  for (const Fuzz& row : all_fuzz()) covered.insert(row.ops.begin(), row.ops.end());
  for (const ops::OpDef* op : ops::all_ops()) {
    EXPECT_TRUE(covered.contains(op->name)) << op->name << " has no fuzz row";
  }
  for (const ops::Composite& made : ops::all_composites()) {
    EXPECT_TRUE(covered.contains(made.name)) << made.name << " has no fuzz row";
  }
}

}  // namespace
}  // namespace tenure::testing
