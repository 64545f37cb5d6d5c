// The questions, one file each.
#pragma once

#include "harness.h"

namespace bench {

void op_small(Runner& runner);
void elementwise(Runner& runner);
void reduce(Runner& runner);
void norm(Runner& runner);
void matmul(Runner& runner);
void indexing(Runner& runner);
void einsum(Runner& runner);
void pooling(Runner& runner);
void convolution(Runner& runner);
void layers(Runner& runner);
void dense(Runner& runner);
void recurrent(Runner& runner);
void training(Runner& runner);
void lifetime_cost(Runner& runner);
inline void public_rows(Runner& runner) {
  op_small(runner);
  elementwise(runner);
  reduce(runner);
  norm(runner);
  matmul(runner);
  indexing(runner);
  einsum(runner);
  pooling(runner);
  convolution(runner);
  layers(runner);
  dense(runner);
  recurrent(runner);
  training(runner);
  lifetime_cost(runner);
}

// These need internals.
void alloc(Runner& runner);
void node_dispatch(Runner& runner);
void plans(Runner& runner);
inline void internal_rows(Runner& runner) {
  alloc(runner);
  node_dispatch(runner);
  plans(runner);
}

}  // namespace bench
