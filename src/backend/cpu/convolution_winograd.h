// Convolutions of 3 x 3 taps with 16 multiplications where there are 36: Winograd's F(2 x 2, 3 x
// 3).
//
// Four neighbouring pixels of a result, a tile, read 4 x 4 pixels of the source. Source tile,
// filter and tile of the result are each transformed, by additions and halves alone, into 16
// places, and in each place a tile's channels are multiplied with the filter's: 16 products of
// matrices, whose rows are tiles. So what is exact in float32 without rounding, such as small
// integers, stays exact. Larger tiles would multiply less still, but by sixths, and lose that.
//
// A few tiles are done at once, a block, so that their places stay in the second cache. Tiles begin
// at an image's first pixel and sums run in the order of channels, so that bits do not depend on
// how an image is cut, on the batch or on the number of threads. A transform mixes neighbours: what
// is not finite would reach pixels that do not read it, so a block with a result that is not finite
// is computed tap by tap instead.
#pragma once

#include <cstdint>

#include "backend/cpu/convolution_walk.h"

namespace tenure::cpu {

inline constexpr std::int64_t kPlaces = 16;

class Winograd {
 public:
  // Whether it is worth it; by shapes of single images and filters alone.
  static bool suits(const Walk<float>& walk);
  // The same for the gradient of the filter, which keeps a sum of the filter's size per piece.
  static bool suits(const FilterSum<float>& sum);

  explicit Winograd(const Walk<float>& walk);

  std::int64_t blocks() const { return images_ * blocks_down_ * blocks_across_; }
  // In elements of scratch.
  std::int64_t filter_size() const { return kPlaces * filter_place(); }
  std::int64_t block_size() const { return kPlaces * (source_place() + result_place()); }

  // Elements from one place to the next: not a multiple of a page, where all would meet in one set
  // of the cache.
  std::int64_t filter_place() const { return walk_.depth * walk_.columns + kLineElements<float>; }
  std::int64_t source_place() const { return tiles() * walk_.depth + kLineElements<float>; }
  std::int64_t result_place() const { return tiles() * walk_.columns + kLineElements<float>; }

  // Tiles [first, first + count) of rows and columns of an image.
  struct Block {
    std::int64_t image, down, across, rows, columns;
    std::int64_t tiles() const { return rows * columns; }
  };
  Block block(std::int64_t index) const;
  // The walk of a block's pixels.
  Walk<float> pixels_of(const Block& block) const;
  const Walk<float>& walk() const { return walk_; }

 private:
  std::int64_t tiles() const { return block_down_ * block_across_; }

  Walk<float> walk_;
  std::int64_t images_, down_, across_;       // tiles of an image
  std::int64_t block_down_, block_across_;    // of a block, at most
  std::int64_t blocks_down_, blocks_across_;  // of an image
};

// Channels [first, last) of the filter into its places.
void winograd_filter(const Winograd& winograd, std::int64_t first, std::int64_t last,
                     float* places) noexcept;
// One block of a walk, with its ending and what finishes it; in `scratch` of block_size() elements.
void winograd_block(const Winograd& winograd, std::int64_t block, const float* filter,
                    float* scratch) noexcept;

// The gradient of the filter: adds blocks [first, last) to `places`, or begins with them.
void winograd_filter_blocks(const Winograd& winograd, const FilterSum<float>& sum,
                            std::int64_t first, std::int64_t last, float* places,
                            float* scratch) noexcept;
// Channels [first, last) of the filter out of their places; false if some are not finite.
bool winograd_filter_sums(const Winograd& winograd, const FilterSum<float>& sum, std::int64_t first,
                          std::int64_t last, const float* places) noexcept;

}  // namespace tenure::cpu
