#include "report/run_builder.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenure::report {
namespace {

// Causes of death that no tensor of a user's has.
constexpr const char* kAssigned = "assigned";  // a variable's old value
constexpr const char* kUnknown = "unknown";    // its death was not told

std::size_t index(Category category) { return static_cast<std::size_t>(category); }

template <class T>
void move_last(std::vector<T>& from, T value) {
  const auto last = std::find(from.rbegin(), from.rend(), value);
  if (last != from.rend()) from.erase(std::next(last).base());
}

// Sorts `items` by `key`, keeping the order of equal ones; gives where each went.
template <class T, class Key>
std::vector<std::uint32_t> sort_by(std::vector<T>& items, Key&& key) {
  std::vector<std::uint32_t> order(items.size()), place(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(items[a]) < key(items[b]); });
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(std::move(items[order[i]]));
  }
  items = std::move(sorted);
  return place;
}

void follow(std::uint32_t& reference, const std::vector<std::uint32_t>& place) {
  if (reference != kNone) reference = place[reference];
}

}  // namespace

std::uint32_t RunBuilder::text(const char* literal) {
  const auto [string, is_new] =
      texts_.try_emplace(literal, static_cast<std::uint32_t>(run_.strings.size()));
  if (is_new) run_.strings.emplace_back(literal);
  return string->second;
}

bool RunBuilder::held(const StorageState& state) {
  return std::any_of(state.holders.begin(), state.holders.end(),
                     [](std::uint32_t count) { return count != 0; });
}

std::uint32_t RunBuilder::storage_of(std::uint64_t number) const {
  const auto storage = storages_.find(number);
  return storage != storages_.end() ? storage->second : kNone;
}

std::uint32_t RunBuilder::innermost(std::uint32_t thread) const {
  const auto known = threads_.find(thread);
  if (known == threads_.end() || known->second.spans.empty()) return kNone;
  return known->second.spans.back();
}

std::uint32_t RunBuilder::add_storage(std::int64_t born, std::uint64_t nbytes,
                                      std::uint64_t capacity) {
  StorageLife life;
  life.nbytes = capacity != 0 ? nbytes : 0;  // bytes from outside are not the library's
  life.capacity = capacity;
  life.born = born;
  life.categories.push_back({born, Category::workspace});
  run_.storages.push_back(std::move(life));
  states_.emplace_back();
  return static_cast<std::uint32_t>(run_.storages.size() - 1);
}

// A storage without holders counts as it did when it had some, and as workspace if it never had.
void RunBuilder::count_under(std::uint32_t storage, std::int64_t time) {
  const StorageState& state = states_[storage];
  const auto strongest =
      std::find_if(kByStrength.begin(), kByStrength.end(),
                   [&](Category category) { return state.holders[index(category)] != 0; });
  if (strongest == kByStrength.end()) return;
  std::vector<CategoryChange>& changes = run_.storages[storage].categories;
  if (changes.back().category == *strongest) return;
  if (!state.was_held) {
    changes.back().category = *strongest;  // what it was allocated for
  } else if (changes.back().time == time) {
    changes.back().category = *strongest;
  } else {
    changes.push_back({time, *strongest});
  }
}

void RunBuilder::hold(std::uint32_t tensor, std::uint32_t storage, Category category,
                      std::int64_t time) {
  TensorLife& life = run_.tensors[tensor];
  life.storage = storage;
  if (storage == kNone) return;
  StorageState& state = states_[storage];
  StorageLife& bytes = run_.storages[storage];
  if (life.owner == 0 && state.was_held) {
    life.is_view = held(state);
    life.reused = !life.is_view;
    if (life.reused && state.last_dead != kNone) {
      TensorLife& dead = run_.tensors[state.last_dead];
      if (dead.death_site == kNone) dead.death_site = life.birth_site;
    }
  } else if (life.owner != 0) {
    life.is_view = bytes.nbytes > life.nbytes;
  }
  if (!state.was_held) {
    bytes.site = life.birth_site;
    bytes.op = life.op;
  }
  ++state.holders[index(category)];
  count_under(storage, time);
  state.was_held = true;
}

void RunBuilder::let_go(std::uint32_t tensor, Category category, std::int64_t time) {
  const std::uint32_t storage = run_.tensors[tensor].storage;
  if (storage == kNone) return;
  StorageState& state = states_[storage];
  --state.holders[index(category)];
  state.last_dead = held(state) ? kNone : tensor;
  count_under(storage, time);
}

