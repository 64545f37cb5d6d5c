#include "io/file_kind.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include "core/raise.h"
#include "io/json_text.h"

namespace tenure::io {
namespace {

constexpr std::string_view kLayerByLayer =
    "in Python, load it and save its weights by numpy.savez(); here, io::load_npz and "
    "set_weights() "
    "take them layer by layer (docs/guide/from_keras.md, Files). Or convert it for TensorFlow.js, "
    "and nn::load_tfjs_model reads it whole.";
constexpr std::string_view kStateDict =
    "in Python, save its state_dict by safetensors.torch.save_file(), which io::load_safetensors "
    "reads, or by numpy.savez(), which io::load_npz does.";

struct KindRow {
  FileKind kind;
  std::string_view what;
  std::string_view remedy;
};
constexpr KindRow kKinds[] = {
    {FileKind::safetensors, "a safetensors file",
     "io::load_safetensors reads it, and nn::load_model where it holds a model."},
    {FileKind::npy, "a .npy file of NumPy", "io::load_npy reads it."},
    {FileKind::npz, "a .npz archive of NumPy",
     "io::load_npz reads it, and set_weights() takes its tensors layer by layer "
     "(docs/guide/from_keras.md, Files)."},
    {FileKind::json, "JSON",
     "nn::load_tfjs_model reads the model.json of TensorFlow.js; what to_json() of Keras gives has "
     "no weights."},
    {FileKind::keras, "a model of Keras 3 (.keras)", kLayerByLayer},
    {FileKind::hdf5, "an HDF5 file (.h5 of Keras)", kLayerByLayer},
    {FileKind::pytorch, "a file of PyTorch (.pt, .pth)", kStateDict},
    {FileKind::pickle, "a pickle of Python (old .pt files are such)", kStateDict},
    {FileKind::onnx, "an ONNX model",
     "in Python, save its initializers by numpy.savez(), which io::load_npz reads."},
    {FileKind::saved_model, "a saved_model.pb of TensorFlow", kLayerByLayer},
    {FileKind::zip, "a zip archive", "unpack it, and read what is in it."},
    {FileKind::gzip, "packed by gzip", "unpack it."},
    {FileKind::png, "a PNG image", "io::read_image reads it."},
    {FileKind::jpeg, "a JPEG image", "io::read_image reads it."},
    {FileKind::text, "text", "io::read_csv reads tables of numbers."},
};

const KindRow& row_of(FileKind kind) { return *std::ranges::find(kKinds, kind, &KindRow::kind); }

struct Magic {
  std::string_view bytes;
  FileKind kind;
};
using namespace std::string_view_literals;
constexpr Magic kMagics[] = {
    {"\x89HDF\r\n\x1a\n"sv, FileKind::hdf5},
    {"\x93NUMPY"sv, FileKind::npy},
    {"PK\5\6"sv, FileKind::npz},  // without entries: what NumPy writes of no tensors
    {"\x89PNG\r\n\x1a\n"sv, FileKind::png},
    {"\xff\xd8\xff"sv, FileKind::jpeg},
    {"\x1f\x8b\x08"sv, FileKind::gzip},
};

// By the name of the first entry, which the archive begins with.
FileKind kind_of_zip(std::string_view begin) {
  constexpr std::size_t kLengthAt = 26, kNameAt = 30;
  if (begin.size() < kNameAt) return FileKind::zip;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(begin[at]); };
  const std::size_t length = byte(kLengthAt) | static_cast<std::size_t>(byte(kLengthAt + 1)) << 8;
  const std::string_view name = begin.substr(kNameAt, length);
  if (name.ends_with(".npy")) return FileKind::npz;
  if (name == "metadata.json" || name == "config.json" || name == "model.weights.h5") {
    return FileKind::keras;
  }
  return name.ends_with("/data.pkl") ? FileKind::pytorch : FileKind::zip;
}

// Protocol buffers that begin with a version: field 1, then text or a message.
FileKind kind_of_protobuf(std::string_view begin) {
  constexpr char kVersionField = 8, kTextField = 0x12, kGraphField = 0x3a;
  if (begin.size() < 3 || begin[0] != kVersionField || begin[1] < 1 || begin[1] > 32) {
    return FileKind::unknown;
  }
  if (begin[1] == 1 && begin[2] == kTextField) return FileKind::saved_model;
  return begin[2] == kTextField || begin[2] == kGraphField ? FileKind::onnx : FileKind::unknown;
}

bool is_text(std::string_view begin) {
  const bool is_printed = std::ranges::all_of(begin, [](unsigned char c) {
    return (c >= 0x20 && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
  if (begin.empty() || !is_printed) return false;
  constexpr std::size_t kMostCut = 4;  // the last character may be cut
  for (std::size_t cut = 0; cut < kMostCut && cut < begin.size(); ++cut) {
    if (is_utf8(begin.substr(0, begin.size() - cut))) return true;
  }
  return false;
}

// A file of the first may be one of the second, as far as its first bytes say.
bool may_be(FileKind kind, FileKind expected) {
  return kind == expected || kind == FileKind::unknown ||
         (kind == FileKind::zip && expected == FileKind::npz) ||
         (kind == FileKind::text && expected == FileKind::json);
}

}  // namespace

FileKind kind_of(const File& file) {
  std::array<char, 128> bytes;
  const std::size_t size = std::min<std::uint64_t>(bytes.size(), file.size());
  file.read(0, std::as_writable_bytes(std::span(bytes).first(size)));
  const std::string_view begin(bytes.data(), size);
  // Its header's length, of which no more than four bytes are used, then JSON.
  const bool has_length = begin.size() > 8 && begin.substr(4, 4) == "\0\0\0\0"sv;
  if (has_length && begin[8] == '{') return FileKind::safetensors;
  for (const Magic& magic : kMagics) {
    if (begin.starts_with(magic.bytes)) return magic.kind;
  }
  if (begin.starts_with("PK\3\4"sv)) return kind_of_zip(begin);
  if (has_length) return FileKind::unknown;  // few bytes would be enough for what follows
  if (begin.size() > 1 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5) {
    return FileKind::pickle;
  }
  if (const FileKind kind = kind_of_protobuf(begin); kind != FileKind::unknown) return kind;
  if (!is_text(begin)) return FileKind::unknown;
  return begin.substr(std::min(begin.find_first_not_of(" \t\r\n"), size)).starts_with('{')
             ? FileKind::json
             : FileKind::text;
}

void check_kind(const File& file, FileKind expected) {
  const FileKind kind = kind_of(file);
  if (may_be(kind, expected)) return;
  const Origin& origin = file.origin();
  throw IoError(describe("{}: {}: is {}, not {}", origin.format, origin.path, row_of(kind).what,
                         row_of(expected).what)
                    .told({}, row_of(kind).remedy));
}

void refuse_folder(const Origin& origin) {
  const std::filesystem::path folder(origin.path);
  std::error_code ignored;
  if (std::filesystem::exists(folder / "saved_model.pb", ignored)) {
    throw IoError(
        describe("{}: {}: is a folder: a SavedModel of TensorFlow", origin.format, origin.path)
            .told({}, kLayerByLayer));
  }
  if (std::filesystem::exists(folder / "model.json", ignored)) {
    throw IoError(
        describe("{}: {}: is a folder, with a model.json in it", origin.format, origin.path)
            .told({}, fmt::format("nn::load_tfjs_model reads \"{}\", if it is one of "
                                  "TensorFlow.js.",
                                  (folder / "model.json").string())));
  }
  origin.fail("is a folder");
}

}  // namespace tenure::io
