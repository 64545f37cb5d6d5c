#include <functional>
#include <string>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

namespace tenure::graph {
namespace {

std::size_t mix(std::size_t hash, std::size_t next) {
  return (hash ^ next) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

std::size_t hash_of(const Node& node, const std::string& attrs) {
  std::size_t hash = mix(std::hash<std::string>()(attrs), node.op->index);
  for (const ValueId value : node.in) hash = mix(hash, value);
  return hash;
}

// Attributes that are equal may still be 0 and -0, which only their text tells apart.
bool same_attrs(ops::AttrsRef a, ops::AttrsRef b) {
  if (a.data() == nullptr || b.data() == nullptr) return a.data() == b.data();
  return a.type() == b.type() && a.type()->equal(a.data(), b.data()) && a.print() == b.print();
}

bool computes_the_same(const Node& a, const Node& b) {
  return a.op == b.op && a.in == b.in && same_attrs(a.attrs.ref(), b.attrs.ref());
}

}  // namespace

Graph share_common(Graph graph) {
  Renaming renaming(graph);
  std::vector<Node> left;
  left.reserve(graph.nodes.size());
  std::unordered_multimap<std::size_t, std::size_t> known;  // nodes that are left, by hash
  for (Node& node : graph.nodes) {
    renaming.rename_inputs(node);
    if (!is_plain(node)) {
      left.push_back(std::move(node));
      continue;
    }
    const std::size_t hash = hash_of(node, node.attrs.ref().print());
    auto [first, last] = known.equal_range(hash);
    while (first != last && !computes_the_same(left[first->second], node)) ++first;
    if (first != last) {
      const Node& same = left[first->second];
      for (std::size_t i = 0; i < node.out.size(); ++i) renaming.set(node.out[i], same.out[i]);
      continue;
    }
    known.emplace(hash, left.size());
    left.push_back(std::move(node));
  }
  graph.nodes = std::move(left);
  renaming.rename_ends(graph);
  return graph;
}

}  // namespace tenure::graph
