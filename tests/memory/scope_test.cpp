#include <array>
#include <map>
#include <optional>
#include <thread>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;

struct Moments {
  Tensor mean;
  std::vector<Tensor> parts;
  int count = 0;
};
void walk_tensors(Moments& m, auto&& visit) {
  visit(m.mean);
  visit(m.parts);
}

TEST(Contract, L9_tidy_disposes_what_was_born_inside) {
  std::vector<Tensor> seen;
  const std::size_t before = memory().tensors;
  tidy([&] {
    const Tensor x = tensor({1.f, 2.f});
    seen.push_back(x);
    seen.push_back(x + 1.0);
    seen.push_back(x.clone());
    seen.push_back(slice(x, {0}, {1}));
  });
  EXPECT_EQ(memory().tensors, before);
  for (const Tensor& tensor : seen) {
    EXPECT_TRUE(tensor.is_disposed());
    EXPECT_EQ(tensor.story().death->cause, Cause::scope_exit);
  }
}

TEST(Contract, L9_tidy_spares_what_it_returns) {
  const Tensor one = tidy([] { return ones({2}); });
  EXPECT_EQ(floats(one), (Floats{1, 1}));
  const std::vector<Tensor> many = tidy([] { return std::vector{ones({1}), zeros({1})}; });
  EXPECT_EQ(many[1].item<float>(), 0.f);
  const auto array = tidy([] { return std::array{ones({1}), zeros({1})}; });
  EXPECT_EQ(array[0].item<float>(), 1.f);
  const auto pair = tidy([] { return std::pair(ones({1}), 3); });
  EXPECT_EQ(pair.first.item<float>(), 1.f);
  const auto tuple = tidy([] { return std::tuple(ones({1}), zeros({1}), std::string("s")); });
  EXPECT_EQ(std::get<1>(tuple).item<float>(), 0.f);
  const auto optional = tidy([] { return std::optional(ones({1})); });
  EXPECT_EQ(optional->item<float>(), 1.f);
  const auto none = tidy([] { return std::optional<Tensor>(); });
  EXPECT_FALSE(none);
  auto map = tidy([] { return std::map<std::string, Tensor>{{"a", ones({1})}}; });
  EXPECT_EQ(map["a"].item<float>(), 1.f);
  const auto nested =
      tidy([] { return std::vector{std::pair(ones({1}), std::optional(zeros({1})))}; });
  EXPECT_EQ(nested[0].second->item<float>(), 0.f);
  const Moments moments = tidy([] { return Moments{ones({1}), {zeros({1})}, 1}; });
  EXPECT_EQ(moments.mean.item<float>(), 1.f);
  EXPECT_EQ(moments.parts[0].item<float>(), 0.f);
  EXPECT_EQ(tidy([] { return ones({3}).numel(); }), 3);
  tidy("nothing", [] { ones({3}); });
}

TEST(Contract, L9_an_exception_spares_only_what_was_kept) {
  Tensor inside, kept;
  EXPECT_THROW(tidy([&]() -> Tensor {
                 inside = ones({2});
                 kept = keep(ones({2}));
                 throw std::runtime_error("stop");
               }),
               std::runtime_error);
  EXPECT_TRUE(inside.is_disposed());
  EXPECT_FALSE(kept.is_disposed());
}

TEST(Contract, L9_variables_are_spared) {
  std::optional<Variable> v;
  tidy([&] { v.emplace(ones({2})); });
  EXPECT_FALSE(v->is_disposed());
  EXPECT_EQ(floats(v->read()), (Floats{1, 1}));
}

TEST(Contract, L9_a_tensor_from_outside_is_not_the_tidys) {
  const Tensor outside = ones({2});
  const Tensor same = tidy([&] { return outside; });
  EXPECT_FALSE(outside.is_disposed());
  EXPECT_EQ(same.id(), outside.id());
}

TEST(Contract, L9_a_scope_holds_no_reference) {
  tidy([] {
    const std::size_t before = memory().tensors;
    {
      const Tensor x = ones({2});
    }
    EXPECT_EQ(memory().tensors, before);
  });
}

TEST(Contract, L10_keep_takes_out_of_every_enclosing_scope) {
  Tensor deep, shallow;
  tidy("outer", [&] {
    shallow = ones({1});
    tidy("middle", [&] {
      tidy("inner", [&] {
        deep = keep(ones({1}));
        keep(shallow);
      });
    });
  });
  EXPECT_FALSE(deep.is_disposed());
  EXPECT_FALSE(shallow.is_disposed());
}

