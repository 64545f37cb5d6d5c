// Datasets of the rows of a CSV file.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <set>

#include "core/raise.h"
#include "io/csv_access.h"
#include "io/csv_number.h"
#include "io/file.h"
#include "io/host_tensor.h"
#include "memory/context.h"
#include "memory/warn.h"
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
      : path_(path),
        dtype_(options.dtype),
        target_dtype_(options.target_dtype),
        bad_rows_(options.bad_rows) {
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
    texts_ = options.text.size();
    const auto add = [this](const std::vector<CsvColumn>& columns) {
      csv_.columns.insert(csv_.columns.end(), columns.begin(), columns.end());
    };
    add(options.targets);
    if (options.weight) csv_.columns.push_back(*options.weight);
    add(options.text);
    dtypes_.assign(features_, dtype_);
    dtypes_.insert(dtypes_.end(), targets_, target_dtype_);
    if (options.weight) dtypes_.push_back(DType::float32);
    if (features_ + texts_ == 0) {
      raise<ValueError>("from_csv: {}: every column is a target or a weight: no inputs", path);
    }
    make_fills(options.fill_value);
    make_index(options);
  }

  std::int64_t size() const override { return rows_; }

  Batch read(std::span<const std::int64_t> examples) const override {
    const auto count = static_cast<std::int64_t>(examples.size());
    const auto table = [&](std::size_t width, DType dtype) {
      return io::NewTensor({count, static_cast<std::int64_t>(width)}, dtype);
    };
    const bool weighted = dtypes_.size() > features_ + targets_;
    io::NewTensor x = table(features_, dtype_);
    io::NewTensor y = table(targets_, target_dtype_);
    io::NewTensor weight({weighted ? count : 0}, DType::float32);
    std::byte* to_x = x.bytes().data();
    std::byte* to_y = y.bytes().data();
    std::byte* to_weight = weight.bytes().data();
    Batch batch;
    batch.text.resize(texts_, {.strings = {}, .shape = {count}});
    std::unique_ptr<Cursor> cursor = take();
    for (const std::int64_t example : examples) {
      go_to(*cursor, example);
      for (std::size_t i = 0; i < dtypes_.size(); ++i) {
        std::byte*& to = i < features_ ? to_x : i < features_ + targets_ ? to_y : to_weight;
        parse(cursor->reader, i, to);
        to += size_of(dtypes_[i]);
      }
      for (std::size_t i = 0; i < texts_; ++i) {
        batch.text[i].strings.emplace_back(
            CsvAccess::field(cursor->reader, dtypes_.size() + i).value_or(""));
      }
    }
    put_back(std::move(cursor));
    const std::source_location site = tenure::detail::context().call.site;
    if (features_ > 0) batch.x.push_back(std::move(x).finish("next", site));
    if (targets_ > 0) batch.y.push_back(std::move(y).finish("next", site));
    if (weighted) batch.weight = std::move(weight).finish("next", site);
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

  // The columns that are neither targets nor the weight nor text.
  std::vector<CsvColumn> others(const CsvDatasetOptions& options) const {
    const std::vector<std::string> names = CsvReader(path_, csv_, {}).columns();
    std::set<int> taken;
    const auto take_out = [&](const CsvColumn& column) {
      if (const std::optional<int>& position = column.position()) {
        taken.insert(*position);
        return;
      }
      const auto place = std::ranges::find(names, column.name());
      if (place != names.end()) taken.insert(static_cast<int>(place - names.begin()));
    };
    for (const auto* columns : {&options.targets, &options.text}) {
      for (const CsvColumn& column : *columns) take_out(column);
    }
    if (options.weight) take_out(*options.weight);
    std::vector<CsvColumn> rest;
    for (int i = 0; i < static_cast<int>(names.size()); ++i) {
      if (!taken.contains(i)) rest.emplace_back(i);
    }
    return rest;
  }

  // What stands for a bad field, in each column.
  void make_fills(double value) {
    if (bad_rows_ != BadRows::fill) return;
    const std::string text = fmt::format("{}", value);
    for (const DType dtype : dtypes_) {
      if (io::parse_number(text, dtype, fills_.emplace_back().data()) != io::NumberFault::none) {
        raise<ValueError>("from_csv: {}: fill_value {} is no {}", path_, value, dtype);
      }
    }
  }

  void parse(const CsvReader& reader, std::size_t column, std::byte* to) const {
    if (bad_rows_ == BadRows::fill) {
      if (!CsvAccess::fault(reader, column, dtypes_[column], to)) return;
      std::copy_n(fills_[column].data(), size_of(dtypes_[column]), to);
    } else {
      CsvAccess::parse(reader, column, dtypes_[column], to);
    }
  }

  // What is wrong with the current row; nothing where it is as it should be.
  std::optional<std::string> fault(const CsvReader& reader) const {
    if (auto ragged = CsvAccess::wrong_width(reader)) return ragged;
    Number scratch;
    for (std::size_t i = 0; i < dtypes_.size(); ++i) {
      if (auto wrong = CsvAccess::fault(reader, i, dtypes_[i], scratch.data())) return wrong;
    }
    return std::nullopt;
  }

  // To the next row that counts, telling of those that are bad.
  template <class Tell>
  bool next_row(CsvReader& reader, const Tell& tell) const {
    if (bad_rows_ == BadRows::error) return reader.next({});
    while (CsvAccess::advance(reader)) {
      const std::optional<std::string> wrong = fault(reader);
      if (wrong) tell(CsvBadRow{reader.line(), *wrong});
      if (!wrong || bad_rows_ == BadRows::fill) return true;
    }
    return false;
  }

  void make_index(const CsvDatasetOptions& options) {
    std::int64_t bad = 0;
    CsvBadRow first;
    const auto tell = [&](const CsvBadRow& row) {
      if (bad++ == 0) first = row;
      if (!options.on_bad_row) return;
      const tenure::detail::CallbackScope users;
      options.on_bad_row(row);
    };
    CsvReader reader(path_, csv_, {});
    while (next_row(reader, tell)) {
      if (rows_ % step_ == 0) {
        if (places_.size() == kMostPlaces) thin_out();
        if (rows_ % step_ == 0) places_.push_back({CsvAccess::offset(reader), reader.line()});
      }
      ++rows_;
    }
    if (bad == 0) return;
    const bool skips = bad_rows_ == BadRows::skip;
    tenure::detail::warn(
        fmt::format("from_csv: {}: {} of {} rows {}; the first, line {}: {}", path_, bad,
                    skips ? rows_ + bad : rows_,
                    skips ? "are bad and were left out" : "have fields that were filled",
                    first.line, first.problem));
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
      if (!next_row(cursor.reader, [](const CsvBadRow&) {})) {
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
    return std::make_unique<Cursor>(Cursor{CsvReader(path_, csv_, {}), 0});
  }
  void put_back(std::unique_ptr<Cursor> cursor) const {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(cursor));
  }

  using Number = std::array<std::byte, 8>;

  std::string path_;
  DType dtype_, target_dtype_;
  BadRows bad_rows_;
  io::CsvOptions csv_;
  std::size_t features_ = 0, targets_ = 0, texts_ = 0;
  std::vector<DType> dtypes_;  // of the columns that are numbers: features, targets, weight
  std::vector<Number> fills_;
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

}  // namespace tenure::nn
