// The table of ops (ops::all_ops) as JavaScript sees it.
#pragma once

#include "call.h"
#include "napi.h"

namespace tenure::node {

// In an op's code: its result is of the dtype that TensorFlow.js would give it.
inline constexpr std::int32_t kAsTfjs = 1 << 16;

// Runs what a code stands for: a row of all_rows(), or behind those an op of the table.
void run(std::int32_t code, Call& call);

// A list of {name, code, tfjs, inputs, outputs, mayWait, moves, fields}, one for each op that takes
// what anyone may hand it. `tfjs` is OpDef's; `mayWait`: it makes floats of floats, element by
// element; `moves`: it looks at no values, or only compares them; `fields` are its attributes'.
napi_value table_of_ops(napi_env env);

}  // namespace tenure::node
