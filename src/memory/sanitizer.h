// What AddressSanitizer is told of memory that is not malloc's.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TENURE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENURE_ASAN 1
#endif
#endif

#if defined(TENURE_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif
