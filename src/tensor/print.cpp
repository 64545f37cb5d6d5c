// Printing like NumPy's: aligned columns, three items at each end of a long axis.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <ostream>

#include "core/raise.h"
#include "core/with_type.h"
#include "memory/ledger.h"
#include "memory/text.h"
#include "memory/transfer.h"
#include "tensor/access.h"
#include "tenure/tensor.h"

namespace tenure {
namespace {

constexpr std::int64_t kSummariseAbove = 1000;
constexpr std::int64_t kEdge = 3;
constexpr std::size_t kLineWidth = 88;

// Up to eight significant digits, as few as tell the value apart; "1." for a whole number.
std::string float_text(double value, bool scientific) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = scientific ? fmt::format("{:.8e}", value) : fmt::format("{:.8f}", value);
  const std::size_t exponent = text.find('e');
  std::string tail = exponent == text.npos ? "" : text.substr(exponent);
  std::string digits = text.substr(0, exponent);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits + tail;
}

template <class T>
std::string element_text(T value, bool scientific) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, float>) {
    // The shortest text that reads back as the same float, at NumPy's eight digits or fewer.
    const double shortest = std::isfinite(value) ? std::stod(fmt::format("{}", value)) : value;
    return float_text(shortest, scientific);
  } else {
    return float_text(static_cast<double>(value), scientific);
  }
}
std::string element_text(Float16 value, bool scientific) {
  return float_text(static_cast<double>(static_cast<float>(value)), scientific);
}
std::string element_text(BFloat16 value, bool scientific) {
  return float_text(static_cast<double>(static_cast<float>(value)), scientific);
}

class Printer {
 public:
  Printer(const Shape& shape, bool summarise, std::vector<std::string> items)
      : shape_(shape), summarise_(summarise), items_(std::move(items)) {
    for (const std::string& item : items_) width_ = std::max(width_, item.size());
  }

  std::string text() {
    axis(0, 7);  // under "tensor("
    return std::move(out_);
  }

  // Calls visit(i) for every index along an axis that is shown, and gap() where some are left out.
  static void shown(std::int64_t size, bool summarise, auto&& visit, auto&& gap) {
    if (!summarise || size <= 2 * kEdge) {
      for (std::int64_t i = 0; i < size; ++i) visit(i);
      return;
    }
    for (std::int64_t i = 0; i < kEdge; ++i) visit(i);
    gap();
    for (std::int64_t i = size - kEdge; i < size; ++i) visit(i);
  }

 private:
  void axis(int depth, std::size_t indent) {
    if (depth == shape_.rank()) {
      const std::string& item = items_[next_++];
      out_.append(shape_.rank() == 0 ? 0 : width_ - item.size(), ' ');
      out_ += item;
      return;
    }
    const bool innermost = depth == shape_.rank() - 1;
    out_ += '[';
    bool first = true;
    const auto separate = [&] {
      if (first) {
        first = false;
        return;
      }
      out_ += ',';
      if (!innermost) {
        out_.append(static_cast<std::size_t>(shape_.rank() - 1 - depth), '\n');
        out_.append(indent + 1, ' ');
      } else if (out_.size() - (out_.rfind('\n') + 1) + width_ + 2 > kLineWidth) {
        out_ += '\n';
        out_.append(indent + 1, ' ');
      } else {
        out_ += ' ';
      }
    };
    shown(
        shape_[depth], summarise_,
        [&](std::int64_t) {
          separate();
          axis(depth + 1, indent + 1);
        },
        [&] {
          separate();
          out_ += "...";
        });
    out_ += ']';
  }

  const Shape& shape_;
  bool summarise_;
  std::vector<std::string> items_;
  std::size_t width_ = 0;
  std::size_t next_ = 0;
  std::string out_;
};

