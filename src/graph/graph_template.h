// One graph for many sizes.
//
// A function with free dimensions is traced at several sizes of them: at the points of a grid, and
// at one more. What it did must be the same everywhere, down to the order of its operations; only
// numbers may differ. Each number (in an attribute, or a count of random numbers) is a polynomial
// of the sizes through its values at the grid, or one over such a polynomial, and what it gives at
// the further point must be the value there. Shapes are not guessed at: they are inferred again for
// each size.
//
// A polynomial may hold at all sizes that were tried and not at others: 10 is what a slice of at
// most ten rows has, but not of three. So every operation checks its inputs again at the size
// asked for, choices that were made by shapes are made again, views are held against the bytes they
// look at, and shapes against polynomials of their own; whatever does not agree, or is no whole
// number, gives no graph, and the size is traced by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tenure::graph {

// Products of sizes and coefficients, without overflow.
__extension__ using Wide = __int128;

// Sizes in even steps along each free dimension, degree + 1 of them.
struct Grid {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> step;
  int degree = 1;

  std::size_t points() const;
  std::vector<std::int64_t> sizes_at(std::size_t point) const;  // the first name goes fastest
};

// The polynomial through whole values at a grid's points, as its forward differences.
class Polynomial {
 public:
  Polynomial(const Grid& grid, std::span<const std::int64_t> values);
  // None when it is no whole number there, or too large.
  std::optional<std::int64_t> at(const Grid& grid, std::span<const std::int64_t> sizes) const;

 private:
  std::vector<Wide> differences_;
};

// A graph and the sizes it was traced at.
struct Probe {
  std::vector<std::int64_t> sizes;
  Graph graph;
};

// Where two traces part.
struct Difference {
  std::string one, other;  // what each does there
  std::size_t values = 0;  // how many values they have in common
};
std::optional<Difference> first_difference(const Graph& a, const Graph& b);

// For each value that both have, a bit for each dimension in which they differ.
std::vector<std::uint64_t> differing_dims(const Graph& a, const Graph& b, std::size_t values);

// Whether it has nodes whose numbers cannot be told from outside.
bool is_opaque(const Graph& graph);

class GraphTemplate {
 public:
  // From traces at the grid's points, in order, and at one other, all of one structure. Gives the
  // node at which a number follows no rule, if there is one.
  static std::optional<Difference> fit(const Grid& grid, std::span<const Probe* const> points,
                                       const Probe& further, GraphTemplate& target);

  // The graph at these sizes, whose inputs have these shapes; none when it cannot be told.
  std::optional<Graph> at(std::span<const std::int64_t> sizes, std::span<const Shape> inputs) const;

  const Graph& graph() const { return base_; }

 private:
  struct Slot {              // a number that differs from size to size
    std::size_t node = 0;    // past the last: a count of random numbers
    std::size_t number = 0;  // of the node's
    Polynomial value;
    double over = 0;  // not 0: this divided by the polynomial
    bool real = false;
  };
  struct DimRule {
    ValueId value = 0;
    int axis = 0;
    Polynomial size;
  };
  bool set_numbers(Graph& graph, std::span<const std::int64_t> sizes) const;
  bool infer(Graph& graph) const;
  bool agrees(const Graph& graph, std::span<const std::int64_t> sizes) const;
  bool chooses_the_same(const Graph& graph) const;

  Grid grid_;
  Graph base_;               // at the grid's first point
  std::vector<Slot> slots_;  // in order of node and number
  std::vector<DimRule> dims_;
};

}  // namespace tenure::graph
