// The names that weights and states have in files: those of the layers from the model down, and
// their own.
//
// A layer that bears the name it was given by default is called by its class and its place among
// its siblings ("dense", "dense_1"): the numbers in default names depend on what else the program
// made. Weights of a model thus fit another one that was made in the same way.
#pragma once

#include <string>
#include <vector>

#include "nn/layer_state.h"

namespace tenure::nn::detail {

struct NamedVariable {
  std::vector<std::string> path;       // layers' own names, then the variable's
  std::vector<std::string> tfjs_path;  // as TensorFlow.js has it: without the names of models
  std::string name;                    // in our files
  Variable variable;
  bool trainable = true;
};

// ValueError where two would have the same name.
std::vector<NamedVariable> named_weights(LayerBase& model);
// States and records.
std::vector<NamedVariable> named_states(LayerBase& model);

// The first layer that stands in two places below the model, or null.
LayerBase* layer_in_two_places(LayerBase& model);

}  // namespace tenure::nn::detail
