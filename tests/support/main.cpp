// Runs every test under the same watch: a tensor that outlives its test fails it, and so do bytes
// that no tensor accounts for, and a traced function whose plan lets two values share bytes.
#include <gtest/gtest.h>

#include "support/plans.h"
#include "tenure/create.h"
#include "tenure/gtest.h"
#include "tenure/memory.h"

namespace {

class LeakListener : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    check_ = tenure::LeakCheck();
    before_ = tenure::memory();
  }
  void OnTestEnd(const testing::TestInfo& info) override {
    if (info.result()->Skipped()) return;
    const tenure::MemoryInfo after = tenure::memory();
    EXPECT_NO_LEAKS(check_);
    EXPECT_EQ(after.live_bytes, before_.live_bytes) << "bytes are still live after the test";
    EXPECT_EQ(after.external_bytes, before_.external_bytes);
    EXPECT_EQ(after.workspace_bytes, 0u);
    EXPECT_EQ(after.live_bytes + after.slack_bytes + after.pooled_bytes, after.reserved_bytes);
  }

  tenure::LeakCheck check_;
  tenure::MemoryInfo before_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tenure::zeros({});  // the runtime is up before any test looks at its tables
  testing::UnitTest::GetInstance()->listeners().Append(new LeakListener);
  tenure::testing::check_every_plan();
  return RUN_ALL_TESTS();
}
