// `tenure inspect`: what a file of tensors holds, and whether it is sound.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "commands.h"
#include "core/with_type.h"
#include "io/file_kind.h"
#include "io/model_file.h"
#include "io/origin.h"
#include "io/tfjs.h"
#include "report/names.h"
#include "report/run.h"
#include "show_findings.h"
#include "tenure/error.h"
#include "tenure/io.h"
#include "tenure/nn/files.h"

namespace tenure::app {
namespace {

struct Contents {
  std::string format;
  std::vector<io::TensorInfo> tensors;
  io::Metadata metadata;
  std::function<Tensor(const io::TensorInfo&)> read;
  std::string summary = {};  // of a model
};

// What is wrong, and what to do: without the lines of this program.
std::string text_of(const Error& error) {
  return error.remedy().empty() ? error.summary()
                                : fmt::format("{}\n\n{}", error.summary(), error.remedy());
}

// A table of the model's layers; one with layers that only its own program knows has none.
std::string summary_of(const std::function<nn::Model()>& load) {
  try {
    return load().summary();
  } catch (const UnsupportedError& error) {
    return fmt::format("its layers cannot be listed: {}\n", io::printable(error.summary()));
  }
}

Contents open_tfjs(const std::string& path) {
  const auto file = std::make_shared<io::TfjsFile>(path);
  Contents contents{"TensorFlow.js layers model", {}, {}, {}};
  for (const io::TfjsWeight& weight : file->manifest.weights()) {
    contents.tensors.push_back(weight.info);
  }
  contents.read = [file](const io::TensorInfo& info) {
    const auto& weights = file->manifest.weights();
    const auto weight = std::ranges::find(
        weights, info.name, [](const io::TfjsWeight& each) { return each.info.name; });
    return file->manifest.read(*weight, std::source_location::current());
  };
  contents.summary = summary_of([&] { return nn::load_tfjs_model(path); });
  return contents;
}

io::FileKind kind_of(const std::string& path) {
  try {
    return io::kind_of(io::File("inspect", path));
  } catch (const IoError& error) {
    throw std::runtime_error(text_of(error));  // there is no such file
  }
}

// What the file begins with decides, not its name.
Contents open(const std::string& path) {
  switch (kind_of(path)) {
    case io::FileKind::npy:
      return {"npy", {io::inspect_npy(path)}, {}, [path](const io::TensorInfo&) {
                return io::map_npy(path);
              }};
    case io::FileKind::npz: {
      const auto reader = std::make_shared<io::NpzReader>(path);
      return {"npz", reader->tensors(), {}, [reader](const io::TensorInfo& info) {
                return reader->read(info.name);
              }};
    }
    case io::FileKind::json:
      return open_tfjs(path);
    default:
      break;
  }
  const auto reader = std::make_shared<io::SafetensorsReader>(path);
  Contents contents{"safetensors", reader->tensors(), reader->metadata(),
                    [reader](const io::TensorInfo& info) { return reader->map(info.name); }};
  if (contents.metadata.contains(io::kModelKey)) {
    contents.format = "safetensors, a model";
    contents.summary = summary_of([&] { return nn::load_model(path); });
    contents.metadata.erase(io::kModelKey);
  }
  return contents;
}

struct Counts {
  std::int64_t nan = 0;
  std::int64_t inf = 0;
};

template <class T>
void count(T value, Counts& counts) {
  if constexpr (std::same_as<T, std::complex<float>>) {
    // A number is counted once, whichever part it is that is wrong.
    counts.nan += std::isnan(value.real()) || std::isnan(value.imag()) ? 1 : 0;
    counts.inf += std::isinf(value.real()) || std::isinf(value.imag()) ? 1 : 0;
  } else if constexpr (!std::integral<T>) {
    using Wide = std::conditional_t<std::same_as<T, double>, double, float>;
    counts.nan += std::isnan(static_cast<Wide>(value)) ? 1 : 0;
    counts.inf += std::isinf(static_cast<Wide>(value)) ? 1 : 0;
  }
}

Counts counts_of(const Tensor& tensor) {
  Counts counts;
  with_type(tensor.dtype(), [&](auto kind) {
    using T = decltype(kind);
    for (const T value : tensor.view<T>()) count(value, counts);
  });
  return counts;
}

using Row = std::vector<std::string>;

// Left-aligned, but for the last three columns: numbers.
void print_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_number = i + 3 >= row.size();
      line += is_number ? fmt::format("{:>{}}  ", row[i], widths[i])
                        : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

void inspect(const std::string& path) {
  if (report::is_recording(path)) {
    fmt::print("{}\n`tenure leaks`, `top`, `report`, `diff` and `export` tell more.\n",
               summary_text(terminal(), path, report::read_run(path)));
    return;
  }
  const Contents contents = open(path);
  std::vector<Row> rows{{"name", "dtype", "shape", "size", "NaN", "Inf"}};
  std::size_t bytes = 0;
  std::int64_t elements = 0;
  Counts total;
  for (const io::TensorInfo& info : contents.tensors) {
    bytes += info.nbytes;
    elements += info.shape.numel();
    Row row{info.name.empty() ? "-" : io::printable(info.name),
            info.dtype ? std::string(name(*info.dtype)) : io::printable(info.type),
            to_string(info.shape), report::bytes_text(info.nbytes)};
    if (info.dtype) {
      const Tensor tensor = contents.read(info);
      const Counts counts = counts_of(tensor);
      total.nan += counts.nan;
      total.inf += counts.inf;
      const bool can_have = is_floating(*info.dtype) || is_complex(*info.dtype);
      row.push_back(can_have ? std::to_string(counts.nan) : "-");
      row.push_back(can_have ? std::to_string(counts.inf) : "-");
    } else {
      row.insert(row.end(), {"?", "?"});
    }
    rows.push_back(std::move(row));
  }
  fmt::print("{}: {}\n\n", path, contents.format);
  if (!contents.summary.empty()) fmt::print("{}\n", contents.summary);
  print_table(rows);
  fmt::print("\n{} {}, {} {}, {} ({} bytes); {} NaN, {} Inf\n", contents.tensors.size(),
             contents.tensors.size() == 1 ? "tensor" : "tensors", elements,
             elements == 1 ? "element" : "elements", report::bytes_text(bytes), bytes, total.nan,
             total.inf);
  if (!contents.metadata.empty()) fmt::print("\nmetadata\n");
  for (const auto& [key, value] : contents.metadata) {
    fmt::print("  {}: {}\n", io::printable(key), io::printable(value));
  }
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  try {
    inspect(options.file);
    return 0;
  } catch (const IoError& error) {
    fmt::print(stderr, "tenure inspect: {}\n", text_of(error));
    return kFound;
  }
}

}  // namespace tenure::app
