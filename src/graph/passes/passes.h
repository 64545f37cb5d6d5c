// What is done to a graph before it is planned. Each pass is one file, and a function from graph to
// graph: the results of a call are the same before and after it, to the last bit.
#pragma once

#include "graph/graph.h"

namespace tenure::graph {

Graph forget_gradients(Graph graph);  // nodes that only say what a value is to gradients
Graph remove_dead(Graph graph);       // nodes and constants that lead to no result or variable
Graph widen_halves(Graph graph);      // what computes float16 in float32, by casts around it
Graph share_common(Graph graph);      // one node for several that compute the same
Graph fold_constants(Graph graph);    // small values that need no argument, computed now
Graph simplify(Graph graph);          // nodes whose result is there already, left out
Graph fuse_elementwise(Graph graph);  // elementwise nodes into one that runs over tiles
Graph fuse_epilogues(Graph graph);    // what follows a product into the product
Graph fuse_reductions(Graph graph);   // elementwise nodes into the reduction after them
Graph order_for_memory(Graph graph);  // nodes in an order that keeps few bytes alive at once

// All of them, in the order that serves best.
Graph optimise(Graph graph);

}  // namespace tenure::graph
