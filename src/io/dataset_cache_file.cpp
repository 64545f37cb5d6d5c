// Elements of a dataset in a file, one after the other:
//
//   "TNCACHE1", then for each element the byte 'E', how many inputs, targets, weights and texts it
//   has (u32 each) and these; at the end the byte 'Z' and the number of elements (u64).
//   tensor: dtype (u32), rank (u32), dimensions (u64 each), the bytes, row-major
//   text: rank (u32), dimensions (u64 each), each string's size (u64) and bytes
//
// Written whole or not at all by the first pass that comes to its end, and read as if a stranger
// had written it.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/raise.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "io/host_tensor.h"
#include "memory/context.h"
#include "nn/dataset_stream.h"

namespace tenure::nn {
namespace {

constexpr std::string_view kMagic = "TNCACHE1";
constexpr char kElement = 'E', kEnd = 'Z';
// Of an element: what claims more is no cache.
constexpr std::uint32_t kMostParts = 1u << 20;

class CacheWriter {
 public:
  explicit CacheWriter(const std::string& path) : file_("cache", path) { file_.write(kMagic); }

  void add(const Batch& element, std::source_location site) {
    put(kElement);
    put_count(element.x.size());
    put_count(element.y.size());
    put_count(element.weight.defined() ? 1 : 0);
    put_count(element.text.size());
    for (const Tensor& tensor : element.x) add(tensor, site);
    for (const Tensor& tensor : element.y) add(tensor, site);
    if (element.weight.defined()) add(element.weight, site);
    for (const Text& text : element.text) add(text);
    if (buffer_.size() >= kBuffer) flush();
    ++elements_;
  }
  void finish() {
    put(kEnd);
    put(elements_);
    flush();
    file_.commit();
  }

 private:
  static constexpr std::size_t kBuffer = std::size_t{256} << 10;

  template <class T>
  void put(T value) {
    put_bytes({reinterpret_cast<const char*>(&value), sizeof value});
  }
  void put_count(std::size_t count) { put(static_cast<std::uint32_t>(count)); }
  void put_bytes(std::string_view bytes) { buffer_.append(bytes); }
  void put_shape(const Shape& shape) {
    put_count(static_cast<std::size_t>(shape.rank()));
    for (const std::int64_t size : shape) put(static_cast<std::uint64_t>(size));
  }
  void add(const Tensor& tensor, std::source_location site) {
    const io::HeldTensor held(tensor, "cache", site);
    put(static_cast<std::uint32_t>(held.dtype()));
    put_shape(held.shape());
    tenure::detail::StorageRef scratch;
    const std::span<const std::byte> bytes = held.bytes(scratch);
    if (bytes.size() < kBuffer) {
      put_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    } else {
      flush();
      file_.write(bytes);
    }
  }
  void add(const Text& text) {
    put_shape(text.shape);
    for (const std::string& string : text.strings) {
      put(static_cast<std::uint64_t>(string.size()));
      put_bytes(string);
    }
  }
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  io::AtomicFile file_;
  std::string buffer_;
  std::uint64_t elements_ = 0;
};

class CacheReader {
 public:
  explicit CacheReader(const std::string& path) : file_("cache", path) {
    std::array<char, kMagic.size()> magic{};
    if (file_.size() < magic.size()) origin().fail("is no cache of a dataset");
    take(std::as_writable_bytes(std::span(magic)));
    if (std::string_view(magic.data(), magic.size()) != kMagic) {
      origin().fail("is no cache of a dataset");
    }
  }

  std::optional<Batch> next(std::source_location site) {
    if (ended_) return std::nullopt;
    const char kind = get<char>();
    if (kind == kEnd) {
      const auto said = get<std::uint64_t>();
      if (said != elements_) origin().fail("has {} elements, not the {} it says", elements_, said);
      ended_ = true;
      return std::nullopt;
    }
    if (kind != kElement) origin().fail("byte {} begins no element", offset_ - 1);
    const std::uint32_t inputs = count(), targets = count(), weights = count(), texts = count();
    if (weights > 1) origin().fail("element {} has {} weights", elements_, weights);
    Batch element;
    for (std::uint32_t i = 0; i < inputs; ++i) element.x.push_back(tensor(site));
    for (std::uint32_t i = 0; i < targets; ++i) element.y.push_back(tensor(site));
    if (weights == 1) element.weight = tensor(site);
    for (std::uint32_t i = 0; i < texts; ++i) element.text.push_back(text());
    ++elements_;
    return element;
  }

 private:
  const io::Origin& origin() const { return file_.origin(); }
  std::uint64_t left() const { return file_.size() - offset_; }

