#pragma once

#if defined(_WIN32)
#if defined(TENURE_BUILDING)
#define TENURE_API __declspec(dllexport)
#else
#define TENURE_API __declspec(dllimport)
#endif
#else
#define TENURE_API __attribute__((visibility("default")))
#endif
