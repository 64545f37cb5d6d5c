// Fourier transforms by their definition, in double.
#pragma once

#include <complex>
#include <vector>

#include "array.h"

namespace tenure::testing {

// Weights that put both parts of a complex number into one real one.
inline double mixed(std::complex<double> z) { return z.real() + z.imag() * 0.5; }
inline Tensor mixed(const Tensor& z) { return real(z) + imag(z) * 0.5f; }

// The transform of a row, forward or (divided by the length) back.
std::vector<std::complex<double>> transformed(const std::vector<std::complex<double>>& row,
                                              bool inverse);

// Rows of re + im i, transformed along the last axis and mixed.
Array fft_mixed(const Array& re, const Array& im, bool inverse);
Array fft2d_mixed(const Array& re, const Array& im, bool inverse);
Array rfft_mixed(const Array& x, std::int64_t length);
Array irfft_of(const Array& re, const Array& im, std::int64_t length);
Array framed(const Array& x, std::int64_t length, std::int64_t step, bool pad_end, double pad);
Array overlapped(const Array& frames, std::int64_t step);
std::vector<double> cosine_window(std::int64_t length, double mean, double swing);

}  // namespace tenure::testing
