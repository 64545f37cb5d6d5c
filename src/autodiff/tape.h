// The gradient tape: a list of the operations that led from watched values onward, with what their
// gradients keep and nothing else.
//
// Values are known by their value id, which clones, saved values and all reads of a variable share,
// so a gradient is right whatever was disposed meanwhile. What a gradient keeps is a saved value:
// taken before any buffer is reused, named by why_alive, and released as soon as the backward step
// that reads it has run (at the end of the tape when it is persistent).
//
// One thread uses a tape at a time: it enters, an op being recorded from before it runs until
// after. Another that comes meanwhile gets a TapeError; a tape that is destroyed meanwhile is
// emptied by the one inside when it leaves.
//
// A gradient is made of public operations, so an outer tape that is recording sees it like any
// other computation: gradients of gradients need nothing more. The tape itself does not: one that
// is persistent would save more with each gradient it gives. It knows what hangs on those
// (Derived), and refuses a gradient that would flow through one.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <deque>
#include <optional>
#include <source_location>
#include <unordered_map>
#include <vector>

#include "autodiff/id_set.h"
#include "core/small_vector.h"
#include "memory/context.h"
#include "memory/label.h"
#include "ops/recorder.h"
#include "tensor/access.h"
#include "tenure/gradient.h"

namespace tenure::detail {

struct TapeValue {
  std::uint64_t id = 0;
  Shape shape;
  DType dtype = DType::float32;
  bool tracked = false;  // of an input: was watched, or made of what was, when the op was recorded
  Saved saved;
};

struct TapeNode {
  const ops::OpDef* op = nullptr;
  ops::AttrsBox attrs;
  SmallVector<TapeValue, 2> inputs;
  SmallVector<TapeValue, 1> outputs;
  ops::Keep keep;
};

// Gradients that a persistent tape gave, and what ops made of such: what they hang on, and nothing
// of how.
struct Derived {
  std::size_t nodes_before = 0;
  const char* op = nullptr;
  std::source_location site;
  bool is_given = false;  // by gradient(): from its targets
  std::vector<std::uint64_t> from = {};
  std::vector<std::uint64_t> values = {};
};

class Tape final : public ops::Recorder {
 public:
  Tape(TapeOptions options, std::source_location site);

  bool before(const ops::OpDef& op, std::span<const Tensor> in, ops::AttrsRef attrs,
              std::source_location site) override;
  void after(std::span<const Tensor> out) override;
  void abandon() noexcept override;
  void stop() noexcept override;
  void close() noexcept;  // its user let go of it

  void watch(const Tensor& tensor, std::source_location site);
  // `seeds` flow into the targets; ones where one is empty.
  std::vector<Tensor> gradient(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                               const std::vector<Source>& sources, const GradientOptions& options,
                               std::source_location site);
  std::size_t saved_bytes(std::source_location site);

 private:
  class Using;
  using Gradients = std::unordered_map<std::uint64_t, Tensor>;

  using Watched = std::bitset<64>;  // the first inputs of an op
  enum class Giving : std::uint8_t { not_asked, now, done, failed };

  // What hangs on some sources.
  struct Reach {
    IdSet values;
    IdSet derived;             // those that do so through a gradient the tape gave
    std::vector<bool> behind;  // nodes that lie between a source and anything later
  };

  bool is_tracked(const Header& header) const;
  void fill_in(TapeNode& node, const ops::OpDef& op, std::span<const Tensor> in,
               ops::AttrsRef attrs, ops::Keep keep, Watched watched) const;
  void fill_in_outputs(TapeNode& node, std::span<const Tensor> out);
  bool is_derived(const Tensor& tensor) const;
  void note_derived(std::span<const Tensor> out);
  // After a gradient(): ids below `first_new` are of values that were there before.
  void note_given(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                  std::span<const Tensor> results, std::uint64_t first_new,
                  std::source_location site);
  Reach reach_of(const IdSet& sources) const;
  void step_back(TapeNode& node, const Reach& reach, Gradients& gradients, const IdSet& sources,
                 std::source_location site);
  void refuse_derived(std::uint64_t value, const Reach& reach, std::source_location site) const;
  static void check_target(const Header& target, const Tensor& seed, std::source_location site);
  void check_seen(const Header& target, std::source_location site) const;
  std::string title() const;
  [[noreturn]] void raise_used_up(const char* op, const std::string& problem,
                                  std::source_location site);
  // False when this thread is inside already, as ops of its own gradient() are; and for one that
  // would record, when a thread is inside that a fork left behind: such a tape has stopped.
  enum class To : std::uint8_t { record, use };
  bool enter(To what, const char* op, std::source_location site);
  void leave() noexcept;
  bool is_left_behind() const;  // by whoever is inside
  [[noreturn]] void raise_in_use(const char* op, std::source_location site);
  void clear() noexcept;
  void end_span() noexcept;

  static constexpr std::uintptr_t kClosed = 1;
  std::atomic<std::uintptr_t> user_{0};  // the thread that is inside; kClosed beside it, or alone
  std::atomic<std::source_location> user_site_{};
  std::atomic<const char*> user_op_{nullptr};
  std::atomic<std::uint32_t> user_forks_{0};  // when it came inside (fork.h)
  std::atomic<bool> span_open_{true};         // in a recording
  const TapeOptions options_;
  const LabelRef label_;
  const std::uint64_t trace_ = current_trace();  // it was made in; 0: none
  // Of whoever is inside.
  IdSet tracked_;
  std::deque<TapeNode> nodes_;  // a node is large, and never moves
  std::source_location first_gradient_{};
  Giving giving_ = Giving::not_asked;
  std::vector<Derived> derived_;
  IdSet derived_values_;  // those that no node makes
  std::optional<Derived> new_derived_;
  bool has_new_node_ = false;
};

}  // namespace tenure::detail
