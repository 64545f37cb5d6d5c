#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct SegmentAttrs {  // how many segments there are
  std::int64_t count = 0;
  TENURE_ATTRS(SegmentAttrs, count)
};

struct SparseReshapeAttrs {
  Shape from;
  Shape to;
  TENURE_ATTRS(SparseReshapeAttrs, from, to)
};

struct RaggedRowsAttrs {  // how many rows of values the innermost splits may point at
  std::int64_t rows = 0;
  TENURE_ATTRS(RaggedRowsAttrs, rows)
};

struct RaggedSourcesAttrs {
  Axes types;   // a RowPartition for each input
  Shape shape;  // of the ragged axes, the first included; -1 where the rows decide
  std::int64_t rows = 0;
  TENURE_ATTRS(RaggedSourcesAttrs, types, shape, rows)
};

struct MultinomialAttrs {
  std::int64_t samples = 0;
  bool normalized = false;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  bool own_seed = false;  // the user's: a traced node keeps it
  TENURE_ATTRS(MultinomialAttrs, samples, normalized, seed, offset, own_seed)
};

struct TopAttrs {
  std::int64_t k = 1;
  TENURE_ATTRS(TopAttrs, k)
};

}  // namespace tenure::ops
