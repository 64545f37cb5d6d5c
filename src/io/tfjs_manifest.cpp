#include "io/tfjs_manifest.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "io/endian.h"
#include "io/host_tensor.h"

namespace tenure::io {

namespace {

constexpr std::size_t kMostWeights = 100'000;
constexpr std::size_t kMostShards = 10'000;

std::optional<DType> dtype_of_name(const std::string& name) {
  if (name == "float32") return DType::float32;
  if (name == "int32") return DType::int32;
  if (name == "bool") return DType::boolean;
  return std::nullopt;
}

std::uint64_t stored_bits(const Origin& origin, const std::string& name, const std::string& type) {
  if (type == "uint8") return 8;
  if (type == "uint16" || type == "float16") return 16;
  origin.fail("weight \"{}\": quantized as \"{}\", and uint8, uint16 and float16 are read", name,
              printable(type));
}

double number(const Origin& origin, const std::string& name, const Json& json, const char* key,
              double otherwise) {
  const auto number = json.find(key);
  if (number == json.end()) return otherwise;
  if (!number->is_number() || !std::isfinite(number->get<double>())) {
    origin.fail("weight \"{}\": \"{}\" is no number", name, key);
  }
  return number->get<double>();
}

// A file of the model's own folder.
std::string shard_path(const Origin& origin, const std::string& folder, const std::string& name) {
  const std::filesystem::path path(name);
  bool safe = !name.empty() && path.is_relative() && name.find('\\') == name.npos &&
              name.find('\0') == name.npos;
  for (const std::filesystem::path& part : path) safe = safe && part != ".." && part != ".";
  if (!safe) {
    origin.fail("the file of weights \"{}\" does not lie in the folder of the model",
                printable(name));
  }
  return (std::filesystem::path(folder) / path).string();
}

// Elements of T that are packed as Q.
template <class Q, class T>
void unpack(std::span<const std::byte> from, const TfjsQuantization& how, std::span<std::byte> to) {
  const std::size_t count = from.size() / sizeof(Q);
  for (std::size_t i = 0; i < count; ++i) {
    const auto stored = load_little<Q>(from.data() + i * sizeof(Q));
    T value{};
    if constexpr (std::is_same_v<Q, Float16>) {
      value = static_cast<T>(static_cast<float>(stored));
    } else {
      const double real = static_cast<double>(stored) * how.scale + how.min;
      if constexpr (std::is_same_v<T, std::int32_t>) {
        constexpr double kLeast = std::numeric_limits<std::int32_t>::min();
        constexpr double kMost = std::numeric_limits<std::int32_t>::max();
        value = static_cast<T>(std::clamp(std::round(real), kLeast, kMost));
      } else {
        value = static_cast<T>(real);
      }
    }
    store_little(to.data() + i * sizeof(T), value);
  }
}

template <class T>
void unpack_as(std::span<const std::byte> from, const TfjsQuantization& how,
               std::span<std::byte> to) {
  if (how.dtype == "uint8") return unpack<std::uint8_t, T>(from, how, to);
  if (how.dtype == "uint16") return unpack<std::uint16_t, T>(from, how, to);
  unpack<Float16, T>(from, how, to);
}

}  // namespace

TfjsManifest::TfjsManifest(const Origin& origin, const std::string& folder, const Json& manifest)
    : origin_(origin) {
  for (const Json& group : manifest) add_group(folder, group);
  std::set<std::string_view> names;
  for (const TfjsWeight& weight : weights_) {
    if (!names.insert(weight.info.name).second) {
      origin_.fail("two weights are named \"{}\"", printable(weight.info.name));
    }
  }
}

void TfjsManifest::add_group(const std::string& folder, const Json& group) {
  const Json& paths = member(origin_, group, "paths", JsonKind::array);
  const Json& weights = member(origin_, group, "weights", JsonKind::array);
  if (paths.size() > kMostShards || groups_.size() > kMostShards) {
    origin_.fail("more than {} files of weights", kMostShards);
  }
  if (weights.size() > kMostWeights - std::min(kMostWeights, weights_.size())) {
    origin_.fail("more than {} weights", kMostWeights);
  }
  std::vector<Shard> shards;
  std::uint64_t end = 0;
  for (const Json& path : paths) {
    if (!path.is_string()) origin_.fail("a file of weights has no name");
    const std::string at = shard_path(origin_, folder, path.get<std::string>());
    const std::uint64_t size = File(origin_.format, at).size();
    shards.push_back({at, end, end + size});
    end += size;
  }
  std::uint64_t offset = 0;
  for (const Json& each : weights) {
    TfjsWeight weight = parse(each);
    weight.group = groups_.size();
    weight.offset = offset;
    if (weight.stored > end - offset) {
      origin_.fail("weight \"{}\" needs {} bytes, and its files have {} left: cut short or broken",
                   printable(weight.info.name), weight.stored, end - offset);
    }
    offset += weight.stored;
    weights_.push_back(std::move(weight));
  }
  if (offset != end) {
    origin_.fail("{} bytes follow the last weight of a group of files", end - offset);
  }
  groups_.push_back(std::move(shards));
}

TfjsWeight TfjsManifest::parse(const Json& json) const {
  TfjsWeight weight;
  weight.info.name = member(origin_, json, "name", JsonKind::string).get<std::string>();
  const std::string name = printable(weight.info.name);
  weight.info.type = member(origin_, json, "dtype", JsonKind::string).get<std::string>();
  weight.info.dtype = dtype_of_name(weight.info.type);
  if (!weight.info.dtype) {
    origin_.fail("weight \"{}\": dtype \"{}\", and float32, int32 and bool are read", name,
                 printable(weight.info.type));
  }
  std::vector<std::uint64_t> dims;
  for (const Json& size : member(origin_, json, "shape", JsonKind::array)) {
    if (!size.is_number_unsigned() || dims.size() == 32) {
      origin_.fail("weight \"{}\": the shape is no list of sizes", name);
    }
    dims.push_back(size.get<std::uint64_t>());
  }
  std::uint64_t bits = 8 * size_of(*weight.info.dtype);
  const std::optional<std::uint64_t> bytes = bytes_of_shape(dims, bits);
  if (const Json* packed = find_member(origin_, json, "quantization", JsonKind::object)) {
    TfjsQuantization& how = weight.quantization.emplace();
    how.dtype = member(origin_, *packed, "dtype", JsonKind::string).get<std::string>();
    how.scale = number(origin_, name, *packed, "scale", 1);
    how.min = number(origin_, name, *packed, "min", 0);
    bits = stored_bits(origin_, name, how.dtype);
    if (*weight.info.dtype == DType::boolean) {
      origin_.fail("weight \"{}\": quantized bools do not exist", name);
    }
  }
  const std::optional<std::uint64_t> stored = bytes_of_shape(dims, bits);
  if (!bytes || !stored) {
    origin_.fail("weight \"{}\": more bytes than can be counted: [{}]", name,
                 fmt::join(dims, ", "));
  }
  weight.info.shape = Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
  weight.info.nbytes = *bytes;
  weight.stored = *stored;
  if (const Json* group = find_member(origin_, json, "group", JsonKind::string)) {
    weight.is_optimizer = *group == "optimizer";
  }
  return weight;
}

void TfjsManifest::read_bytes(std::size_t group, std::uint64_t offset,
                              std::span<std::byte> to) const {
  for (const Shard& shard : groups_[group]) {
    if (to.empty()) return;
    if (offset >= shard.end) continue;
    const File file(origin_.format, shard.path);
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), shard.end - offset));
    if (file.size() < offset - shard.begin + count) {
      file.origin().fail("was cut short while it was read");
    }
    file.read(offset - shard.begin, to.first(count));
    offset += count;
    to = to.subspan(count);
  }
}

Tensor TfjsManifest::read(const TfjsWeight& weight, std::source_location site) const {
  NewTensor content(weight.info.shape, *weight.info.dtype);
  if (!weight.quantization) {
    read_bytes(weight.group, weight.offset, content.bytes());
    if (*weight.info.dtype == DType::boolean) {
      check_bools(origin_, weight.info.name, content.bytes());
    }
  } else {
    std::vector<std::byte> stored(weight.stored);
    read_bytes(weight.group, weight.offset, stored);
    if (*weight.info.dtype == DType::int32) {
      unpack_as<std::int32_t>(stored, *weight.quantization, content.bytes());
    } else {
      unpack_as<float>(stored, *weight.quantization, content.bytes());
    }
  }
  return std::move(content).finish("load_tfjs_model", site);
}

}  // namespace tenure::io
