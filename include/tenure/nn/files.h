// Models in files, and datasets over files.
//
//   model.save("model.safetensors");                        // architecture, weights, optimizer
//   nn::Model again = nn::load_model("model.safetensors");  // trains on where that one stopped
//
//   nn::Model web = nn::load_tfjs_model("web/model.json");  // trained in JavaScript
//   nn::save_tfjs_model(model, "web");
//
//   nn::Dataset rows = nn::Dataset::from_csv("plants.csv", {.features = {"height", "width"},
//                                                           .targets = {"kind"}});
//   nn::Dataset images = nn::Dataset::from_npy("x.npy", "y.npy");
//
// Files are read as if a stranger had written them: what is wrong with one is an IoError.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tenure/dataset.h"
#include "tenure/export.h"
#include "tenure/io.h"
#include "tenure/nn/model.h"

namespace tenure::nn {

// A model that save() wrote, compiled as it was, with the state of its optimizer and its recurrent
// layers. Layers of your own are known by register_layer.
TENURE_API Model load_model(const std::string& path,
                            std::source_location site = std::source_location::current());

struct LoadOptions {
  // Takes what file and model both have; what only one of them has stays as it is.
  bool by_name = false;
  // Leaves out weights whose shape or dtype is another one in the file.
  bool skip_mismatched = false;
};
// What became of each weight, by its name in files.
struct LoadedWeights {
  std::vector<std::string> loaded;
  std::vector<std::string> missing;     // in the file
  std::vector<std::string> unexpected;  // in the model
  std::vector<std::string> mismatched;  // and left out
};
// Weights by name from save_weights(), save(), or any safetensors file. All that does not fit is
// named in one IoError, and then nothing was changed.
TENURE_API LoadedWeights load_weights(const Model& model, const std::string& path,
                                      LoadOptions options,
                                      std::source_location site = std::source_location::current());

// A layers model of TensorFlow.js: model.json, and beside it the files of weights that it names.
// Quantized weights are read as what they stand for. Compiled where the file says how, with an
// optimizer that begins anew; a warning tells where that cannot be said here.
TENURE_API Model load_tfjs_model(const std::string& path,
                                 std::source_location site = std::source_location::current());
// Writes model.json and weights.bin into the folder, which is made where there is none.
TENURE_API void save_tfjs_model(const Model& model, const std::string& folder,
                                std::source_location site = std::source_location::current());

struct CsvDatasetOptions {
  std::vector<io::CsvColumn> features = {};  // of the input; default: all that is not below
  std::vector<io::CsvColumn> targets = {};
  std::optional<io::CsvColumn> weight = {};  // of examples
  DType dtype = DType::float32;              // of the input
  DType target_dtype = DType::float32;
  io::CsvHeader header = io::CsvHeader::automatic;
  char delimiter = ',';
  char quote = '"';
  char comment = '#';
};

}  // namespace tenure::nn
