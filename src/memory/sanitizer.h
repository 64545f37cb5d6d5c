// What AddressSanitizer and LeakSanitizer are told of memory that is not malloc's.
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
#include <sanitizer/lsan_interface.h>
// What the objects there point at is reachable.
#define LSAN_REGISTER_ROOT_REGION(address, size) __lsan_register_root_region(address, size)
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define LSAN_REGISTER_ROOT_REGION(address, size) ((void)(address), (void)(size))
#endif
