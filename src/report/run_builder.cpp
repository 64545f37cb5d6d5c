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
  const auto found = std::find(from.rbegin(), from.rend(), value);
  if (found != from.rend()) from.erase(std::next(found).base());
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
  const auto [found, added] =
      texts_.try_emplace(literal, static_cast<std::uint32_t>(run_.strings.size()));
  if (added) run_.strings.emplace_back(literal);
  return found->second;
}

bool RunBuilder::held(const StorageState& state) {
  return std::any_of(state.holders.begin(), state.holders.end(),
                     [](std::uint32_t count) { return count != 0; });
}

std::uint32_t RunBuilder::storage_of(std::uint64_t number) const {
  const auto found = storages_.find(number);
  return found != storages_.end() ? found->second : kNone;
}

std::uint32_t RunBuilder::innermost(std::uint32_t thread) const {
  const auto found = threads_.find(thread);
  return found != threads_.end() && !found->second.spans.empty() ? found->second.spans.back()
                                                                 : kNone;
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

void RunBuilder::birth(Moment at, Birth birth) {
  TensorLife& life = birth.life;
  if (const auto found = holders_.find(birth.holder); found != holders_.end()) {
    // Born while the recording was being started, and found again among those that lived.
    if (life.before && run_.tensors[found->second.tensor].id == life.id) return;
    let_go(found->second.tensor, found->second.category, at.time);
    run_.tensors[found->second.tensor].died = at.time;
    run_.tensors[found->second.tensor].cause = text(kUnknown);
  }
  life.thread = at.thread;
  life.born = life.before ? 0 : at.time;
  if (birth.scope != 0) {
    const auto scope = spans_.find(birth.scope - 1);
    if (scope != spans_.end()) life.scope = scope->second;
  }
  run_.tensors.push_back(life);
  const auto tensor = static_cast<std::uint32_t>(run_.tensors.size() - 1);
  hold(tensor, birth.symbolic ? kNone : storage_of(birth.storage), birth.category, life.born);
  holders_[birth.holder] = {tensor, birth.category};
}

void RunBuilder::death(Moment at, std::uint64_t holder, std::uint32_t cause, std::uint32_t site,
                       std::uint32_t by) {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return;
  TensorLife& life = run_.tensors[found->second.tensor];
  life.died = at.time;
  life.cause = cause;
  life.death_site = site;
  life.death_by = by;
  let_go(found->second.tensor, found->second.category, at.time);
  holders_.erase(found);
}

void RunBuilder::name(std::uint64_t holder, std::uint32_t name) {
  const auto found = holders_.find(holder);
  if (found != holders_.end()) run_.tensors[found->second.tensor].name = name;
}

void RunBuilder::claim(Moment at, std::uint64_t holder, Category category) {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return;
  const std::uint32_t storage = run_.tensors[found->second.tensor].storage;
  const Category old = std::exchange(found->second.category, category);
  if (storage == kNone) return;
  --states_[storage].holders[index(old)];
  ++states_[storage].holders[index(category)];
  count_under(storage, at.time);
}

void RunBuilder::move(Moment at, std::uint64_t holder, std::uint64_t storage, bool at_birth) {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return;
  const Category category = found->second.category;
  let_go(found->second.tensor, category, at.time);
  if (!at_birth) {
    TensorLife next = run_.tensors[found->second.tensor];
    run_.tensors[found->second.tensor].died = at.time;
    run_.tensors[found->second.tensor].cause = text(kAssigned);
    next.before = false;
    next.thread = at.thread;
    run_.tensors.push_back(next);
    found->second.tensor = static_cast<std::uint32_t>(run_.tensors.size() - 1);
  }
  run_.tensors[found->second.tensor].born = at.time;
  hold(found->second.tensor, storage_of(storage), category, at.time);
}

void RunBuilder::allocate(Moment at, std::uint64_t storage, std::uint64_t nbytes,
                          std::uint64_t capacity, bool before) {
  if (const auto found = storages_.find(storage); found != storages_.end()) {
    if (before) return;  // known already
    free(at, storage, run_.storages[found->second].nbytes, 0);
  }
  const std::uint32_t added = add_storage(before ? 0 : at.time, nbytes, capacity);
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

void RunBuilder::free(Moment at, std::uint64_t storage, std::uint64_t nbytes,
                      std::uint64_t capacity) {
  const auto found = storages_.find(storage);
  if (found != storages_.end()) {
    run_.storages[found->second].freed = at.time;
    known_bytes_ -= run_.storages[found->second].nbytes;
    storages_.erase(found);
    return;
  }
  if (capacity == 0) return;
  const std::uint32_t added = add_storage(0, nbytes, capacity);
  run_.storages[added].freed = at.time;
  missing_bytes_ -= std::min(missing_bytes_, nbytes);
}

void RunBuilder::live(std::uint64_t bytes) {
  missing_bytes_ = bytes > known_bytes_ ? bytes - known_bytes_ : 0;
}

void RunBuilder::begin_span(Moment at, std::uint64_t span, const Span& told, bool before) {
  if (spans_.contains(span)) end_span(at, span);
  Span added = told;
  added.thread = at.thread;
  added.parent = innermost(at.thread);
  added.begin = before ? 0 : at.time;
  run_.spans.push_back(added);
  const auto number = static_cast<std::uint32_t>(run_.spans.size() - 1);
  spans_[span] = number;
  threads_[at.thread].spans.push_back(number);
}

void RunBuilder::end_span(Moment at, std::uint64_t span) {
  const auto found = spans_.find(span);
  if (found == spans_.end()) return;
  Span& ended = run_.spans[found->second];
  ended.end = at.time;
  move_last(threads_[ended.thread].spans, found->second);
  spans_.erase(found);
}

void RunBuilder::op(Moment at, OpRun told) {
  told.thread = at.thread;
  told.span = innermost(at.thread);
  run_.ops.push_back(told);
  Thread& thread = threads_[at.thread];
  for (const std::uint32_t storage : thread.unexplained) {
    if (states_[storage].was_held) continue;
    run_.storages[storage].site = told.site;
    run_.storages[storage].op = told.op;
  }
  thread.unexplained.clear();
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
