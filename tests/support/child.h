// The child of a fork, for tests of what works there.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "memory/sanitizer.h"

#if defined(__SANITIZE_THREAD__)
#define TENURE_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TENURE_TEST_TSAN 1
#endif
#endif

namespace tenure::testing {

// ThreadSanitizer ends a child that starts threads.
#if defined(TENURE_TEST_TSAN)
inline constexpr bool kCanFork = false;
#else
inline constexpr bool kCanFork = true;
#endif

// AddressSanitizer's allocator does not let go in a child of what other threads had locked.
#if defined(TENURE_ASAN)
inline constexpr bool kCanForkAmongThreads = false;
#else
inline constexpr bool kCanForkAmongThreads = kCanFork;
#endif

// Runs code in a child, which must come to its end without an error. One that hangs is ended by an
// alarm.
template <class F>
void in_child(F&& code) {
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(120);
    int status = 1;
    try {
      code();
      status = ::testing::Test::HasFailure() ? 2 : 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) {
    ADD_FAILURE() << "the child was ended by signal " << WTERMSIG(status)
                  << (WTERMSIG(status) == SIGALRM ? ": it hung" : "");
  } else {
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace tenure::testing
