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

#include <cstddef>
#include <cstdint>
#include <functional>
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

// A row with a field that is no number of its column's dtype, or with another number of fields than
// the first row. An empty field of floats is NaN, and not bad.
enum class BadRows : std::uint8_t {
  error,  // of the next() that reads it
  skip,   // as if the file did not have it
  fill,   // fill_value for what is bad or missing; what is too much is left out
};
struct CsvBadRow {
  std::size_t line = 0;  // from 1
  std::string problem;   // of its first bad field
};

struct CsvDatasetOptions {
  std::vector<io::CsvColumn> features = {};  // of the input; default: all that is not below
  std::vector<io::CsvColumn> targets = {};
  std::optional<io::CsvColumn> weight = {};  // of examples
  std::vector<io::CsvColumn> text = {};      // each a text of the element
  DType dtype = DType::float32;              // of the input
  DType target_dtype = DType::float32;
  io::CsvHeader header = io::CsvHeader::automatic;
  char delimiter = ',';
  char quote = '"';
  char comment = '#';
  // A warning tells how many were skipped or filled; on_bad_row is called for each by from_csv.
  BadRows bad_rows = BadRows::error;
  double fill_value = 0;
  std::function<void(const CsvBadRow&)> on_bad_row = {};
};

}  // namespace tenure::nn
