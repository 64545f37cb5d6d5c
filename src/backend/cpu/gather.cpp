// Picking and placing rows by index.
//
// What is placed is cut by where it goes: a thread owns a range of the output's rows, reads all
// indices and applies those that fall into its range, in order. So nothing is sorted, no two
// threads write one row, and each row's additions come in the order of the indices on any number of
// threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backend/cpu/convert.h"
#include "backend/cpu/elementwise.h"
#include "backend/cpu/index_view.h"
#include "backend/cpu/indices.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "core/with_type.h"
#include "ops/gather_attrs.h"

namespace tenure::cpu {
namespace {

constexpr const char* kOutOfAxis =
    "index {0} at position {1} is out of range: the axis has {2} elements";

// x seen as [batches, outer, axis, inner] and the indices as [batches, count].
struct GatherLayout {
  std::int64_t batches = 1, outer = 1, axis = 1, inner = 1, count = 1;

  GatherLayout(const Shape& x, const Shape& indices, int axis_at, int batch_dims) {
    for (int i = 0; i < batch_dims; ++i) batches *= x[i];
    for (int i = batch_dims; i < axis_at; ++i) outer *= x[i];
    axis = x[axis_at];
    for (int i = axis_at + 1; i < x.rank(); ++i) inner *= x[i];
    for (int i = batch_dims; i < indices.rank(); ++i) count *= indices[i];
  }
};

template <std::size_t size>
struct Fixed {
  static constexpr std::size_t bytes() { return size; }
};
struct Any {
  std::size_t size;
  std::size_t bytes() const { return size; }
};

// A row of one element is moved by one instruction.
template <class F>
void with_row_size(std::size_t bytes, F&& fn) {
  switch (bytes) {
    case 1:
      return fn(Fixed<1>{});
    case 2:
      return fn(Fixed<2>{});
    case 4:
      return fn(Fixed<4>{});
    case 8:
      return fn(Fixed<8>{});
    default:
      return fn(Any{bytes});
  }
}

std::int64_t rows_worth_a_thread(std::size_t row_bytes) {
  return 4 * kSerialElements / static_cast<std::int64_t>(std::max<std::size_t>(row_bytes, 16)) + 1;
}

void gather(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::GatherAttrs>();
  const GatherLayout at(*args.in[0].shape, *args.in[1].shape, attrs.axis, attrs.batch_dims);
  with_indices(args.in[1], [&](const auto* indices) {
    if (!all_in_range(args, indices, args.in[1].numel(), at.axis, kOutOfAxis)) return;
    if (args.out[0].numel() == 0) return;
    const std::size_t row_bytes = static_cast<std::size_t>(at.inner) * size_of(args.in[0].dtype);
    const std::byte* src = args.in[0].data;
    std::byte* dst = args.out[0].data;
    with_row_size(row_bytes, [&](auto row) {
      parallel_for(at.batches * at.outer * at.count, rows_worth_a_thread(row_bytes),
                   [&](std::int64_t begin, std::int64_t end) {
                     const std::size_t bytes = row.bytes();
                     std::int64_t block = begin / at.count;  // of one batch and outer index
                     std::int64_t i = begin - block * at.count;
                     std::byte* to = dst + static_cast<std::size_t>(begin) * bytes;
                     for (std::int64_t left = end - begin; left > 0; ++block, i = 0) {
                       const std::byte* from =
                           src + static_cast<std::size_t>(block * at.axis) * bytes;
                       const auto* index = indices + block / at.outer * at.count;
                       const std::int64_t stop = std::min(at.count, i + left);
                       left -= stop - i;
                       for (; i < stop; ++i, to += bytes) {
                         std::memcpy(to, from + static_cast<std::size_t>(index[i]) * bytes, bytes);
                       }
                     }
                   });
    });
  });
}

template <class T>
struct Add {
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};

template <class T>
struct Min {
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
    }
    return a < b ? a : b;  // b if it is NaN
  }
};

template <class T>
struct Max {
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
    }
    return a > b ? a : b;
  }
};

