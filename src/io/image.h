// Images of files as the channels that are asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/host_tensor.h"
#include "io/image_decode.h"
#include "tenure/io.h"

namespace tenure::io {

// 1, 3 or 4, by Keras's name of it.
std::int64_t channels_of(const char* op, const std::string& color_mode);

// An image on its way in. Made and finished by the thread it is for; run() may be any other's.
class ImageRead {
 public:
  ImageRead(const char* op, const std::string& path, std::int64_t channels,
            std::int64_t most_pixels);
  void run();
  Tensor finish(const char* op, std::source_location site) &&;  // uint8, [height, width, channels]

 private:
  Origin origin_;
  std::int64_t channels_;
  std::vector<std::byte> file_;
  std::unique_ptr<ImageDecoder> decoder_;
  std::optional<NewTensor> pixels_;
};

}  // namespace tenure::io
