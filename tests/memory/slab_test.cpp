#include "memory/slab.h"

#include <thread>
#include <vector>

#include "memory/header.h"
#include "support/expect.h"

namespace tenure {
namespace {

// Its own type, and so a slab of its own.
struct Object {
  static constexpr std::uint32_t kLook = 1;
  std::atomic<std::uint32_t> handles{0};
  int number = 7;
  std::byte more[200];
  Object* next_free = nullptr;
};

using Objects = detail::Slab<Object>;

Object* made(int number) {
  Object* object = Objects::instance().allocate();
  object->number = number;
  object->handles.store(1, std::memory_order_release);
  return object;
}

void drop(Object* object) {
  object->number = 7;
  object->handles.store(0, std::memory_order_relaxed);
  Objects::instance().free(object);
}

std::vector<int> listed() {
  std::vector<int> numbers;
  Objects::instance().for_each_live([&](Object& object) { numbers.push_back(object.number); },
                                    [](Object* object) { object->handles.fetch_sub(1); });
  return numbers;
}

TEST(Slab, a_thread_that_only_frees_keeps_nothing_when_it_ends) {
  const std::size_t before = Objects::instance().in_use();
  std::vector<Object*> objects;
  for (int i = 0; i < 50; ++i) objects.push_back(made(i));
  std::jthread([&] {
    for (Object* object : objects) drop(object);
  }).join();
  EXPECT_EQ(Objects::instance().in_use(), before);
}

TEST(Slab, lists_what_lives_among_chunks_whose_pages_are_gone) {
  std::vector<Object*> objects;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100000; ++i) objects.push_back(made(i));
    std::vector<int> kept;
    std::vector<Object*> left;
    for (int i = 0; i < 100000; ++i) {
      Object* object = objects[static_cast<std::size_t>(i)];
      if (i % 9999 == 0) {
        kept.push_back(object->number);
        left.push_back(object);
      } else {
        drop(object);
      }
    }
    Objects::instance().trim();
    std::vector<int> numbers = listed();
    std::ranges::sort(numbers);
    EXPECT_EQ(numbers, kept);
    for (Object* object : left) drop(object);
    objects.clear();
    EXPECT_TRUE(listed().empty());
  }
}

TEST(Slab, an_object_is_as_its_last_owner_left_it_or_new) {
  std::vector<Object*> objects;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 50000; ++i) {
      Object* object = Objects::instance().allocate();
      ASSERT_EQ(object->number, 7);
      ASSERT_EQ(object->handles.load(), 0u);
      objects.push_back(object);
    }
    for (Object* object : objects) Objects::instance().free(object);
    objects.clear();
  }
}

TEST(Slab, a_listing_may_drop_all_that_it_shows) {
  std::vector<Object*> objects;
  for (int i = 0; i < 60000; ++i) objects.push_back(made(i));
  std::size_t shown = 0;
  Objects::instance().for_each_live(
      [&](Object& object) {
        ++shown;
        object.handles.fetch_sub(1);  // its owner's
      },
      [](Object* object) {
        if (object->handles.fetch_sub(1) == 1) drop(object);
      });
  EXPECT_EQ(shown, objects.size());
  EXPECT_TRUE(listed().empty());
}

}  // namespace
}  // namespace tenure
