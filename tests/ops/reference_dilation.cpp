#include "reference_dilation.h"

#include <cmath>
#include <optional>

namespace tenure::testing {
namespace {

struct Largest {
  double sum;
  Index in_x;
  Index in_filter;
};

void each_largest(const Array& x, const Array& filter, const Pooling& pooling,
                  const std::function<void(const Index&, const std::optional<Largest>&)>& fn) {
  each_window_tap(pooling, x.shape, [&](const Index& index, const std::vector<Tap>& taps) {
    std::optional<Largest> best;
    for (const Tap& tap : taps) {
      const Index in_filter{tap.offset[0], tap.offset[1], index.back()};
      const double sum = at(x, tap.at) + at(filter, in_filter);
      if (!best || sum > best->sum) best = {sum, tap.at, in_filter};
    }
    fn(index, best);
  });
}

}  // namespace

Array dilated(const Array& x, const Array& filter, const Pooling& pooling, double nothing) {
  Array result{pooled_shape(pooling, x.shape), {}};
  each_largest(x, filter, pooling, [&](const Index&, const std::optional<Largest>& best) {
    result.data.push_back(best ? best->sum : nothing);
  });
  return result;
}

Array dilation_to_input(const Arrays& in, const Pooling& pooling) {
  Array result = zero_array(in[1].shape);
  each_largest(in[1], in[2], pooling, [&](const Index& index, const std::optional<Largest>& best) {
    if (best) at(result, best->in_x) += at(in[0], index);
  });
  return result;
}

Array dilation_to_filter(const Arrays& in, const Pooling& pooling) {
  Array result = zero_array(in[2].shape);
  each_largest(in[1], in[2], pooling, [&](const Index& index, const std::optional<Largest>& best) {
    if (best) at(result, best->in_filter) += at(in[0], index);
  });
  return result;
}

Array dilation_from_input(const Arrays& in, const Pooling& pooling) {
  Array result{pooled_shape(pooling, in[1].shape), {}};
  each_largest(in[1], in[2], pooling, [&](const Index&, const std::optional<Largest>& best) {
    result.data.push_back(best ? at(in[0], best->in_x) : 0);
  });
  return result;
}

Array dilation_from_filter(const Arrays& in, const Pooling& pooling) {
  Array result{pooled_shape(pooling, in[1].shape), {}};
  each_largest(in[1], in[2], pooling, [&](const Index&, const std::optional<Largest>& best) {
    result.data.push_back(best ? at(in[0], best->in_filter) : 0);
  });
  return result;
}

}  // namespace tenure::testing
