// That every line which a story, an error or a recording names is one of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <source_location>
#include <string>
#include <vector>

#include "report/recorded.h"
#include "tenure/tenure.h"

namespace tenure::testing {

// Places of the form file:line, and "(unknown)", that are none of that file.
inline std::vector<std::string> foreign_lines(const std::string& text, const std::string& file) {
  static const std::regex place(R"(([A-Za-z0-9_.+-]+\.(?:cpp|h|hpp|cc)):\d+|\(unknown\))");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), place), end; at != end; ++at) {
    if ((*at)[1].str() != file) found.push_back(at->str());
  }
  return found;
}

// `test` is where the tests are: every line must be one of that file.
class UserLinesOf : public Recorded {
 protected:
  explicit UserLinesOf(std::source_location test)
      : file_(std::filesystem::path(test.file_name()).filename()) {}
  // Runs what may fail with one of the library's errors; every line in it is one of the file.
  bool failed(const char* what, const std::function<void()>& code) {
    try {
      code();
      return false;
    } catch (const Error& error) {
      for (const std::string& line : foreign_lines(error.what(), file_)) {
        ADD_FAILURE() << what << " tells of " << line << ":\n" << error.what();
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
    return true;
  }
  void fails(const char* what, const std::function<void()>& code) {
    EXPECT_TRUE(failed(what, code)) << what << ": nothing was thrown";
  }
  // Dies with a story.
  void tells(const char* what, const Tensor& tensor) {
    if (!tensor.defined()) return;
    for (const std::string& line : foreign_lines(tensor.story().text(), file_)) {
      ADD_FAILURE() << what << " tells of " << line << ":\n" << tensor.story().text();
    }
  }
  void tells(const char* what, const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) tells(what, tensor);
  }
  // Every event of a recording that has a place has one in this file.
  void expect_ours(const report::Run& run) {
    std::map<std::string, int> foreign;
    const auto check = [&](const char* what, std::uint32_t site, const std::string& op) {
      if (site == report::kNone) {
        ++foreign[std::string(what) + " nowhere, " + op];
        return;
      }
      if (file(run, site) == file_) return;
      ++foreign[std::string(what) + " " + file(run, site) + ":" + std::to_string(line(run, site)) +
                ", " + op];
    };
    for (const report::TensorLife& life : run.tensors) {
      if (life.before) continue;
      check("born", life.birth_site,
            text(run, life.op) + " " + text(run, life.shape) + " " + text(run, life.owner));
      if (life.death_site != report::kNone) check("died", life.death_site, text(run, life.cause));
    }
    for (const report::OpRun& op : run.ops) check("ran", op.site, text(run, op.op));
    for (const report::Span& span : run.spans) {
      check("span", span.site, text(run, span.kind) + " " + text(run, span.name));
    }
    for (const report::Raised& raised : run.raised) check("raised", raised.site, "");
    for (const auto& [what, times] : foreign) ADD_FAILURE() << times << " times: " << what;
  }
  report::Run recorded(const std::function<void()>& code) {
    report::Run run = record(code);
    EXPECT_GT(run.tensors.size(), 0u);
    expect_ours(run);
    return run;
  }

 private:
  std::string file_;
};

}  // namespace tenure::testing
