// StringLookup and TextVectorization in files:
//
//   {"class_name": "TextVectorization", "config": {"max_tokens": 10000, ...},
//    "vocabulary": ["", "[UNK]", "the", ...], "idf_weights": [...]}
//
// The vocabulary begins with mask and oov tokens. A token that is not UTF-8 is a list of its bytes.
#include <nlohmann/json.hpp>

#include "core/raise.h"
#include "io/atomic_file.h"
#include "io/json_text.h"
#include "io/model_json.h"
#include "memory/context.h"
#include "nn/text/state.h"

namespace tenure::nn {
namespace {

using io::Json;
using io::JsonKind;

Json token_json(const std::string& token) {
  if (io::is_utf8(token)) return token;
  Json bytes = Json::array();
  for (const char c : token) bytes.push_back(static_cast<int>(static_cast<unsigned char>(c)));
  return bytes;
}

std::string token_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  std::string token;
  for (const int byte : json.get<std::vector<int>>()) {
    if (byte < 0 || byte > 255) raise<ValueError>("vocabulary: {} is no byte", byte);
    token += static_cast<char>(byte);
  }
  return token;
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// A member of the config; one that is not there keeps its default.
template <class T>
void take(const Json& config, const char* key, T& to) {
  const auto found = config.find(key);
  if (found != config.end()) to = found->get<T>();
}
template <class T>
void take(const Json& config, const char* key, std::optional<T>& to) {
  const auto found = config.find(key);
  if (found != config.end() && !found->is_null()) to = found->get<T>();
}

template <class Options>
void put_common(Json& config, const Options& options) {
  config["max_tokens"] = optional_json(options.max_tokens);
  config["output_mode"] = options.output_mode;
  config["pad_to_max_tokens"] = options.pad_to_max_tokens;
}
template <class Options>
void take_common(const Json& config, Options& options) {
  take(config, "max_tokens", options.max_tokens);
  take(config, "output_mode", options.output_mode);
  take(config, "pad_to_max_tokens", options.pad_to_max_tokens);
}

Json config_of(const StringLookupOptions& options) {
  Json config = Json::object();
  put_common(config, options);
  config["num_oov_indices"] = options.num_oov_indices;
  config["mask_token"] = options.mask_token ? token_json(*options.mask_token) : Json();
  config["oov_token"] = token_json(options.oov_token);
  return config;
}

template <class Part>
std::string saved_name(const Part& part, const char* what) {
  if (!part.class_name().empty()) return part.class_name();
  throw UnsupportedError(
      describe("TextVectorization: save: {} is a function of yours, which no file can hold", what)
          .told({}, "change the text by map() before, and leave the option as it is."));
}

Json config_of(const TextVectorizationOptions& options) {
  Json config = Json::object();
  put_common(config, options);
  config["standardize"] = saved_name(options.standardize, "standardize");
  config["split"] = saved_name(options.split, "split");
  config["ngrams"] = static_cast<const std::vector<int>&>(options.ngrams);
  config["output_sequence_length"] = optional_json(options.output_sequence_length);
  return config;
}

void take_config(const Json& config, StringLookupOptions& options) {
  take_common(config, options);
  take(config, "num_oov_indices", options.num_oov_indices);
  const auto mask = config.find("mask_token");
  if (mask != config.end() && !mask->is_null()) options.mask_token = token_of(*mask);
  const auto oov = config.find("oov_token");
  if (oov != config.end()) options.oov_token = token_of(*oov);
}

void take_config(const Json& config, TextVectorizationOptions& options) {
  take_common(config, options);
  std::string standardize = options.standardize.class_name(), split = options.split.class_name();
  take(config, "standardize", standardize);
  take(config, "split", split);
  options.standardize = TextStandardize(standardize);
  options.split = TextSplit(split);
  take(config, "ngrams", static_cast<std::vector<int>&>(options.ngrams));
  take(config, "output_sequence_length", options.output_sequence_length);
}

void save_text(const std::string& path, const char* class_name, Json config,
               const text::Lookup& lookup) {
  const text::VocabularyPtr vocabulary = lookup.get();
  Json file = Json::object();
  file["class_name"] = class_name;
  file["config"] = std::move(config);
  Json tokens = Json::array();
  for (const std::string& token : lookup.list(true)) tokens.push_back(token_json(token));
  file["vocabulary"] = std::move(tokens);
  if (!vocabulary->idf().empty()) file["idf_weights"] = vocabulary->idf();
  io::AtomicFile to("text", path);
  to.write(file.dump(1));
  to.commit();
}

std::string text_of_file(const io::File& file) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
  if (file.size() > kMostBytes) {
    file.origin().fail("{} bytes, more than the {} that are read", file.size(), kMostBytes);
  }
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

template <class Layer, class Options>
Layer load_text(const std::string& path, const char* class_name, std::source_location site) {
  const io::File file("text", path);
  const io::Origin& origin = file.origin();
  const Json json = io::parse_model_json(origin, text_of_file(file));
  const auto& written = io::member(origin, json, "class_name", JsonKind::string);
  if (written.get<std::string>() != class_name) {
    origin.fail("is a {}, not a {}", io::printable(written.get<std::string>()), class_name);
  }
  const Json& config = io::member(origin, json, "config", JsonKind::object);
  const Json& tokens = io::member(origin, json, "vocabulary", JsonKind::array);
  const Json* idf = io::find_member(origin, json, "idf_weights", JsonKind::array);
  return io::about_file(origin, [&] {
    Options options;
    take_config(config, options);
    for (const Json& token : tokens) options.vocabulary.push_back(token_of(token));
    if (idf != nullptr) options.idf_weights = idf->template get<std::vector<double>>();
    return Layer(std::move(options), site);
  });
}

}  // namespace

void StringLookup::save(const std::string& path, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  save_text(path, "StringLookup", config_of(state_->options), state_->lookup);
}

StringLookup StringLookup::load(const std::string& path, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return load_text<StringLookup, StringLookupOptions>(path, "StringLookup", site);
}

void TextVectorization::save(const std::string& path, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  save_text(path, "TextVectorization", config_of(state_->options), state_->lookup);
}

TextVectorization TextVectorization::load(const std::string& path, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return load_text<TextVectorization, TextVectorizationOptions>(path, "TextVectorization", site);
}

}  // namespace tenure::nn
