// Parts of mappings, down to kPage, which may be less than a page of the system's.
#include "memory/pages.h"

#include <algorithm>
#include <span>

#include "support/expect.h"

namespace tenure {
namespace {

using detail::kPage;

constexpr std::size_t kMappedPages = 64;

bool is_all(const std::byte* at, std::size_t bytes, int value) {
  return std::ranges::all_of(std::span(at, bytes),
                             [=](std::byte b) { return b == std::byte(value); });
}

TEST(Pages, EmptyingSomeLeavesWhatIsBesideThem) {
  for (const std::size_t count : {1, 3, 16, 17, 40}) {
    for (const std::size_t first : {0, 1, 15, 16}) {
      std::byte* base = detail::map_pages(kMappedPages * kPage);
      ASSERT_NE(base, nullptr);
      std::fill_n(base, kMappedPages * kPage, std::byte{1});
      detail::empty_pages(base + first * kPage, count * kPage);
      EXPECT_TRUE(is_all(base, first * kPage, 1)) << first << " " << count;
      EXPECT_TRUE(is_all(base + first * kPage, count * kPage, 0)) << first << " " << count;
      const std::size_t end = first + count;
      EXPECT_TRUE(is_all(base + end * kPage, (kMappedPages - end) * kPage, 1)) << end;
      detail::unmap_pages(base, kMappedPages * kPage);
    }
  }
}

TEST(Pages, WhatIsMadeSmallerAndLargerAgainHasZerosThere) {
  for (const std::size_t kept : {1, 15, 16, 17}) {
    std::byte* base = detail::map_pages(kMappedPages * kPage);
    ASSERT_NE(base, nullptr);
    std::fill_n(base, kMappedPages * kPage, std::byte{1});
    base = detail::resize_pages(base, kMappedPages * kPage, kept * kPage);
    base = detail::resize_pages(base, kept * kPage, kMappedPages * kPage);
    ASSERT_NE(base, nullptr);
    EXPECT_TRUE(is_all(base, kept * kPage, 1)) << kept;
    EXPECT_TRUE(is_all(base + kept * kPage, (kMappedPages - kept) * kPage, 0)) << kept;
    detail::unmap_pages(base, kMappedPages * kPage);
  }
}

}  // namespace
}  // namespace tenure
