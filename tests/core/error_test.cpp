#include "tenure/error.h"

#include <gtest/gtest.h>

#include <exception>
#include <type_traits>

#include "core/raise.h"

namespace tenure {
namespace {

template <class E>
constexpr bool kCopiesWithoutFail =
    std::is_nothrow_copy_constructible_v<E> && std::is_nothrow_copy_assignable_v<E>;
static_assert(kCopiesWithoutFail<ShapeError> && kCopiesWithoutFail<TapeError>);
static_assert(kCopiesWithoutFail<DisposedError> && kCopiesWithoutFail<OutOfMemoryError>);

template <class F>
std::string text_of(F&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ErrorData, an_error_has_what_its_message_names) {
  try {
    raise<ShapeError>("{}: axis {} of {} is {}, not {}: {}", "join", 2, Shape{2, 3}, DType::int32,
                      DType::float32, Shape{});
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.op(), "join");
    EXPECT_EQ(error.problem(), "axis 2 of [2, 3] is int32, not float32: []");
    EXPECT_EQ(error.summary(), "join: axis 2 of [2, 3] is int32, not float32: []");
    EXPECT_EQ(error.shapes(), (std::vector<Shape>{{2, 3}, {}}));
    EXPECT_EQ(error.dtypes(), (std::vector<DType>{DType::int32, DType::float32}));
    ASSERT_EQ(error.values().size(), 1u);
    EXPECT_EQ(error.values()[0].name, "axis");
    EXPECT_EQ(error.values()[0].value, 2);
    EXPECT_TRUE(error.lines().empty());
    EXPECT_EQ(error.remedy(), "");
  }
}

TEST(ErrorData, the_op_is_what_stands_first_whatever_it_contains) {
  const Error error(describe("{}: {}", "Dense \"a: b\"", "c: d"));
  EXPECT_EQ(error.op(), "Dense \"a: b\"");
  EXPECT_EQ(error.problem(), "c: d");
}

TEST(ErrorData, numbers_that_are_placed_by_index_keep_their_names) {
  const Error error(describe("{2}: index {1} at position {0}", 5, 7, "gather"));
  EXPECT_EQ(error.op(), "gather");
  ASSERT_EQ(error.values().size(), 2u);
  EXPECT_EQ(error.values()[0].name, "index");
  EXPECT_EQ(error.values()[0].value, 7);
  EXPECT_EQ(error.values()[1].name, "position");
  EXPECT_EQ(error.values()[1].value, 5);
}

TEST(ErrorData, the_text_is_the_problem_the_lines_the_details_and_the_remedy) {
  detail::ErrorRecord record = describe("f: it failed")
                                   .told({{"born", "a.cpp:1", "ones", "float32 [2]"},
                                          {"used", "a.cpp:20", "f"},
                                          {"holders", "many"}},
                                         "do not.");
  EXPECT_STREQ(Error(detail::ErrorRecord(record)).what(),
               "f: it failed\n"
               "\n"
               "  born      a.cpp:1     ones     float32 [2]\n"
               "  used      a.cpp:20    f\n"
               "  holders   many\n"
               "\n"
               "  do not.");
  record.kind = "DisposedError";
  record.lines.clear();
  record.details = {"  one\n    of two"};
  EXPECT_STREQ(Error(std::move(record)).what(),
               "DisposedError: f: it failed\n\n  one\n    of two\n\n  do not.");
}

TEST(ErrorData, whoever_it_passes_adds_a_line_and_its_kind_stays) {
  const auto fails = [] { raise<DtypeError>("cast: no dtype {}", DType::boolean); };
  const auto within = [&] {
    try {
      fails();
    } catch (Error& error) {
      error.add({"layer", "model.cpp:4", "Dense"});
      error.within("Dense \"head\"");
      throw;
    }
  };
  EXPECT_THROW(within(), DtypeError);
  EXPECT_EQ(text_of(within),
            "Dense \"head\": cast: no dtype bool\n\n  layer     model.cpp:4    Dense");
  const auto above = [&] {
    telling<DtypeError>([](Error& error) { error.advise("give it another."); }, within);
  };
  EXPECT_EQ(text_of(above).substr(text_of(within).size()), "\n\n  give it another.");
  const auto of_another_kind = [&] {
    telling<ShapeError>([](Error& error) { error.advise("give it another."); }, within);
  };
  EXPECT_EQ(text_of(of_another_kind), text_of(within));
}

TEST(ErrorData, a_line_that_is_added_stands_before_the_line_of_use) {
  ValueError error(describe("f: it failed").told({{"used", "a.cpp:2", "f"}}));
  error.add({"model", "a.cpp:1", "scorer"});
  ASSERT_EQ(error.lines().size(), 2u);
  EXPECT_EQ(error.lines()[0].label, "model");
  EXPECT_EQ(error.lines()[1].label, "used");
}

TEST(ErrorData, a_copy_keeps_what_it_was_told) {
  ValueError error(describe("f: it failed"));
  const ValueError copy = error;
  const std::string before = copy.what();
  error.add({"model", "a.cpp:1", "scorer"});
  EXPECT_EQ(copy.what(), before);
  EXPECT_NE(error.what(), before);
  const std::exception_ptr kept = std::make_exception_ptr(error);
  EXPECT_EQ(text_of([&] { std::rethrow_exception(kept); }), error.what());
}

TEST(ErrorData, an_error_of_the_users_own_is_its_text) {
  const IoError error("the disk is full: 3 of 4 blocks");
  EXPECT_EQ(error.op(), "");
  EXPECT_STREQ(error.what(), "the disk is full: 3 of 4 blocks");
}

}  // namespace
}  // namespace tenure
