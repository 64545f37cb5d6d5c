// What dilation2d and its gradients should give, from the list of each window's sums.
#pragma once

#include "reference_pooling.h"

namespace tenure::testing {

Array dilated(const Array& x, const Array& filter, const Pooling& pooling, double nothing);
// Of the output's gradient, x and the filter.
Array dilation_to_input(const Arrays& in, const Pooling& pooling);
Array dilation_to_filter(const Arrays& in, const Pooling& pooling);
// Of values shaped like x or like the filter, x and the filter.
Array dilation_from_input(const Arrays& in, const Pooling& pooling);
Array dilation_from_filter(const Arrays& in, const Pooling& pooling);

}  // namespace tenure::testing
