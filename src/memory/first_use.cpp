// The first use of a function's static, in the child of a fork too.
//
// The compiler has one thread make such a static while others wait. In the child of a process in
// which another thread was making one nobody ever would be done with it: the first who asks would
// wait for ever. So the functions that the compiler calls around an initialiser are the library's
// own, hidden from others: they wait at a Mutex, which a child takes over from a thread it does not
// have, and makes the static anew. Making all of them when the library is loaded was the other way;
// it would have to name each, and those to come.
#include <atomic>
#include <cstdint>

#include "memory/fork.h"

// ThreadSanitizer brings its own, and knows no threads after a fork.
#if defined(__SANITIZE_THREAD__)
#define TENURE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TENURE_TSAN 1
#endif
#endif

#if !defined(TENURE_TSAN)
namespace {

// What stands in the 64 bits that the compiler sets aside; it reads the first byte itself.
struct Guard {
  std::atomic<std::uint8_t> is_made;
  tenure::detail::Mutex making;
};
static_assert(sizeof(Guard) == sizeof(std::int64_t));

Guard& guard_in(std::int64_t* bits) { return *reinterpret_cast<Guard*>(bits); }

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

[[gnu::visibility("hidden")]] int __cxa_guard_acquire(std::int64_t* bits) {
  Guard& guard = guard_in(bits);
  if (guard.is_made.load(std::memory_order_acquire) != 0) return 0;
  guard.making.lock();
  if (guard.is_made.load(std::memory_order_relaxed) == 0) return 1;
  guard.making.unlock();
  return 0;
}

[[gnu::visibility("hidden")]] void __cxa_guard_release(std::int64_t* bits) {
  Guard& guard = guard_in(bits);
  guard.is_made.store(1, std::memory_order_release);
  guard.making.unlock();
}

[[gnu::visibility("hidden")]] void __cxa_guard_abort(std::int64_t* bits) {
  guard_in(bits).making.unlock();
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
#endif
