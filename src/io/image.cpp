#include "io/image.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/raise.h"
#include "memory/context.h"

namespace tenure::io {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{512} << 20;

using Pixel = std::uint8_t;

Pixel gray_of(const Pixel* rgb) {
  return static_cast<Pixel>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

void convert(const Pixel* src, std::int64_t src_channels, Pixel* dst, std::int64_t dst_channels,
             std::int64_t pixels) {
  const bool colored = src_channels >= 3, alpha = src_channels % 2 == 0;
  for (std::int64_t i = 0; i < pixels; ++i, src += src_channels, dst += dst_channels) {
    if (dst_channels == 1) {
      dst[0] = colored ? gray_of(src) : src[0];
      continue;
    }
    for (int c = 0; c < 3; ++c) dst[c] = src[colored ? c : 0];
    if (dst_channels == 4) dst[3] = alpha ? src[src_channels - 1] : 255;
  }
}

}  // namespace

void ImageDecoder::set_size(const Origin& origin, ImageSize size, std::int64_t most_pixels) {
  if (size.height < 1 || size.width < 1 || size.height > most_pixels / size.width) {
    origin.fail("{} x {} pixels, and max_pixels is {}", size.height, size.width, most_pixels);
  }
  size_ = size;
}

std::unique_ptr<ImageDecoder> open_image(const Origin& origin, std::span<const std::byte> bytes,
                                         std::int64_t most_pixels, bool gray) {
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 16));
  if (begin.starts_with("\x89PNG\r\n\x1a\n")) return open_png(origin, bytes, most_pixels);
  if (begin.starts_with("\xff\xd8\xff")) return open_jpeg(origin, bytes, most_pixels, gray);
  origin.fail("is neither a PNG nor a JPEG");
}

std::int64_t channels_of(const char* op, const std::string& color_mode) {
  if (color_mode == "grayscale") return 1;
  if (color_mode == "rgb") return 3;
  if (color_mode == "rgba") return 4;
  raise<ValueError>("{}: color_mode is \"grayscale\", \"rgb\" or \"rgba\", not \"{}\"", op,
                    printable(color_mode));
}

ImageRead::ImageRead(const char* op, const std::string& path, std::int64_t channels,
                     std::int64_t most_pixels)
    : origin_{op, path}, channels_(channels) {
  if (most_pixels < 1) raise<ValueError>("{}: max_pixels must be at least 1: {}", op, most_pixels);
  const File file(op, path);
  if (file.size() > kLargestFile) {
    origin_.fail("{} bytes, more than the {} that are read", file.size(), kLargestFile);
  }
  file_.resize(file.size());
  file.read(0, file_);
  decoder_ = open_image(origin_, file_, most_pixels, channels == 1);
  pixels_.emplace(Shape{decoder_->size().height, decoder_->size().width, channels}, DType::uint8);
}

void ImageRead::run() {
  const ImageSize& size = decoder_->size();
  if (size.channels == channels_) {
    decoder_->decode(origin_, pixels_->bytes());
  } else {
    std::vector<std::byte> native(size.bytes());
    decoder_->decode(origin_, native);
    convert(reinterpret_cast<const Pixel*>(native.data()), size.channels,
            reinterpret_cast<Pixel*>(pixels_->bytes().data()), channels_, size.height * size.width);
  }
  decoder_ = nullptr;
  file_ = {};
}

Tensor ImageRead::finish(const char* op, std::source_location site) && {
  return std::move(*pixels_).finish(op, site);
}

Tensor read_image(const std::string& path, const ImageOptions& options, std::source_location site) {
  const detail::UserLine line(site);
  ImageRead image("read_image", path, channels_of("read_image", options.color_mode),
                  options.max_pixels);
  image.run();
  return std::move(image).finish("read_image", site);
}

}  // namespace tenure::io
