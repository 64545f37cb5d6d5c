// Runs built by hand: a program as a list of what it did, one microsecond after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/findings.h"
#include "report/run.h"

namespace tenure::report {

class MadeRun {
 public:
  MadeRun() {
    run_.strings.emplace_back();
    run_.program = "built";
    run_.version = "0";
    run_.whole_process = true;
  }

  struct Birth {
    std::string op = "op";
    std::uint64_t bytes = 4;
    std::string owner = {};
    Category category = Category::other;
    std::uint32_t view_of = kNone;  // a tensor
    bool is_symbolic = false;
    std::uint32_t thread = 0;
    std::string name = {};
    std::string shape = {};  // from the bytes
  };

  // An operation at a line, and the tensor it gives. Saved values come without an operation.
  std::uint32_t make(int line, Birth birth) {
    const std::uint32_t at = site(line);
    if (birth.owner.empty() && birth.view_of == kNone) op(line, birth.op, birth.bytes);
    TensorLife life;
    life.id = run_.tensors.size() + 1;
    life.op = string(birth.op);
    life.dtype = string("float32");
    life.shape =
        string(birth.shape.empty() ? "[" + std::to_string(birth.bytes / 4) + "]" : birth.shape);
    life.owner = string(birth.owner);
    life.name = string(birth.name);
    life.birth_site = at;
    life.nbytes = birth.bytes;
    life.born = tick();
    life.thread = birth.thread;
    life.scope = innermost("tidy");
    if (birth.view_of != kNone) {
      life.is_view = true;
      life.storage = run_.tensors[birth.view_of].storage;
      ++holders_[life.storage];
    } else if (!birth.is_symbolic) {
      life.storage = static_cast<std::uint32_t>(run_.storages.size());
      StorageLife storage;
      storage.nbytes = birth.bytes;
      storage.capacity = (birth.bytes + 63) / 64 * 64;
      storage.born = life.born;
      storage.categories.push_back({life.born, birth.category});
      storage.site = at;
      storage.op = life.op;
      run_.storages.push_back(storage);
      holders_[life.storage] = 1;
    }
    run_.tensors.push_back(life);
    return static_cast<std::uint32_t>(run_.tensors.size() - 1);
  }
  std::uint32_t make(int line) { return make(line, Birth{}); }

  void die(std::uint32_t tensor, const std::string& cause = "last_handle", int line = 0) {
    TensorLife& life = run_.tensors[tensor];
    if (life.died != kNever) return;
    life.died = tick();
    life.cause = string(cause);
    if (line != 0) life.death_site = site(line);
    if (life.storage != kNone && --holders_[life.storage] == 0) {
      run_.storages[life.storage].freed = life.died;
    }
  }
  void die(const std::vector<std::uint32_t>& tensors) {
    for (const std::uint32_t tensor : tensors) die(tensor);
  }

  void become(std::uint32_t tensor, Category category) {
    run_.storages[run_.tensors[tensor].storage].categories.push_back({tick(), category});
  }

  void op(int line, const std::string& name, std::uint64_t bytes = 0, std::int64_t duration = 500) {
    OpRun run;
    run.op = string(name);
    run.site = site(line);
    run.span = open_.empty() ? kNone : open_.back();
    run.begin = tick();
    run.duration = duration;
    run.bytes = bytes;
    run_.ops.push_back(run);
  }

  std::uint32_t begin(const std::string& kind, const std::string& name, int line,
                      std::uint64_t of = 0) {
    Span span;
    span.kind = string(kind);
    span.name = string(name);
    span.site = site(line);
    span.of = of;
    span.parent = open_.empty() ? kNone : open_.back();
    span.begin = tick();
    run_.spans.push_back(span);
    open_.push_back(static_cast<std::uint32_t>(run_.spans.size() - 1));
    return open_.back();
  }
  void end(std::uint32_t span) {
    run_.spans[span].end = tick();
    std::erase(open_, span);
  }

  struct Fault {
    std::string type;
    std::string op;
    std::string problem;
    std::string remedy = {};
  };
  void raise(int line, const Fault& fault, std::uint64_t tensor = 0) {
    run_.raised.push_back(
        {tick(), string(fault.type), string(fault.op), string(fault.problem), string(fault.remedy),
         string(fault.type + ": " + fault.op + ": " + fault.problem), site(line), tensor});
  }
  void use(std::uint32_t tensor) { run_.tensors[tensor].used = tick(); }
  void value(const std::string& name, std::uint64_t step, double value) {
    run_.values.push_back({string(name), tick(), step, value});
  }

  // Some work that leaves nothing behind.
  void work(int line, int times) {
    for (int i = 0; i < times; ++i) die(make(line));
  }

  Run& run() {
    run_.length = now_;
    run_.events = run_.tensors.size() + run_.ops.size() + run_.spans.size();
    return run_;
  }

  std::uint32_t string(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, is_new] = strings_.try_emplace(text, run_.strings.size());
    if (is_new) run_.strings.push_back(text);
    return at->second;
  }
  std::uint32_t site(int line) {
    const auto [at, is_new] = sites_.try_emplace(line, run_.sites.size());
    if (is_new) {
      run_.sites.push_back(
          {string("dir/prog.cpp"), static_cast<std::uint32_t>(line), string("main")});
    }
    return at->second;
  }

 private:
  std::int64_t tick() { return now_ += 1000; }
  std::uint32_t innermost(const std::string& kind) {
    for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
      if (run_.spans[*at].kind == string(kind)) return *at;
    }
    return kNone;
  }

  Run run_;
  std::int64_t now_ = 0;
  std::vector<std::uint32_t> open_;
  std::map<std::uint32_t, int> holders_;  // of storages
  std::map<std::string, std::uint32_t> strings_;
  std::map<int, std::uint32_t> sites_;
};

inline std::uint32_t line_of(const Run& run, const Finding& finding) {
  return run.sites.at(finding.site).line;
}

inline std::string texts(const std::vector<Finding>& found) {
  std::string text;
  for (const Finding& finding : found) text += finding.title + "\n";
  return text;
}

}  // namespace tenure::report
