#include "memory/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "memory/context.h"
#include "memory/events.h"
#include "memory/ledger.h"
#include "memory/pool.h"
#include "memory/text.h"

namespace tenure::detail {
namespace {

std::string_view name(Claim claim) {
  switch (claim) {
    case Claim::other:
      return "other";
    case Claim::saved_for_backward:
      return "saved for backward";
    case Claim::gradient:
      return "gradient";
    case Claim::layer_state:
      return "layer state";
    case Claim::optimizer_state:
      return "optimizer state";
    case Claim::parameter:
      return "parameter";
  }
  return "";
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
      const auto found = storages.find(header.storage);
      if (found == storages.end() || !found->second.only_small_views) return;
      if (found->second.view != header.id) return;
      views_.push_back(
          {fmt::format("{} (born {} {}) uses {} of the {} it holds", make_story(header).title(),
                       site_text(header.birth.site), header.birth.op,
                       bytes_text(header.layout.nbytes()), bytes_text(header.storage->nbytes)),
           header.storage->nbytes});
      storages.erase(found);
    });
    auto* list = list_functions.load();
    if (session == nullptr && list != nullptr) list(functions_);
  }

  std::string text() const {
    std::string text;
    text += section("views that hold more than they use", views_,
                    "keep a copy of such a view (v + 0) and drop the view.");
    std::vector<KeptBytes> tapes;
    tapes.reserve(tapes_.size());
    for (const auto& [tape, bytes] : tapes_) tapes.push_back({tape, bytes});
    text += section("saved by tapes for their gradients", tapes,
                    "call gradient(), or let the tape end; checkpoint() saves less.");
    text += section("kept by traced functions", functions_,
                    "most_traces and most_bytes bound what a function keeps.");
    return text;
  }

 private:
  static std::string section(const char* title, std::vector<KeptBytes> rows, const char* todo) {
    std::erase_if(rows, [](const KeptBytes& row) { return row.bytes == 0; });
    if (rows.empty()) return {};
    std::ranges::stable_sort(rows, std::ranges::greater(), &KeptBytes::bytes);
    constexpr std::size_t kMost = 3;
    std::string text = fmt::format("\n  {}:\n", title);
    for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
      text += fmt::format("  {:>12}  {}\n", bytes_text(rows[i].bytes), rows[i].text);
    }
    if (rows.size() > kMost) {
      std::size_t rest = 0;
      for (std::size_t i = kMost; i < rows.size(); ++i) rest += rows[i].bytes;
      text += fmt::format("  {:>12}  {} more\n", bytes_text(rest), rows.size() - kMost);
    }
    return text + fmt::format("    {}\n", todo);
  }

  std::vector<KeptBytes> views_, functions_;
  std::map<std::string, std::size_t> tapes_;
};

std::string given_back(const Shortage& shortage) {
  std::string text;
  if (shortage.pooled_given_back != 0) {
    text = fmt::format("{} of free memory", bytes_text(shortage.pooled_given_back));
  }
  if (shortage.forms_given_back != 0) {
    text += fmt::format("{}{} of prepared weights", text.empty() ? "" : " and ",
                        bytes_text(shortage.forms_given_back));
  }
  return text.empty() ? text : fmt::format("\n  given back before this failed: {}\n", text);
}

// Free blocks that are of other sizes, or beside blocks in use.
std::string not_usable() {
  const std::size_t pooled = pool({}).pooled_bytes();
  return pooled == 0 ? ""
                     : fmt::format("\n  free, but beside blocks in use: {}\n", bytes_text(pooled));
}

}  // namespace

void raise_out_of_memory(const Shortage& shortage) {
  const SessionState* session = shortage.session;
  const std::size_t budget =
      session != nullptr ? session->budget.load(std::memory_order_relaxed) : pool({}).budget();
  std::string text =
      fmt::format("OutOfMemoryError: allocate: {} requested", bytes_text(shortage.requested));
  if (budget != 0) {
    text += session != nullptr ? fmt::format(", the budget of {} is ", session_name(session))
                               : ", the memory budget is ";
    text += bytes_text(budget);
  }
  text += fmt::format(", {} live\n", bytes_text(live_bytes(session)));
  const std::vector<LargeHolder> largest = largest_holders(5, session);
  if (!largest.empty()) text += "\n  the largest live tensors:\n";
  std::vector<Story> stories;
  for (const LargeHolder& holder : largest) {
    const Story& story = holder.story;
    text += fmt::format("  {:>12}  {}, {}, born {} {}\n", bytes_text(holder.nbytes), story.title(),
                        name(holder.claim), site_text(story.birth.site), story.birth.op);
    stories.push_back(story);
  }
  text += Survey(session).text() + given_back(shortage);
  if (session == nullptr) text += not_usable();
  text += fmt::format("\n  dispose what is no longer needed, or wrap the step in a tidy{}.",
                      budget != 0 ? "; or raise the budget" : "");
  // An operation that is the user's own call is told of by raise_with_use, which knows its line.
  const UserCall& call = context().call;
  if (call.op != nullptr) events::raised(text, call.site);
  throw OutOfMemoryError(text, shortage.requested, budget, std::move(stories));
}

void raise_with_use(const OutOfMemoryError& error, std::source_location site, std::string_view op) {
  std::string text = error.what();
  const std::size_t end = text.find('\n');
  if (end != text.npos && text.find("\n  used ") == text.npos) {
    text.insert(end + 1, fmt::format("\n  used      {}    {}\n", site_text(site), op));
  }
  if (context().call.op == nullptr) events::raised(text, site);
  throw OutOfMemoryError(text, error.requested(), error.budget(), error.largest());
}

}  // namespace tenure::detail
