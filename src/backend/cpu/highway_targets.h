// The instruction sets Highway code is compiled for: AVX-512, AVX2 and the compiler's baseline.
// Include before any header of Highway. Each further one would cost a third of the compile time of
// every kernel and serve machines few have.
#pragma once

#ifdef __SANITIZE_ADDRESS__
// An overrun shows with the widest vectors or the narrowest.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
