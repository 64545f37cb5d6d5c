// What a Variable stands for: a slot that owns its value.
#pragma once

#include <mutex>
#include <string>

#include "memory/label.h"
#include "tensor/access.h"
#include "tenure/job.h"

namespace tenure::detail {

struct VariableState {
  Mutex mutex;  // guards `value`: reads and assigns may come from any thread
  Saved value;
  std::uint64_t id = 0;  // the value identity of every read
  Shape shape;
  DType dtype = DType::float32;
  LabelRef label;
  bool trainable = true;
  bool autocast = false;  // see autocast.h
  Category claim = Category::parameter;
};

}  // namespace tenure::detail
