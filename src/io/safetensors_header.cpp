#include "io/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/raise.h"
#include "io/host_tensor.h"
#include "io/json_text.h"

namespace tenure::io {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

// The format's types; those that tensors do not have are known by their size only.
struct TypeRow {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> dtype;
};
constexpr TypeRow kTypes[] = {
    {"F32", 32, DType::float32},
    {"F64", 64, DType::float64},
    {"F16", 16, DType::float16},
    {"BF16", 16, DType::bfloat16},
    {"I32", 32, DType::int32},
    {"I64", 64, DType::int64},
    {"I8", 8, DType::int8},
    {"U8", 8, DType::uint8},
    {"BOOL", 8, DType::boolean},
    {"C64", 64, DType::complex64},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"U32", 32, {}},
    {"U64", 64, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F4", 4, {}},
};

const TypeRow* find_type(std::string_view name) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& type) { return type.name == name; });
  return row != std::end(kTypes) ? row : nullptr;
}

// Takes the JSON as it comes, so that no more of it is built than the format allows.
class HeaderParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderParser(const Origin& origin) : origin_(origin) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a bool"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { unexpected("a broken number"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::list) unexpected("a number");
    if (list_->size() >= kMaxRank) {
      origin_.fail("tensor \"{}\": more than {} numbers in \"{}\"", printable(name_), kMaxRank,
                   key_);
    }
    list_->push_back(value);
    return true;
  }
  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = std::move(value);
    } else if (place_ == Place::tensor && key_ == "dtype") {
      type_ = std::move(value);
    } else {
      unexpected("a string");
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::root;
    } else if (place_ == Place::root) {
      place_ = name_ == kMetadataKey ? Place::metadata : Place::tensor;
      type_.reset();
      shape_.reset();
      offsets_.reset();
    } else {
      unexpected("an object");
    }
    return true;
  }
  bool key(string_t& key) override {
    if (place_ == Place::root) {
      if (!names_.insert(key).second) {
        origin_.fail("two tensors are named \"{}\"", printable(key));
      }
      name_ = std::move(key);
      return true;
    }
    if (place_ == Place::metadata) {
      if (header_.metadata.contains(key)) {
        origin_.fail("metadata has \"{}\" twice", printable(key));
      }
    } else if ((key == "dtype" && type_) || (key == "shape" && shape_) ||
               (key == "data_offsets" && offsets_)) {
      origin_.fail("tensor \"{}\": \"{}\" stands there twice", printable(name_), key);
    } else if (key != "dtype" && key != "shape" && key != "data_offsets") {
      origin_.fail("tensor \"{}\": unknown key \"{}\"", printable(name_), printable(key));
    }
    key_ = std::move(key);
    return true;
  }
  bool end_object() override {
    if (place_ == Place::tensor) finish_tensor();
    place_ = place_ == Place::root ? Place::end : Place::root;
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") unexpected("an array");
    list_ = key_ == "shape" ? &shape_.emplace() : &offsets_.emplace();
    place_ = Place::list;
    return true;
  }
  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    origin_.fail("the header is not JSON at its byte {}", position);
  }

 private:
  enum class Place : std::uint8_t { start, root, metadata, tensor, list, end };

  [[noreturn]] void unexpected(std::string_view what) const {
    if (place_ == Place::start || place_ == Place::end) {
      origin_.fail("the header is {}, not an object of tensors", what);
    }
    if (place_ == Place::root) origin_.fail("\"{}\" is {}, not a tensor", printable(name_), what);
    origin_.fail("\"{}\": {} stands in \"{}\"", printable(name_), what, printable(key_));
  }

  void finish_tensor() {
    const std::string name = printable(name_);
    if (!type_ || !shape_ || !offsets_) {
      origin_.fail("tensor \"{}\": no {}", name,
                   !type_ ? "dtype" : (!shape_ ? "shape" : "data_offsets"));
    }
    const TypeRow* type = find_type(*type_);
    if (type == nullptr) {
      origin_.fail("tensor \"{}\": unknown dtype \"{}\"", name, printable(*type_));
    }
    if (offsets_->size() != 2 || (*offsets_)[0] > (*offsets_)[1]) {
      origin_.fail("tensor \"{}\": data_offsets are not [begin, end]: [{}]", name,
                   fmt::join(*offsets_, ", "));
    }
    const std::optional<std::uint64_t> bytes = bytes_of_shape(*shape_, type->bits);
    if (!bytes) {
      origin_.fail("tensor \"{}\": more bytes than can be counted, or no whole number: {} [{}]",
                   name, type->name, fmt::join(*shape_, ", "));
    }
    const std::uint64_t held = (*offsets_)[1] - (*offsets_)[0];
    if (held != *bytes) {
      origin_.fail("tensor \"{}\": {} [{}] has {} bytes, data_offsets [{}] hold {}", name,
                   type->name, fmt::join(*shape_, ", "), *bytes, fmt::join(*offsets_, ", "), held);
    }
    SafetensorsEntry entry;
    entry.info.name = name_;
    entry.info.type = type->name;
    entry.info.dtype = type->dtype;
    const std::vector<std::int64_t> dims(shape_->begin(), shape_->end());
    entry.info.shape = Shape(dims);
    entry.info.nbytes = *bytes;
    entry.begin = (*offsets_)[0];
    entry.end = (*offsets_)[1];
    header_.entries.push_back(std::move(entry));
  }

  const Origin& origin_;
  SafetensorsHeader header_;
  std::set<std::string> names_;
  Place place_ = Place::start;
  std::string name_;
  std::string key_;
  std::optional<std::string> type_;
  std::optional<std::vector<std::uint64_t>> shape_;
  std::optional<std::vector<std::uint64_t>> offsets_;
  std::vector<std::uint64_t>* list_ = nullptr;
};

