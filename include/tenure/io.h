// Tensors in files: safetensors, NumPy's .npy and .npz, CSV and images. A file is written whole or
// not at all, and read as if a stranger had written it: what is wrong with it is an IoError.
//
//   tenure::io::save_safetensors("weights.safetensors", {{"w", w}, {"b", b}});
//   tenure::io::Archive weights = tenure::io::load_safetensors("weights.safetensors");
//   tenure::Tensor w = weights["w"];
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/dtype.h"
#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::map<std::string, std::string>;

// What a file holds, in the file's order.
struct TENURE_API Archive {
  NamedTensors tensors;
  Metadata metadata;  // safetensors only
  bool contains(std::string_view name) const;
  Tensor operator[](detail::NameAt name) const;  // ValueError when there is none
};

// What a file says of a tensor, known without reading its elements.
struct TensorInfo {
  std::string name;            // empty in a .npy file
  std::string type;            // as the file spells it: "BF16", "<f4"
  std::optional<DType> dtype;  // empty for a type that tensors do not have
  Shape shape;
  std::size_t nbytes = 0;
  bool mappable = false;  // lies in the file as a tensor lies in memory
};

// safetensors. The order of names is kept; bytes are laid out so that every tensor can be mapped.
TENURE_API void save_safetensors(const std::string& path, const NamedTensors& tensors,
                                 const Metadata& metadata = {},
                                 std::source_location site = std::source_location::current());
template <std::same_as<std::map<std::string, Tensor>> Map>
void save_safetensors(const std::string& path, const Map& tensors, const Metadata& metadata = {},
                      std::source_location site = std::source_location::current()) {
  save_safetensors(path, NamedTensors(tensors.begin(), tensors.end()), metadata, site);
}
TENURE_API Archive load_safetensors(const std::string& path,
                                    std::source_location site = std::source_location::current());

// Tensors of a safetensors file one by one. Any thread may read.
class TENURE_API SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path,
                             std::source_location site = std::source_location::current());
  SafetensorsReader(SafetensorsReader&&) noexcept;
  SafetensorsReader& operator=(SafetensorsReader&&) noexcept;
  ~SafetensorsReader();

  const std::vector<TensorInfo>& tensors() const;
  const Metadata& metadata() const;
  bool contains(std::string_view name) const;
  // A copy of the bytes.
  Tensor read(std::string_view name,
              std::source_location site = std::source_location::current()) const;
  // The file's own pages, which the tensor keeps mapped; the file must not change meanwhile. A
  // tensor that is not mappable is read.
  Tensor map(std::string_view name,
             std::source_location site = std::source_location::current()) const;

 private:
  struct State;
  detail::Held<std::unique_ptr<State>, "SafetensorsReader"> state_;
};

// NumPy's .npy. Written in C order and little-endian; any order is read. bfloat16 is not among
// NumPy's types.
TENURE_API void save_npy(const std::string& path, const Tensor& tensor,
                         std::source_location site = std::source_location::current());
TENURE_API Tensor load_npy(const std::string& path,
                           std::source_location site = std::source_location::current());
// The file's own pages, as SafetensorsReader::map. Fortran order is mapped too, as a transposition.
TENURE_API Tensor map_npy(const std::string& path,
                          std::source_location site = std::source_location::current());
TENURE_API TensorInfo inspect_npy(const std::string& path,
                                  std::source_location site = std::source_location::current());

struct NpzOptions {
  bool compress = false;
};
// NumPy's .npz: a zip archive of .npy files.
TENURE_API void save_npz(const std::string& path, const NamedTensors& tensors,
                         NpzOptions options = {},
                         std::source_location site = std::source_location::current());
template <std::same_as<std::map<std::string, Tensor>> Map>
void save_npz(const std::string& path, const Map& tensors, NpzOptions options = {},
              std::source_location site = std::source_location::current()) {
  save_npz(path, NamedTensors(tensors.begin(), tensors.end()), options, site);
}
TENURE_API Archive load_npz(const std::string& path,
                            std::source_location site = std::source_location::current());

// Tensors of a .npz file one by one, by one thread at a time.
class TENURE_API NpzReader {
 public:
  explicit NpzReader(const std::string& path,
                     std::source_location site = std::source_location::current());
  NpzReader(NpzReader&&) noexcept;
  NpzReader& operator=(NpzReader&&) noexcept;
  ~NpzReader();

  const std::vector<TensorInfo>& tensors() const;
  bool contains(std::string_view name) const;
  Tensor read(std::string_view name, std::source_location site = std::source_location::current());

 private:
  struct State;
  detail::Held<std::unique_ptr<State>, "NpzReader"> state_;
};

// A column by its name in the header, or by its position from 0.
class CsvColumn {
 public:
  CsvColumn(std::string name) : name_(std::move(name)) {}
  CsvColumn(const char* name) : name_(name) {}
  CsvColumn(int position) : position_(position) {}
  const std::string& name() const { return name_; }
  const std::optional<int>& position() const { return position_; }  // empty for one with a name

 private:
  std::string name_;
  std::optional<int> position_;
};

enum class CsvHeader : std::uint8_t {
  automatic,  // the first row is a header when none of its fields is a number
  yes,
  no,
};

struct CsvOptions {
  CsvHeader header = CsvHeader::automatic;
  char delimiter = ',';
  char quote = '"';
  char comment = '#';                   // begins lines to skip; '\0' for none
  std::vector<CsvColumn> columns = {};  // in this order; empty for all
  DType dtype = DType::float32;         // of read_csv's tensor: a float or an integer type
};

struct CsvTable {
  std::vector<std::string> columns;  // "0", "1", ... without a header
  Tensor values;                     // [rows, columns]
};

// An empty field is NaN. Fields may be quoted, and lines end in LF or CRLF.
TENURE_API CsvTable read_csv(const std::string& path, const CsvOptions& options = {},
                             std::source_location site = std::source_location::current());

struct ImageOptions {
  std::string color_mode = "rgb";         // or "rgba", "grayscale"
  std::int64_t max_pixels = 100'000'000;  // what claims more is refused
};
// A PNG or JPEG: uint8, [height, width, channels].
TENURE_API Tensor read_image(const std::string& path, const ImageOptions& options = {},
                             std::source_location site = std::source_location::current());

// The rows of a CSV file of any length, in memory for one row:
//
//   tenure::io::CsvReader rows("huge.csv", {.columns = {"x", "y"}});
//   while (rows.next()) use(rows.value<float>(0), rows.value<float>(1));
class TENURE_API CsvReader {
 public:
  explicit CsvReader(const std::string& path, CsvOptions options = {},
                     std::source_location site = std::source_location::current());
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  const std::vector<std::string>& columns() const;  // the chosen ones
  // To the next row; false after the last.
  bool next(std::source_location site = std::source_location::current());
  std::size_t line() const;  // the line the row begins on, from 1
  // Of the current row, until next(): the text of a chosen column, and the number it is.
  std::string_view field(std::size_t column,
                         std::source_location site = std::source_location::current()) const;
  template <class T>
  T value(std::size_t column, std::source_location site = std::source_location::current()) const {
    T value;
    parse(column, dtype_of<T>, &value, site);
    return value;
  }

 private:
  friend TENURE_API CsvTable read_csv(const std::string&, const CsvOptions&, std::source_location);
  friend struct CsvAccess;
  void parse(std::size_t column, DType dtype, void* to, std::source_location site) const;
  struct State;
  detail::Held<std::unique_ptr<State>, "CsvReader"> state_;
};

}  // namespace tenure::io
