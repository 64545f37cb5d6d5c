// Runs for tests: code recorded to a file and read back.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "report/names.h"
#include "report/run.h"
#include "support/expect.h"
#include "tenure/recording.h"

namespace tenure::testing {

// What is true of every run: things begin before they end, and bytes are there for as long as
// somebody holds them.
inline void expect_consistent(const report::Run& run) {
  for (const report::StorageLife& bytes : run.storages) {
    ASSERT_TRUE(bytes.freed == report::kNever || bytes.freed >= bytes.born);
    ASSERT_EQ(bytes.categories.at(0).time, bytes.born);
  }
  for (const report::TensorLife& life : run.tensors) {
    ASSERT_TRUE(life.died == report::kNever || life.died >= life.born);
    ASSERT_EQ(life.died == report::kNever, life.cause == 0);
    if (life.storage == report::kNone) continue;
    const report::StorageLife& bytes = run.storages.at(life.storage);
    ASSERT_LE(bytes.born, life.born);
    if (bytes.freed == report::kNever) continue;
    ASSERT_NE(life.died, report::kNever);
    ASSERT_LE(life.died, bytes.freed);
  }
  for (const report::Span& span : run.spans) {
    ASSERT_TRUE(span.end == report::kNever || span.end >= span.begin);
    ASSERT_LE(span.parent == report::kNone ? 0 : run.spans.at(span.parent).begin, span.begin);
  }
}

// Removed at the end of the test.
class Recorded : public ::testing::Test {
 protected:
  Recorded() {
    std::string name = (std::filesystem::temp_directory_path() / "tenure-run-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Recorded() override { std::filesystem::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  report::Run record(const std::function<void()>& code) const {
    const std::string path = at("run.tenure");
    {
      const Recording recording(path);
      code();
    }
    report::Run run = report::read_run(path);
    expect_consistent(run);
    return run;
  }

 private:
  std::string folder_;
};

inline const std::string& text(const report::Run& run, std::uint32_t string) {
  return run.strings.at(string);
}

inline std::uint32_t line(const report::Run& run, std::uint32_t site) {
  return site == report::kNone ? 0 : run.sites.at(site).line;
}

inline std::string file(const report::Run& run, std::uint32_t site) {
  const std::string path = site == report::kNone ? "" : text(run, run.sites.at(site).file);
  return path.substr(path.find_last_of('/') + 1);
}

// The lives of tensors (not of saved values) with this name.
inline std::vector<report::TensorLife> named(const report::Run& run, const std::string& name) {
  std::vector<report::TensorLife> found;
  for (const report::TensorLife& life : run.tensors) {
    if (life.owner == 0 && text(run, life.name) == name) found.push_back(life);
  }
  return found;
}

inline std::vector<report::Span> spans(const report::Run& run, const std::string& kind) {
  std::vector<report::Span> found;
  for (const report::Span& span : run.spans) {
    if (text(run, span.kind) == kind) found.push_back(span);
  }
  return found;
}

inline std::vector<report::Value> values(const report::Run& run, const std::string& name) {
  std::vector<report::Value> found;
  for (const report::Value& value : run.values) {
    if (text(run, value.name) == name) found.push_back(value);
  }
  return found;
}

// Bytes of all storages that were alive at a moment.
inline std::uint64_t live_at(const report::Run& run, std::int64_t time) {
  std::uint64_t bytes = 0;
  for (const report::StorageLife& life : run.storages) {
    if (life.born <= time && (life.freed == report::kNever || life.freed > time)) {
      bytes += life.nbytes;
    }
  }
  return bytes;
}

}  // namespace tenure::testing