// Sorted by where they begin, the entries touch one another and cover all bytes.
void check_cover(const Origin& origin, const std::vector<SafetensorsEntry>& entries,
                 std::uint64_t data_size) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(entries[a].begin, entries[a].end) <
           std::pair(entries[b].begin, entries[b].end);
  });
  std::uint64_t covered = 0;
  for (const std::size_t i : order) {
    const SafetensorsEntry& entry = entries[i];
    const std::string name = printable(entry.info.name);
    if (entry.end > data_size) {
      origin.fail("tensor \"{}\" ends at byte {} of {}: the file is cut short or broken", name,
                  entry.end, data_size);
    }
    if (entry.begin < covered) {
      origin.fail("tensor \"{}\" begins at byte {}, inside another that ends at {}", name,
                  entry.begin, covered);
    }
    if (entry.begin > covered) {
      origin.fail("bytes {} to {} before tensor \"{}\" belong to none", covered, entry.begin, name);
    }
    covered = entry.end;
  }
  if (covered != data_size) {
    origin.fail("{} bytes follow the last tensor", data_size - covered);
  }
}

}  // namespace

std::string_view safetensors_type(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.name;
  }
  raise<DtypeError>("safetensors: no type for {}", dtype);
}

SafetensorsHeader parse_safetensors_header(const Origin& origin, std::string_view json,
                                           std::uint64_t data_size) {
  if (!json.starts_with('{')) origin.fail("the header does not begin with '{{'");
  HeaderParser parser(origin);
  nlohmann::json::sax_parse(json.begin(), json.end(), &parser);
  SafetensorsHeader header = parser.take();
  check_cover(origin, header.entries, data_size);
  return header;
}

std::string write_safetensors_header(const SafetensorsHeader& header) {
  std::string json = "{";
  const auto append = [&](std::string_view text) {
    if (!is_utf8(text)) raise<ValueError>("save_safetensors: not UTF-8: \"{}\"", printable(text));
    append_json_string(json, text);
  };
  if (!header.metadata.empty()) {
    append(kMetadataKey);
    json += ":{";
    for (const auto& [key, value] : header.metadata) {
      append(key);
      json += ':';
      append(value);
      json += ',';
    }
    json.back() = '}';
    json += ',';
  }
  std::set<std::string_view> names{kMetadataKey};
  for (const SafetensorsEntry& entry : header.entries) {
    if (!names.insert(entry.info.name).second) {
      raise<ValueError>("save_safetensors: two tensors are named \"{}\", or the name is reserved",
                        printable(entry.info.name));
    }
    append(entry.info.name);
    json += fmt::format(R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)",
                        entry.info.type, fmt::join(entry.info.shape, ","), entry.begin, entry.end);
  }
  if (json.back() == ',') json.pop_back();
  return json + '}';
}

}  // namespace tenure::io
