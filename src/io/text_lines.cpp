// The lines of text files as a dataset: one buffer per pass, whatever the files' length.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/raise.h"
#include "io/file.h"
#include "memory/context.h"
#include "nn/dataset_stream.h"

namespace tenure::nn {
namespace {

// A longer one is no text.
constexpr std::size_t kLongestLine = std::size_t{16} << 20;

class LineReader {
 public:
  explicit LineReader(const std::string& path)
      : origin_{"text", path}, descriptor_(io::open_for_reading(origin_, true)) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    while (end_ < kByteOrderMark.size() && fill()) {
    }
    if (rest().starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
  }

  // Until the next call.
  std::optional<std::string_view> next() {
    std::size_t searched = 0;
    for (;;) {
      const std::size_t end = rest().find('\n', searched);
      if (end != std::string_view::npos) return line(end, end + 1);
      searched = rest().size();
      if (fill()) continue;
      if (searched == 0) return std::nullopt;
      return line(searched, searched);
    }
  }

 private:
  std::string_view rest() const { return {buffer_.data() + begin_, end_ - begin_}; }

  std::string_view line(std::size_t size, std::size_t with_end) {
    std::string_view text = rest().substr(0, size);
    if (text.ends_with('\r')) text.remove_suffix(1);
    begin_ += with_end;
    ++number_;
    return text;
  }

  bool fill() {
    constexpr std::size_t kBuffer = std::size_t{256} << 10;
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= std::exchange(begin_, 0);
    if (end_ == buffer_.size()) {
      if (end_ >= kLongestLine) {
        origin_.fail("line {}: more than {} bytes: not a text file?", number_, kLongestLine);
      }
      buffer_.resize(std::max(kBuffer, 2 * buffer_.size()));
    }
    for (;;) {
      const ssize_t count = ::read(descriptor_.get(), buffer_.data() + end_, buffer_.size() - end_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        origin_.fail("line {}: cannot be read: {}", number_,
                     std::generic_category().message(errno));
      }
      end_ += static_cast<std::size_t>(count);
      return count != 0;
    }
  }

  io::Origin origin_;
  io::Descriptor descriptor_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what was read and not given
  std::size_t number_ = 1;
};

class Lines final : public dataset::Recipe<Batch> {
 public:
  explicit Lines(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  dataset::StreamPtr<Batch> open(std::uint64_t) const override {
    return std::make_unique<Pass>(paths_);
  }
  std::optional<std::int64_t> size() const override { return std::nullopt; }

 private:
  struct Pass final : dataset::Stream<Batch> {
    explicit Pass(const std::vector<std::string>& files) : paths(files) {}
    std::optional<Batch> next() override {
      for (;;) {
        if (!reader) {
          if (at == paths.size()) return std::nullopt;
          reader.emplace(paths[at++]);
        }
        if (const std::optional<std::string_view> line = reader->next()) {
          return Batch{{}, {}, {}, {{.strings = {std::string(*line)}, .shape = {}}}};
        }
        reader.reset();
      }
    }
    const std::vector<std::string>& paths;  // the recipe outlives its passes
    std::size_t at = 0;
    std::optional<LineReader> reader;
  };
  std::vector<std::string> paths_;
};

}  // namespace

Dataset Dataset::from_text_lines(const std::vector<std::string>& paths, std::source_location site) {
  const tenure::detail::CallScope call("from_text_lines", site);
  if (paths.empty()) raise<ValueError>("from_text_lines: no files");
  for (const std::string& path : paths) io::open_for_reading({"text", path}, true);
  return dataset::DatasetAccess::make(std::make_shared<Lines>(paths));
}

}  // namespace tenure::nn
