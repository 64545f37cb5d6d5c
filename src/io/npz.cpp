#include <map>
#include <set>

#include "core/raise.h"
#include "io/atomic_file.h"
#include "io/file_kind.h"
#include "io/host_tensor.h"
#include "io/npy_format.h"
#include "io/zip_archive.h"
#include "memory/context.h"
#include "tenure/io.h"

namespace tenure::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

struct NpzReader::State {
  explicit State(const std::string& path) : file("npz", path), archive(entries_of(file)) {
    for (std::size_t i = 0; i < archive.entries().size(); ++i) {
      const std::string& name = archive.entries()[i].name;
      if (!name.ends_with(kSuffix)) {
        file.origin().fail("entry \"{}\" is not a .npy file", printable(name));
      }
      ZipReader::Stream stream = archive.open(i);
      NpyHeader header = head(i, stream);
      index.emplace(header.info.name, i);
      infos.push_back(std::move(header.info));
    }
  }

  static ZipReader entries_of(const File& file) {
    check_kind(file, FileKind::npz);
    return ZipReader(file);
  }

  Origin origin(std::size_t i) const {
    return {"npz",
            fmt::format("{}: \"{}\"", file.origin().path, printable(archive.entries()[i].name))};
  }

  NpyHeader head(std::size_t i, ZipReader::Stream& stream) const {
    const ZipEntry& entry = archive.entries()[i];
    NpyHeader header =
        read_npy_header(origin(i), entry.size, [&](std::span<std::byte> to) { stream.read(to); });
    header.info.name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    header.info.mappable = false;
    return header;
  }

  File file;
  ZipReader archive;
  std::vector<TensorInfo> infos;
  std::map<std::string, std::size_t, std::less<>> index;
};

NpzReader::NpzReader(const std::string& path, std::source_location site) {
  const detail::UserLine line(site, "NpzReader");
  state_ = std::make_unique<State>(path);
}
NpzReader::NpzReader(NpzReader&&) noexcept = default;
NpzReader& NpzReader::operator=(NpzReader&&) noexcept = default;
NpzReader::~NpzReader() = default;

const std::vector<TensorInfo>& NpzReader::tensors() const { return state_->infos; }
bool NpzReader::contains(std::string_view name) const { return state_->index.contains(name); }

Tensor NpzReader::read(std::string_view name, std::source_location site) {
  const detail::UserLine line(site);
  const auto entry = state_->index.find(name);
  if (entry == state_->index.end()) {
    raise<ValueError>("npz: {}: no tensor is named \"{}\"", state_->file.origin().path,
                      printable(name));
  }
  const std::size_t i = entry->second;
  ZipReader::Stream stream = state_->archive.open(i);
  const NpyHeader header = state_->head(i, stream);
  Tensor tensor = read_npy_elements(
      state_->origin(i), header,
      [&](std::span<std::byte> to) {
        stream.read(to);
        stream.finish();  // the elements are the last of the entry
      },
      "NpzReader::read", site);
  tensor.set_name(name);
  return tensor;
}

Archive load_npz(const std::string& path, std::source_location site) {
  const detail::CallScope call("load_npz", site);
  NpzReader reader(path);
  Archive archive;
  for (const TensorInfo& info : reader.tensors()) {
    archive.tensors.emplace_back(info.name, reader.read(info.name, site));
  }
  return archive;
}

void save_npz(const std::string& path, const NamedTensors& tensors, NpzOptions options,
              std::source_location site) {
  const detail::UserLine line(site, "save_npz");
  struct Entry {
    std::string name;
    HeldTensor held;
    std::string head;
  };
  std::vector<Entry> entries;
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || name.find('\0') != name.npos) {
      raise<ValueError>("save_npz: not a name for a tensor: \"{}\"", printable(name));
    }
    if (!names.insert(name).second) {
      raise<ValueError>("save_npz: two tensors are named \"{}\"", printable(name));
    }
    HeldTensor held(tensor, "save_npz", site);
    std::string head = write_npy_header("save_npz", held.dtype(), held.shape());
    entries.push_back({name, std::move(held), std::move(head)});
  }
  AtomicFile file("save_npz", path);
  if (entries.empty()) {  // libzip writes no such archive: the end of a directory without entries
    file.write(std::string("PK\5\6") + std::string(18, '\0'));
    file.commit();
    return;
  }
  detail::StorageRef scratch;
  ZipWriter archive(file, options.compress);
  for (const Entry& entry : entries) {
    archive.add(entry.name + std::string(kSuffix), entry.head.size() + entry.held.nbytes(),
                [&entry, &scratch]() -> ZipWriter::Parts {
                  scratch = {};
                  return {std::as_bytes(std::span(entry.head)), entry.held.bytes(scratch)};
                });
  }
  archive.finish();
  file.commit();
}

}  // namespace tenure::io
