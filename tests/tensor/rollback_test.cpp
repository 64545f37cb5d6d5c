#include "tensor/rollback.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/expect.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

using detail::Rollback;
using testing::floats;
using Floats = std::vector<float>;

TEST(Rollback, what_was_assigned_is_put_back_unless_it_is_committed) {
  Variable v(tensor({1.f, 2.f}));
  {
    Rollback rollback;
    v.assign(tensor({3.f, 4.f}));
    v.assign(tensor({5.f, 6.f}));
    EXPECT_EQ(floats(v.read()), (Floats{5, 6}));
  }
  EXPECT_EQ(floats(v.read()), (Floats{1, 2}));
  {
    Rollback rollback;
    v.assign(tensor({3.f, 4.f}));
    rollback.commit();
  }
  EXPECT_EQ(floats(v.read()), (Floats{3, 4}));
  v.assign(tensor({7.f, 8.f}));
  EXPECT_EQ(floats(v.read()), (Floats{7, 8}));
}

TEST(Rollback, one_around_another_takes_back_what_that_committed) {
  Variable v(zeros({2})), w(zeros({2}));
  {
    Rollback outer;
    v.assign(ones({2}));
    {
      Rollback inner;
      v.assign(full({2}, 2.f));
      w.assign(full({2}, 2.f));
    }
    EXPECT_EQ(floats(v.read()), (Floats{1, 1}));
    Rollback inner;
    v.assign(full({2}, 3.f));
    w.assign(full({2}, 3.f));
    inner.commit();
    EXPECT_EQ(floats(w.read()), (Floats{3, 3}));
  }
  EXPECT_EQ(floats(v.read()), (Floats{0, 0}));
  EXPECT_EQ(floats(w.read()), (Floats{0, 0}));
}

TEST(Rollback, what_a_traced_function_assigned_is_put_back) {
  Variable v(zeros({2}));
  const auto count = function("count", [&](Tensor x) {
    v.assign(v + x);
    return v.read();
  });
  const Tensor one = ones({2});
  count(one);
  {
    Rollback rollback;
    count(one);
    EXPECT_EQ(floats(count(one)), (Floats{3, 3}));
  }
  EXPECT_EQ(floats(v.read()), (Floats{1, 1}));
  EXPECT_EQ(floats(count(one)), (Floats{2, 2}));
}

TEST(Rollback, a_variable_that_was_disposed_stays_so) {
  Variable v(zeros({2}));
  {
    Rollback rollback;
    v.assign(ones({2}));
    v.dispose();
  }
  EXPECT_TRUE(v.is_disposed());
}

TEST(Rollback, holds_nothing_when_it_is_gone) {
  Variable v(zeros({64}));
  const std::size_t before = memory().live_bytes;
  for (const bool commits : {true, false}) {
    Rollback rollback;
    v.assign(ones({64}));
    if (commits) rollback.commit();
  }
  EXPECT_EQ(memory().live_bytes, before);
}

}  // namespace
}  // namespace tenure
