// A row of a CSV file for each epoch of a training.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/raise.h"
#include "io/atomic_file.h"
#include "memory/context.h"
#include "nn/callbacks/passes.h"
#include "tenure/nn/callbacks.h"

namespace tenure::nn {

namespace {

constexpr const char* kNoValue = "NA";  // as Keras writes it

class CsvWriter final : public detail::LibraryCallback {
 public:
  explicit CsvWriter(CSVLoggerOptions options) : options_(std::move(options)) {
    if (options_.filename.empty()) raise<ValueError>("CSVLogger: filename is empty");
    const std::string& separator = options_.separator;
    if (separator.empty() || separator.find_first_of("\"\r\n") != separator.npos) {
      raise<ValueError>("CSVLogger: separator \"{}\" cannot be told from what it separates",
                        separator);
    }
  }

  void on_train_begin(Training&) override {
    columns_.clear();
    std::string rows = options_.append ? text() : "";
    if (!rows.empty()) {
      columns_ = names_in(rows.substr(0, rows.find('\n')));
      if (columns_.empty() || columns_.front() != "epoch") {
        raise<IoError>(
            "CSVLogger: {}: its first line does not begin with \"epoch\": to append to "
            "it, it must be a log",
            options_.filename);
      }
    }
    open(options_.append ? std::ios::app : std::ios::trunc);
    if (!rows.empty() && rows.back() != '\n') file_ << '\n';  // of a process that was killed
  }

  void on_epoch_end(Training& training, const Logs& logs) override {
    add_columns(logs);
    file_ << training.epoch();
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      const auto log =
          std::ranges::find(logs, columns_[i], [](const auto& pair) { return pair.first; });
      file_ << options_.separator
            << (log == logs.end() ? std::string(kNoValue) : fmt::format("{}", log->second));
    }
    file_ << '\n' << std::flush;  // a log is of use while it is being written
    check();
  }

  void on_train_end(Training&) override { file_.close(); }

 private:
  void check() const {
    if (!file_) {
      raise<IoError>("CSVLogger: cannot write {}: {}", options_.filename,
                     std::generic_category().message(errno));
    }
  }
  void open(std::ios::openmode mode) {
    const std::filesystem::path folder = std::filesystem::path(options_.filename).parent_path();
    std::error_code error;  // opening says what is wrong
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    errno = 0;
    file_ = std::ofstream(options_.filename, mode);
    check();
  }
  std::string text() const {
    std::ifstream file(options_.filename);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // A header for the first row; one more column for every row that is there.
  void add_columns(const Logs& logs) {
    const bool none = columns_.empty();
    std::vector<std::string> columns = none ? std::vector<std::string>{"epoch"} : columns_;
    const std::size_t before = columns.size();
    for (const auto& [name, value] : logs) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
    if (!none && columns.size() == before) return;
    std::string header;
    for (const std::string& name : columns) {
      header += (header.empty() ? "" : options_.separator) + quoted(name);
    }
    if (none) {
      file_ << header << '\n';
    } else {
      widen(header, columns.size() - before);
    }
    columns_ = std::move(columns);
  }

  void widen(const std::string& header, std::size_t more) {
    file_.close();
    std::string missing;
    for (std::size_t i = 0; i < more; ++i) missing += options_.separator + kNoValue;
    const std::string old = text();
    io::AtomicFile wider("CSVLogger", options_.filename);
    wider.write(header + "\n");
    for (std::size_t begin = old.find('\n') + 1; begin < old.size();) {
      const std::size_t end = std::min(old.find('\n', begin), old.size());
      const bool carriage = end > begin && old[end - 1] == '\r';
      wider.write(old.substr(begin, end - begin - (carriage ? 1 : 0)) + missing + "\n");
      begin = end + 1;
    }
    wider.commit();
    open(std::ios::app);
  }

  std::string quoted(const std::string& name) const {
    if (name.find_first_of("\"\r\n") == name.npos && name.find(options_.separator) == name.npos) {
      return name;
    }
    std::string text = "\"";
    for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
    return text + "\"";
  }
  // The fields of a header.
  std::vector<std::string> names_in(std::string line) const {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string> names(1);
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') {
        if (inside && i + 1 < line.size() && line[i + 1] == '"') {
          names.back() += line[++i];
        } else {
          inside = !inside;
        }
      } else if (!inside && line.compare(i, options_.separator.size(), options_.separator) == 0) {
        names.emplace_back();
        i += options_.separator.size() - 1;
      } else {
        names.back() += line[i];
      }
    }
    return names;
  }

  CSVLoggerOptions options_;
  std::ofstream file_;
  std::vector<std::string> columns_;  // "epoch", then logs
};

}  // namespace

Callback CSVLogger(CSVLoggerOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return make_callback<CsvWriter>(std::move(options));
}

}  // namespace tenure::nn
