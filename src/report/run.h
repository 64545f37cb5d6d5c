// A recorded run as plain data, put in order of time: what a reader makes of a trace file, and all
// that the tables, the page and the checks look at.
//
// Everything refers to everything else by index into these vectors; kNone stands for no such thing.
// Times are nanoseconds since the recording began.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/category.h"

namespace tenure::report {

inline constexpr std::uint32_t kNone = 0xffffffff;
inline constexpr std::int64_t kNever = -1;

struct Site {              // a line of the user's program
  std::uint32_t file = 0;  // index into strings: as the compiler was given it
  std::uint32_t line = 0;
  std::uint32_t function = 0;  // index into strings
};

// A tensor, or (when `owner` is not empty) a value saved for later on behalf of its owner.
struct TensorLife {
  std::uint64_t id = 0;
  std::uint32_t name = 0;   // strings; 0 is ""
  std::uint32_t op = 0;     // strings
  std::uint32_t dtype = 0;  // strings
  std::uint32_t shape = 0;  // strings: "[32, 10]"
  std::uint32_t owner = 0;  // strings: tape "step", variable "w"; 0 for a tensor
  std::uint32_t birth_site = kNone;
  std::uint32_t storage = kNone;  // kNone: a symbolic tensor
  std::uint32_t scope = kNone;    // spans: the innermost tidy at birth
  std::uint32_t thread = 0;
  std::uint64_t nbytes = 0;  // its own; a view's are fewer than its storage's
  std::int64_t born = 0;
  std::int64_t died = kNever;  // kNever: alive when the recording ended
  std::int64_t used = kNever;  // for the last time; kNever: it is not told
  std::uint32_t cause = 0;     // strings: "scope_exit"; 0 while alive
  std::uint32_t death_site = kNone;
  std::uint32_t death_by = 0;  // strings: tidy "step" ended
  bool is_view = false;        // over the storage of another tensor
  bool reused = false;         // took over the storage of an input that died for it
  bool before = false;         // lived already when the recording began
};

struct CategoryChange {
  std::int64_t time = 0;
  Category category = Category::other;
};

struct StorageLife {
  std::uint64_t nbytes = 0;
  std::uint64_t capacity = 0;  // of its block: what rounding adds is slack
  std::int64_t born = 0;
  std::int64_t freed = kNever;
  std::vector<CategoryChange> categories;  // the first at birth
  std::uint32_t site = kNone;              // whose call asked for it
  std::uint32_t op = 0;                    // strings
};

// Something with a beginning and an end: "tidy", "tape", "trace", "call", "fit", "epoch", "step",
// "predict", or a user's own.
struct Span {
  std::uint32_t kind = 0;  // strings
  std::uint32_t name = 0;  // strings
  std::uint32_t site = kNone;
  std::uint32_t parent = kNone;  // spans, on the same thread
  std::uint32_t thread = 0;
  std::int64_t begin = 0;
  std::int64_t end = kNever;
  std::uint64_t of = 0;  // which of the functions with its name; 0: not told
};

struct OpRun {
  std::uint32_t op = 0;  // strings
  std::uint32_t site = kNone;
  std::uint32_t span = kNone;  // innermost
  std::uint32_t thread = 0;
  std::int64_t begin = 0;
  std::int64_t duration = 0;
  std::uint64_t bytes = 0;  // of its results
};

struct PoolPoint {  // whenever the pool grew or shrank
  std::int64_t time = 0;
  std::uint64_t reserved = 0;
  std::uint64_t pooled = 0;
};

struct Value {             // a loss or a metric
  std::uint32_t name = 0;  // strings
  std::int64_t time = 0;
  std::uint64_t step = 0;
  double value = 0;
};

// An error about the life of something was raised: the place of use, its parts, and it in words.
struct Raised {
  std::int64_t time = 0;
  std::uint32_t type = 0;  // strings, as all that follow: the class
  std::uint32_t op = 0;
  std::uint32_t problem = 0;
  std::uint32_t remedy = 0;
  std::uint32_t text = 0;  // all of it
  std::uint32_t site = kNone;
  std::uint64_t tensor = 0;  // its id; one that no tensor has when it was none
};

enum class Language : std::uint8_t { cpp, javascript };  // of the program that was recorded

struct Run {
  std::string program;  // as it was started
  std::string version;  // of the library
  Language language = Language::cpp;
  std::int64_t started = 0;  // nanoseconds since 1970
  std::int64_t length = 0;   // time of the last event
  std::uint64_t events = 0;
  bool cut_short = false;      // the program ended without closing the recording
  bool whole_process = false;  // it was closed by the end of the process, when all locals had died
  std::uint64_t budget = 0;
  std::vector<std::string> strings;  // strings[0] is ""
  std::vector<Site> sites;
  std::vector<TensorLife> tensors;    // by birth
  std::vector<StorageLife> storages;  // by birth
  std::vector<Span> spans;            // by beginning
  std::vector<OpRun> ops;             // by beginning
  std::vector<PoolPoint> pool;
  std::vector<Value> values;
  std::vector<Raised> raised;
};

// IoError when it is no trace file or is damaged; a file that ends in the middle is read as far as
// it goes.
Run read_run(const std::filesystem::path& file);
// Whether it begins as a trace file does; false where it cannot be read.
bool is_recording(const std::filesystem::path& file);

}  // namespace tenure::report
