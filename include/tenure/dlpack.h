// DLPack: tensors to and from other libraries without a copy.
//
//   tenure::Tensor x = tenure::from_dlpack(theirs);       // calls theirs->deleter when done
//   DLManagedTensor* ours = tenure::to_dlpack(y);         // y may be disposed meanwhile
#pragma once

#include <source_location>

#include "tenure/export.h"
#include "tenure/tensor.h"

struct DLManagedTensor;

namespace tenure {

// Takes the managed tensor over, also when it throws (DtypeError, UnsupportedError).
TENURE_API Tensor from_dlpack(DLManagedTensor* managed,
                              std::source_location site = std::source_location::current());
// The receiver calls the result's deleter. The tensor's bytes live until then.
TENURE_API DLManagedTensor* to_dlpack(const Tensor& tensor,
                                      std::source_location site = std::source_location::current());

}  // namespace tenure