template <class Op, class T>
void combine_row(T* dst, const T* src, std::int64_t width) {
  TENURE_VECTORISE
  for (std::int64_t i = 0; i < width; ++i) dst[i] = Op::of(dst[i], src[i]);
}

template <class T>
void gather_grad(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::GatherGradAttrs>();
  const GatherLayout at(attrs.shape, *args.in[1].shape, attrs.axis, attrs.batch_dims);
  with_indices(args.in[1], [&](const auto* indices) {
    if (!all_in_range(args, indices, args.in[1].numel(), at.axis, kOutOfAxis)) return;
    if (args.out[0].numel() == 0) return;
    const T* src = args.in[0].as<T>();
    T* dst = args.out[0].as<T>();
    const std::int64_t inner = at.inner;
    parallel_for(at.batches * at.outer * at.axis,
                 rows_worth_a_thread(sizeof(T) * std::size_t(inner)),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::fill(dst + begin * inner, dst + end * inner, T{0});
                   for (std::int64_t block = begin / at.axis; block * at.axis < end; ++block) {
                     const std::int64_t first = std::max<std::int64_t>(begin - block * at.axis, 0);
                     const std::int64_t last = std::min(end - block * at.axis, at.axis);
                     const auto* index = indices + block / at.outer * at.count;
                     const T* from = src + block * at.count * inner;
                     T* to = dst + block * at.axis * inner;
                     for (std::int64_t i = 0; i < at.count; ++i) {
                       const auto row = static_cast<std::int64_t>(index[i]);
                       if (row < first || row >= last) continue;
                       combine_row<Add<T>>(to + row * inner, from + i * inner, inner);
                     }
                   }
                 });
  });
}

// Rows of coordinates into the first axes of a tensor, as numbers of that tensor's rows.
struct Places {
  std::int64_t count = 1;  // of rows of coordinates
  std::int64_t rows = 1;   // of the tensor
  std::int64_t width = 1;  // of one of them
  int depth = 0;

  Places(const Shape& indices, const Shape& shape) : depth(static_cast<int>(indices[-1])) {
    for (int i = 0; i + 1 < indices.rank(); ++i) count *= indices[i];
    for (int i = 0; i < depth; ++i) rows *= shape[i];
    for (int i = depth; i < shape.rank(); ++i) width *= shape[i];
  }
};

template <int indices_at>
std::size_t places_bytes(const ops::KernelArgs& args) noexcept {
  const Shape& indices = *args.in[indices_at].shape;
  std::int64_t count = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) count *= indices[i];
  return static_cast<std::size_t>(count) * sizeof(std::int64_t);
}

// Fills `rows`; false, with a complaint, when a coordinate is out of range.
template <class I>
bool find_places(const ops::KernelArgs& args, const I* indices, const Shape& shape,
                 const Places& places, std::int64_t* rows) {
  for (std::int64_t i = 0; i < places.count; ++i) {
    std::int64_t row = 0;
    for (int axis = 0; axis < places.depth; ++axis) {
      const auto at = static_cast<std::int64_t>(indices[i * places.depth + axis]);
      if (at < 0 || at >= shape[axis]) {
        args.complain("index {0} at position {1} is out of range: its axis has {2} elements", at,
                      i * places.depth + axis, shape[axis]);
        return false;
      }
      row = row * shape[axis] + at;
    }
    rows[i] = row;
  }
  return true;
}

void gather_nd(const ops::KernelArgs& args) noexcept {
  const Shape& shape = *args.in[0].shape;
  const Places places(*args.in[1].shape, shape);
  auto* rows = reinterpret_cast<std::int64_t*>(args.scratch);
  const bool sound = with_indices(args.in[1], [&](const auto* indices) {
    return find_places(args, indices, shape, places, rows);
  });
  if (!sound || args.out[0].numel() == 0) return;
  const std::size_t row_bytes = static_cast<std::size_t>(places.width) * size_of(args.in[0].dtype);
  const std::byte* src = args.in[0].data;
  std::byte* dst = args.out[0].data;
  with_row_size(row_bytes, [&](auto row) {
    parallel_for(places.count, rows_worth_a_thread(row_bytes),
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::size_t bytes = row.bytes();
                   for (std::int64_t i = begin; i < end; ++i) {
                     std::memcpy(dst + static_cast<std::size_t>(i) * bytes,
                                 src + static_cast<std::size_t>(rows[i]) * bytes, bytes);
                   }
                 });
  });
}

