// Diagonals, bands and small products, by their definition.
#pragma once

#include "reference_linalg.h"

namespace tenure::testing {

Array diagonal_of(const Array& x, const DiagonalOptions& options);
Array matrix_diag_of(const Array& x, std::int64_t offset);
Array diag_of(const Array& x);
Array diag_part_of(const Array& x);
Array trace_of(const Array& x, const DiagonalOptions& options = {});
Array band_of(const Array& x, std::int64_t lower, std::int64_t upper);
Array matrix_transpose_of(const Array& x);
Array dot_of(const Array& a, const Array& b);
Array outer_of(const Array& a, const Array& b);
Array gram_schmidt_of(const Array& x);

}  // namespace tenure::testing
