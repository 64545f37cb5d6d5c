#include "io/npy_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "core/raise.h"
#include "io/endian.h"

namespace tenure::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy's own headers are shorter by far; structured types make the longest.
constexpr std::uint64_t kMaxHeader = std::uint64_t{1} << 20;
constexpr std::size_t kNpyAlignment = 64;

struct NpyType {
  std::string_view code;  // without the byte order
  DType dtype;
};
constexpr NpyType kNpyTypes[] = {
    {"f4", DType::float32}, {"f8", DType::float64}, {"i4", DType::int32},
    {"i8", DType::int64},   {"u1", DType::uint8},   {"i1", DType::int8},
    {"b1", DType::boolean}, {"f2", DType::float16}, {"c8", DType::complex64},
};

// The part of Python's syntax that heads are written in.
class DictParser {
 public:
  DictParser(const Origin& origin, std::string_view text) : origin_(origin), text_(text) {}

  void parse(NpyHeader& header, std::vector<std::uint64_t>& shape) {
    expect('{');
    bool seen[3] = {false, false, false};
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      constexpr std::string_view kKeys[] = {"descr", "fortran_order", "shape"};
      const auto which = static_cast<std::size_t>(
          std::find(std::begin(kKeys), std::end(kKeys), key) - std::begin(kKeys));
      if (which == std::size(kKeys)) origin_.fail("unknown key '{}' in the head", printable(key));
      if (std::exchange(seen[which], true)) origin_.fail("'{}' stands twice in the head", key);
      if (which == 0) {
        header.info.type = descr();
      } else if (which == 1) {
        header.fortran_order = boolean();
      } else {
        shape = tuple();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) broken();
    if (!seen[0] || !seen[1] || !seen[2]) {
      origin_.fail("no '{}' in the head",
                   !seen[0] ? "descr" : (!seen[1] ? "fortran_order" : "shape"));
    }
  }

 private:
  [[noreturn]] void broken() const {
    origin_.fail("the head cannot be read at its byte {}: {}", at_, printable(text_));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string string() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) broken();
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != inside.npos) broken();
    at_ = end + 1;
    return std::string(inside);
  }
  // A list describes structured elements; it is kept as it stands.
  std::string descr() {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != '[') return string();
    const std::size_t begin = at_;
    int depth = 0;
    do {
      if (at_ >= text_.size()) broken();
      if (text_[at_] == '\'' || text_[at_] == '"') {
        string();
        continue;
      }
      if (text_[at_] == '[') ++depth;
      if (text_[at_] == ']') --depth;
      ++at_;
    } while (depth != 0);
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) broken();
    return false;
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::uint64_t value = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error == std::errc::result_out_of_range) {
        origin_.fail("a dimension past 2^64 in the head: {}", printable(text_));
      }
      if (error != std::errc() || values.size() >= kMaxRank) broken();
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');  // Python 2 marks long integers
      values.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  const Origin& origin_;
  std::string_view text_;
  std::size_t at_ = 0;
};

void set_dtype(NpyHeader& header) {
  std::string_view code = header.info.type;
  if (code == "?") code = "|b1";
  if (code.empty() || std::string_view("<>=|").find(code[0]) == code.npos) return;
  for (const NpyType& row : kNpyTypes) {
    if (row.code == code.substr(1)) header.info.dtype = row.dtype;
  }
  header.big_endian = code[0] == '>' && header.info.dtype && size_of(*header.info.dtype) > 1;
}

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
}

}  // namespace

