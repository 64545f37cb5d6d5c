// PNG and JPEG as a stranger may have written them: the claimed size is held against what is
// allowed and against the bytes there are before anything is allocated, and what is wrong is an
// IoError.
//
// libpng and libjpeg report errors by longjmp. Each of their calls is made from a function that has
// nothing but plain data, and jumps from there to there: no object of C++ is passed by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/origin.h"

namespace tenure::io {

// Of 8 bits per channel: 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha.
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(height * width * channels); }
};

class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  const ImageSize& size() const { return size_; }
  // Row by row into size().bytes() bytes; once.
  virtual void decode(const Origin& origin, std::span<std::byte> to) = 0;

 protected:
  void set_size(const Origin& origin, ImageSize size, std::int64_t most_pixels);
  ImageSize size_;
};

// By what the bytes begin with. They must live as long as the decoder. `gray`: one channel is
// wanted, where the format has a way of its own to give it.
std::unique_ptr<ImageDecoder> open_image(const Origin& origin, std::span<const std::byte> bytes,
                                         std::int64_t most_pixels, bool gray);

std::unique_ptr<ImageDecoder> open_png(const Origin& origin, std::span<const std::byte> bytes,
                                       std::int64_t most_pixels);
std::unique_ptr<ImageDecoder> open_jpeg(const Origin& origin, std::span<const std::byte> bytes,
                                        std::int64_t most_pixels, bool gray);

}  // namespace tenure::io
