// Arguments whose bytes a call takes over (L27).
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace tenure::graph {

// Which inputs are donated, having made sure that each fits a result of its own in the graph as
// written.
std::vector<bool> check_donations(const Graph& graph, std::span<const std::size_t> donated,
                                  std::source_location site);

// How many handles of an argument are a call's own: the argument's copy, and the one in `in`, for
// each time it was given.
std::uint32_t argument_copies(std::span<const Tensor> in, std::size_t i);

// The donations of one call. What cannot be given is refused at once; whether nobody else uses the
// bytes is judged again when they are taken. Nobody else can begin to from then on; the tensors die
// of the call when it can fail no more, and are as they were when it does.
class Donation {
 public:
  Donation(std::span<const Tensor> in, std::span<const std::size_t> donated,
           const detail::LabelRef& function, std::source_location site);
  ~Donation();
  Donation(const Donation&) = delete;
  Donation& operator=(const Donation&) = delete;
  // For a call that writes to the bytes; `held` are those of all arguments, as the call holds them.
  void take(std::span<const detail::StorageRef> held);
  void end() noexcept;

 private:
  [[noreturn]] void refuse_twice(std::size_t i, std::size_t j) const;
  [[noreturn]] void refuse_held(std::size_t i) const;

  std::span<const Tensor> in_;
  std::span<const std::size_t> donated_;
  const detail::LabelRef& function_;
  std::source_location site_;
  bool taken_ = false;
};

}  // namespace tenure::graph
