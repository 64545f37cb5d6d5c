#include "io/model_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/raise.h"
#include "nn/config.h"
#include "nn/loading.h"

namespace tenure::io {

namespace {

constexpr std::size_t kMostBytes = std::size_t{32} << 20;
// Reading, writing and taking apart go down one call for each.
constexpr std::size_t kMostDepth = 200;
// Members are looked for one after the other.
constexpr std::size_t kMostMembers = 10'000;
// Room for states of recurrent layers, which files need not hold.
constexpr std::uint64_t kStateBytes = std::uint64_t{32} << 20;

class Bounds : public nlohmann::json_sax<Json> {
 public:
  explicit Bounds(const Origin& origin) : origin_(origin) {}
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t&) override {
    if (++members_.back() > kMostMembers) {
      origin_.fail("an object in the JSON has more than {} members", kMostMembers);
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    origin_.fail("not JSON at byte {}", position);
  }

 private:
  bool open() {
    members_.push_back(0);
    if (members_.size() > kMostDepth) origin_.fail("the JSON is more than {} deep", kMostDepth);
    return true;
  }
  bool close() {
    members_.pop_back();
    return true;
  }

  const Origin& origin_;
  std::vector<std::size_t> members_;  // of each object that is open
};

bool is_kind(const Json& json, JsonKind kind) {
  switch (kind) {
    case JsonKind::object:
      return json.is_object();
    case JsonKind::array:
      return json.is_array();
    case JsonKind::string:
      return json.is_string();
  }
  return false;
}

constexpr const char* kKinds[] = {"an object", "a list", "text"};

// An error's text, with what it quotes of a file safe to print.
std::string printable_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

template <class... Es>
bool is_any(const Error& error) {
  return (... || (dynamic_cast<const Es*>(&error) != nullptr));
}

}  // namespace

void rethrow_about(const Origin& origin) {
  try {
    throw;
  } catch (const nlohmann::json::exception&) {
    origin.fail("a setting in the JSON is of another kind than it should be");
  } catch (Error& error) {
    const bool wrong = is_any<ValueError, ShapeError, DtypeError>(error);
    if (!wrong && !is_any<UnsupportedError>(error)) throw;
    error.within(origin.path);
    error.within(origin.format);
    tenure::detail::edit(error, [](tenure::detail::ErrorRecord& record) {
      record.problem = printable_text(record.problem);
      for (ErrorLine& line : record.lines) line.what = printable_text(line.what);
    });
    if (wrong) throw IoError(tenure::detail::ErrorRecord(tenure::detail::record_of(error)));
    throw;
  }
}

namespace {

void check_bounds(const Origin& origin, std::string_view text) {
  if (text.size() > kMostBytes) {
    origin.fail("{} bytes of JSON, more than the {} that are read", text.size(), kMostBytes);
  }
  Bounds bounds(origin);
  Json::sax_parse(text, &bounds);
}

}  // namespace

Json parse_model_json(const Origin& origin, std::string_view text) {
  check_bounds(origin, text);
  return Json::parse(text);
}

const Json* find_member(const Origin& origin, const Json& json, const char* key, JsonKind kind) {
  if (!json.is_object()) origin.fail("\"{}\" is looked for in what is no object", key);
  const auto value = json.find(key);
  if (value == json.end() || value->is_null()) return nullptr;
  if (!is_kind(*value, kind)) {
    origin.fail("\"{}\" should be {}", key, kKinds[static_cast<std::size_t>(kind)]);
  }
  return &*value;
}

const Json& member(const Origin& origin, const Json& json, const char* key, JsonKind kind) {
  const Json* value = find_member(origin, json, key, kind);
  if (value == nullptr) origin.fail("there is no \"{}\"", key);
  return *value;
}

nn::Model model_from_json(const Origin& origin, const Json& json, std::uint64_t weight_bytes) {
  const Json& class_name = member(origin, json, "class_name", JsonKind::string);
  const auto config = json.find("config");
  if (config == json.end() || (!config->is_object() && !config->is_array())) {
    origin.fail("the model has no \"config\"");
  }
  const nn::detail::LoadScope loading(weight_bytes, kStateBytes + 16 * weight_bytes);
  const nn::Layer layer = about_file(
      origin, [&] { return nn::detail::layer_from_json(class_name.get<std::string>(), *config); });
  auto base = std::dynamic_pointer_cast<nn::ModelBase>(nn::detail::LayerAccess::shared(layer));
  if (base == nullptr) {
    origin.fail("the architecture is a {}, not a model", printable(layer.class_name()));
  }
  return nn::Model(std::move(base));
}

std::string architecture_text(const char* op, const nn::Model& model) {
  const std::string text = nn::detail::layer_text(nn::detail::LayerAccess::base(model));
  try {
    std::string json = nn::detail::to_json(model).dump();
    check_bounds({op, text}, json);  // what would not be read again is not written
    return json;
  } catch (UnsupportedError& error) {
    error.within(text);
    error.within(op);
    throw;
  } catch (const nlohmann::json::exception&) {
    raise<ValueError>("{}: {}: names and settings must be UTF-8", op, text);
  }
}

}  // namespace tenure::io