void RunBuilder::tell(Moment at, const Told<events::Birth>& birth) {
  const bool before = birth.flags.has(events::kBefore);
  if (const auto old = holders_.find(birth.holder); old != holders_.end()) {
    TensorLife& last = run_.tensors[old->second.tensor];
    // Born while the recording was being started, and met again among those that lived.
    if (before && last.id == birth.id.number) return;
    let_go(old->second.tensor, old->second.category, at.time);
    last.died = at.time;
    last.cause = text(kUnknown);
  }
  TensorLife life;
  life.id = birth.id.number;
  life.name = birth.name.value.number;
  life.op = birth.op.number;
  life.dtype = birth.dtype.number;
  life.shape = birth.shape.number;
  life.owner = birth.owner.value.number;
  life.birth_site = birth.site.site();
  life.nbytes = birth.nbytes;
  life.before = before;
  life.thread = at.thread;
  life.born = before ? 0 : at.time;
  if (birth.scope != 0) {
    const auto scope = spans_.find(birth.scope - 1);
    if (scope != spans_.end()) life.scope = scope->second;
  }
  run_.tensors.push_back(life);
  const auto tensor = static_cast<std::uint32_t>(run_.tensors.size() - 1);
  const bool is_symbolic = birth.flags.has(events::kSymbolic);
  hold(tensor, is_symbolic ? kNone : storage_of(birth.storage.value), birth.category, life.born);
  holders_[birth.holder] = {tensor, birth.category};
}

void RunBuilder::tell(Moment at, const Told<events::Death>& death) {
  const auto holder = holders_.find(death.holder);
  if (holder == holders_.end()) return;
  TensorLife& life = run_.tensors[holder->second.tensor];
  life.died = at.time;
  life.cause = death.cause.number;
  life.death_site = death.site.site();
  life.death_by = death.by.number;
  let_go(holder->second.tensor, holder->second.category, at.time);
  holders_.erase(holder);
}

void RunBuilder::tell(Moment, const Told<events::Name>& name) {
  const auto holder = holders_.find(name.holder);
  if (holder != holders_.end()) run_.tensors[holder->second.tensor].name = name.name.number;
}

void RunBuilder::tell(Moment at, const Told<events::Claim>& claim) {
  const auto holder = holders_.find(claim.holder);
  if (holder == holders_.end()) return;
  const std::uint32_t storage = run_.tensors[holder->second.tensor].storage;
  const Category old = std::exchange(holder->second.category, claim.category);
  if (storage == kNone) return;
  --states_[storage].holders[index(old)];
  ++states_[storage].holders[index(claim.category)];
  count_under(storage, at.time);
}

void RunBuilder::tell(Moment at, const Told<events::Move>& move) {
  const auto holder = holders_.find(move.holder);
  if (holder == holders_.end()) return;
  auto& [tensor, category] = holder->second;
  let_go(tensor, category, at.time);
  if (!move.at_birth) {
    TensorLife next = run_.tensors[tensor];
    run_.tensors[tensor].died = at.time;
    run_.tensors[tensor].cause = text(kAssigned);
    next.before = false;
    next.thread = at.thread;
    run_.tensors.push_back(next);
    tensor = static_cast<std::uint32_t>(run_.tensors.size() - 1);
  }
  run_.tensors[tensor].born = at.time;
  hold(tensor, storage_of(move.storage), category, at.time);
}

void RunBuilder::tell(Moment at, const Told<events::Allocate>& allocation) {
  const auto& [storage, nbytes, capacity, before] = allocation;
  if (storages_.contains(storage)) {
    if (before) return;  // known already
    tell(at, Told<events::Free>{storage});
  }
  const std::uint32_t added = add_storage(before ? 0 : at.time, nbytes.count, capacity.count);
  storages_[storage] = added;
  known_bytes_ += run_.storages[added].nbytes;
  if (before) return;
  // Until a holder or an op says more: whatever is going on.
  if (const std::uint32_t span = innermost(at.thread); span != kNone) {
    run_.storages[added].site = run_.spans[span].site;
    run_.storages[added].op = run_.spans[span].kind;
  }
  threads_[at.thread].unexplained.push_back(added);
}

void RunBuilder::tell(Moment at, const Told<events::Free>& free) {
  const auto storage = storages_.find(free.storage);
  if (storage != storages_.end()) {
    run_.storages[storage->second].freed = at.time;
    known_bytes_ -= run_.storages[storage->second].nbytes;
    storages_.erase(storage);
    return;
  }
  if (free.capacity.count == 0) return;
  const std::uint32_t added = add_storage(0, free.nbytes.count, free.capacity.count);
  run_.storages[added].freed = at.time;
  missing_bytes_ -= std::min(missing_bytes_, free.nbytes.count);
}

void RunBuilder::tell(Moment at, const Told<events::SpanBegin>& span) {
  if (spans_.contains(span.span)) tell(at, Told<events::SpanEnd>{span.span});
  Span added;
  added.kind = span.kind.number;
  added.name = span.name.number;
  added.site = span.site.site();
  added.of = span.instance.of;
  added.thread = at.thread;
  added.parent = innermost(at.thread);
  added.begin = span.instance.before ? 0 : at.time;
  run_.spans.push_back(added);
  const auto number = static_cast<std::uint32_t>(run_.spans.size() - 1);
  spans_[span.span] = number;
  threads_[at.thread].spans.push_back(number);
}

void RunBuilder::tell(Moment at, const Told<events::SpanEnd>& span) {
  const auto open = spans_.find(span.span);
  if (open == spans_.end()) return;
  Span& ended = run_.spans[open->second];
  ended.end = at.time;
  move_last(threads_[ended.thread].spans, open->second);
  spans_.erase(open);
}

