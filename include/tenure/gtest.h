// For tests written with GoogleTest; include <gtest/gtest.h> first.
//
//   tenure::LeakCheck leaks;
//   step();
//   EXPECT_NO_LEAKS(leaks);
#pragma once

#include "tenure/memory.h"

#define EXPECT_NO_LEAKS(check) EXPECT_TRUE((check).survivors().empty()) << (check).report()
#define ASSERT_NO_LEAKS(check) ASSERT_TRUE((check).survivors().empty()) << (check).report()
