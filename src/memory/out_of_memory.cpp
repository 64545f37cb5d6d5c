#include "memory/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/category.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/ledger.h"
#include "memory/pool.h"
#include "memory/text.h"
#include "memory/user_site.h"

namespace tenure::detail {
namespace {

std::string words(Category category) {
  std::string text(name(category));
  std::ranges::replace(text, '_', ' ');
  return text;
}

// What is held, by kinds of holders that could let go of it.
class Survey {
 public:
  explicit Survey(const SessionState* session) {
    struct Held {
      bool only_small_views = true;
      std::uint64_t view = 0;  // one of them
    };
    std::unordered_map<const Storage*, Held> storages;
    std::map<std::string, std::unordered_set<const Storage*>> of_tapes;
    for_each_holder([&](Header& header) {
      if (!is_charged_to(session, *header.storage)) return;
      Held& held = storages[header.storage];
      const bool small = header.layout.nbytes() < header.storage->nbytes;
      held.only_small_views = held.only_small_views && small;
      held.view = header.id;
      if (header.role != Role::saved || !header.owner || header.owner->kind != "tape") return;
      const std::string tape = fmt::format("{} (made {})", label_text(*header.owner.get()),
                                           site_text(header.owner->site));
      if (of_tapes[tape].insert(header.storage).second) tapes_[tape] += header.storage->nbytes;
    });
    // Again, so that each is held while its story is told.
    for_each_holder([&](Header& header) {
      const auto entry = storages.find(header.storage);
      if (entry == storages.end() || !entry->second.only_small_views) return;
      if (entry->second.view != header.id) return;
      views_.push_back(
          {fmt::format("{} (born {} {}) uses {} of the {} it holds", make_story(header).title(),
                       site_text(header.birth.site), header.birth.op,
                       bytes_text(header.layout.nbytes()), bytes_text(header.storage->nbytes)),
           header.storage->nbytes});
      storages.erase(entry);
    });
    auto* list = list_functions.load();
    if (session == nullptr && list != nullptr) list(functions_);
  }

  void tell(std::vector<std::string>& paragraphs) const {
    add(paragraphs, "views that hold more than they use", views_,
        "keep a copy of such a view (v + 0) and drop the view.");
    std::vector<KeptBytes> tapes;
    tapes.reserve(tapes_.size());
    for (const auto& [tape, bytes] : tapes_) tapes.push_back({tape, bytes});
    add(paragraphs, "saved by tapes for their gradients", tapes,
        "call gradient(), or let the tape end; checkpoint() saves less.");
    add(paragraphs, "kept by traced functions", functions_,
        "most_traces and most_bytes bound what a function keeps.");
  }

 private:
  static void add(std::vector<std::string>& paragraphs, const char* title,
                  std::vector<KeptBytes> rows, const char* todo) {
    std::erase_if(rows, [](const KeptBytes& row) { return row.bytes == 0; });
    if (rows.empty()) return;
    std::ranges::stable_sort(rows, std::ranges::greater(), &KeptBytes::bytes);
    constexpr std::size_t kMost = 3;
    std::string text = fmt::format("  {}:\n", title);
    for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
      text += fmt::format("  {:>12}  {}\n", bytes_text(rows[i].bytes), rows[i].text);
    }
    if (rows.size() > kMost) {
      std::size_t rest = 0;
      for (std::size_t i = kMost; i < rows.size(); ++i) rest += rows[i].bytes;
      text += fmt::format("  {:>12}  {} more\n", bytes_text(rest), rows.size() - kMost);
    }
    paragraphs.push_back(text + fmt::format("    {}", todo));
  }

  std::vector<KeptBytes> views_, functions_;
  std::map<std::string, std::size_t> tapes_;
};

constexpr const char* kOutOfMemory = "OutOfMemoryError";

std::string given_back(const Shortage& shortage) {
  std::string text;
  if (shortage.pooled_given_back != 0) {
    text = fmt::format("{} of free memory", bytes_text(shortage.pooled_given_back));
  }
  if (shortage.forms_given_back != 0) {
    text += fmt::format("{}{} of forms of weights", text.empty() ? "" : " and ",
                        bytes_text(shortage.forms_given_back));
  }
  return text;
}

}  // namespace

void raise_out_of_memory(const Shortage& shortage) {
  const SessionState* session = shortage.session;
  const std::size_t budget =
      session != nullptr ? session->budget.load(std::memory_order_relaxed) : pool({}).budget();
  ErrorRecord record = describe("allocate: {} requested", bytes_text(shortage.requested));
  record.kind = kOutOfMemory;
  if (budget != 0) {
    record.problem += session != nullptr
                          ? fmt::format(", the budget of {} is ", session_name(session))
                          : ", the memory budget is ";
    record.problem += bytes_text(budget);
  }
  record.problem += fmt::format(", {} live", bytes_text(live_bytes(session)));
  std::string list;
  std::vector<Story> stories;
  for (const LargeHolder& holder : largest_holders(5, session)) {
    const Story& story = holder.story;
    list += fmt::format("\n  {:>12}  {}, {}, born {} {}", bytes_text(holder.nbytes), story.title(),
                        words(holder.claim), site_text(story.birth.site), story.birth.op);
    stories.push_back(story);
  }
  if (!list.empty()) record.details.push_back(fmt::format("  the largest live tensors:{}", list));
  Survey(session).tell(record.details);
  if (const std::string text = given_back(shortage); !text.empty()) {
    record.details.push_back(fmt::format("  given back before this failed: {}", text));
  }
  // Free blocks that are of other sizes, or beside blocks in use.
  const std::size_t pooled = session == nullptr ? pool({}).pooled_bytes() : 0;
  if (pooled != 0)
    record.details.push_back(
        fmt::format("  free, but beside blocks in use: {}", bytes_text(pooled)));
  record.remedy = fmt::format("dispose what is no longer needed, or wrap the step in a tidy{}.",
                              budget != 0 ? "; or raise the budget" : "");
  OutOfMemoryError error(std::move(record), shortage.requested, budget, std::move(stories));
  // An operation that is the user's own call is told of by add_use, which knows its name.
  const UserCall& call = context().call;
  if (call.op != nullptr) events::raised(error, kOutOfMemory, call.site, 0);
  throw OutOfMemoryError(std::move(error));
}

void add_use(OutOfMemoryError& error, std::source_location site, std::string_view op) {
  const auto& lines = error.lines();
  if (!lines.empty() && lines.back().what != error.op()) return;
  edit(error, [&](ErrorRecord& record) { record.lines = {used_line(site, std::string(op))}; });
  events::raised(error, kOutOfMemory, user_site(site), 0);
}

}  // namespace tenure::detail
