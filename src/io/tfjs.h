// The model.json of TensorFlow.js.
#pragma once

#include <memory>

#include "io/model_json.h"
#include "io/tfjs_manifest.h"

namespace tenure::io {

struct TfjsFile {
  explicit TfjsFile(const std::string& path);
  const Json& architecture() const;  // {"class_name": ..., "config": ...}
  const Json* training() const;      // how it was compiled, or null
  Origin origin;
  std::shared_ptr<const Json> json;
  TfjsManifest manifest;
};

}  // namespace tenure::io
