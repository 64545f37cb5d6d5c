#include "support/expect.h"
#include "tensor/assign.h"

namespace tenure {
namespace {

using testing::bytes_of;
using testing::Floats;
using testing::floats;
using testing::message_of;

TEST(Contract, L18_no_scope_disposes_a_variable) {
  const Variable v(ones({2}), {.name = "v"});
  tidy([&] { v.read(); });
  EXPECT_EQ(floats(v.read()), (Floats{1, 1}));
}

TEST(Contract, L18_a_read_is_not_changed_by_a_later_assign) {
  Variable v(ones({2}));
  const Tensor before = v.read();
  v.assign(full({2}, 5.f));
  EXPECT_EQ(floats(before), (Floats{1, 1}));
  EXPECT_EQ(floats(v.read()), (Floats{5, 5}));
}

TEST(Contract, L18_assign_reuses_the_storage_when_nobody_else_uses_it) {
  Variable v(ones({2}));
  const std::byte* bytes = bytes_of(v.read());
  v.assign(full({2}, 5.f));
  EXPECT_EQ(bytes_of(v.read()), bytes);
  EXPECT_EQ(floats(v.read()), (Floats{5, 5}));
  const Tensor held = v.read();
  v.assign(full({2}, 6.f));
  EXPECT_NE(bytes_of(v.read()), bytes);
  EXPECT_EQ(floats(held), (Floats{5, 5}));
}

TEST(Variables, the_initial_tensor_may_be_disposed_or_kept) {
  Tensor initial = ones({2});
  Variable v(initial, {.name = "v"});
  initial.dispose();
  EXPECT_EQ(floats(v.read()), (Floats{1, 1}));
  const Tensor kept = full({2}, 2.f);
  Variable w(kept);
  w.assign(full({2}, 3.f));
  EXPECT_EQ(floats(kept), (Floats{2, 2})) << "assign never writes into a user's tensor";
}

TEST(Variables, are_of_a_kind_that_a_variable_can_be) {
  for (const Category kind : {Category::workspace, Category::saved_for_backward}) {
    EXPECT_HAS(message_of<ValueError>([&] { Variable(ones({2}), {.kind = kind}); }),
               "cannot be of the kind");
  }
  const Variable state(ones({2}), {.kind = Category::layer_state});
  EXPECT_EQ(memory().layer_state_bytes, 8u);
}

TEST(Variables, a_view_is_copied_out_of_its_large_storage) {
  const Variable v(slice(zeros({1 << 16}), {0}, {4}));
  EXPECT_EQ(memory().live_bytes, 16u);
  const Variable t(transpose(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2})));
  EXPECT_EQ(floats(t.read()), (Floats{1, 3, 2, 4}));
}

TEST(Variables, assign_keeps_shape_and_dtype) {
  Variable v(ones({2}), {.name = "v"});
  EXPECT_HAS(message_of<ShapeError>([&] { v.assign(ones({3})); }),
             "assign: variable \"v\" has shape [2], the value [3]");
  EXPECT_HAS(message_of<DtypeError>([&] { v.assign(ones({2}, DType::int32)); }),
             "assign: variable \"v\" is float32, the value int32");
  Tensor gone = ones({2});
  gone.dispose();
  EXPECT_THROW(v.assign(gone), DisposedError);
  EXPECT_EQ(floats(v.read()), (Floats{1, 1}));
}

TEST(Variables, a_disposed_variable_says_so) {
  Variable v(ones({2}), {.name = "v"});
  const Tensor read = v.read();
  v.dispose();
  EXPECT_TRUE(v.is_disposed());
  EXPECT_EQ(floats(read), (Floats{1, 1}));
  EXPECT_HAS(message_of<DisposedError>([&] { v.read(); }), "read: variable \"v\" was disposed");
  EXPECT_THROW(v.assign(ones({2})), DisposedError);
  EXPECT_THROW(v + 1.0, DisposedError);
}

TEST(Variables, handles_stand_for_one_variable) {
  Variable v(ones({1}));
  Variable w = v;
  w.assign(full({1}, 9.f));
  EXPECT_EQ(v.read().item<float>(), 9.f);
  EXPECT_EQ(v.id(), w.id());
}

TEST(Variables, change_places_when_assigned_together) {
  const std::vector<Variable> both{Variable(full({2}, 1.f)), Variable(full({2}, 2.f))};
  detail::assign_all(both, std::vector<Tensor>{both[1].read(), both[0].read()}, testing::here());
  EXPECT_EQ(floats(both[0].read()), Floats(2, 2.f));
  EXPECT_EQ(floats(both[1].read()), Floats(2, 1.f));
}

TEST(Variables, named_twice_take_the_last_value) {
  const Variable v(full({2}, 1.f));
  detail::assign_all(std::vector<Variable>{v, v},
                     std::vector<Tensor>{full({2}, 3.f), full({2}, 4.f)}, testing::here());
  EXPECT_EQ(floats(v.read()), Floats(2, 4.f));
}

TEST(Variables, assigned_together_change_all_or_none) {
  const std::vector<Variable> both{Variable(full({2}, 1.f)), Variable(full({2}, 2.f))};
  const auto refused = [&](const Tensor& bad) {
    for (const bool first : {true, false}) {
      const Tensor good = full({2}, 9.f);
      const std::vector<Tensor> values = first ? std::vector{bad, good} : std::vector{good, bad};
      EXPECT_THROW(detail::assign_all(both, values, testing::here()), Error);
      EXPECT_EQ(floats(both[0].read()), Floats(2, 1.f));
      EXPECT_EQ(floats(both[1].read()), Floats(2, 2.f));
    }
  };
  refused(ones({3}));
  refused(ones({2}, DType::int32));
  Tensor gone = ones({2});
  gone.dispose();
  refused(gone);
}

TEST(Variables, why_alive_names_the_variable) {
  const Variable v(ones({2}), {.name = "kernel"});
  const Tensor read = v.read();
  bool named = false;
  for (const Holder& holder : why_alive(read)) named |= holder.owner == "variable \"kernel\"";
  EXPECT_TRUE(named);
}

}  // namespace
}  // namespace tenure
