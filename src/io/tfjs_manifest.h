// The weights of a TensorFlow.js model: what model.json says of them, and the files they are in.
//
// The manifest is a list of groups. The files of a group, one after the other, hold its weights
// one after the other, wherever one file ends. Names of files are relative to model.json and may
// not lead out of its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/model_json.h"
#include "tenure/io.h"

namespace tenure::io {

// How a weight is packed: stored * scale + min, or as half floats.
struct TfjsQuantization {
  std::string dtype;  // "uint8", "uint16", "float16"
  double scale = 1;
  double min = 0;
};

struct TfjsWeight {
  TensorInfo info;  // of what it stands for; nbytes of that, too
  std::optional<TfjsQuantization> quantization;
  bool is_optimizer = false;  // state of one, not a weight of the model
  std::size_t group = 0;
  std::uint64_t offset = 0;  // in the bytes of its group
  std::uint64_t stored = 0;  // bytes
};

class TfjsManifest {
 public:
  // Every size is held against the files before anything is read.
  TfjsManifest(const Origin& origin, const std::string& folder, const Json& manifest);

  const std::vector<TfjsWeight>& weights() const { return weights_; }
  Tensor read(const TfjsWeight& weight, std::source_location site) const;

 private:
  struct Shard {
    std::string path;
    std::uint64_t begin;  // in the bytes of the group
    std::uint64_t end;
  };
  void add_group(const std::string& folder, const Json& group);
  TfjsWeight parse(const Json& json) const;
  void read_bytes(std::size_t group, std::uint64_t offset, std::span<std::byte> to) const;

  Origin origin_;
  std::vector<TfjsWeight> weights_;
  std::vector<std::vector<Shard>> groups_;
};

}  // namespace tenure::io
