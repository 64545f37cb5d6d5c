// What pooling should give: every window's elements are listed one by one, and the list looked at.
#pragma once

#include "fuzz.h"
#include "reference.h"

namespace tenure::testing {

// A pooling as it is called, and the input it is for.
struct Pooling {
  Shape window;
  PoolOptions options;
};

Shape pooled_shape(const Pooling& pooling, const Shape& x);
// Calls fn(index of the output, indices of the window's elements in the input, in order).
void each_window(const Pooling& pooling, const Shape& x,
                 const std::function<void(const Index&, const std::vector<Index>&)>& fn);

// The same with the elements' offsets in the window.
struct Tap {
  Index at;
  Index offset;
};
void each_window_tap(const Pooling& pooling, const Shape& x,
                     const std::function<void(const Index&, const std::vector<Tap>&)>& fn);

// `nothing` is the value of a window without elements.
Array max_pooled(const Array& x, const Pooling& pooling, double nothing);
Array avg_pooled(const Array& x, const Pooling& pooling);
Array places_of_largest(const Array& x, const Pooling& pooling, bool with_batch);
Array max_pool_gradient(const Array& dy, const Array& x, const Pooling& pooling);
Array max_pool_picked(const Array& values, const Array& x, const Pooling& pooling);
Array avg_pool_gradient(const Array& dy, const Shape& x, const Pooling& pooling);

// A shape and a pooling of it, with at least one window unless the shape has none.
struct PoolingOfShape {
  Shape x;
  Pooling pooling;
};
PoolingOfShape draw_pooling(Dice& dice, int axes = 0);  // 0: any number of them

inline double least_of(DType dtype) { return rounded(-INFINITY, dtype); }

}  // namespace tenure::testing