  void take(std::span<std::byte> to) {
    if (to.size() > left()) {
      origin().fail("element {} ends past byte {}: the file is cut short or broken", elements_,
                    file_.size());
    }
    constexpr std::size_t kBuffer = std::size_t{64} << 10;
    while (!to.empty()) {
      if (at_ == buffer_.size()) {
        if (to.size() >= kBuffer) {
          file_.read(offset_, to);
          offset_ += to.size();
          return;
        }
        buffer_.resize(std::min<std::uint64_t>(kBuffer, left()));
        file_.read(offset_, buffer_);
        at_ = 0;
      }
      const std::size_t size = std::min(to.size(), buffer_.size() - at_);
      std::copy_n(buffer_.data() + at_, size, to.data());
      at_ += size;
      offset_ += size;
      to = to.subspan(size);
    }
  }
  template <class T>
  T get() {
    T value{};
    take(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  std::uint32_t count() {
    const auto value = get<std::uint32_t>();
    if (value > kMostParts) origin().fail("element {} has {} parts", elements_, value);
    return value;
  }
  // Its bytes, or strings' sizes, have room in what is left.
  Shape shape(std::uint64_t bits) {
    const auto rank = get<std::uint32_t>();
    if (rank > io::kMaxRank) origin().fail("element {} has {} dimensions", elements_, rank);
    std::vector<std::uint64_t> dims(rank);
    take(std::as_writable_bytes(std::span(dims)));
    const std::optional<std::uint64_t> bytes = io::bytes_of_shape(dims, bits);
    if (!bytes || *bytes > left()) {
      origin().fail("element {} has [{}] of {} bits, and {} bytes are left", elements_,
                    fmt::join(dims, ", "), bits, left());
    }
    Shape result;
    for (const std::uint64_t size : dims) result.push_back(static_cast<std::int64_t>(size));
    return result;
  }
  Tensor tensor(std::source_location site) {
    const auto number = get<std::uint32_t>();
    if (number >= static_cast<std::uint32_t>(kDTypeCount)) {
      origin().fail("element {} has a tensor of the type {}", elements_, number);
    }
    const auto dtype = static_cast<DType>(number);
    io::NewTensor made(shape(8 * size_of(dtype)), dtype);
    take(made.bytes());
    if (dtype == DType::boolean) io::check_bools(origin(), "", made.bytes());
    return std::move(made).finish("next", site);
  }
  Text text() {
    Text made{.strings = {}, .shape = shape(64)};
    for (std::int64_t i = 0; i < made.shape.numel(); ++i) {
      const auto size = get<std::uint64_t>();
      if (size > left()) origin().fail("element {} has a text of {} bytes", elements_, size);
      std::string& string = made.strings.emplace_back(size, '\0');
      take(std::as_writable_bytes(std::span(string)));
    }
    return made;
  }

  io::File file_;
  std::uint64_t offset_ = 0;       // of what was taken
  std::vector<std::byte> buffer_;  // what follows is in it from at_ on
  std::size_t at_ = 0;
  std::uint64_t elements_ = 0;
  bool ended_ = false;
};

class FileCached final : public dataset::Recipe<Batch> {
 public:
  FileCached(dataset::RecipePtr<Batch> from, std::string path, std::source_location site)
      : from_(std::move(from)), path_(std::move(path)), site_(site) {}
  dataset::StreamPtr<Batch> open(std::uint64_t epoch) const override {
    struct stat status{};
    if (::stat(path_.c_str(), &status) == 0) return std::make_unique<Reading>(path_);
    return std::make_unique<Writing>(*this, from_->open(epoch));
  }
  std::optional<std::int64_t> size() const override { return from_->size(); }

 private:
  struct Reading final : dataset::Stream<Batch> {
    explicit Reading(const std::string& path) : reader(path) {}
    std::optional<Batch> next() override {
      return reader.next(tenure::detail::context().call.site);
    }
    CacheReader reader;
  };
  struct Writing final : dataset::Stream<Batch> {
    Writing(const FileCached& of, dataset::StreamPtr<Batch> stream)
        : cache(of), from(std::move(stream)), writer(of.path_) {}
    std::optional<Batch> next() override {
      if (from == nullptr) return std::nullopt;
      std::optional<Batch> element = from->next();
      if (element) {
        writer.add(*element, cache.site_);
      } else {
        from = nullptr;
        writer.finish();
      }
      return element;
    }
    const FileCached& cache;  // outlives its passes
    dataset::StreamPtr<Batch> from;
    CacheWriter writer;
  };

  dataset::RecipePtr<Batch> from_;
  std::string path_;
  std::source_location site_;
};

}  // namespace

Dataset Dataset::cache(const std::string& path, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  if (path.empty()) raise<ValueError>("cache: the path is empty: cache() keeps elements in memory");
  dataset::check_ends(dataset::size_of(*pipeline_), "cache", "cache() before repeat().");
  return dataset::DatasetAccess::make(
      std::make_shared<FileCached>(dataset::elements_of(*pipeline_), path, site));
}

}  // namespace tenure::nn
