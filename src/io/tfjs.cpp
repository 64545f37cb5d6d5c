// Layers models of TensorFlow.js.
//
// It names a weight by its layer, without the models around that layer; a wrapper may stand before
// it, a cell may not; the converter from Python writes the whole path. So a weight is looked for
// by its whole path, and then among those whose path leaves out or adds layers in between.
#include "io/tfjs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/raise.h"
#include "io/atomic_file.h"
#include "io/file_kind.h"
#include "io/host_tensor.h"
#include "io/model_parts.h"
#include "io/tfjs_dialect.h"
#include "io/weight_loading.h"
#include "memory/context.h"
#include "memory/warn.h"
#include "nn/containers.h"
#include "nn/eager_scope.h"
#include "tenure/nn/files.h"

namespace tenure::io {

using nn::detail::NamedVariable;

namespace {

std::string read_text(const File& file) {
  check_kind(file, FileKind::json);
  constexpr std::uint64_t kMost = std::uint64_t{32} << 20;
  if (file.size() > kMost) {
    file.origin().fail("{} bytes, more than the {} of a model.json that is read", file.size(),
                       kMost);
  }
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::shared_ptr<const Json> read_json(const Origin& origin) {
  return std::make_shared<const Json>(
      parse_model_json(origin, read_text(File(origin.format, origin.path))));
}

std::string folder_with(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::vector<std::string> split(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);  // of a name in a graph of TensorFlow
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    parts.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, "/"));
}

bool is_within(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  auto at = all.begin();
  for (const std::string& part : some) {
    at = std::find(at, all.end(), part);
    if (at == all.end()) return false;
    ++at;
  }
  return true;
}

std::vector<WeightPair> match(const Origin& origin, const std::vector<NamedVariable>& weights,
                              const std::vector<TfjsWeight>& entries) {
  std::map<std::string, std::size_t> exact;
  std::multimap<std::string, std::size_t> by_own_name;
  std::vector<std::vector<std::string>> paths;
  std::vector<bool> used(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    paths.push_back(split(entries[i].info.name));
    used[i] = entries[i].is_optimizer;
    if (!used[i]) exact.emplace(joined(paths[i]), i);
  }
  std::vector<WeightPair> pairs;
  std::vector<const NamedVariable*> rest;
  for (const NamedVariable& weight : weights) {
    auto entry = exact.find(joined(weight.path));
    if (entry == exact.end() || used[entry->second]) entry = exact.find(joined(weight.tfjs_path));
    if (entry != exact.end() && !used[entry->second]) {
      used[entry->second] = true;
      pairs.push_back({&weight, entry->second});
    } else {
      rest.push_back(&weight);
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!used[i]) by_own_name.emplace(paths[i].back(), i);
  }
  WeightFaults faults;
  for (const NamedVariable* weight : rest) {
    const auto [first, last] = by_own_name.equal_range(weight->path.back());
    std::vector<std::size_t> candidates;
    for (auto each = first; each != last; ++each) {
      const std::vector<std::string>& path = paths[each->second];
      if (!used[each->second] && (is_within(path, weight->path) || is_within(weight->path, path))) {
        candidates.push_back(each->second);
      }
    }
    if (candidates.size() > 1) {
      origin.fail("weight \"{}\" could be \"{}\" or \"{}\"", printable(joined(weight->path)),
                  printable(entries[candidates[0]].info.name),
                  printable(entries[candidates[1]].info.name));
    }
    if (candidates.empty()) {
      faults.missing(joined(weight->path));
      continue;
    }
    used[candidates[0]] = true;
    pairs.push_back({weight, candidates[0]});
  }
  for (const WeightPair& pair : pairs) {
    const std::string wrong = mismatch(*pair.weight, entries[pair.entry].info);
    if (!wrong.empty()) faults.mismatched(wrong);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!used[i]) faults.unexpected(entries[i].info.name);
  }
  faults.raise(origin, "the architecture");
  return pairs;
}

std::uint64_t weight_bytes(const TfjsManifest& manifest) {
  std::uint64_t bytes = 0;
  for (const TfjsWeight& weight : manifest.weights()) bytes += weight.info.nbytes;
  return bytes;
}

}  // namespace

TfjsFile::TfjsFile(const std::string& path)
    : origin{"load_tfjs_model", path},
      json(read_json(origin)),
      manifest(origin, folder_with(path),
               member(origin, *json, "weightsManifest", JsonKind::array)) {}

const Json& TfjsFile::architecture() const {
  if (const Json* format = find_member(origin, *json, "format", JsonKind::string);
      format != nullptr && *format == "graph-model") {
    origin.fail("a graph model, whose layers are not in the file: convert it as a layers model");
  }
  const Json& topology = member(origin, *json, "modelTopology", JsonKind::object);
  const Json* inner = find_member(origin, topology, "model_config", JsonKind::object);
  return inner != nullptr ? *inner : topology;
}

