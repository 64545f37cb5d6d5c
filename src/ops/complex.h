// Complex numbers in gradients: a derivative comes in conjugated, and where a complex result has a
// real input only the real part of its gradient goes back.
#pragma once

#include <utility>

#include "tenure/spectral.h"

namespace tenure::ops {

inline Tensor conjugated(Tensor x) { return is_complex(x.dtype()) ? conj(std::move(x)) : x; }
inline Tensor real_part(Tensor x) { return is_complex(x.dtype()) ? real(std::move(x)) : x; }

// The operand as complex64.
Tensor as_complex(const char* op, Arg&& x);

}  // namespace tenure::ops
