#include "memory/regions.h"

#include <algorithm>
#include <bit>
#include <memory>

namespace tenure::detail {
namespace {

// The first page from `page` on that is used, or free; kPages where there is none.
std::uint32_t next_page(const Region& region, std::uint32_t page, bool used) noexcept {
  while (page < Region::kPages) {
    const std::uint64_t word = used ? region.used[page / 64] : ~region.used[page / 64];
    const std::uint64_t rest = word >> (page % 64);
    if (rest != 0) return page + static_cast<std::uint32_t>(std::countr_zero(rest));
    page = (page / 64 + 1) * 64;
  }
  return Region::kPages;
}

// The first run of so many free pages; kPages where there is none.
std::uint32_t find_run(const Region& region, std::uint32_t pages) noexcept {
  std::uint32_t begin = next_page(region, 0, false);
  while (begin < Region::kPages) {
    const std::uint32_t end = next_page(region, begin, true);
    if (end - begin >= pages) return begin;
    begin = next_page(region, end, false);
  }
  return Region::kPages;
}

void mark(Region& region, std::uint32_t begin, std::uint32_t pages, bool used) noexcept {
  for (std::uint32_t page = begin; page < begin + pages; ++page) {
    const std::uint64_t bit = std::uint64_t{1} << (page % 64);
    region.used[page / 64] = used ? region.used[page / 64] | bit : region.used[page / 64] & ~bit;
  }
  region.used_pages = used ? region.used_pages + pages : region.used_pages - pages;
}

}  // namespace

Regions::Run Regions::take(std::uint32_t pages) {
  Region* region = open_.front;
  std::uint32_t begin = 0;
  for (; region != nullptr; region = region->next) {
    if (region->longest < pages) continue;
    begin = find_run(*region, pages);
    if (begin < Region::kPages) break;
    region->longest = pages - 1;
  }
  if (region == nullptr) {
    auto opened = std::make_unique<Region>();
    opened->base = source_.map(Region::kBytes);
    if (opened->base == nullptr) return {};
    region = opened.release();
    open_.push_front(*region);
    begin = 0;
  }
  mark(*region, begin, pages, true);
  if (region->used_pages == Region::kPages) open_.remove(*region);
  return {region->base + begin * kPage, region};
}

void Regions::give_back(Run run, std::uint32_t pages) noexcept {
  Region& region = *run.region;
  if (region.used_pages == Region::kPages) open_.push_front(region);
  mark(region, static_cast<std::uint32_t>((run.base - region.base) / kPage), pages, false);
  region.longest = Region::kPages;
  if (region.used_pages != 0) {
    source_.empty(run.base, pages * kPage);
    return;
  }
  open_.remove(region);
  source_.unmap(region.base, Region::kBytes);
  delete &region;
}

}  // namespace tenure::detail
