// What is done to a graph before it is planned. Each pass is one file, and a function from graph to
// graph: the results of a call are the same before and after it, to the last bit.
#pragma once

#include "graph/graph.h"

namespace tenure::graph {

Graph remove_dead(Graph graph);       // nodes that lead to no result and no assigned variable
Graph fold_constants(Graph graph);    // small values that need no argument, computed now
Graph fuse_epilogues(Graph graph);    // elementwise nodes into the product before them
Graph fuse_elementwise(Graph graph);  // elementwise nodes into one that runs over tiles

// All of them, in the order that serves best.
Graph optimise(Graph graph);

}  // namespace tenure::graph