TEST(Contract, L11_a_returned_tensor_belongs_to_the_next_outer_scope) {
  Tensor passed, returned;
  returned = tidy("outer", [&] {
    passed = tidy("inner", [] { return ones({1}); });
    EXPECT_FALSE(passed.is_disposed());
    return tidy("inner", [] { return zeros({1}); });
  });
  EXPECT_TRUE(passed.is_disposed());
  EXPECT_EQ(passed.story().death->by, "tidy \"outer\" ended");
  EXPECT_EQ(passed.story().birth.scope, "inner");
  EXPECT_FALSE(returned.is_disposed());
}

// Coroutines and fibers of others keep a scope open while the code around them goes on.
class ForeignScope {
 public:
  explicit ForeignScope(std::string_view name, std::source_location site = testing::here())
      : guard_(std::in_place, name, site) {}
  void close() { guard_->close(); }
  void unwind() { guard_.reset(); }

 private:
  std::optional<detail::ScopeGuard> guard_;
};

TEST(Contract, L12_closing_scopes_out_of_order_is_an_error_and_frees_only_the_one) {
  Tensor in_a, in_b, late;
  ForeignScope a("a");
  in_a = ones({2});
  ForeignScope b("b");
  in_b = ones({2});
  const std::string message = testing::message_of<ScopeError>([&] { a.close(); });
  EXPECT_HAS(message, "tidy: closed out of order: tidy \"a\" ended while tidy \"b\" was open");
  EXPECT_HAS(message, "opened    scope_test.cpp:");
  EXPECT_TRUE(in_a.is_disposed());
  EXPECT_FALSE(in_b.is_disposed());
  late = ones({2});
  b.close();
  EXPECT_TRUE(in_b.is_disposed());
  EXPECT_TRUE(late.is_disposed());
  const Tensor free = ones({2});
  tidy([] { ones({2}); });
  EXPECT_FALSE(free.is_disposed()) << "no scope is open any more";
}

TEST(Contract, L12_a_scope_closed_out_of_order_while_unwinding_is_a_warning) {
  std::string warning;
  set_warning_sink([&](std::string_view text) { warning = text; });
  ForeignScope a("a"), b("b");
  a.unwind();
  b.unwind();
  set_warning_sink({});
  EXPECT_HAS(warning, "closed out of order: tidy \"a\"");
}

TEST(Contract, L12_a_tidy_that_ends_inside_a_scope_left_open_says_so) {
  std::optional<ForeignScope> left;
  EXPECT_THROW(tidy("around", [&] { left.emplace("left open"); }), ScopeError);
  left->close();
}

TEST(Contract, L12_a_scope_closed_on_another_thread_is_an_error_and_harms_neither) {
  Tensor mine, theirs, passed, joined;
  ForeignScope here("here");
  mine = ones({2});
  std::thread([&] {
    tidy("there", [&] {
      theirs = ones({2});
      const std::string message = testing::message_of<ScopeError>([&] { here.close(); });
      EXPECT_HAS(message, "ended on a thread or task that did not open it");
      EXPECT_FALSE(theirs.is_disposed());
    });
  }).join();
  EXPECT_TRUE(mine.is_disposed());
  passed = tidy("inner", [] { return ones({2}); });
  EXPECT_FALSE(passed.is_disposed());
  tidy("next", [&] { joined = ones({2}); });
  EXPECT_TRUE(joined.is_disposed());
  const Tensor free = ones({2});
  tidy([] { ones({2}); });
  EXPECT_FALSE(free.is_disposed());
}

// A walk that fails in the middle.
struct HalfSeen {
  Tensor first, second;
};
void walk_tensors(HalfSeen& value, auto&& visit) {
  visit(value.first);
  throw std::runtime_error("no further");
}

TEST(Contract, L9_a_walk_that_throws_spares_only_what_was_kept) {
  HalfSeen made;
  Tensor kept;
  EXPECT_THROW(tidy([&] {
                 made = {ones({2}), ones({2})};
                 kept = keep(ones({2}));
                 return made;
               }),
               std::runtime_error);
  EXPECT_TRUE(made.first.is_disposed());
  EXPECT_TRUE(made.second.is_disposed());
  EXPECT_FALSE(kept.is_disposed());
}

TEST(Scopes, a_story_keeps_the_names_of_scopes_that_are_gone) {
  Tensor disposed_inside, kept;
  for (int i = 0; i < 3; ++i) {
    tidy("step " + std::to_string(i), [&] {
      disposed_inside = ones({1});
      disposed_inside.dispose();
      kept = keep(ones({1}));
    });
  }
  EXPECT_EQ(disposed_inside.story().birth.scope, "step 2");
  EXPECT_EQ(kept.story().birth.scope, "step 2");
}

}  // namespace
}  // namespace tenure
