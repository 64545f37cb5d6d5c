#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "core/raise.h"
#include "io/atomic_file.h"
#include "io/endian.h"
#include "io/file.h"
#include "io/file_kind.h"
#include "io/host_tensor.h"
#include "io/safetensors_header.h"
#include "memory/context.h"
#include "tenure/io.h"

namespace tenure::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
// Where the tensors' bytes begin is a multiple of this, so that they can be mapped.
constexpr std::uint64_t kAlignment = 64;

SafetensorsHeader read_header(const File& file, std::uint64_t& data_begin) {
  check_kind(file, FileKind::safetensors);
  const Origin& origin = file.origin();
  if (file.size() < kLengthBytes) {
    origin.fail("{} bytes, too few for a safetensors file", file.size());
  }
  std::byte length_bytes[kLengthBytes];
  file.read(0, length_bytes);
  const auto length = load_little<std::uint64_t>(length_bytes);
  if (length > kMaxSafetensorsHeader) {
    origin.fail("a header of {} bytes, more than the {} allowed: not a safetensors file?", length,
                kMaxSafetensorsHeader);
  }
  if (length > file.size() - kLengthBytes) {
    origin.fail("a header of {} bytes in a file of {}: cut short, or not a safetensors file",
                length, file.size());
  }
  std::string json(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(json)));
  data_begin = kLengthBytes + length;
  return parse_safetensors_header(origin, json, file.size() - data_begin);
}

}  // namespace

struct SafetensorsReader::State {
  explicit State(const std::string& path) : file("safetensors", path) {
    SafetensorsHeader header = read_header(file, data_begin);
    metadata = std::move(header.metadata);
    for (SafetensorsEntry& entry : header.entries) {
      const std::uint64_t offset = data_begin + entry.begin;
      entry.info.mappable =
          entry.info.dtype && entry.info.nbytes != 0 && offset % size_of(*entry.info.dtype) == 0;
      index.emplace(entry.info.name, infos.size());
      offsets.push_back(offset);
      infos.push_back(std::move(entry.info));
    }
  }

  std::size_t find(std::string_view name) const {
    const auto entry = index.find(name);
    if (entry == index.end()) {
      raise<ValueError>("safetensors: {}: no tensor is named \"{}\"", file.origin().path,
                        printable(name));
    }
    const TensorInfo& info = infos[entry->second];
    if (!info.dtype) {
      file.origin().fail("tensor \"{}\": tensors of dtype {} do not exist here", printable(name),
                         info.type);
    }
    return entry->second;
  }

  Tensor read(std::size_t i, const char* op, std::source_location site) const {
    const TensorInfo& info = infos[i];
    NewTensor content(info.shape, *info.dtype);
    file.read(offsets[i], content.bytes());
    if (*info.dtype == DType::boolean) check_bools(file.origin(), info.name, content.bytes());
    Tensor tensor = std::move(content).finish(op, site);
    tensor.set_name(info.name);
    return tensor;
  }

  Tensor map(std::size_t i, std::source_location site) const {
    const TensorInfo& info = infos[i];
    if (!info.mappable) return read(i, "SafetensorsReader::map", site);
    const std::shared_ptr<const Mapping> mapping = file.map();
    if (*info.dtype == DType::boolean) {
      check_bools(file.origin(), info.name, {mapping->data() + offsets[i], info.nbytes});
    }
    Tensor tensor = mapped_tensor(mapping, offsets[i], contiguous_layout(info.shape, *info.dtype),
                                  "SafetensorsReader::map", site);
    tensor.set_name(info.name);
    return tensor;
  }

  File file;
  std::uint64_t data_begin = 0;
  std::vector<TensorInfo> infos;
  std::vector<std::uint64_t> offsets;  // of each tensor in the file
  std::map<std::string, std::size_t, std::less<>> index;
  Metadata metadata;
};

SafetensorsReader::SafetensorsReader(const std::string& path, std::source_location site) {
  const detail::UserLine line(site, "SafetensorsReader");
  state_ = std::make_unique<State>(path);
}
SafetensorsReader::SafetensorsReader(SafetensorsReader&&) noexcept = default;
SafetensorsReader& SafetensorsReader::operator=(SafetensorsReader&&) noexcept = default;
SafetensorsReader::~SafetensorsReader() = default;

const std::vector<TensorInfo>& SafetensorsReader::tensors() const { return state_->infos; }
const Metadata& SafetensorsReader::metadata() const { return state_->metadata; }
bool SafetensorsReader::contains(std::string_view name) const {
  return state_->index.contains(name);
}
Tensor SafetensorsReader::read(std::string_view name, std::source_location site) const {
  const detail::UserLine line(site);
  return state_->read(state_->find(name), "SafetensorsReader::read", site);
}
Tensor SafetensorsReader::map(std::string_view name, std::source_location site) const {
  const detail::UserLine line(site);
  return state_->map(state_->find(name), site);
}

Archive load_safetensors(const std::string& path, std::source_location site) {
  const detail::CallScope call("load_safetensors", site);
  const SafetensorsReader reader(path);
  Archive archive;
  archive.metadata = reader.metadata();
  for (const TensorInfo& info : reader.tensors()) {
    archive.tensors.emplace_back(info.name, reader.read(info.name, site));
  }
  return archive;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const Metadata& metadata, std::source_location site) {
  const detail::UserLine line(site, "save_safetensors");
  std::vector<HeldTensor> held;
  SafetensorsHeader header;
  header.metadata = metadata;
  for (const auto& [name, tensor] : tensors) {
    const HeldTensor& one = held.emplace_back(tensor, "save_safetensors", site);
    SafetensorsEntry& entry = header.entries.emplace_back();
    entry.info.name = name;
    entry.info.type = safetensors_type(one.dtype());
    entry.info.shape = one.shape();
  }
  // The format allows no gaps: larger elements first keeps all of them aligned.
  std::vector<std::size_t> order(held.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(held[a].dtype()) > size_of(held[b].dtype());
  });
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    header.entries[i].begin = end;
    end += held[i].nbytes();
    header.entries[i].end = end;
  }
  std::string json = write_safetensors_header(header);
  json.append(kAlignment - 1 - (kLengthBytes + json.size() - 1) % kAlignment, ' ');
  if (json.size() > kMaxSafetensorsHeader) {
    raise<ValueError>("save_safetensors: names, shapes and metadata take {} bytes, more than {}",
                      json.size(), kMaxSafetensorsHeader);
  }
  AtomicFile file("save_safetensors", path);
  std::byte length[kLengthBytes];
  store_little(length, static_cast<std::uint64_t>(json.size()));
  file.write(length);
  file.write(json);
  for (const std::size_t i : order) {
    detail::StorageRef scratch;
    file.write(held[i].bytes(scratch));
  }
  file.commit();
}

}  // namespace tenure::io
