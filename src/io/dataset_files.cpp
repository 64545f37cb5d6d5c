// Datasets whose examples stay in files.
#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "core/raise.h"
#include "io/csv_access.h"
#include "io/csv_number.h"
#include "io/file.h"
#include "io/host_tensor.h"
#include "memory/context.h"
#include "nn/dataset_stream.h"
#include "tenure/job.h"
#include "tenure/nn/files.h"

namespace tenure::nn {

namespace {

using io::CsvAccess;
using io::CsvColumn;
using io::CsvReader;

// Rows of a CSV file by number. Where every n-th row begins is kept; n doubles whenever these
// would become too many, so that files of any length take the same memory.
class CsvSource final : public ExampleSource {
 public:
  CsvSource(const std::string& path, const CsvDatasetOptions& options)
      : path_(path), dtype_(options.dtype), target_dtype_(options.target_dtype) {
    for (const DType dtype : {dtype_, target_dtype_}) {
      double probe = 0;
      if (io::parse_number("0", dtype, &probe) == io::NumberFault::unsupported) {
        raise<DtypeError>("from_csv: float32, float64 and integers are read, not {}", dtype);
      }
    }
    // Rows are read more than once: no pipe.
    const io::File regular("from_csv", path);
    csv_.header = options.header;
    csv_.delimiter = options.delimiter;
    csv_.quote = options.quote;
    csv_.comment = options.comment;
    csv_.columns = options.features.empty() ? others(options) : options.features;
    features_ = csv_.columns.size();
    targets_ = options.targets.size();
    weighted_ = options.weight.has_value();
    csv_.columns.insert(csv_.columns.end(), options.targets.begin(), options.targets.end());
    if (weighted_) csv_.columns.push_back(*options.weight);
    if (features_ == 0) {
      raise<ValueError>("from_csv: {}: every column is a target or a weight: no inputs", path);
    }
    make_index();
  }

  std::int64_t size() const override { return rows_; }

  Batch read(std::span<const std::int64_t> examples) const override {
    const auto count = static_cast<std::int64_t>(examples.size());
    const auto table = [&](std::size_t width, DType dtype) {
      return io::NewTensor({count, static_cast<std::int64_t>(width)}, dtype);
    };
    io::NewTensor x = table(features_, dtype_);
    io::NewTensor y = table(targets_, target_dtype_);
    io::NewTensor weight({weighted_ ? count : 0}, DType::float32);
    std::byte* to_x = x.bytes().data();
    std::byte* to_y = y.bytes().data();
    std::byte* to_weight = weight.bytes().data();
    std::unique_ptr<Cursor> cursor = take();
    for (const std::int64_t example : examples) {
      go_to(*cursor, example);
      std::size_t column = 0;
      const auto parse = [&](DType dtype, std::byte*& to) {
        CsvAccess::parse(cursor->reader, column++, dtype, to);
        to += size_of(dtype);
      };
      for (std::size_t i = 0; i < features_; ++i) parse(dtype_, to_x);
      for (std::size_t i = 0; i < targets_; ++i) parse(target_dtype_, to_y);
      if (weighted_) parse(DType::float32, to_weight);
    }
    put_back(std::move(cursor));
    const std::source_location site = tenure::detail::context().call.site;
    Batch batch;
    batch.x.push_back(std::move(x).finish("next", site));
    if (targets_ > 0) batch.y.push_back(std::move(y).finish("next", site));
    if (weighted_) batch.weight = std::move(weight).finish("next", site);
    return batch;
  }

 private:
  // A reader, and the number of the row that its next() goes to.
  struct Cursor {
    CsvReader reader;
    std::int64_t next;
  };
  struct Place {
    std::uint64_t offset;
    std::size_t line;
  };
  static constexpr std::size_t kMostPlaces = std::size_t{1} << 19;

  // The columns that are neither targets nor the weight.
  std::vector<CsvColumn> others(const CsvDatasetOptions& options) const {
    const std::vector<std::string> names = CsvReader(path_, csv_).columns();
    std::set<int> taken;
    const auto take_out = [&](const CsvColumn& column) {
      if (const std::optional<int>& position = column.position()) {
        taken.insert(*position);
        return;
      }
      const auto place = std::ranges::find(names, column.name());
      if (place != names.end()) taken.insert(static_cast<int>(place - names.begin()));
    };
    for (const CsvColumn& target : options.targets) take_out(target);
    if (options.weight) take_out(*options.weight);
    std::vector<CsvColumn> rest;
    for (int i = 0; i < static_cast<int>(names.size()); ++i) {
      if (!taken.contains(i)) rest.emplace_back(i);
    }
    return rest;
  }

  void make_index() {
    CsvReader reader(path_, csv_);
    while (reader.next()) {
      if (rows_ % step_ == 0) {
        if (places_.size() == kMostPlaces) thin_out();
        if (rows_ % step_ == 0) places_.push_back({CsvAccess::offset(reader), reader.line()});
      }
      ++rows_;
    }
  }

  void thin_out() {
    for (std::size_t i = 0; 2 * i < places_.size(); ++i) places_[i] = places_[2 * i];
    places_.resize((places_.size() + 1) / 2);
    step_ *= 2;
  }

  void go_to(Cursor& cursor, std::int64_t row) const {
    const std::int64_t place = row / step_;
    if (cursor.next > row || cursor.next < place * step_) {
      const Place& at = places_.at(static_cast<std::size_t>(place));
      CsvAccess::seek(cursor.reader, at.offset, at.line);
      cursor.next = place * step_;
    }
    for (; cursor.next <= row; ++cursor.next) {
      if (!cursor.reader.next()) {
        const io::Origin origin{"from_csv", path_};
        origin.fail("has no row {} any more: it was changed", cursor.next);
      }
    }
  }

  // Threads that read at once have a reader each.
  std::unique_ptr<Cursor> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Cursor> cursor = std::move(idle_.back());
        idle_.pop_back();
        return cursor;
      }
    }
    return std::make_unique<Cursor>(Cursor{CsvReader(path_, csv_), 0});
  }
  void put_back(std::unique_ptr<Cursor> cursor) const {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(cursor));
  }

  std::string path_;
  DType dtype_, target_dtype_;
  io::CsvOptions csv_;
  std::size_t features_ = 0, targets_ = 0;
  bool weighted_ = false;
  std::vector<Place> places_;
  std::int64_t step_ = 1;  // rows from place to place
  std::int64_t rows_ = 0;
  mutable tenure::detail::Mutex mutex_;
  mutable std::vector<std::unique_ptr<Cursor>> idle_;
};

}  // namespace

Dataset Dataset::from_csv(const std::string& path, const CsvDatasetOptions& options,
                          std::source_location site) {
  const tenure::detail::CallScope call("from_csv", site);
  return from_source(std::make_shared<CsvSource>(path, options));
}

Dataset Dataset::from_npy(const std::string& x_path, const std::string& y_path,
                          std::source_location site) {
  const dataset::OwnWork own_work;
  const tenure::detail::CallScope call("from_npy", site);
  Tensors y;
  if (!y_path.empty()) y = io::map_npy(y_path, site);
  return from_tensors(io::map_npy(x_path, site), y, {}, site);
}

}  // namespace tenure::nn