const Json* TfjsFile::training() const {
  if (const Json* config = find_member(origin, *json, "trainingConfig", JsonKind::object))
    return config;
  const Json& topology = member(origin, *json, "modelTopology", JsonKind::object);
  return find_member(origin, topology, "training_config", JsonKind::object);
}

namespace {

// As it is called here: what Keras 3 wrote means what it says.
Json architecture_of(const TfjsFile& file) {
  Json architecture = file.architecture();
  const Json& topology = member(file.origin, *file.json, "modelTopology", JsonKind::object);
  const auto version = topology.find("keras_version");
  const bool is_new = version != topology.end() && version->is_string() &&
                      version->get_ref<const std::string&>().starts_with("3.");
  if (!is_new) from_keras_2(architecture);
  return architecture;
}

// As it was compiled there. A model of which that cannot be said here can still be asked.
void compile_from(const TfjsFile& file, const nn::Model& model, std::source_location site) {
  const Json* training = file.training();
  if (training == nullptr) return;
  const nn::detail::Structure* structure =
      nn::detail::structure_of(nn::detail::ModelAccess::base(model));
  if (structure == nullptr) return;
  try {
    const std::optional<nn::CompileOptions> options = about_file(
        file.origin, [&] { return compile_from_keras(*training, structure->outputs.size()); });
    if (options) model.compile(*options, site);
  } catch (const Error& error) {
    tenure::detail::warn(fmt::format("the model is not compiled: {}", error.summary()));
  }
}

}  // namespace

}  // namespace tenure::io

namespace tenure::nn {

using detail::NamedVariable;
using io::Json;

Model load_tfjs_model(const std::string& path, std::source_location site) {
  const detail::EagerScope eager;
  const tenure::detail::CallScope call("load_tfjs_model", site);
  const io::TfjsFile file(path);
  Model model =
      io::model_from_json(file.origin, io::architecture_of(file), io::weight_bytes(file.manifest));
  if (!model.is_built()) file.origin.fail("the model does not say the shape of its input");
  const std::vector<NamedVariable> weights = io::about_file(
      file.origin, [&] { return detail::named_weights(detail::ModelAccess::base(model)); });
  const std::vector<io::TfjsWeight>& entries = file.manifest.weights();
  const std::vector<io::WeightPair> pairs = io::match(file.origin, weights, entries);
  io::assign_all(pairs, [&](std::size_t i) { return file.manifest.read(entries[i], site); }, site);
  io::compile_from(file, model, site);
  return model;
}

void save_tfjs_model(const Model& model, const std::string& folder, std::source_location site) {
  const detail::EagerScope eager;
  const tenure::detail::CallScope call("save_tfjs_model", site);
  ModelBase& base = detail::ModelAccess::base(model);
  detail::check_alive(base, site, "save_tfjs_model");
  if (detail::structure_of(base) == nullptr) {
    raise<UnsupportedError>(
        "save_tfjs_model: {} does not know its inputs, or is a model of your own: only models of "
        "layers can be run there",
        detail::layer_text(base));
  }
  Json topology = detail::to_json(model);
  io::to_tfjs(topology);
  topology["keras_version"] = "tfjs-layers 4.22.0";
  topology["backend"] = "tenure";
  Json list = Json::array();
  std::vector<io::HeldTensor> held;
  std::optional<detail::Turn> turn(std::in_place, base);
  for (const NamedVariable& weight : detail::named_weights(base)) {
    const DType dtype = weight.variable.dtype();
    if (dtype != DType::float32 && dtype != DType::int32 && dtype != DType::boolean) {
      raise<DtypeError>("save_tfjs_model: \"{}\" is {}: float32, int32 and bool exist there",
                        weight.name, dtype);
    }
    list.push_back({{"name", io::joined(weight.tfjs_path)},
                    {"shape", detail::to_json(weight.variable.shape())},
                    {"dtype", std::string(name(dtype))}});
    held.emplace_back(weight.variable.read(site), "save_tfjs_model", site);
  }
  turn.reset();  // a training goes on while the files are written
  const Json json{{"format", "layers-model"},
                  {"generatedBy", "Tenure"},
                  {"convertedBy", nullptr},
                  {"modelTopology", topology},
                  {"weightsManifest",
                   Json::array({{{"paths", Json::array({"weights.bin"})}, {"weights", list}}})}};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    const io::Origin origin{"save_tfjs_model", folder};
    origin.fail("the folder cannot be made: {}", error.message());
  }
  const std::filesystem::path to(folder);
  // model.json last: whoever finds it new finds its weights, too.
  io::AtomicFile weights("save_tfjs_model", (to / "weights.bin").string());
  for (const io::HeldTensor& each : held) {
    tenure::detail::StorageRef scratch;
    weights.write(each.bytes(scratch));
  }
  io::AtomicFile text("save_tfjs_model", (to / "model.json").string());
  try {
    text.write(json.dump());
  } catch (const nlohmann::json::exception&) {
    raise<ValueError>("save_tfjs_model: {}: names and settings must be UTF-8",
                      detail::layer_text(base));
  }
  weights.commit();
  text.commit();
}

}  // namespace tenure::nn