// Byte offsets of the elements that are shown, in order.
void shown_offsets(const Layout& layout, bool summarise, int depth, std::int64_t offset,
                   std::vector<std::int64_t>& offsets) {
  if (depth == layout.shape.rank()) {
    offsets.push_back(offset);
    return;
  }
  Printer::shown(
      layout.shape[depth], summarise,
      [&](std::int64_t i) {
        shown_offsets(layout, summarise, depth + 1, offset + i * layout.strides[depth], offsets);
      },
      [] {});
}

// Pads on the right so that decimal points stand below each other.
void align_points(std::vector<std::string>& texts) {
  const auto after_point = [](const std::string& text) {
    const std::size_t point = text.find('.');
    return point == text.npos ? std::size_t{0} : text.size() - point;
  };
  std::size_t longest = 0;
  for (const std::string& text : texts) longest = std::max(longest, after_point(text));
  for (std::string& text : texts) {
    if (const std::size_t tail = after_point(text); tail != 0) text.append(longest - tail, ' ');
  }
}

template <class T>
std::vector<T> item_values(const detail::Header& header, const std::vector<std::int64_t>& offsets) {
  std::vector<T> values(offsets.size());
  Layout one;
  one.dtype = header.layout.dtype;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    one.offset = offsets[i];
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      detail::device_transfer(header.device.type)
          .to_host(reinterpret_cast<std::byte*>(&byte), *header.storage, one);
      values[i] = byte != 0;
    } else {
      detail::device_transfer(header.device.type)
          .to_host(reinterpret_cast<std::byte*>(&values[i]), *header.storage, one);
    }
  }
  return values;
}

template <class T>
std::vector<std::string> texts_of(const std::vector<T>& values) {
  bool scientific = false;
  if constexpr (std::is_floating_point_v<T>) {
    T largest = 0;
    T smallest = std::numeric_limits<T>::infinity();
    for (const T value : values) {
      if (!std::isfinite(value) || value == 0) continue;
      largest = std::max(largest, std::abs(value));
      smallest = std::min(smallest, std::abs(value));
    }
    scientific = largest >= T(1e8) ||
                 (largest > 0 && (smallest < T(1e-4) || largest / smallest > T(1000) * 1000));
  }
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const T value : values) texts.push_back(element_text(value, scientific));
  align_points(texts);
  return texts;
}

// "1. +2.5j": the parts aligned each for itself, with blanks after the j.
std::vector<std::string> texts_of(const std::vector<std::complex<float>>& values) {
  std::vector<float> re, im;
  for (const std::complex<float> value : values) {
    re.push_back(value.real());
    im.push_back(std::abs(value.imag()));
  }
  std::vector<std::string> texts = texts_of(re);
  const std::vector<std::string> parts = texts_of(im);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t size = parts[i].find_last_not_of(' ') + 1;
    texts[i] += std::signbit(values[i].imag()) ? '-' : '+';
    texts[i].append(parts[i], 0, size);
    texts[i] += 'j';
    texts[i].append(parts[i].size() - size, ' ');
  }
  return texts;
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  detail::Header* header = detail::Access::header(tensor);
  if (header == nullptr) return "tensor(empty handle)";
  if (header->is_symbolic() && !header->is_disposed()) {
    return fmt::format("tensor(symbolic, shape={}, dtype={}, born {} {})", header->layout.shape,
                       header->layout.dtype, detail::site_text(header->birth.site),
                       header->birth.op);
  }
  if (!try_pin(*header)) return fmt::format("disposed {}", tensor.story().text());
  const detail::Pinned pinned{*header};
  const Layout& layout = header->layout;
  const bool summarise = layout.shape.numel() > kSummariseAbove;
  std::vector<std::int64_t> offsets;
  shown_offsets(layout, summarise, 0, layout.offset, offsets);
  std::vector<std::string> items = with_type(
      layout.dtype, [&]<class T>(T) { return texts_of(item_values<T>(*header, offsets)); });
  std::string text = "tensor(" + Printer(layout.shape, summarise, std::move(items)).text();
  if (summarise || layout.shape.numel() == 0) text += fmt::format(", shape={}", layout.shape);
  return text + fmt::format(", dtype={})", layout.dtype);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << to_string(tensor);
}

}  // namespace tenure
