#include "nn/model_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "core/raise.h"

namespace tenure::nn::detail {

namespace {

struct Ending {
  std::string_view text;
  std::string_view of;
  std::string_view writer = {};  // of that format, where there is one
};
constexpr Ending kForeignEndings[] = {
    {".keras", "Keras's archives"},
    {".h5", "HDF5 files"},
    {".hdf5", "HDF5 files"},
    {".pt", "PyTorch's files"},
    {".pth", "PyTorch's files"},
    {".onnx", "ONNX models"},
    {".pb", "TensorFlow's SavedModels"},
    {".tflite", "TensorFlow Lite models"},
    {".json", "models of TensorFlow.js", "nn::save_tfjs_model(model, folder) writes such a model"},
    {".npz", "NumPy's archives", "io::save_npz writes tensors to such a file"},
    {".npy", "NumPy's arrays", "io::save_npy writes a tensor to such a file"},
};

}  // namespace

void check_model_path(const char* op, const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto foreign = std::ranges::find(kForeignEndings, ending, &Ending::text);
  if (foreign == std::end(kForeignEndings)) return;
  const std::string instead = path.substr(0, path.size() - ending.size()) + ".safetensors";
  throw ValueError(describe("{}: \"{}\" ends as {} do, and what is written is a safetensors file",
                            op, path, foreign->of)
                       .told({}, foreign->writer.empty()
                                     ? fmt::format("write \"{}\".", instead)
                                     : fmt::format("write \"{}\"; {}.", instead, foreign->writer)));
}

}  // namespace tenure::nn::detail
