#include "io/atomic_file.h"
#include "io/file.h"
#include "io/file_kind.h"
#include "io/host_tensor.h"
#include "io/npy_format.h"
#include "memory/context.h"
#include "tenure/io.h"

namespace tenure::io {
namespace {

// Reads a file from its beginning, span after span.
ReadBytes reader_of(const File& file) {
  return [&file, at = std::uint64_t{0}](std::span<std::byte> to) mutable {
    file.read(at, to);
    at += to.size();
  };
}

NpyHeader read_header_of(const File& file, const ReadBytes& read) {
  check_kind(file, FileKind::npy);
  return read_npy_header(file.origin(), file.size(), read);
}

}  // namespace

void save_npy(const std::string& path, const Tensor& tensor, std::source_location site) {
  const detail::UserLine line(site, "save_npy");
  const HeldTensor held(tensor, "save_npy", site);
  const std::string head = write_npy_header("save_npy", held.dtype(), held.shape());
  AtomicFile file("save_npy", path);
  file.write(head);
  detail::StorageRef scratch;
  file.write(held.bytes(scratch));
  file.commit();
}

Tensor load_npy(const std::string& path, std::source_location site) {
  const detail::UserLine line(site, "load_npy");
  const File file("npy", path);
  const ReadBytes read = reader_of(file);
  const NpyHeader header = read_header_of(file, read);
  return read_npy_elements(file.origin(), header, read, "load_npy", site);
}

Tensor map_npy(const std::string& path, std::source_location site) {
  const detail::UserLine line(site, "map_npy");
  const File file("npy", path);
  const ReadBytes read = reader_of(file);
  const NpyHeader header = read_header_of(file, read);
  if (!header.info.mappable) {
    return read_npy_elements(file.origin(), header, read, "map_npy", site);
  }
  const std::shared_ptr<const Mapping> mapping = file.map();
  const DType dtype = *header.info.dtype;
  if (dtype == DType::boolean) {
    check_bools(file.origin(), {}, {mapping->data() + header.data_begin, header.info.nbytes});
  }
  Layout layout = contiguous_layout(header.info.shape, dtype);
  if (header.fortran_order) {
    layout.strides = fortran_strides(layout.shape);
    layout.contiguous = is_contiguous(layout.shape, layout.strides);
  }
  return mapped_tensor(mapping, header.data_begin, std::move(layout), "map_npy", site);
}

TensorInfo inspect_npy(const std::string& path, std::source_location site) {
  const detail::UserLine line(site, "inspect_npy");
  const File file("npy", path);
  return read_header_of(file, reader_of(file)).info;
}

}  // namespace tenure::io
