// What recurrent layers should give, step by step and unit by unit, in long double; gradients by
// complex steps, which are exact.
#pragma once

#include "ops/recurrent_attrs.h"
#include "reference.h"

namespace tenure::testing {

enum class RecurrentValue { sequence, output, state, cell };

// Of the inputs that the attributes say there are.
Array recurrent_value(const ops::RecurrentAttrs& attrs, const Arrays& in, RecurrentValue which);

// Of input `wrt`. After the layer's inputs, `in` has those gradients of the results that the
// attributes say there are.
Array recurrent_gradient(const ops::RecurrentGradAttrs& attrs, const Arrays& in, int wrt);

}  // namespace tenure::testing
