// The convolutions of three networks that people deploy, each shape once: MobileNetV2 and
// EfficientNet-lite0 for images of 224 x 224, BlazeFace for 128 x 128. One image, same padding, a
// bias, results between 0 and 6.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace bench {

struct Layer {
  int size;    // of the image, high and wide
  int in;      // channels
  int out;     // 0: each channel by itself
  int kernel;  // high and wide
  int stride = 1;

  bool is_depthwise() const { return out == 0; }
  int columns() const { return is_depthwise() ? in : out; }
  // conv1_112_32_16 has a kernel of 1 x 1, dw3s2_56_96 one of 3 x 3 and steps of 2.
  std::string name() const {
    std::string text = (is_depthwise() ? "dw" : "conv") + std::to_string(kernel);
    if (stride > 1) text += "s" + std::to_string(stride);
    text += "_" + std::to_string(size) + "_" + std::to_string(in);
    return is_depthwise() ? text : text + "_" + std::to_string(out);
  }
};

inline constexpr std::array kLayers = {
    // MobileNetV2
    Layer{224, 3, 32, 3, 2},
    Layer{112, 32, 0, 3},
    Layer{112, 32, 16, 1},
    Layer{112, 16, 96, 1},
    Layer{112, 96, 0, 3, 2},
    Layer{56, 96, 24, 1},
    Layer{56, 24, 144, 1},
    Layer{56, 144, 0, 3},
    Layer{56, 144, 24, 1},
    Layer{56, 144, 0, 3, 2},
    Layer{28, 144, 32, 1},
    Layer{28, 32, 192, 1},
    Layer{28, 192, 0, 3},
    Layer{28, 192, 32, 1},
    Layer{28, 192, 0, 3, 2},
    Layer{14, 192, 64, 1},
    Layer{14, 64, 384, 1},
    Layer{14, 384, 0, 3},
    Layer{14, 384, 64, 1},
    Layer{14, 384, 96, 1},
    Layer{14, 96, 576, 1},
    Layer{14, 576, 0, 3},
    Layer{14, 576, 96, 1},
    Layer{14, 576, 0, 3, 2},
    Layer{7, 576, 160, 1},
    Layer{7, 160, 960, 1},
    Layer{7, 960, 0, 3},
    Layer{7, 960, 160, 1},
    Layer{7, 960, 320, 1},
    Layer{7, 320, 1280, 1},
    // EfficientNet-lite0, where it differs
    Layer{56, 144, 0, 5, 2},
    Layer{28, 144, 40, 1},
    Layer{28, 40, 240, 1},
    Layer{28, 240, 0, 5},
    Layer{28, 240, 40, 1},
    Layer{28, 240, 0, 3, 2},
    Layer{14, 240, 80, 1},
    Layer{14, 80, 480, 1},
    Layer{14, 480, 0, 3},
    Layer{14, 480, 80, 1},
    Layer{14, 480, 0, 5},
    Layer{14, 480, 112, 1},
    Layer{14, 112, 672, 1},
    Layer{14, 672, 0, 5},
    Layer{14, 672, 112, 1},
    Layer{14, 672, 0, 5, 2},
    Layer{7, 672, 192, 1},
    Layer{7, 192, 1152, 1},
    Layer{7, 1152, 0, 5},
    Layer{7, 1152, 192, 1},
    Layer{7, 1152, 0, 3},
    Layer{7, 1152, 320, 1},
    // BlazeFace
    Layer{128, 3, 24, 5, 2},
    Layer{64, 24, 0, 3},
    Layer{64, 24, 24, 1},
    Layer{64, 24, 28, 1},
    Layer{64, 28, 0, 3, 2},
    Layer{32, 28, 32, 1},
    Layer{32, 32, 0, 3},
    Layer{32, 32, 36, 1},
    Layer{32, 36, 42, 1},
    Layer{32, 42, 0, 3, 2},
    Layer{16, 42, 48, 1},
    Layer{16, 56, 0, 3},
    Layer{16, 56, 64, 1},
    Layer{16, 80, 88, 1},
    Layer{16, 88, 0, 3, 2},
    Layer{8, 88, 96, 1},
    Layer{8, 96, 0, 3},
    Layer{8, 96, 96, 1},
};

}  // namespace bench
