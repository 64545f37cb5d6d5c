// A folder of images as a dataset.
//
//   nn::ImageDirectoryOptions options{.image_size = {160, 160}, .seed = 1, .validation_split =
//   0.2}; options.subset = "training"; nn::ImageDirectory pets =
//   nn::image_dataset_from_directory("pets", options);
//   model.fit(pets.data.shuffle().batch(32).prefetch(2), {.epochs = 5});
//
// Pictures stay in their files, and are read when a batch is made: several at once, on as many
// threads as kernels use.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tenure/dataset.h"
#include "tenure/export.h"
#include "tenure/shape.h"

namespace tenure::nn {

struct ImageDirectoryOptions {
  // Without label_mode, the folder may hold pictures themselves; otherwise it has a folder for each
  // class, and class i is the i-th by name, or the i-th of class_names.
  std::vector<std::int64_t> labels = {};      // of the files by path, in place of the folders
  std::string label_mode = "int";             // or "categorical", "binary", "none"
  std::vector<std::string> class_names = {};  // all of them, in another order
  std::string color_mode = "rgb";             // or "rgba", "grayscale"
  Shape image_size = {256, 256};              // {height, width}
  bool shuffle = true;                        // before the split
  std::optional<std::uint64_t> seed = {};     // of it
  double validation_split = 0;                // the part at the end that is for validation
  std::string subset = "";                    // "training" or "validation"
  std::string interpolation = "bilinear";     // or "nearest"
  bool follow_links = false;                  // to folders
  bool crop_to_aspect_ratio = false;      // the largest part in the middle that has image_size's
  bool pad_to_aspect_ratio = false;       // in black
  std::int64_t max_pixels = 100'000'000;  // a file that claims more is refused
};

// Examples of float32, [height, width, channels], from 0 to 255. Targets are int32 numbers of
// classes
// ("int"), float32 [1] of 0 and 1 ("binary"), or float32 [classes] ("categorical").
struct ImageDirectory {
  Dataset data;
  std::vector<std::string> class_names;
  std::vector<std::string> file_paths;  // of the examples, in their order
};
// Files are .png, .jpg and .jpeg, also in folders within folders. Names that begin with a dot are
// none.
TENURE_API ImageDirectory image_dataset_from_directory(
    const std::string& directory, const ImageDirectoryOptions& options = {},
    std::source_location site = std::source_location::current());

}  // namespace tenure::nn
