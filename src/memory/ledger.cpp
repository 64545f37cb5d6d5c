#include "memory/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <unordered_map>

#include "core/category.h"
#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/fork.h"
#include "memory/forms.h"
#include "memory/memory_watch.h"
#include "memory/out_of_memory.h"
#include "memory/pool.h"
#include "memory/text.h"

namespace tenure::detail {
namespace {

std::atomic<std::int64_t> g_fail_at{0};
std::atomic<std::int64_t> g_requests{0};

bool should_fail() noexcept {
  const std::int64_t at = g_fail_at.load(std::memory_order_relaxed);
  if (at == 0) return false;
  return g_requests.fetch_add(1, std::memory_order_relaxed) + 1 == at;
}

void count_bytes(std::atomic<std::size_t>& live, std::atomic<std::size_t>& peak,
                 std::size_t nbytes) noexcept {
  const std::size_t now = live.fetch_add(nbytes, std::memory_order_relaxed) + nbytes;
  std::size_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

bool has_room(const SessionState& session, std::size_t used, std::size_t capacity) noexcept {
  const std::size_t budget = session.budget.load(std::memory_order_relaxed);
  return budget == 0 || used + capacity <= budget;
}

bool charge(SessionState& session, std::size_t capacity) noexcept {
  std::size_t used = session.in_use.load(std::memory_order_relaxed);
  do {
    if (!has_room(session, used, capacity)) return false;
  } while (!session.in_use.compare_exchange_weak(used, used + capacity, std::memory_order_relaxed));
  return true;
}

// The session's from now on, or false.
[[gnu::noinline]] bool charge_for(Storage& storage, SessionState& session) noexcept {
  if (!charge(session, storage.capacity)) return false;
  count_bytes(session.live, session.peak, storage.nbytes);
  session.retain();
  storage.session.store(&session, std::memory_order_relaxed);
  return true;
}

// Memory charged to the session, or nullptr; then it says whether that session has no more. It is
// charged for what it got: a request that the process refuses takes no room from others in between.
[[gnu::always_inline]] inline Storage* attempt(Device device, std::size_t nbytes,
                                               SessionState* session, bool& over_budget) {
  over_budget = false;
  if (session != nullptr && !has_room(*session, session->in_use.load(std::memory_order_relaxed),
                                      Pool::block_bytes(nbytes))) {
    over_budget = true;
    return nullptr;
  }
  Storage* storage = pool(device).allocate(nbytes);
  if (storage == nullptr) [[unlikely]]
    return nullptr;
  if (session != nullptr && !charge_for(*storage, *session)) [[unlikely]] {
    over_budget = true;
    pool(device).free(storage);
    return nullptr;
  }
  if constexpr (kLifetimes) {
    if (memory_is_watched()) [[unlikely]]
      note_bytes(static_cast<std::int64_t>(nbytes));
  }
  events::allocated(*storage);
  return storage;
}

// Memory that was not there: with the forms' (forms.h) given back, or the end of it. One thread at
// a time, and each tries once more: nobody fails for forms that another is giving back.
[[gnu::noinline]] Storage* allocate_under_pressure(Device device, std::size_t nbytes,
                                                   SessionState* session, bool over_budget,
                                                   bool pretended = false) {
  static ProcessMutex giving_way;
  Shortage shortage{nbytes, over_budget ? session : nullptr};
  if (!over_budget) shortage.pooled_given_back = last_given_back();
  {
    const std::lock_guard guard(giving_way);
    if (!pretended) {
      if (Storage* storage = attempt(device, nbytes, session, over_budget)) return storage;
      shortage.session = over_budget ? session : nullptr;
      shortage.pooled_given_back += last_given_back();
    }
    shortage.forms_given_back = drop_forms_of(shortage.session);
    if (shortage.forms_given_back != 0) {
      if (Storage* storage = attempt(device, nbytes, session, over_budget)) return storage;
      shortage.session = over_budget ? session : nullptr;
    }
  }
  raise_out_of_memory(shortage);
}

bool smaller_than_storage(const Header& header) {
  return header.layout.nbytes() < header.storage->nbytes;
}

// The holders of storages that several share, by storage: told of all the storages that are asked
// about, and then shown every holder there is.
class Sharers {
 public:
  static constexpr std::size_t kMostNamed = 16;

  void ask_about(const Storage* storage) { groups_[storage]; }

  void show(const Header& header) {
    const auto at = groups_.find(header.storage);
    if (at == groups_.end()) return;
    Group& group = at->second;
    ++group.holders;
    // One more than will be named: nobody is its own sharer.
    if (group.named.size() > kMostNamed) return;
    Holder holder = holder_of(header);
    const auto place = holder.is_small_view
                           ? std::ranges::find(group.named, false, &Holder::is_small_view)
                           : group.named.end();
    group.named.insert(place, std::move(holder));
  }

  // Of what the tensor `id` shares.
  std::vector<std::string> named_beside(const Storage* storage, std::uint64_t id) const {
    std::vector<std::string> texts;
    const auto at = groups_.find(storage);
    if (at == groups_.end()) return texts;
    const Group& group = at->second;
    for (const Holder& holder : group.named) {
      const bool is_it = holder.is_tensor && holder.story.id == id;
      if (!is_it && texts.size() < kMostNamed) texts.push_back(holder.text);
    }
    if (group.holders > texts.size() + 1) {
      texts.push_back(fmt::format("and {} more", group.holders - texts.size() - 1));
    }
    return texts;
  }

 private:
  struct Group {
    std::size_t holders = 0;
    std::vector<Holder> named;
  };
  std::unordered_map<const Storage*, Group> groups_;
};

}  // namespace

Storage* allocate_storage(Device device, std::size_t nbytes, SessionState* session) {
  if (should_fail()) [[unlikely]]
    return allocate_under_pressure(device, nbytes, session, false, true);
  bool over_budget = false;  // of the session
  Storage* storage = attempt(device, nbytes, session, over_budget);
  return storage != nullptr ? storage
                            : allocate_under_pressure(device, nbytes, session, over_budget);
}

Storage* try_allocate_storage(Device device, std::size_t nbytes, SessionState* session) noexcept {
  if (should_fail()) return nullptr;
  bool over_budget = false;
  try {
    return attempt(device, nbytes, session, over_budget);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Storage* adopt_storage(Device device, void* data, std::size_t nbytes, SessionState* session,
                       std::function<void()> deleter) {
  auto owned = std::make_unique<std::function<void()>>(std::move(deleter));
  Storage* storage = Slab<Storage>::instance().allocate();
  storage->device = device;
  storage->data = static_cast<std::byte*>(data);
  storage->nbytes = nbytes;
  storage->capacity = 0;
  storage->span = nullptr;
  storage->deleter = owned.release();
  storage->session.store(session, std::memory_order_relaxed);
  if (session != nullptr) session->retain();
  storage->handles.store(1, std::memory_order_release);
  events::allocated(*storage);
  return storage;
}

void free_storage(Storage* storage) noexcept {
  events::freed(*storage);
  SessionState* session = storage->session.load(std::memory_order_relaxed);
  if (storage->is_external()) {
    if (session != nullptr) session->release();
    const std::unique_ptr<std::function<void()>> deleter(storage->deleter);
    storage->deleter = nullptr;
    storage->session.store(nullptr, std::memory_order_relaxed);
    storage->handles.store(0, std::memory_order_release);
    Slab<Storage>::instance().free(storage);
    (*deleter)();
    return;
  }
  if constexpr (kLifetimes) {
    if (memory_is_watched()) [[unlikely]]
      note_bytes(-static_cast<std::int64_t>(storage->nbytes));
  }
  if (session != nullptr) {
    session->live.fetch_sub(storage->nbytes, std::memory_order_relaxed);
    session->in_use.fetch_sub(storage->capacity, std::memory_order_relaxed);
    session->release();
  }
  pool(storage->device).free(storage);
}

bool try_move_storage(Storage& storage, SessionState* to) noexcept {
  if (to != nullptr && !charge(*to, storage.capacity)) return false;
  SessionState* from = storage.session.load(std::memory_order_relaxed);
  const bool counted = !storage.is_external();
  if (to != nullptr) {
    to->retain();
    if (counted) count_bytes(to->live, to->peak, storage.nbytes);
  }
  storage.session.store(to, std::memory_order_relaxed);
  if (from != nullptr) {
    if (counted) from->live.fetch_sub(storage.nbytes, std::memory_order_relaxed);
    from->in_use.fetch_sub(storage.capacity, std::memory_order_relaxed);
    from->release();
  }
  return true;
}

std::size_t live_bytes(const SessionState* session) noexcept {
  return session != nullptr ? session->live.load(std::memory_order_relaxed) : pool({}).live_bytes();
}

void fail_nth_allocation(std::int64_t nth) {
  g_requests.store(0, std::memory_order_relaxed);
  g_fail_at.store(nth, std::memory_order_relaxed);
}

std::int64_t allocation_count() { return g_requests.load(std::memory_order_relaxed); }

RecursiveMutex& storage_moves() noexcept {
  static ProcessMutex mutex;  // without a destructor: it is needed until the last static is gone
  return mutex;
}

MemoryInfo memory_of(SessionState* session) {
  MemoryInfo info;
  struct Held {
    Category claim = Category::other;
    bool only_small_views = true;
    std::size_t nbytes = 0;
    std::size_t capacity = 0;
  };
  std::unordered_map<const Storage*, Held> storages;
  for_each_holder([&](Header& header) {
    const bool ours =
        session == nullptr || header.session.load(std::memory_order_relaxed) == session;
    if (ours && header.role == Role::tensor) ++info.tensors;
    if (!is_charged_to(session, *header.storage)) return;
    Held& held = storages[header.storage];
    held.claim = stronger(held.claim, header.claim.load(std::memory_order_relaxed));
    held.only_small_views = held.only_small_views && smaller_than_storage(header);
    held.nbytes = header.storage->nbytes;
    held.capacity = header.storage->capacity;
  });
  std::size_t claimed = 0;
  for (const auto& [storage, held] : storages) {
    ++info.storages;
    if (held.only_small_views) info.view_held_bytes += held.nbytes;
    if (held.capacity == 0) {
      info.external_bytes += held.nbytes;
      continue;
    }
    claimed += held.nbytes;
    switch (held.claim) {
      case Category::parameter:
        info.parameter_bytes += held.nbytes;
        break;
      case Category::gradient:
        info.gradient_bytes += held.nbytes;
        break;
      case Category::optimizer_state:
        info.optimizer_bytes += held.nbytes;
        break;
      case Category::layer_state:
        info.layer_state_bytes += held.nbytes;
        break;
      case Category::saved_for_backward:
        info.saved_bytes += held.nbytes;
        break;
      case Category::workspace:
      case Category::other:
        info.other_bytes += held.nbytes;
        break;
    }
  }
  if (session != nullptr) {
    info.live_bytes = session->live.load(std::memory_order_relaxed);
    info.peak_bytes = session->peak.load(std::memory_order_relaxed);
    info.reserved_bytes = session->in_use.load(std::memory_order_relaxed);
    info.slack_bytes = info.reserved_bytes - info.live_bytes;
  } else {
    Pool& cpu = pool({});
    info.live_bytes = cpu.live_bytes();
    info.peak_bytes = cpu.peak_bytes();
    info.reserved_bytes = cpu.reserved_bytes();
    info.pooled_bytes = cpu.pooled_bytes();
    info.slack_bytes = info.reserved_bytes - info.pooled_bytes - info.live_bytes;
  }
  // What no tensor and no saved value holds is an op's scratch and temporaries, or a form of a
  // variable's value (forms.h).
  info.workspace_bytes = info.live_bytes > claimed ? info.live_bytes - claimed : 0;
  return info;
}

std::vector<LargeHolder> largest_holders(std::size_t count, const SessionState* session) {
  struct Candidate {
    std::size_t nbytes = 0;
    Category claim = Category::other;
    const Header* header = nullptr;  // the one to tell of: a tensor where there is one
    std::uint64_t id = 0;
    Role role = Role::saved;
  };
  std::unordered_map<const Storage*, Candidate> storages;
  for_each_holder([&](Header& header) {
    if (!is_charged_to(session, *header.storage)) return;
    Candidate& candidate = storages[header.storage];
    candidate.nbytes = header.storage->nbytes;
    candidate.claim = stronger(candidate.claim, header.claim.load(std::memory_order_relaxed));
    if (candidate.header == nullptr || header.role < candidate.role) {
      candidate.header = &header;
      candidate.id = header.id;
      candidate.role = header.role;
    }
  });
  std::vector<Candidate> sorted;
  sorted.reserve(storages.size());
  for (const auto& [storage, candidate] : storages) sorted.push_back(candidate);
  std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) {
    return a.nbytes != b.nbytes ? a.nbytes > b.nbytes : a.id < b.id;
  });
  if (sorted.size() > count) sorted.resize(count);
  std::vector<LargeHolder> largest(sorted.size());
  for_each_holder([&](Header& header) {  // again, so that each is held while its story is told
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i].header != &header || sorted[i].id != header.id) continue;
      largest[i] = {sorted[i].nbytes, sorted[i].claim, make_story(header)};
    }
  });
  std::erase_if(largest, [](const LargeHolder& holder) { return holder.story.id == 0; });
  return largest;
}

