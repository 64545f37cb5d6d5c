#include <functional>
#include <sstream>

#include "memory/ledger.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::bytes_of;
using testing::Floats;
using testing::floats;
using testing::here;
using testing::message_of;

TEST(Contract, L1_a_copied_handle_is_the_same_tensor) {
  const Tensor a = tensor({1.f, 2.f});
  const Tensor b = a;
  EXPECT_EQ(a.id(), b.id());
  EXPECT_EQ(a.story().handles, 2u);
}

TEST(Contract, L1_clone_is_a_new_tensor_over_the_same_storage) {
  const Tensor a = tensor({1.f, 2.f});
  const std::size_t live = memory().live_bytes;
  const Tensor b = a.clone();
  EXPECT_NE(a.id(), b.id());
  EXPECT_EQ(bytes_of(a), bytes_of(b));
  EXPECT_EQ(memory().live_bytes, live);
  EXPECT_EQ(floats(b), (Floats{1, 2}));
}

TEST(Contract, L2_a_tensor_says_what_it_died_of) {
  Tensor disposed = tensor({1.f});
  const int line = here().line() + 1;
  disposed.dispose();
  ASSERT_TRUE(disposed.story().death);
  EXPECT_EQ(disposed.story().death->cause, Cause::disposed);
  EXPECT_EQ(disposed.story().death->site.line(), line);

  Tensor escaped;
  tidy("step", [&] { escaped = tensor({2.f}); });
  ASSERT_TRUE(escaped.story().death);
  EXPECT_EQ(escaped.story().death->cause, Cause::scope_exit);
  EXPECT_EQ(escaped.story().death->by, "tidy \"step\" ended");

  Tensor owned;
  {
    Session session({.name = "render"});
    owned = session.run([] { return tensor({3.f}); });
  }
  ASSERT_TRUE(owned.story().death);
  EXPECT_EQ(owned.story().death->cause, Cause::owner_disposed);
  EXPECT_EQ(owned.story().death->by, "session \"render\" closed");

  const Tensor alive = tensor({4.f});
  EXPECT_FALSE(alive.story().death);
}

TEST(Contract, L2_the_first_cause_stays_the_only_one) {
  Tensor x;
  tidy("outer", [&] {
    x = tensor({1.f});
    x.dispose();
  });
  EXPECT_EQ(x.story().death->cause, Cause::disposed);
}

TEST(Contract, L3_storage_returns_to_the_pool_with_its_last_holder) {
  Tensor a = zeros({1000});
  const std::size_t with_a = memory().live_bytes;
  Tensor view = slice(a, {0}, {10});
  Tensor clone = a.clone();
  auto span = a.view<float>();
  a.dispose();
  EXPECT_EQ(memory().live_bytes, with_a);
  view.dispose();
  EXPECT_EQ(memory().live_bytes, with_a);
  clone = Tensor();
  EXPECT_EQ(memory().live_bytes, with_a);
  EXPECT_EQ(span[999], 0.f);
  {
    const auto gone = std::move(span);
  }
  EXPECT_EQ(memory().live_bytes, with_a - 4000);
}

TEST(Contract, L3_freed_storage_is_the_next_of_its_size) {
  Tensor a = full({500}, 1.f);
  const std::byte* bytes = bytes_of(a);
  const std::size_t pooled = memory().pooled_bytes;
  a.dispose();
  EXPECT_GT(memory().pooled_bytes, pooled);
  const Tensor b = full({500}, 2.f);
  EXPECT_EQ(bytes_of(b), bytes);
}

TEST(Contract, L4_disposed_tensor_keeps_its_metadata) {
  Tensor x = ones({2, 3}, DType::int32);
  x.set_name("h");
  const std::uint64_t id = x.id();
  x.dispose();
  EXPECT_TRUE(x.is_disposed());
  EXPECT_EQ(x.id(), id);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.dtype(), DType::int32);
  EXPECT_EQ(x.name(), "h");
  EXPECT_EQ(x.story().birth.op, "ones");
  EXPECT_TRUE(x.story().storage_freed);
}

TEST(Contract, L4_printing_a_disposed_tensor_tells_its_story) {
  Tensor x = tensor({1.f, 2.f});
  x.set_name("h").dispose();
  std::ostringstream out;
  out << x;
  EXPECT_HAS(out.str(), "disposed float32 [2] \"h\"");
  EXPECT_HAS(out.str(), "born      life_and_death_test.cpp:");
  EXPECT_HAS(out.str(), "died      life_and_death_test.cpp:");
  EXPECT_HAS(out.str(), "storage returned to the pool");
}