NpyHeader read_npy_header(const Origin& origin, std::uint64_t size, const ReadBytes& read) {
  std::byte preamble[12];
  if (size < 10) origin.fail("{} bytes, too few for a .npy file", size);
  read(std::span(preamble).first(10));
  if (std::memcmp(preamble, kMagic.data(), kMagic.size()) != 0) {
    origin.fail("does not begin as a .npy file does");
  }
  const int major = static_cast<int>(preamble[6]);
  const int minor = static_cast<int>(preamble[7]);
  if (major < 1 || major > 3 || minor != 0) {
    origin.fail("version {}.{} of the format, known are 1.0 to 3.0", major, minor);
  }
  NpyHeader header;
  std::uint64_t length = load_little<std::uint16_t>(preamble + 8);
  header.data_begin = 10;
  if (major > 1) {
    if (size < 12) origin.fail("{} bytes, too few for a .npy file", size);
    read(std::span(preamble).subspan(10, 2));
    length = load_little<std::uint32_t>(preamble + 8);
    header.data_begin = 12;
  }
  if (length > size - header.data_begin) {
    origin.fail("a head of {} bytes in a file of {}: cut short or broken", length, size);
  }
  if (length > kMaxHeader) {
    origin.fail("a head of {} bytes, more than the {} allowed", length, kMaxHeader);
  }
  header.data_begin += length;
  std::string text(length, '\0');
  read(std::as_writable_bytes(std::span(text)));
  std::vector<std::uint64_t> dims;
  DictParser(origin, text).parse(header, dims);
  set_dtype(header);

  const std::uint64_t rest = size - header.data_begin;
  const std::optional<std::uint64_t> bytes =
      bytes_of_shape(dims, header.info.dtype ? 8 * size_of(*header.info.dtype) : 8);
  if (!bytes) {
    origin.fail("more bytes than can be counted: {} [{}]", printable(header.info.type),
                fmt::join(dims, ", "));
  }
  if (header.info.dtype && *bytes != rest) {
    origin.fail("{} [{}] has {} bytes, and {} follow the head", header.info.type,
                fmt::join(dims, ", "), *bytes, rest);
  }
  const std::vector<std::int64_t> signed_dims(dims.begin(), dims.end());
  header.info.shape = Shape(signed_dims);
  header.info.nbytes = rest;
  header.info.mappable = header.info.dtype && !header.big_endian && rest != 0 &&
                         header.data_begin % size_of(*header.info.dtype) == 0;
  return header;
}

Tensor read_npy_elements(const Origin& origin, const NpyHeader& header, const ReadBytes& read,
                         const char* op, std::source_location site) {
  if (!header.info.dtype) {
    origin.fail("tensors of type {} do not exist here", printable(header.info.type));
  }
  const DType dtype = *header.info.dtype;
  NewTensor array(header.info.shape, dtype);
  read(array.bytes());
  if (dtype == DType::boolean) check_bools(origin, header.info.name, array.bytes());
  if (header.big_endian) swap_bytes(array.bytes(), is_complex(dtype) ? 4 : size_of(dtype));
  if (header.fortran_order) array.from_fortran_order();
  return std::move(array).finish(op, site);
}

std::string write_npy_header(std::string_view op, DType dtype, const Shape& shape) {
  const auto* row = std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes),
                                 [&](const NpyType& type) { return type.dtype == dtype; });
  if (row == std::end(kNpyTypes)) {
    raise<DtypeError>("{}: NumPy has no {}: cast(x, DType::float32) first", op, dtype);
  }
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 size_of(dtype) == 1 ? '|' : '<', row->code, fmt::join(shape, ", "),
                                 shape.rank() == 1 ? "," : "");
  // Blanks and a line end fill the head up to a multiple of the alignment. What kMaxRank dimensions
  // can take fits version 1.
  constexpr std::size_t kPreamble = 10;
  dict.append(kNpyAlignment - 1 - (kPreamble + dict.size()) % kNpyAlignment, ' ');
  dict += '\n';
  std::byte length[2];
  store_little(length, static_cast<std::uint16_t>(dict.size()));
  std::string head(kMagic);
  head += '\1';
  head += '\0';
  head.append(reinterpret_cast<const char*>(length), sizeof length);
  return head + dict;
}

}  // namespace tenure::io