// Starts each row of the output with start(begin, end) and applies the updates with
// put(row, update).
template <class Start, class Put>
void scatter_rows(const Places& places, const std::int64_t* rows, std::size_t row_bytes,
                  Start start, Put put) {
  parallel_for(places.rows, rows_worth_a_thread(row_bytes),
               [&](std::int64_t begin, std::int64_t end) {
                 start(begin, end);
                 for (std::int64_t i = 0; i < places.count; ++i) {
                   if (rows[i] >= begin && rows[i] < end) put(rows[i], i);
                 }
               });
}

template <class T>
void scatter_nd(const ops::KernelArgs& args) noexcept {
  const Shape& shape = *args.out[0].shape;
  const Places places(*args.in[0].shape, shape);
  auto* rows = reinterpret_cast<std::int64_t*>(args.scratch);
  const bool sound = with_indices(args.in[0], [&](const auto* indices) {
    return find_places(args, indices, shape, places, rows);
  });
  if (!sound || args.out[0].numel() == 0) return;
  const T* src = args.in[1].as<T>();
  T* dst = args.out[0].as<T>();
  const std::int64_t width = places.width;
  scatter_rows(
      places, rows, sizeof(T) * static_cast<std::size_t>(width),
      [&](std::int64_t begin, std::int64_t end) {
        std::fill(dst + begin * width, dst + end * width, T{0});
      },
      [&](std::int64_t row, std::int64_t i) {
        combine_row<Add<T>>(dst + row * width, src + i * width, width);
      });
}

// Into a tensor, whose memory may be the output's.
template <class Put>
void scatter_into(const ops::KernelArgs& args, Put put) {
  const Shape& shape = *args.out[0].shape;
  const Places places(*args.in[1].shape, shape);
  auto* rows = reinterpret_cast<std::int64_t*>(args.scratch);
  const bool sound = with_indices(args.in[1], [&](const auto* indices) {
    return find_places(args, indices, shape, places, rows);
  });
  if (!sound || args.out[0].numel() == 0) return;
  const std::byte* src = args.in[0].data;
  std::byte* dst = args.out[0].data;
  const std::size_t bytes = static_cast<std::size_t>(places.width) * size_of(args.out[0].dtype);
  scatter_rows(
      places, rows, bytes,
      [&](std::int64_t begin, std::int64_t end) {
        if (src == dst) return;
        const std::size_t first = static_cast<std::size_t>(begin) * bytes;
        std::memcpy(dst + first, src + first, static_cast<std::size_t>(end - begin) * bytes);
      },
      [&](std::int64_t row, std::int64_t i) { put(row, i, places.width); });
}

void tensor_scatter_update(const ops::KernelArgs& args) noexcept {
  const std::size_t size = size_of(args.out[0].dtype);
  const std::byte* updates = args.in[2].data;
  std::byte* dst = args.out[0].data;
  scatter_into(args, [=](std::int64_t row, std::int64_t i, std::int64_t width) {
    const std::size_t bytes = static_cast<std::size_t>(width) * size;
    std::memcpy(dst + static_cast<std::size_t>(row) * bytes,
                updates + static_cast<std::size_t>(i) * bytes, bytes);
  });
}

template <template <class> class Op, class T>
void tensor_scatter(const ops::KernelArgs& args) noexcept {
  const T* updates = args.in[2].as<T>();
  T* dst = args.out[0].as<T>();
  scatter_into(args, [=](std::int64_t row, std::int64_t i, std::int64_t width) {
    combine_row<Op<T>>(dst + row * width, updates + i * width, width);
  });
}