void RunBuilder::tell(Moment at, const Told<events::OpEnd>& op) {
  OpRun run;
  run.op = op.op.number;
  run.site = op.site.site();
  run.span = innermost(at.thread);
  run.thread = at.thread;
  run.duration = static_cast<std::int64_t>(
      std::min(op.duration, static_cast<std::uint64_t>(std::max<std::int64_t>(at.time, 0))));
  run.begin = at.time - run.duration;
  run.bytes = op.bytes;
  run_.ops.push_back(run);
  Thread& thread = threads_[at.thread];
  for (const std::uint32_t storage : thread.unexplained) {
    if (states_[storage].was_held) continue;
    run_.storages[storage].site = run.site;
    run_.storages[storage].op = run.op;
  }
  thread.unexplained.clear();
}

void RunBuilder::tell(Moment at, const Told<events::Value>& value) {
  run_.values.push_back({value.name.number, at.time, value.step, value.value});
}

void RunBuilder::tell(Moment at, const Told<events::PoolSize>& pool) {
  run_.pool.push_back({at.time, pool.reserved, pool.pooled});
}

void RunBuilder::tell(Moment, const Told<events::Budget>& budget) { run_.budget = budget.bytes; }

std::uint32_t RunBuilder::added(std::string_view part) {
  if (part.empty()) return 0;
  run_.strings.emplace_back(part);
  return static_cast<std::uint32_t>(run_.strings.size() - 1);
}

// Older writers tell of errors in words alone: "class: op: problem" in the first line, and what is
// to be done in the last paragraph.
void RunBuilder::tell(Moment at, const Told<events::RaisedText>& raised) {
  const std::string text = run_.strings[raised.text.number];  // a copy: strings are added
  std::string_view first = std::string_view(text).substr(0, text.find('\n'));
  const auto part = [&first] {
    const std::size_t colon = first.find(": ");
    const std::string_view before = first.substr(0, colon);
    first.remove_prefix(colon == first.npos ? first.size() : colon + 2);
    return before;
  };
  const std::uint32_t type = added(part()), op = added(part()), problem = added(first);
  std::string_view remedy;
  if (const std::size_t last = text.rfind("\n\n"); last != text.npos) {
    remedy = std::string_view(text).substr(last);
    remedy.remove_prefix(std::min(remedy.find_first_not_of(" \n"), remedy.size()));
  }
  run_.raised.push_back({at.time, type, op, problem, added(remedy), raised.text.number,
                         raised.site.site(), raised.tensor});
}

void RunBuilder::tell(Moment at, const Told<events::Raised>& raised) {
  run_.raised.push_back({at.time, raised.type.number, raised.op.number, raised.problem.number,
                         raised.remedy.number, raised.text.number, raised.site.site(),
                         raised.tensor});
}

void RunBuilder::tell(Moment, const Told<events::Language>& language) {
  if (run_.strings[language.name.number] == "javascript") run_.language = Language::javascript;
}

void RunBuilder::tell(Moment at, const Told<events::LastUse>& use) {
  const auto holder = holders_.find(use.holder);
  if (holder == holders_.end()) return;
  const auto ago = static_cast<std::int64_t>(
      std::min<std::uint64_t>(use.ago, static_cast<std::uint64_t>(at.time)));
  run_.tensors[holder->second.tensor].used = at.time - ago;
}

void RunBuilder::tell(Moment, const Told<events::Live>& live) {
  missing_bytes_ = live.bytes.count > known_bytes_ ? live.bytes.count - known_bytes_ : 0;
}

void RunBuilder::tell(Moment, const Told<events::End>& end) {
  run_.cut_short = false;
  run_.whole_process = end.whole_process;
}

void RunBuilder::sort_storages() {
  const auto place = sort_by(run_.storages, [](const StorageLife& life) { return life.born; });
  for (TensorLife& tensor : run_.tensors) follow(tensor.storage, place);
}

void RunBuilder::sort_spans() {
  const auto place = sort_by(run_.spans, [](const Span& span) { return span.begin; });
  for (Span& span : run_.spans) follow(span.parent, place);
  for (TensorLife& tensor : run_.tensors) follow(tensor.scope, place);
  for (OpRun& op : run_.ops) follow(op.span, place);
}

void RunBuilder::finish() {
  if (missing_bytes_ != 0) add_storage(0, missing_bytes_, missing_bytes_);
  for (TensorLife& life : run_.tensors) {
    // Told as alive while another thread ended it, when the recording began.
    if (life.died != kNever || life.storage == kNone) continue;
    if (run_.storages[life.storage].freed == kNever) continue;
    life.died = run_.storages[life.storage].freed;
    life.cause = text(kUnknown);
  }
  sort_storages();
  sort_spans();
  sort_by(run_.tensors, [](const TensorLife& tensor) { return tensor.born; });
  sort_by(run_.ops, [](const OpRun& op) { return op.begin; });
}

}  // namespace tenure::report
