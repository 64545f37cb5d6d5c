// Elementwise nodes that feed each other become one node each.
//
// Two nodes may share a group when one reads what the other makes, and both make values of one
// shape. From the last node to the first, a node's group takes in those of its inputs' makers,
// unless
//  - a path leads from the group out and back in: the fused node would wait for itself;
//  - they stand so far apart that finding out would take long;
//  - other work runs between the two, and bringing them together would keep more bytes alive in the
//    meantime: the value has readers outside, or its maker reads more that nothing else needs; or
//    would part the maker from a product that it can follow (fuse_epilogue.cpp);
//  - the program would become too long.
// Then groups that read what one product makes become one, so that it can follow the product.
// What nodes outside read is a result of the fused node. So nothing is computed twice, and a value
// that is only read inside is never written to memory.
//
// Groups are kept in an order in which they could run, so that a path between two can only lead
// through groups that stand between them; a merge moves those that are on the wrong side of it (the
// way of Pearce and Kelly). With a bound on how far apart two may stand, the time is linear in the
// number of nodes.
#include <algorithm>
#include <queue>

#include "graph/passes/fusion.h"
#include "graph/passes/passes.h"

namespace tenure::graph {
namespace {

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph),
        uses_(graph),
        group_(graph.nodes.size()),
        members_(graph.nodes.size()),
        position_(graph.nodes.size()),
        follows_(graph.nodes.size(), false),
        seen_(graph.nodes.size(), 0),
        random_before_(graph.nodes.size(), kNoNode),
        random_behind_(graph.nodes.size(), kNoNode) {
    std::uint32_t random = kNoNode;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      group_[n] = n;
      members_[n] = {n};
      position_[n] = n;
      follows_[n] = follows_a_product(n);
      if (!graph.nodes[n].random) continue;
      if (random != kNoNode) random_behind_[random] = n;
      random_before_[n] = std::exchange(random, n);
    }
  }

  void find_groups() {
    for (auto n = static_cast<std::uint32_t>(graph_.nodes.size()); n-- > 0;) {
      if (!is_elementwise(graph_, graph_.nodes[n])) continue;
      for (const ValueId value : graph_.nodes[n].in) {
        const std::uint32_t maker = uses_.maker(value);
        if (maker != kNoNode && group_[maker] != group_[n] &&
            is_elementwise(graph_, graph_.nodes[maker]) && shape_of(maker) == shape_of(n) &&
            stays_small(maker, n, value)) {
          try_merge(group_[maker], group_[n]);
        }
      }
    }
    for (const Node& node : graph_.nodes) {
      if (takes_epilogue(graph_, node)) join_readers(node.out[0]);
    }
  }

  // The nodes in an order in which they can run, groups as one.
  std::vector<Node> nodes() const {
    const auto count = static_cast<std::uint32_t>(graph_.nodes.size());
    std::vector<std::uint32_t> waits(count, 0);
    std::vector<std::vector<std::uint32_t>> next(count);
    const auto add_edge = [&](std::uint32_t from, std::uint32_t to) {
      if (from == kNoNode || group_[from] == group_[to]) return;
      next[group_[from]].push_back(group_[to]);
      ++waits[group_[to]];
    };
    for (std::uint32_t n = 0; n < count; ++n) {
      for (const ValueId value : graph_.nodes[n].in) add_edge(uses_.maker(value), n);
      add_edge(random_before_[n], n);
    }
    // Of those that are ready the one whose last node was written first.
    using Ready = std::pair<std::uint32_t, std::uint32_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    const auto push = [&](std::uint32_t group) { ready.emplace(members_[group].back(), group); };
    for (std::uint32_t n = 0; n < count; ++n) {
      if (group_[n] == n && waits[n] == 0) push(n);
    }
    std::vector<Node> nodes;
    while (!ready.empty()) {
      const std::uint32_t group = ready.top().second;
      ready.pop();
      const Members& members = members_[group];
      nodes.push_back(members.size() > 1 ? fused(graph_, members, results_of(members))
                                         : graph_.nodes[members[0]]);
      for (const std::uint32_t other : next[group]) {
        if (--waits[other] == 0) push(other);
      }
    }
    return nodes;
  }

 private:
  using Members = std::vector<std::uint32_t>;  // in order

  const Shape& shape_of(std::uint32_t n) const {
    return graph_.values[graph_.nodes[n].out[0]].shape;
  }

  // Whether what n makes depends on a product of its shape through nothing but elementwise nodes,
  // each the only reader of the one before, with no other work in between.
  bool follows_a_product(std::uint32_t n) const {
    if (!is_elementwise(graph_, graph_.nodes[n])) return false;
    return std::ranges::any_of(graph_.nodes[n].in, [&](ValueId value) {
      const std::uint32_t maker = uses_.maker(value);
      return maker != kNoNode && !uses_.is_kept(value) && uses_.readers(value).size() == 1 &&
             shape_of(maker) == shape_of(n) && !uses_.is_far(maker, n) &&
             (follows_[maker] || takes_epilogue(graph_, graph_.nodes[maker]));
    });
  }

  // Makes the groups that read a value one, if that is all its readers.
  void join_readers(ValueId value) {
    const auto readers = uses_.readers(value);
    const bool alike = std::ranges::all_of(readers, [&](std::uint32_t n) {
      return is_elementwise(graph_, graph_.nodes[n]) && shape_of(n) == graph_.values[value].shape &&
             !uses_.is_far(readers[0], n);
    });
    if (!alike || uses_.is_kept(value)) return;
    for (const std::uint32_t n : readers) {
      std::uint32_t first = group_[readers[0]], last = group_[n];
      if (position_[first] > position_[last]) std::swap(first, last);
      if (first != last) try_merge(first, last);
    }
  }

  bool stays_small(std::uint32_t maker, std::uint32_t reader, ValueId value) const {
    if (!uses_.is_far(maker, reader)) return true;
    if (follows_[maker] || is_read_outside(value, members_[group_[reader]])) return false;
    std::size_t longer = 0;
    for (const ValueId input : graph_.nodes[maker].in) {
      const bool dies = uses_.maker(input) != kNoNode && !uses_.is_kept(input) &&
                        uses_.readers(input).size() == 1;
      if (dies) longer += graph_.values[input].nbytes();
    }
    return longer <= graph_.values[value].nbytes();
  }

  bool is_read_outside(ValueId value, const Members& members) const {
    return uses_.is_kept(value) ||
           std::ranges::any_of(uses_.readers(value), [&](std::uint32_t reader) {
             return !std::ranges::binary_search(members, reader);
           });
  }

  std::vector<ValueId> results_of(const Members& members) const {
    std::vector<ValueId> results;
    for (const std::uint32_t n : members) {
      const ValueId value = graph_.nodes[n].out[0];
      if (is_read_outside(value, members)) results.push_back(value);
    }
    return results;
  }

  // Group a stands before group b.
  void try_merge(std::uint32_t a, std::uint32_t b) {
    Members all;
    std::ranges::merge(members_[a], members_[b], std::back_inserter(all));
    std::size_t steps = 0;
    for (const std::uint32_t n : all) steps += steps_of(graph_.nodes[n]);
    if (steps > ops::FusedProgram::kMaxSteps) return;
    std::vector<ValueId> inputs;
    add_inputs(graph_, all, inputs);
    if (inputs.size() > ops::FusedProgram::kMaxInputs ||
        results_of(all).size() > ops::FusedProgram::kMaxResults || !find_between(a, b)) {
      return;
    }
    for (const std::uint32_t n : members_[b]) group_[n] = a;
    members_[a] = std::move(all);
    members_[b].clear();
    move_aside(a, b);
  }

  // The groups between a and b that wait for a, and those that b waits for. False if one is both,
  // or if a and b stand too far apart to look.
  bool find_between(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t first = position_[a], last = position_[b];
    if (last - first > kFurthest) return false;
    behind_a_.clear();
    before_b_.clear();
    bool meets = false;
    const auto between = [&](std::uint32_t group) {
      return position_[group] > first && position_[group] < last;
    };
    ++round_;
    const auto visit = [&](Members& list, std::uint32_t group) {
      if (between(group) && std::exchange(seen_[group], round_) != round_) list.push_back(group);
    };
    for_each_behind(a, [&](std::uint32_t group) { visit(behind_a_, group); });
    for (std::size_t i = 0; i < behind_a_.size() && !meets; ++i) {
      for_each_behind(behind_a_[i], [&](std::uint32_t group) {
        meets |= group == b;
        visit(behind_a_, group);
      });
    }
    if (meets) return false;
    for_each_before(b, [&](std::uint32_t group) { visit(before_b_, group); });
    for (std::size_t i = 0; i < before_b_.size(); ++i) {
      for_each_before(before_b_[i], [&](std::uint32_t group) { visit(before_b_, group); });
    }
    return true;
  }

  // After a merge into a: those that b waited for, then a, then those that wait for it, in the
  // places that all of them had. All others stay where they are.
  void move_aside(std::uint32_t a, std::uint32_t b) {
    const auto by_position = [&](std::uint32_t group) { return position_[group]; };
    std::ranges::sort(before_b_, {}, by_position);
    std::ranges::sort(behind_a_, {}, by_position);
    std::vector<std::uint32_t> places{position_[a], position_[b]};
    std::ranges::transform(before_b_, std::back_inserter(places), by_position);
    std::ranges::transform(behind_a_, std::back_inserter(places), by_position);
    std::ranges::sort(places);
    auto place = places.begin();
    for (const std::uint32_t group : before_b_) position_[group] = *place++;
    position_[a] = *place++;
    ++place;  // there is one group less
    for (const std::uint32_t group : behind_a_) position_[group] = *place++;
  }

  void for_each_behind(std::uint32_t group, auto&& visit) const {
    for (const std::uint32_t n : members_[group]) {
      for (const ValueId value : graph_.nodes[n].out) {
        for (const std::uint32_t reader : uses_.readers(value)) visit(group_[reader]);
      }
      if (random_behind_[n] != kNoNode) visit(group_[random_behind_[n]]);
    }
  }
  void for_each_before(std::uint32_t group, auto&& visit) const {
    for (const std::uint32_t n : members_[group]) {
      for (const ValueId value : graph_.nodes[n].in) {
        if (const std::uint32_t maker = uses_.maker(value); maker != kNoNode) visit(group_[maker]);
      }
      if (random_before_[n] != kNoNode) visit(group_[random_before_[n]]);
    }
  }

  static constexpr std::uint32_t kFurthest = 4096;  // positions between two that are merged

  const Graph& graph_;
  const Uses uses_;
  std::vector<std::uint32_t> group_;     // of nodes: one of its members
  std::vector<Members> members_;         // of groups
  std::vector<std::uint32_t> position_;  // of groups, in an order in which they could run
  std::vector<bool> follows_;            // of nodes: a product
  std::vector<std::uint32_t> seen_;      // of groups: in which round
  std::uint32_t round_ = 0;
  Members behind_a_, before_b_;               // what find_between found
  std::vector<std::uint32_t> random_before_;  // of nodes that draw: the one that draws before it
  std::vector<std::uint32_t> random_behind_;  // and the one behind
};

}  // namespace

Graph fuse_elementwise(Graph graph) {
  Fuser fuser(graph);
  fuser.find_groups();
  std::vector<Node> nodes = fuser.nodes();
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace tenure::graph
