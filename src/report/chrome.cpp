#include "report/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <unordered_map>
#include <vector>

#include "io/json_text.h"
#include "report/names.h"
#include "report/timeline.h"

namespace tenure::report {
namespace {

constexpr std::size_t kMostCounters = 50'000;  // more moments than that are thinned out
constexpr std::size_t kMostDeaths = 1'000;
constexpr std::uint64_t kLargeBytes = 64 * 1024;

std::string json_string(std::string_view text) {
  std::string json;
  std::string sound(text);
  if (!io::is_utf8(sound)) {
    for (char& c : sound) {
      if ((static_cast<unsigned char>(c) & 0x80) != 0) c = '?';
    }
  }
  io::append_json_string(json, sound);
  return json;
}

// Microseconds, to the nanosecond.
std::string ts(std::int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) { out_ << "{\"traceEvents\":[\n"; }
  void add(std::string_view event) {
    out_ << (is_first_ ? "{" : ",\n{") << event << "}";
    is_first_ = false;
  }
  void end(const Run& run) {
    out_ << fmt::format(
        "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{{\"program\":{},"
        "\"tenure\":{}}}}}\n",
        json_string(run.program), json_string(run.version));
  }

 private:
  std::ostream& out_;
  bool is_first_ = true;
};

std::string where(const Run& run, std::uint32_t site) {
  return fmt::format("\"site\":{}", json_string(site_path(run, site)));
}

// Complete events of one thread must nest. Spans and operations in order of their beginnings, the
// longer first; one that ends after what it began in is none of them.
void add_threads(const Run& run, Events& events) {
  struct Item {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t index;
    bool is_op;
  };
  std::unordered_map<std::uint32_t, std::vector<Item>> threads;
  for (std::uint32_t i = 0; i < run.spans.size(); ++i) {
    const Span& span = run.spans[i];
    const std::int64_t end = span.end == kNever ? run.length : span.end;
    threads[span.thread].push_back({span.begin, std::max(end, span.begin), i, false});
  }
  for (std::uint32_t i = 0; i < run.ops.size(); ++i) {
    const OpRun& op = run.ops[i];
    threads[op.thread].push_back({op.begin, op.begin + op.duration, i, true});
  }
  for (auto& [thread, items] : threads) {
    events.add(
        fmt::format("\"ph\":\"M\",\"pid\":1,\"tid\":{0},\"name\":\"thread_name\","
                    "\"args\":{{\"name\":\"thread {0}\"}}",
                    thread));
    std::ranges::stable_sort(items, [](const Item& a, const Item& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<std::int64_t> open;
    for (const Item& item : items) {
      while (!open.empty() && open.back() <= item.begin && open.back() < item.end) open.pop_back();
      const bool nests = open.empty() || item.end <= open.back();
      std::string text;
      if (item.is_op) {
        const OpRun& op = run.ops[item.index];
        text = fmt::format("\"name\":{},\"cat\":\"op\",\"args\":{{\"bytes\":{},{}}}",
                           json_string(text_of(run, op.op)), op.bytes, where(run, op.site));
      } else {
        const Span& span = run.spans[item.index];
        text = fmt::format("\"name\":{},\"cat\":{},\"args\":{{{}}}",
                           json_string(span_text(run, item.index)),
                           json_string(text_of(run, span.kind)), where(run, span.site));
      }
      if (nests) {
        open.push_back(item.end);
        events.add(fmt::format("\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},{}", thread,
                               ts(item.begin), ts(item.end - item.begin), text));
      } else {
        const std::string id = fmt::format("{}{}", item.is_op ? "op" : "span", item.index);
        events.add(fmt::format("\"ph\":\"b\",\"pid\":1,\"tid\":{},\"ts\":{},\"id\":\"{}\",{}",
                               thread, ts(item.begin), id, text));
        events.add(fmt::format("\"ph\":\"e\",\"pid\":1,\"tid\":{},\"ts\":{},\"id\":\"{}\",{}",
                               thread, ts(item.end), id, text));
      }
    }
  }
}

void add_counters(const Run& run, Events& events) {
  const Timeline timeline(run);
  const auto add = [&](const Moment& moment) {
    std::string args;
    for (std::size_t i = 0; i < kCategories; ++i) {
      args += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", name(static_cast<Category>(i)),
                          moment.live[static_cast<std::size_t>(i)]);
    }
    events.add(
        fmt::format("\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":\"live bytes\",\"args\":{{{}}}",
                    ts(moment.time), args));
  };
  if (timeline.moments().size() <= kMostCounters) {
    for (const Moment& moment : timeline.moments()) add(moment);
  } else {
    for (const Moment& moment : timeline.parts(kMostCounters)) add(moment);
    add(timeline.end());
  }
  for (const PoolPoint& point : run.pool) {
    events.add(
        fmt::format("\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":\"pool\",\"args\":{{"
                    "\"reserved\":{},\"pooled\":{}}}",
                    ts(point.time), point.reserved, point.pooled));
  }
  for (const Value& value : run.values) {
    // JSON has no NaN.
    if (!(value.value - value.value == 0)) continue;
    events.add(fmt::format("\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":{},\"args\":{{\"value\":{}}}",
                           ts(value.time), json_string(text_of(run, value.name)), value.value));
  }
}

void add_instants(const Run& run, Events& events) {
  for (const Raised& raised : run.raised) {
    events.add(
        fmt::format("\"ph\":\"i\",\"pid\":1,\"tid\":0,\"s\":\"p\",\"ts\":{},\"name\":{},"
                    "\"cat\":\"error\",\"args\":{{\"text\":{},{}}}",
                    ts(raised.time), json_string(text_of(run, raised.type)),
                    json_string(text_of(run, raised.text)), where(run, raised.site)));
  }
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const TensorLife& life = run.tensors[i];
    if (life.died != kNever && life.owner == 0 && !life.is_view && life.nbytes >= kLargeBytes) {
      large.push_back(i);
    }
  }
  const auto bytes = [&](std::uint32_t i) { return run.tensors[i].nbytes; };
  std::ranges::stable_sort(large, std::greater<>(), bytes);
  if (large.size() > kMostDeaths) large.resize(kMostDeaths);
  for (const std::uint32_t i : large) {
    const TensorLife& life = run.tensors[i];
    events.add(fmt::format(
        "\"ph\":\"i\",\"pid\":1,\"tid\":{},\"s\":\"t\",\"ts\":{},\"name\":{},"
        "\"cat\":\"death\",\"args\":{{\"tensor\":{},\"bytes\":{},\"cause\":{},"
        "{}}}",
        life.thread, ts(life.died), json_string(fmt::format("{} died", text_of(run, life.op))),
        json_string(tensor_text(run, i)), life.nbytes, json_string(text_of(run, life.cause)),
        where(run, life.birth_site)));
  }
}

}  // namespace

void write_chrome_trace(const Run& run, std::ostream& out) {
  Events events(out);
  events.add(
      fmt::format("\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{{\"name\":{}}}",
                  json_string(run.program)));
  add_threads(run, events);
  add_counters(run, events);
  add_instants(run, events);
  events.end(run);
}

}  // namespace tenure::report
