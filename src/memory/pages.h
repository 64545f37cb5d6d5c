// Pages of the host, as the system gives and takes them.
#pragma once

#include <atomic>
#include <cstddef>

namespace tenure::detail {

inline constexpr std::size_t kPage = 4096;

// Zeroed; nullptr when there are none to be had. From 2 MiB on aligned to a huge page, and advised
// to be made of such.
std::byte* map_pages(std::size_t bytes) noexcept;
void unmap_pages(std::byte* base, std::size_t bytes) noexcept;
// As map_pages of `to`, with the contents and the memory of the first pages of `from`, which are
// then no longer there; nullptr, and all as it was, when there is no memory.
std::byte* resize_pages(std::byte* base, std::size_t from, std::size_t to) noexcept;
// Takes the memory and leaves the addresses, which read as zeros.
void empty_pages(std::byte* base, std::size_t bytes) noexcept;

// For objects that stay at their addresses for as long as the process lives, aligned to `bytes`, a
// power of two. Throws std::bad_alloc.
std::byte* map_objects(std::size_t bytes);

// Tests only: while it is set, there are no pages for objects.
inline std::atomic<bool> no_object_pages{false};

}  // namespace tenure::detail
