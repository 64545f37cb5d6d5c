#include "tenure/shape.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "core/layout.h"

namespace tenure {
namespace {

TEST(Shapes, of_any_rank_behave_like_values) {
  for (int rank = 0; rank < 20; ++rank) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(rank));
    std::iota(dims.begin(), dims.end(), 1);
    Shape shape{std::span<const std::int64_t>(dims)};
    EXPECT_EQ(shape.rank(), rank);
    Shape copy = shape;
    EXPECT_EQ(copy, shape);
    copy.push_back(99);
    EXPECT_NE(copy, shape);
    EXPECT_EQ(copy[-1], 99);
    Shape moved = std::move(copy);
    EXPECT_EQ(moved.rank(), rank + 1);
    moved = shape;
    EXPECT_EQ(moved, shape);
    shape = std::move(moved);
    EXPECT_EQ(shape.rank(), rank);
  }
}

TEST(Shapes, count_their_elements) {
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ((Shape{2, 0, 3}).numel(), 0);
  EXPECT_EQ((Shape{2, 3}).numel(), 6);
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Layouts, know_when_they_are_contiguous) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_TRUE(is_contiguous({1, 3}, {77, 1})) << "a stride over one element says nothing";
  EXPECT_TRUE(is_contiguous({0, 3}, {5, 5}));
  EXPECT_FALSE(is_contiguous({2}, {0}));
}

}  // namespace
}  // namespace tenure
