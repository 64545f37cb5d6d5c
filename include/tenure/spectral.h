// Complex numbers and Fourier transforms.
//
//   tenure::Tensor z = tenure::complex(re, im);               // complex64
//   tenure::Tensor power = tenure::square(tenure::complex_abs(tenure::rfft(signal)));
//
// A transform runs over the last axis, and over every row of the others. Real tensors are taken as
// complex ones without imaginary part where complex ones are expected.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

TENURE_API Tensor complex(Arg real, Arg imag);  // broadcasting; both become float32
TENURE_API Tensor real(Arg x);                  // a real tensor is its own real part
TENURE_API Tensor imag(Arg x);                  // of a real tensor: zeros
TENURE_API Tensor conj(Arg x);                  // a real tensor is its own conjugate
TENURE_API Tensor complex_abs(Arg x);           // the magnitude, as float32
TENURE_API Tensor angle(Arg x);                 // in (-pi, pi], as float32

TENURE_API Tensor fft(Arg x);
TENURE_API Tensor ifft(Arg x);  // divides by the length
// Of a real signal: the first length / 2 + 1 values, from which the rest follow. Rows are cut or
// padded with zeros to `length` first.
TENURE_API Tensor rfft(Arg x, std::optional<std::int64_t> length = {});
// The real signal of `length` that rfft makes x of: 2 (n - 1) for a row of n, unless given.
TENURE_API Tensor irfft(Arg x, std::optional<std::int64_t> length = {});
TENURE_API Tensor fft2d(Arg x);  // over the last two axes
TENURE_API Tensor ifft2d(Arg x);

struct FrameOptions {
  bool pad_end = false;  // frames that begin inside the signal and end behind it, padded
  double pad_value = 0;
};
// Pieces of `length`, one every `step`, along the last axis: [..., n] becomes [..., frames,
// length]. A view where nothing is padded.
TENURE_API Tensor frame(Arg signal, std::int64_t length, std::int64_t step,
                        FrameOptions options = {});
// The reverse: [..., frames, length] becomes [..., (frames - 1) * step + length]; where frames lie
// over each other they are added.
TENURE_API Tensor overlap_and_add(Arg frames, std::int64_t step);
// Raised cosines, periodic where the length is even.
TENURE_API Tensor hann_window(std::int64_t length,
                              std::source_location site = std::source_location::current());
TENURE_API Tensor hamming_window(std::int64_t length,
                                 std::source_location site = std::source_location::current());
// rfft of the signal's frames, each multiplied with `window` (a Hann window unless given) and
// padded to `fft_length` (the next power of two unless given).
struct StftOptions {
  std::optional<std::int64_t> fft_length = {};
  Tensor window = {};
};
TENURE_API Tensor stft(Arg signal, std::int64_t frame_length, std::int64_t frame_step,
                       StftOptions options = {});

}  // namespace tenure
