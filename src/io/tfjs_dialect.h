// Where TensorFlow.js 4.22 spells Keras's schema in its own way, or lacks a part of it.
#pragma once

#include "io/model_json.h"

namespace tenure::io {

// An architecture of ours as it is read there; an UnsupportedError names what it does not have.
void to_tfjs(Json& architecture);

}  // namespace tenure::io
