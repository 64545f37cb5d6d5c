#include "tenure/tensor.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/free_sizes.h"
#include "memory/ledger.h"
#include "memory/out_of_memory.h"
#include "memory/scope.h"
#include "memory/session.h"
#include "memory/text.h"
#include "memory/transfer.h"
#include "memory/warn.h"
#include "tensor/access.h"
#include "tenure/callable.h"
#include "tenure/handle.h"
#include "tenure/memory.h"
#include "tenure/scope.h"
#include "tenure/session.h"

namespace tenure {
namespace detail {

void retain_handle(Header* header) noexcept { retain(header); }
void release_handle(Header* header) noexcept { release(header); }

void raise_empty(std::string_view op, int input, std::source_location site) {
  const UserLine line(site);
  const std::string which = input < 0 ? "the tensor" : fmt::format("input {}", input);
  raise<ValueError>(
      "{}: {} is an empty handle (default-made, moved from, or a gradient that does not depend on "
      "its source): put a tensor into it first",
      op, which);
}

void raise_empty_handle(const char* name) {
  raise<ValueError>(
      "{}: the handle is empty (default-made or moved from): put one into it first, or use the one "
      "it was moved to",
      name);
}

void raise_no_function(std::string_view op, std::string_view which, std::source_location site) {
  const UserLine line(site);
  throw ValueError(
      describe("{}: {} is empty", op, which).told({}, "give it one that can be called."));
}

Pin::Pin(const Tensor& tensor, const char* op, std::source_location site, std::uint32_t own_handles)
    : header_(checked(tensor, op, -1, site)) {
  const SessionState* current = context().session;
  const Use use{.op = op, .site = site, .own_handles = own_handles};
  if (!try_pin(header_)) raise_disposed(header_, use);
  if (header_.session.load(std::memory_order_relaxed) != current) {
    unpin(header_);
    raise_wrong_session(header_, use, current);
  }
}

Tensor materialise(const Header& saved, const char* op, std::source_location site) {
  Context& current = context();
  Layout layout = saved.layout;
  if (saved.is_symbolic()) {
    return Access::adopt(
        new_symbolic(current, std::move(layout), {saved.trace, saved.body, saved.value},
                     share(current.function), For::library, op, site, saved.value_id));
  }
  retain(saved.storage);
  StorageRef storage(saved.storage);
  const NoScope no_scope(current);
  return Access::adopt(
      new_tensor(current, std::move(layout), std::move(storage), op, site, saved.value_id));
}

ScopeGuard::ScopeGuard(std::string_view name, std::source_location site)
    : scope_(open_scope(context(), name, site)) {}

ScopeGuard::~ScopeGuard() {
  if (scope_ == nullptr) return;
  try {
    close();
  } catch (const std::exception& error) {
    warn(error.what());
  }
}

void ScopeGuard::close() {
  Scope* scope = std::exchange(scope_, nullptr);
  Context& current = context();
  if (closes_in_order(current, *scope)) {
    close_scope(current, scope);
    return;
  }
  const LabelRef ended = scope->label;
  const LabelRef inner = current.scope != nullptr ? current.scope->label : LabelRef();
  const bool here = scope->home == &current;
  close_scope(current, scope);
  const std::string what = label_text(*ended.get());
  if (here && inner) {
    throw ScopeError(describe("tidy: closed out of order: {} ended while {} was open", what,
                              label_text(*inner.get()))
                         .told({line_of("opened", *ended.get()), line_of("opened", *inner.get())},
                               "scopes end in the reverse order of opening: what opened the inner "
                               "one must end first. A "
                               "coroutine that waits inside a tidy must be a tenure::Task."));
  }
  throw ScopeError(
      describe("tidy: closed out of order: {} ended on a thread or task that did not open it", what)
          .told({line_of("opened", *ended.get())},
                "open and end a tidy on one thread. A coroutine that goes on elsewhere must be a "
                "tenure::Task."));
}

void ScopeGuard::pass_outward(const Tensor& tensor) noexcept {
  if (Header* header = Access::header(tensor)) adopt_outward(*scope_, *header);
}

}  // namespace detail

using detail::checked;
using detail::Header;

namespace {

// Called for a tensor without bytes: refuses to tell the user a size (of `axis`, or any where that
// is -1) that is free in the function being traced. The library's own code, which asks without a
// line (TENURE_SIZE_SITE), goes on with the number that stands for it.
[[gnu::noinline]] void refuse_free(const Header& header, const char* op, int axis,
                                   std::source_location site) {
  const detail::FreeSizes* free = detail::context().free;
  if (free == nullptr || !header.is_symbolic() || site.line() == 0) return;
  const std::uint64_t dims = free->dims_of(header);
  if (axis < 0 ? dims != 0 : (dims >> axis & 1) != 0) {
    detail::raise_free_size(header, {.op = op, .site = site}, axis, dims);
  }
}

// Its layout, of which the user may read every size. Symbolic tensors count as dead, so that living
// ones pay one test of a word that every use touches anyway.
const Layout& checked_sizes(const Tensor& tensor, const char* op, std::source_location site) {
  const Header& header = checked(tensor, op, -1, site);
  if (header.is_dead()) [[unlikely]]
    refuse_free(header, op, -1, site);
  return header.layout;
}

}  // namespace

std::uint64_t Tensor::id() const { return checked(*this, "id").id; }
const Shape& Tensor::shape(std::source_location site) const {
  return checked_sizes(*this, "shape", site).shape;
}
int Tensor::rank() const { return checked(*this, "rank").layout.shape.rank(); }
std::int64_t Tensor::numel(std::source_location site) const {
  return checked_sizes(*this, "numel", site).shape.numel();
}
std::size_t Tensor::nbytes(std::source_location site) const {
  return checked_sizes(*this, "nbytes", site).nbytes();
}
DType Tensor::dtype() const { return checked(*this, "dtype").layout.dtype; }
Device Tensor::device() const { return checked(*this, "device").device; }
bool Tensor::is_disposed() const { return checked(*this, "is_disposed").is_disposed(); }
Story Tensor::story() const { return make_story(checked(*this, "story")); }

std::int64_t Tensor::dim(int axis, std::source_location site) const {
  const Header& header = checked(*this, "dim", -1, site);
  const Shape& dims = header.layout.shape;
  if (axis < -dims.rank() || axis >= dims.rank()) {
    throw ShapeError(describe("dim: axis {} out of range for {}", axis, dims)
                         .told({line_of("born", header), detail::used_line(site, "dim")}));
  }
  if (header.is_dead()) [[unlikely]]
    refuse_free(header, "dim", axis < 0 ? axis + dims.rank() : axis, site);
  return dims[axis];
}

std::string Tensor::name() const {
  const detail::LabelRef label = name_of(checked(*this, "name"));
  return label ? label->text : std::string();
}

Tensor& Tensor::set_name(std::string_view name) {
  detail::set_name(checked(*this, "set_name"), name);
  return *this;
}

void Tensor::dispose(std::source_location site) {
  if (header_ != nullptr) kill(*header_, Cause::disposed, site, {});
}

Tensor keep(Tensor tensor, std::source_location site) {
  Header& header = checked(tensor, "keep", -1, site);
  const bool of_this_trace =
      header.is_symbolic() && header.trace == detail::current_trace() && !header.is_disposed();
  if (of_this_trace) {
    leave_scope(header, detail::Leaving::living);
    return tensor;
  }
  const detail::Pin pin(tensor, "keep", site, 1);
  leave_scope(*pin, detail::Leaving::living);
  return tensor;
}

std::vector<Holder> why_alive(const Tensor& tensor) {
  Header& header = checked(tensor, "why_alive");
  if (!try_pin(header)) return {};
  const detail::Pinned pinned{header};
  return detail::holders_of(*header.storage);
}

namespace {

[[noreturn]] void refuse_shared(const Tensor& tensor, std::source_location site) {
  Header& header = *detail::Access::header(tensor);
  std::vector<detail::Line> lines{line_of("born", header), detail::used_line(site, "transfer")};
  for (detail::Line& line : other_holder_lines(header)) lines.push_back(std::move(line));
  throw ValueError(describe("transfer: {} shares its bytes: copy it first", tensor.story().title())
                       .told(lines,
                             "others hold the same bytes, and a session's bytes are its own: "
                             "transfer a copy (t + 0)."));
}

// Moves a tensor whose bytes were taken, unless the session has no room for them.
bool move_taken(Header& header, detail::SessionState* to) noexcept {
  const bool moved = try_move_storage(*header.storage, to);
  if (moved) move_holder(header, to);
  let_be(header);
  return moved;
}

}  // namespace

void transfer(const Tensor& tensor, Session& to, std::source_location site) {
  Header& header = checked(tensor, "transfer", -1, site);
  detail::Taking taking = detail::Taking::in_use;
  bool moved = false;
  while (taking == detail::Taking::in_use) {
    // Under this lock no session closes, and none that does ends the tensor.
    std::unique_lock lock(detail::storage_moves());
    if (!header.is_dead() && header.session.load(std::memory_order_relaxed) == to.state_) return;
    if (to.state_ != nullptr && to.state_->is_closed()) {
      raise_closed(*to.state_, "transfer", site,
                   "transfer it before that is closed, or elsewhere.");
    }
    taking = try_take(header);
    if (taking == detail::Taking::taken) moved = move_taken(header, to.state_);
    lock.unlock();
    if (taking == detail::Taking::in_use) std::this_thread::yield();
  }
  if (taking == detail::Taking::dead) raise_disposed(header, {.op = "transfer", .site = site});
  if (taking == detail::Taking::shared) refuse_shared(tensor, site);
  if (!moved) {
    const detail::CallScope call("transfer", site);
    detail::raise_out_of_memory({.requested = header.layout.nbytes(), .session = to.state_});
  }
  leave_scope(header, detail::Leaving::living);
}

}  // namespace tenure