Holder holder_of(const Header& header) {
  Holder holder;
  holder.story = make_story(header);
  holder.is_tensor = header.role == Role::tensor;
  holder.is_small_view = smaller_than_storage(header);
  if (header.owner) holder.owner = label_text(*header.owner.get());
  const Story& story = holder.story;
  holder.text = fmt::format("{} {}, born {} {}",
                            !holder.is_tensor      ? "saved value of"
                            : holder.is_small_view ? "view"
                                                   : "tensor",
                            story.title(), site_text(story.birth.site), story.birth.op);
  if (!holder.owner.empty()) holder.text += fmt::format(", for {}", holder.owner);
  if (holder.is_small_view) {
    holder.text += fmt::format(", uses {} of the {} it holds", bytes_text(header.layout.nbytes()),
                               bytes_text(header.storage->nbytes));
  }
  return holder;
}

std::vector<Holder> holders_of(const Storage& storage) {
  std::vector<Holder> holders;
  for_each_holder([&](Header& header) {
    if (header.storage == &storage) holders.push_back(holder_of(header));
  });
  std::stable_sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return a.is_small_view > b.is_small_view;
  });
  return holders;
}

}  // namespace tenure::detail

namespace tenure {

using detail::bytes_text;

MemoryInfo memory() { return detail::memory_of(nullptr); }

void reset_peak() { detail::pool({}).reset_peak(); }

std::size_t trim_pool() {
  const std::size_t bytes = detail::pool({}).trim();
  detail::Slab<detail::Header>::instance().trim();
  detail::Slab<detail::Storage>::instance().trim();
  return bytes;
}

void set_memory_budget(std::size_t bytes) {
  detail::pool({}).set_budget(bytes);
  detail::events::budget_changed(bytes);
}

std::size_t memory_budget() { return detail::pool({}).budget(); }

std::ostream& operator<<(std::ostream& out, const MemoryInfo& info) {
  out << fmt::format("{} tensors in {} storages, {} live (peak {})\n", info.tensors, info.storages,
                     bytes_text(info.live_bytes), bytes_text(info.peak_bytes));
  const auto line = [&out](const char* label, std::size_t bytes) {
    if (bytes != 0) out << fmt::format("  {:<22}{:>12}\n", label, bytes_text(bytes));
  };
  line("parameters", info.parameter_bytes);
  line("gradients", info.gradient_bytes);
  line("optimizer state", info.optimizer_bytes);
  line("layer state", info.layer_state_bytes);
  line("saved for backward", info.saved_bytes);
  line("workspace", info.workspace_bytes);
  line("other", info.other_bytes);
  line("held only by views", info.view_held_bytes);
  line("from outside", info.external_bytes);
  return out << fmt::format("  reserved {} = live + slack {} + pooled {}\n",
                            bytes_text(info.reserved_bytes), bytes_text(info.slack_bytes),
                            bytes_text(info.pooled_bytes));
}

LeakCheck::LeakCheck() : first_id_(detail::next_tensor_id()) {}

std::vector<Story> LeakCheck::survivors() const {
  struct Survivor {
    std::uint64_t id;
    const detail::Storage* storage;
  };
  std::vector<Survivor> survivors;
  detail::Sharers sharers;
  const auto is_survivor = [&](const detail::Header& header) {
    return header.role == detail::Role::tensor && header.id >= first_id_;
  };
  detail::for_each_holder([&](detail::Header& header) {
    if (!is_survivor(header)) return;
    survivors.push_back({header.id, header.storage});
    if (header.storage->handles.load(std::memory_order_relaxed) > 1) {
      sharers.ask_about(header.storage);
    }
  });
  std::ranges::sort(survivors, {}, &Survivor::id);
  std::vector<Story> stories(survivors.size());  // each in its place: they are much to move
  if (stories.empty()) return stories;
  detail::for_each_holder([&](detail::Header& header) {
    sharers.show(header);
    if (!is_survivor(header)) return;
    const auto at = std::ranges::lower_bound(survivors, header.id, {}, &Survivor::id);
    if (at == survivors.end() || at->id != header.id) return;  // born meanwhile
    stories[static_cast<std::size_t>(at - survivors.begin())] = make_story(header);
  });
  for (std::size_t i = 0; i < stories.size(); ++i) {
    stories[i].other_holders = sharers.named_beside(survivors[i].storage, survivors[i].id);
  }
  std::erase_if(stories, [](const Story& story) { return story.id == 0; });  // died meanwhile
  return stories;
}

std::string LeakCheck::report() const {
  const std::vector<Story> stories = survivors();
  if (stories.empty()) return {};
  std::string text = fmt::format("{} tensor{} born since the check still alive:\n", stories.size(),
                                 stories.size() == 1 ? "" : "s");
  for (const Story& story : stories) text += fmt::format("\n{}\n", story.text());
  return text;
}

}  // namespace tenure
