// What the next step of a training depends on, as variables with the names that they have in files;
// and a file of it alone, for a training that is to go on in another process.
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_loading.h"
#include "nn/model_state.h"
#include "nn/weight_paths.h"
#include "tenure/io.h"
#include "tenure/nn/model.h"

namespace tenure::io {

// Values of variables, to be written.
struct Entries {
  NamedTensors tensors;
  std::source_location site;
  void add(const std::string& name, const Variable& variable) {
    tensors.emplace_back(name, variable.read(site));
  }
};

void append(std::vector<nn::detail::NamedVariable>& to,
            std::vector<nn::detail::NamedVariable> more);
// `what` is what the user called.
std::vector<nn::detail::NamedVariable> weights_of(const nn::Model& model, const char* what,
                                                  std::source_location site);
std::vector<nn::detail::NamedVariable> states_of(const nn::Model& model);  // of recurrent layers

// A variable for every entry of the file that `chosen` accepts, and an entry for every variable.
std::vector<WeightPair> fit_all(const SafetensorsReader& file,
                                const std::vector<nn::detail::NamedVariable>& variables,
                                const std::function<bool(std::string_view)>& chosen,
                                WeightFaults& faults);

// How far a training has come: batches of this epoch are done.
struct TrainingPosition {
  int epoch = 0;
  std::int64_t batch = 0;
};
// Of a compiled model, whoever made it: its code is not in the file. The file is written whole or
// not at all. Random numbers go on where they were.
void save_training(const nn::Model& model, const std::string& path, TrainingPosition position,
                   std::source_location site);
// Sets the model to what the file has, or changes nothing.
TrainingPosition load_training(const nn::Model& model, const std::string& path,
                               std::source_location site);

}  // namespace tenure::io
