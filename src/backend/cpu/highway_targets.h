// The instruction sets Highway code is compiled for: AVX-512, AVX2 and the compiler's baseline,
// which on arm64 is NEON and the only one. Include before any header of Highway. Each further one
// would cost a third of the compile time of every kernel and serve machines few have.
#pragma once

// Vectors of SVE have no size: they cannot be members or elements, as they are throughout.
#define TENURE_NO_SVE (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#ifdef __SANITIZE_ADDRESS__
// An overrun shows with the widest vectors or the narrowest.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3_DL | TENURE_NO_SVE)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | TENURE_NO_SVE)
#endif
