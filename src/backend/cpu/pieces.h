// Gradients of what reads an image at overlapping places add to the image: a piece of such work is
// all of one image in some of its channels, so that no two pieces share an element and the order of
// additions does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/parallel.h"

namespace tenure::cpu {

inline constexpr std::int64_t kPieceChannels = 64;

// Calls fn(image, first channel, channels); `work` is about how many elements an image takes.
template <class F>
void each_piece(std::int64_t images, std::int64_t channels, std::int64_t work, F&& fn) {
  const std::int64_t tiles = (channels + kPieceChannels - 1) / kPieceChannels;
  const auto piece = [&](std::int64_t index) {
    const std::int64_t channel = index % tiles * kPieceChannels;
    fn(index / tiles, channel, std::min(kPieceChannels, channels - channel));
  };
  const std::int64_t pieces = images * tiles;
  if (images * work < kSerialElements) {
    for (std::int64_t i = 0; i < pieces; ++i) piece(i);
  } else {
    parallel_each(pieces, piece);
  }
}

// Zeros in `count` channels of an image of `size` elements; `first` is at the first channel.
template <class T>
void clear_channels(T* first, std::int64_t size, std::int64_t channels, std::int64_t count) {
  if (count == channels) {
    std::fill_n(first, size, T{0});
    return;
  }
  for (std::int64_t i = 0; i < size; i += channels) std::fill_n(first + i, count, T{0});
}

}  // namespace tenure::cpu