template <class T>
T element(const Scalar& value) {
  return value.is_integer() ? convert<T>(value.to_int64()) : convert<T>(value.to_double());
}

void one_hot(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::OneHotAttrs>();
  const Shape& shape = *args.out[0].shape;
  if (shape.numel() == 0) return;
  std::int64_t inner = 1;
  for (int i = attrs.axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const std::int64_t depth = attrs.depth, outer = shape.numel() / (depth * inner);
  with_type(attrs.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T on = element<T>(attrs.on), off = element<T>(attrs.off);
    T* dst = args.out[0].as<T>();
    with_indices(args.in[0], [&](const auto* indices) {
      parallel_for(outer, kSerialElements / (depth * inner) + 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     std::fill(dst + begin * depth * inner, dst + end * depth * inner, off);
                     for (std::int64_t i = begin * inner; i < end * inner; ++i) {
                       const auto at = static_cast<std::int64_t>(indices[i]);
                       if (at < 0 || at >= depth) continue;
                       dst[(i / inner * depth + at) * inner + i % inner] = on;
                     }
                   });
    });
  });
}

void count_true(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  const auto* src = args.in[0].as<std::uint8_t>();
  const std::int64_t count = args.in[0].numel();
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += src[i] != 0 ? 1 : 0;
  sizes[0] = total;
}

void where_indices(const ops::KernelArgs& args) noexcept {
  const auto* src = args.in[0].as<std::uint8_t>();
  const Shape& shape = *args.in[0].shape;
  const std::int64_t count = shape.numel();
  const int rank = shape.rank();
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (src[i] == 0) continue;
    std::int64_t rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      store_index(args.out[0], row + axis, rest % shape[axis]);
      rest /= shape[axis];
    }
    row += rank;
  }
}

template <std::size_t... i>
constexpr auto rows_for(std::string_view op, ops::KernelFn run, ops::ScratchFn scratch,
                        std::index_sequence<i...>) {
  return std::array{ops::KernelRow{op, static_cast<DType>(i), run, scratch}...};
}

template <class T>
constexpr auto number_rows() {
  constexpr DType dtype = dtype_of<T>;
  return std::array{
      ops::KernelRow{"gather_grad", dtype, gather_grad<T>},
      ops::KernelRow{"scatter_nd", dtype, scatter_nd<T>, places_bytes<0>},
      ops::KernelRow{"tensor_scatter_add", dtype, tensor_scatter<Add, T>, places_bytes<1>},
      ops::KernelRow{"tensor_scatter_min", dtype, tensor_scatter<Min, T>, places_bytes<1>},
      ops::KernelRow{"tensor_scatter_max", dtype, tensor_scatter<Max, T>, places_bytes<1>},
  };
}

template <class... Arrays>
constexpr auto joined(const Arrays&... arrays) {
  std::array<ops::KernelRow, (std::tuple_size_v<Arrays> + ...)> all{};
  std::size_t at = 0;
  const auto add = [&](const auto& rows) {
    for (const ops::KernelRow& row : rows) all[at++] = row;
  };
  (add(arrays), ...);
  return all;
}

}  // namespace

std::span<const ops::KernelRow> gather_kernels() {
  constexpr auto kDTypes = std::make_index_sequence<kDTypeCount>();
  static constexpr auto rows =
      joined(rows_for("gather", gather, nullptr, kDTypes),
             rows_for("gather_nd", gather_nd, places_bytes<1>, kDTypes),
             rows_for("tensor_scatter_update", tensor_scatter_update, places_bytes<1>, kDTypes),
             rows_for("one_hot", one_hot, nullptr, kDTypes), number_rows<float>(),
             number_rows<double>(), number_rows<std::int32_t>(), number_rows<std::int64_t>(),
             number_rows<std::uint8_t>(), number_rows<std::int8_t>(),
             std::array{ops::KernelRow{"where_indices", DType::boolean, where_indices, nullptr,
                                       count_true}});
  return rows;
}

}  // namespace tenure::cpu