TEST(Contract, L5_death_does_not_cascade) {
  Tensor x = tensor({1.f, 2.f, 3.f, 4.f});
  Tensor computed = x * 2.0;
  Tensor view = reshape(x, {2, 2});
  Tensor clone = x.clone();
  x.dispose();
  EXPECT_EQ(floats(computed), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(floats(view), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(floats(clone), (Floats{1, 2, 3, 4}));
  view.dispose();
  EXPECT_EQ(floats(clone), (Floats{1, 2, 3, 4}));

  Tensor y = tensor({5.f});
  Tensor z = y + 1.0;
  z.dispose();
  EXPECT_EQ(y.item<float>(), 5.f);
}

TEST(Contract, L6_dispose_twice_is_no_error_and_the_first_record_stays) {
  Tensor x = tensor({1.f});
  x.dispose();
  const int first = x.story().death->site.line();
  x.dispose();
  EXPECT_EQ(x.story().death->site.line(), first);
}

TEST(Contract, L6_an_empty_handle_can_be_disposed_and_nothing_else) {
  Tensor empty;
  empty.dispose();
  EXPECT_HAS(message_of<ValueError>([&] { empty.shape(); }),
             "shape: the tensor is an empty handle");
  EXPECT_HAS(message_of<ValueError>([&] { add(empty, 1.0); }), "add: input 0 is an empty handle");
  Tensor moved = tensor({1.f});
  const Tensor taken = std::move(moved);
  EXPECT_THROW(tanh(moved), ValueError);  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(moved.to_vector<float>(), ValueError);
  EXPECT_THROW(keep(moved), ValueError);
}

Tensor returned_from_function() {
  const Tensor local = tensor({1.f, 2.f});
  return local + 1.0;
}

TEST(Contract, L7_a_returned_tensor_lives_as_long_as_it_is_held) {
  const Tensor from_function = returned_from_function();
  EXPECT_EQ(floats(from_function), (Floats{2, 3}));

  Tensor from_loop;
  for (int i = 0; i < 3; ++i) {
    const Tensor inside = full({2}, i, DType::float32);
    from_loop = inside;
  }
  EXPECT_EQ(floats(from_loop), (Floats{2, 2}));

  Tensor from_branch;
  if (from_loop.numel() == 2) {
    const Tensor inside = tensor({7.f});
    from_branch = inside;
  }
  EXPECT_EQ(from_branch.item<float>(), 7.f);

  const auto lambda = [] { return tensor({8.f}); };
  EXPECT_EQ(lambda().item<float>(), 8.f);
}

struct NamedOp {
  const char* name;
  std::function<Tensor(Tensor)> run;
};

const NamedOp kUnaryOps[] = {
    {"relu", [](Tensor x) { return relu(std::move(x)); }},
    {"tanh", [](Tensor x) { return tanh(std::move(x)); }},
    {"sigmoid", [](Tensor x) { return sigmoid(std::move(x)); }},
    {"exp", [](Tensor x) { return exp(std::move(x)); }},
    {"neg", [](Tensor x) { return -std::move(x); }},
    {"square", [](Tensor x) { return square(std::move(x)); }},
    {"elu", [](Tensor x) { return elu(std::move(x)); }},
    {"selu", [](Tensor x) { return selu(std::move(x)); }},
    {"relu6", [](Tensor x) { return relu6(std::move(x)); }},
    {"sqrt", [](Tensor x) { return sqrt(std::move(x)); }},
    {"log", [](Tensor x) { return log(std::move(x)); }},
};

TEST(Contract, L8_every_op_has_the_same_lifetime_behaviour) {
  for (const NamedOp& op : kUnaryOps) {
    SCOPED_TRACE(op.name);
    Tensor kept = tensor({0.5f, 1.f, 2.f});
    const Floats before = floats(kept);
    const Tensor shared = op.run(kept);  // a copy of the handle: the input must survive
    EXPECT_EQ(floats(kept), before);
    EXPECT_NE(bytes_of(shared), bytes_of(kept));
    const Floats expected = floats(shared);
    kept.dispose();
    EXPECT_EQ(floats(shared), expected);
    EXPECT_THROW(op.run(kept), DisposedError);

    Tensor moved = tensor({0.5f, 1.f, 2.f});
    const std::byte* bytes = bytes_of(moved);
    const std::size_t tensors = memory().tensors;
    const Tensor unique = op.run(std::move(moved));
    EXPECT_EQ(floats(unique), expected);
    EXPECT_EQ(bytes_of(unique), bytes) << "a moved input's bytes become the result's";
    EXPECT_EQ(memory().tensors, tensors) << "one died, one was born";
    EXPECT_EQ(unique.story().birth.op, op.name);
  }
}

TEST(Contract, L8_reuse_never_shows_in_a_shared_input) {
  const Tensor x = tensor({1.f, 2.f, 3.f});
  Tensor copy = x;
  const Tensor y = tanh(std::move(copy));  // x is another handle to the same tensor
  EXPECT_EQ(floats(x), (Floats{1, 2, 3}));
  Tensor viewed = tensor({1.f, 2.f, 3.f});
  const Tensor view = slice(viewed, {1}, {1});
  const Tensor z = relu(std::move(viewed)) * 5.0;
  EXPECT_EQ(floats(view), (Floats{2}));
}

TEST(Contract, L7_options_hold_the_tensors_that_were_put_into_them) {
  LayerNormOptions options{.epsilon = 1e-12};
  {
    const Tensor scale = tensor({2.0F, 3.0F});
    options.scale = scale;
  }
  const Tensor y = layer_norm(reshape(tensor({-1.0F, 1.0F}), {1, 2}), options);
  EXPECT_NEAR(y.to_vector<float>()[0], -2, 1e-3);
  EXPECT_NEAR(y.to_vector<float>()[1], 3, 1e-3);
}

TEST(Contract, L8_an_operand_that_is_not_given_up_is_left_as_it_is) {
  const Tensor x = tensor({-1.0F, 2.0F});
  const Tensor y = tensor({1.0F, 1.0F});
  EXPECT_EQ(relu(x).to_vector<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ((x + y).to_vector<float>(), (std::vector<float>{0, 3}));
  EXPECT_EQ((x + x).to_vector<float>(), (std::vector<float>{-2, 4}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{-1, 2}));
  EXPECT_EQ(x.story().handles, 1u);
  EXPECT_EQ(y.story().handles, 1u);
}

TEST(Contract, L31_an_error_holds_no_tensor_memory) {
  std::exception_ptr error;
  const std::size_t before = memory().live_bytes;
  {
    Tensor x = zeros({1000});
    x.dispose();
    try {
      tanh(x);
    } catch (...) {
      error = std::current_exception();
    }
  }
  EXPECT_EQ(memory().live_bytes, before);
  try {
    std::rethrow_exception(error);
  } catch (const DisposedError& e) {
    EXPECT_EQ(e.story().shape, (Shape{1000}));
    EXPECT_TRUE(e.story().death);
  }
}

TEST(Stories, the_error_has_the_shape_of_the_contract) {
  Tensor h;
  tidy("step", [&] {
    h = tanh(tensor({1.f, 2.f, 3.f, 4.f}));
    h.set_name("h");
  });
  const Tensor x = ones({4});
  const std::string text = message_of<DisposedError>([&] { x + h; });
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, line.find("(#")),
            "DisposedError: add: input 1 was disposed: float32 [4] \"h\" ");
  std::getline(lines, line);
  EXPECT_EQ(line, "");
  std::getline(lines, line);
  EXPECT_HAS(line, "  born      life_and_death_test.cpp:");
  EXPECT_HAS(line, "tanh");
  EXPECT_HAS(line, "in tidy \"step\" (opened life_and_death_test.cpp:");
  std::getline(lines, line);
  EXPECT_HAS(line, "  died      life_and_death_test.cpp:");
  EXPECT_HAS(line, "scope_exit       tidy \"step\" ended");
  std::getline(lines, line);
  EXPECT_HAS(line, "  used      life_and_death_test.cpp:");
  EXPECT_HAS(line, "add, input 1");
  std::getline(lines, line);
  EXPECT_EQ(line, "  holders   1 handle (yours); storage returned to the pool");
  EXPECT_HAS(text, "return it from the tidy, or keep(h) before the tidy ends.");
}

TEST(Stories, a_composite_is_born_where_and_as_the_user_wrote_it) {
  const int line = here().line() + 1;
  const Tensor m = mean(tensor({1.f, 2.f, 3.f}));
  EXPECT_EQ(m.story().birth.op, "mean");
  EXPECT_EQ(m.story().birth.site.line(), line);
  const int next = here().line() + 1;
  const Tensor element = m + tensor({5.f})[0];
  EXPECT_EQ(element.story().birth.site.line(), next);
}

TEST(Stories, operators_report_their_own_line) {
  const Tensor a = ones({2});
  const Tensor b = ones({2});
  const Tensor c = a + b;
  EXPECT_EQ(c.story().birth.site.file_name(), std::string(here().file_name()));
  EXPECT_NEAR(c.story().birth.site.line(), here().line() - 3, 2);
}

}  // namespace
}  // namespace tenure
