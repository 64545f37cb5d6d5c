// Where TensorFlow.js 4.22 spells Keras's schema in its own way, or lacks a part of it.
#pragma once

#include "io/model_json.h"

namespace tenure::io {

// Gives what an architecture of Keras 2 or TensorFlow.js names, or leaves out, the names that it
// has here: their hard_sigmoid is another than that of Keras 3.
void from_keras_2(Json& architecture);

// An architecture of ours as it is read there; an UnsupportedError names what it does not have.
void to_tfjs(Json& architecture);

}  // namespace tenure::io
