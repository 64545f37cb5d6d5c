// Convolutions and their gradients: from tensors to walks (convolution_walk.h), cut for threads.
//
// Only the gradient of the input rearranges weights: it needs each tap's transposed, and does that
// itself unless it is given that form. The gradient of the filter is cut by the filter's elements
// where there are enough of them; else the pixels are cut into pieces that depend on shapes alone,
// and the pieces' sums are added in order.
#include <algorithm>

#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/transposed.h"
#include "ops/maths_attrs.h"

namespace tenure::cpu {
namespace {

constexpr std::int64_t kEnoughUnits = 32;         // for any number of threads
constexpr std::int64_t kLeastPiecePixels = 2048;  // in a piece of a filter's gradient

std::int64_t in_lines(std::int64_t bytes) { return ceil_div(bytes, 64) * 64; }

// Scratch, part by part.
class Parts {
 public:
  explicit Parts(std::byte* scratch) : next_(scratch) {}
  template <class T>
  T* take(std::int64_t elements) {
    const std::int64_t bytes = in_lines(elements * static_cast<std::int64_t>(sizeof(T)));
    auto* part = reinterpret_cast<T*>(next_);
    if (next_ != nullptr) next_ += bytes;
    bytes_ += bytes;
    return part;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }

 private:
  std::byte* next_;
  std::int64_t bytes_ = 0;
};

// Pieces a thread takes: enough that one which lost its core delays little.
constexpr std::int64_t kPiecesPerThread = 4;

// Calls run(walk, item) for all pieces of the walk. The epilogue follows each pixel that is done;
// false if it did not, because no piece has all columns of a pixel.
template <class T, class F>
bool run_walk(Walk<T> walk, const F& run, const ops::Epilogue& epilogue = {}) {
  const std::int64_t work = walk.work() * std::max<std::int64_t>(1, walk.multiplier);
  const std::int64_t threads = work < kSerialWork ? 1 : num_threads();
  walk.flatten();
  walk.cut(threads == 1 ? 1 : threads * kPiecesPerThread);
  const bool whole = walk.block_columns >= walk.dst_row;
  if (epilogue && whole) walk.finish = &epilogue;
  if (threads == 1) {
    for (std::int64_t i = 0; i < walk.items(); ++i) run(walk, i);
  } else {
    parallel_each(walk.items(), [&](std::int64_t item) { run(walk, item); });
  }
  return whole;
}

template <class T>
void clear(T* dst, std::int64_t count) {
  std::fill_n(dst, count, T{0});
}

// The channel of x that each column of y belongs to, and zeros behind them so that whole vectors
// may be read.
template <class T>
void* fill_channels(Parts& parts, std::int64_t columns, std::int64_t multiplier, bool of_y) {
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const std::int64_t count = ceil_div(columns, kLineElements<T>) * kLineElements<T>;
  auto* channels = parts.take<Index>(count);
  if (channels == nullptr) return nullptr;
  for (std::int64_t j = 0; j < columns; ++j) {
    channels[j] = static_cast<Index>(of_y ? j * multiplier : j / multiplier);
  }
  clear(channels + columns, count - columns);
  return channels;
}

// What the kernels of one op need of the scratch. Called without any to count the bytes.

struct ConvArgs {
  const ops::ConvAttrs& attrs;
  const ops::KernelView& x;
  const ops::KernelView& filter;
  const ops::KernelView& y;
  Geometry geometry{*x.shape, *filter.shape, *y.shape, attrs};
};

ConvArgs forward_args(const ops::KernelArgs& args) {
  return {args.attrs.as<ops::ConvAttrs>(), args.in[0], args.in[1], args.out[0]};
}
ConvArgs input_args(const ops::KernelArgs& args) {
  return {args.attrs.as<ops::ConvAttrs>(), args.out[0], args.in[1], args.in[0]};
}
ConvArgs filter_args(const ops::KernelArgs& args) {
  return {args.attrs.as<ops::ConvAttrs>(), args.in[0], args.out[0], args.in[1]};
}

template <class T>
Walk<T> forward_walk(const ConvArgs& conv) {
  const Geometry& g = conv.geometry;
  return {.batch = g.batch,
          .axes = {forward_axis(g, 0), forward_axis(g, 1), forward_axis(g, 2)},
          .kernel = g.kernel,
          .src = conv.x.as<T>(),
          .src_row = g.in_channels,
          .dst = conv.y.as<T>(),
          .dst_row = g.out_channels,
          .weights = conv.filter.as<T>(),
          .weight_tap = g.depth * g.out_channels,
          .weight_row = g.out_channels,
          .depth = g.depth,
          .columns = g.out_channels / g.groups,
          .zeros = nullptr};
}

// The loop of an elementwise kernel.
ops::ElementLoop loop_of(std::string_view op, DType dtype, ops::AttrsRef attrs = {}) {
  for (const auto rows : {binary_kernels(), unary_kernels(), activation_kernels()}) {
    for (const ops::KernelRow& row : rows) {
      if (row.op == op && row.dtype == dtype) return row.loop(attrs);
    }
  }
  return {};
}

// What a fused convolution does to pixels that have their sums and the bias: the activation, by the
// loop of the op that it is, and then what follows it in a graph.
class Finish {
 public:
  explicit Finish(const ops::KernelArgs& args) : y_(args.out[0].data), next_(args.epilogue) {
    const auto& attrs = args.attrs.as<ops::ConvAttrs>();
    if (attrs.activation == Activation::linear) return;
    const DType dtype = args.out[0].dtype;
    const ops::AlphaAttrs slope{attrs.alpha};
    element_ = static_cast<std::int64_t>(size_of(dtype));
    activation_ = loop_of(ops::choice_name(attrs.activation), dtype, ops::ref(slope));
  }
  ops::Epilogue epilogue() const {
    if (activation_.loop.run == nullptr) return next_;
    return {[](const void* finish, std::int64_t begin, std::int64_t end, std::byte*) noexcept {
              static_cast<const Finish*>(finish)->run(begin, end);
            },
            this};
  }

 private:
  void run(std::int64_t begin, std::int64_t end) const {
    std::byte* at = y_ + begin * element_;
    const auto& numbers = activation_.values;
    activation_.loop.run(
        {{at, numbers[0].bytes.data(), numbers[1].bytes.data()}, at, end - begin, 1});
    if (next_) next_(begin, end);
  }

  std::byte* y_;
  std::int64_t element_ = 0;
  ops::Epilogue next_;
  ops::ElementLoop activation_;
};

void finish_at_once(const ops::Epilogue& epilogue, std::int64_t elements) {
  if (!epilogue) return;
  parallel_for(elements, kSerialMathElements,
               [&](std::int64_t begin, std::int64_t end) { epilogue(begin, end); });
}

template <class T>
std::size_t forward_scratch(const ops::KernelArgs& args) noexcept {
  Parts parts(nullptr);
  parts.take<T>(forward_args(args).geometry.in_channels);
  return parts.bytes();
}

template <class T>
void forward(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = forward_args(args);
  if (conv.y.numel() == 0) return;
  Walk<T> walk = forward_walk<T>(conv);
  Parts parts(args.scratch);
  T* zeros = parts.take<T>(walk.src_row);
  clear(zeros, walk.src_row);
  walk.zeros = zeros;
  if (args.in.size() > 2) walk.bias = args.in[2].as<T>();
  const Finish finish(args);
  const ops::Epilogue epilogue = finish.epilogue();
  bool is_finished = true;
  for (std::int64_t group = 0; group < conv.geometry.groups; ++group) {
    is_finished = run_walk(walk, [](const auto& w, auto item) { walk_tiles(w, item); }, epilogue);
    walk.src += walk.depth;
    walk.dst += walk.columns;
    walk.weights += walk.columns;
    if (walk.bias != nullptr) walk.bias += walk.columns;
  }
  if (!is_finished) finish_at_once(epilogue, conv.y.numel());
}

template <class T>
Walk<T> backward_walk(const ConvArgs& conv) {
  const Geometry& g = conv.geometry;
  return {.batch = g.batch,
          .axes = {},
          .kernel = g.kernel,
          .src = conv.y.as<T>(),
          .src_row = g.out_channels,
          .dst = conv.x.as<T>(),
          .dst_row = g.in_channels,
          .weights = nullptr,
          .weight_tap = g.depth * g.out_channels,
          .weight_row = g.depth,
          .depth = g.out_channels / g.groups,
          .columns = g.depth,
          .zeros = nullptr};
}

// Every combination of the axes' phases.
template <class T, class F>
void each_phase(const Geometry& g, Walk<T>& walk, const F& run) {
  for (std::int64_t d = 0; d < g.stride[0]; ++d) {
    walk.axes[0] = backward_axis(g, 0, d);
    for (std::int64_t h = 0; h < g.stride[1]; ++h) {
      walk.axes[1] = backward_axis(g, 1, h);
      for (std::int64_t w = 0; w < g.stride[2]; ++w) {
        walk.axes[2] = backward_axis(g, 2, w);
        if (walk.pixels() > 0) run();
      }
    }
  }
}

template <class T>
std::size_t input_scratch(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = input_args(args);
  Parts parts(nullptr);
  parts.take<T>(conv.geometry.out_channels);
  if (args.form == nullptr) parts.take<T>(conv.filter.numel());
  return parts.bytes();
}

template <class T>
ops::WantedForm transposed_filter(const ops::KernelArgs& args) noexcept {
  const Geometry g = input_args(args).geometry;
  return transposed<T>(1, g.taps(), g.depth, g.out_channels);
}

template <class T>
void input_gradient(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = input_args(args);
  const Geometry& g = conv.geometry;
  if (conv.x.numel() == 0) return;
  Walk<T> walk = backward_walk<T>(conv);
  Parts parts(args.scratch);
  T* zeros = parts.take<T>(walk.src_row);
  clear(zeros, walk.src_row);
  walk.zeros = zeros;
  walk.weights = reinterpret_cast<const T*>(args.form);
  if (args.form == nullptr && conv.filter.numel() > 0) {
    T* weights = parts.take<T>(conv.filter.numel());
    transpose_items<sizeof(T)>(conv.filter.data, {g.taps(), g.depth, g.out_channels},
                               reinterpret_cast<std::byte*>(weights));
    walk.weights = weights;
  }
  for (std::int64_t group = 0; group < g.groups; ++group) {
    each_phase(g, walk,
               [&] { run_walk(walk, [](const auto& w, auto item) { walk_tiles(w, item); }); });
    walk.src += walk.depth;
    walk.dst += walk.columns;
    walk.weights += walk.depth * g.depth;
  }
}

// Into how many pieces the pixels of a filter's gradient are cut.
std::int64_t pieces_of(std::int64_t units, std::int64_t pixels) {
  if (units == 0 || units >= kEnoughUnits) return 1;
  return std::clamp<std::int64_t>(pixels / kLeastPiecePixels, 1, ceil_div(kEnoughUnits, units));
}

template <class T>
FilterSum<T> filter_sum(const ConvArgs& conv) {
  Walk<T> walk = forward_walk<T>(conv);
  walk.weights = nullptr;
  return {walk, conv.y.as<T>(), conv.geometry.out_channels, conv.filter.as<T>(),
          conv.geometry.out_channels};
}

// Sums of all pieces; units of all pieces are dealt to the threads.
template <class T, class F>
void run_pieces(const FilterSum<T>& sum, std::int64_t units, std::int64_t pieces,
                std::int64_t filter_size, const F& run) {
  const std::int64_t pixels = sum.walk.pixels();
  const std::int64_t total = units * pieces;
  const std::int64_t threads = sum.walk.work() < kSerialWork ? 1 : num_threads();
  const std::int64_t slots = std::min(threads, total);
  parallel_each(slots, [&](std::int64_t slot) {
    const std::int64_t end = (slot + 1) * total / slots;
    for (std::int64_t at = slot * total / slots; at < end;) {
      const std::int64_t piece = at / units;
      const std::int64_t stop = std::min(end, (piece + 1) * units);
      FilterSum<T> part = sum;
      part.dst += piece * filter_size;
      run(part, at - piece * units, stop - piece * units, piece * pixels / pieces,
          (piece + 1) * pixels / pieces);
      at = stop;
    }
  });
}

template <class T>
void add_pieces(T* __restrict__ dst, const T* __restrict__ partial, std::int64_t pieces,
                std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) dst[i] = partial[i];
  for (std::int64_t piece = 1; piece < pieces; ++piece) {
    const T* __restrict__ from = partial + piece * size;
    TENURE_VECTORISE
    for (std::int64_t i = 0; i < size; ++i) dst[i] += from[i];
  }
}

template <class T>
std::size_t filter_scratch(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = filter_args(args);
  const FilterSum<T> sum = filter_sum<T>(conv);
  const std::int64_t pieces = pieces_of(filter_units(sum), sum.walk.pixels());
  Parts parts(nullptr);
  parts.take<T>(sum.walk.src_row);
  if (pieces > 1) parts.take<T>(pieces * conv.filter.numel());
  return parts.bytes();
}

template <class T>
void filter_gradient(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = filter_args(args);
  const std::int64_t size = conv.filter.numel();
  if (size == 0) return;
  FilterSum<T> sum = filter_sum<T>(conv);
  if (sum.walk.pixels() == 0) return clear(sum.dst, size);
  const std::int64_t units = filter_units(sum);
  const std::int64_t pieces = pieces_of(units, sum.walk.pixels());
  Parts parts(args.scratch);
  T* zeros = parts.take<T>(sum.walk.src_row);
  clear(zeros, sum.walk.src_row);
  sum.walk.zeros = zeros;
  T* partial = pieces > 1 ? parts.take<T>(pieces * size) : nullptr;
  if (pieces > 1) sum.dst = partial;
  for (std::int64_t group = 0; group < conv.geometry.groups; ++group) {
    run_pieces(sum, units, pieces, size,
               [](const FilterSum<T>& part, std::int64_t first_unit, std::int64_t last_unit,
                  std::int64_t first,
                  std::int64_t last) { filter_tiles(part, first_unit, last_unit, first, last); });
    sum.walk.src += sum.walk.depth;
    sum.dy += sum.walk.columns;
    sum.dst += sum.walk.columns;
  }
  if (pieces > 1) add_pieces(conv.filter.as<T>(), partial, pieces, size);
}

// Each channel by itself. The filter is [..., channels of x, multiplier].

template <class T>
void as_depthwise(Walk<T>& walk, const Geometry& g) {
  walk.multiplier = g.in_channels == 0 ? 1 : g.out_channels / g.in_channels;
  walk.weight_tap = g.out_channels;
  walk.depth = 1;
}

template <class T>
std::size_t depthwise_scratch(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = forward_args(args);
  Parts parts(nullptr);
  parts.take<T>(conv.geometry.in_channels);
  fill_channels<T>(parts, conv.geometry.out_channels, 1, false);
  return parts.bytes();
}

template <class T>
void depthwise(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = forward_args(args);
  const Geometry& g = conv.geometry;
  if (conv.y.numel() == 0) return;
  Walk<T> walk = forward_walk<T>(conv);
  as_depthwise(walk, g);
  walk.columns = g.out_channels;
  Parts parts(args.scratch);
  T* zeros = parts.take<T>(g.in_channels);
  clear(zeros, g.in_channels);
  walk.zeros = zeros;
  walk.channel_of = fill_channels<T>(parts, g.out_channels, walk.multiplier, false);
  if (args.in.size() > 2) walk.bias = args.in[2].as<T>();
  const Finish finish(args);
  const ops::Epilogue epilogue = finish.epilogue();
  const bool is_finished =
      run_walk(walk, [](const auto& w, auto item) { depthwise_tiles(w, item); }, epilogue);
  if (!is_finished) finish_at_once(epilogue, conv.y.numel());
}

template <class T>
std::size_t depthwise_input_scratch(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = input_args(args);
  Parts parts(nullptr);
  parts.take<T>(conv.geometry.out_channels);
  fill_channels<T>(parts, conv.geometry.in_channels, 1, true);
  return parts.bytes();
}

template <class T>
void depthwise_input_gradient(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = input_args(args);
  const Geometry& g = conv.geometry;
  if (conv.x.numel() == 0) return;
  Walk<T> walk = backward_walk<T>(conv);
  as_depthwise(walk, g);
  walk.columns = g.in_channels;
  walk.weights = conv.filter.as<T>();
  Parts parts(args.scratch);
  T* zeros = parts.take<T>(g.out_channels);
  clear(zeros, g.out_channels);
  walk.zeros = zeros;
  walk.channel_of = fill_channels<T>(parts, g.in_channels, walk.multiplier, true);
  each_phase(g, walk, [&] {
    run_walk(walk, [](const auto& w, auto item) {
      w.multiplier == 1 ? depthwise_tiles(w, item) : depthwise_sums(w, item);
    });
  });
}

template <class T>
FilterSum<T> depthwise_filter_sum(const ConvArgs& conv) {
  FilterSum<T> sum = filter_sum<T>(conv);
  as_depthwise(sum.walk, conv.geometry);
  sum.walk.columns = conv.geometry.out_channels;
  return sum;
}

template <class T>
std::size_t depthwise_filter_scratch(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = filter_args(args);
  const FilterSum<T> sum = depthwise_filter_sum<T>(conv);
  const std::int64_t pieces = pieces_of(depthwise_units(sum), sum.walk.pixels());
  Parts parts(nullptr);
  parts.take<T>(sum.walk.src_row);
  fill_channels<T>(parts, sum.walk.columns, 1, false);
  if (pieces > 1) parts.take<T>(pieces * conv.filter.numel());
  return parts.bytes();
}

template <class T>
void depthwise_filter_gradient(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = filter_args(args);
  const std::int64_t size = conv.filter.numel();
  if (size == 0) return;
  FilterSum<T> sum = depthwise_filter_sum<T>(conv);
  if (sum.walk.pixels() == 0) return clear(sum.dst, size);
  const std::int64_t units = depthwise_units(sum);
  const std::int64_t pieces = pieces_of(units, sum.walk.pixels());
  Parts parts(args.scratch);
  T* zeros = parts.take<T>(sum.walk.src_row);
  clear(zeros, sum.walk.src_row);
  sum.walk.zeros = zeros;
  sum.walk.channel_of = fill_channels<T>(parts, sum.walk.columns, sum.walk.multiplier, false);
  T* partial = pieces > 1 ? parts.take<T>(pieces * size) : nullptr;
  if (pieces > 1) sum.dst = partial;
  run_pieces(sum, units, pieces, size,
             [](const FilterSum<T>& part, std::int64_t first_unit, std::int64_t last_unit,
                std::int64_t first,
                std::int64_t last) { depthwise_filter(part, first_unit, last_unit, first, last); });
  if (pieces > 1) add_pieces(conv.filter.as<T>(), partial, pieces, size);
}

template <class T>
constexpr ops::KernelRow forward_row(std::string_view op, ops::KernelFn run,
                                     ops::ScratchFn scratch) {
  return {.op = op,
          .dtype = dtype_of<T>,
          .run = run,
          .scratch_bytes = scratch,
          .takes_epilogue = ops::TakesEpilogue::in_place};
}

template <class T>
constexpr ops::KernelRow input_row(std::string_view op) {
  return {.op = op,
          .dtype = dtype_of<T>,
          .run = input_gradient<T>,
          .scratch_bytes = input_scratch<T>,
          .wanted_form = transposed_filter<T>};
}

template <class T>
constexpr std::array kRowsOf = {
    forward_row<T>("conv1d", forward<T>, forward_scratch<T>),
    forward_row<T>("conv2d", forward<T>, forward_scratch<T>),
    forward_row<T>("conv3d", forward<T>, forward_scratch<T>),
    forward_row<T>("fused_conv2d", forward<T>, forward_scratch<T>),
    input_row<T>("conv1d_grad_input"),
    input_row<T>("conv2d_grad_input"),
    input_row<T>("conv3d_grad_input"),
    ops::KernelRow{"conv1d_grad_filter", dtype_of<T>, filter_gradient<T>, filter_scratch<T>},
    ops::KernelRow{"conv2d_grad_filter", dtype_of<T>, filter_gradient<T>, filter_scratch<T>},
    ops::KernelRow{"conv3d_grad_filter", dtype_of<T>, filter_gradient<T>, filter_scratch<T>},
    forward_row<T>("depthwise_conv2d", depthwise<T>, depthwise_scratch<T>),
    forward_row<T>("fused_depthwise_conv2d", depthwise<T>, depthwise_scratch<T>),
    ops::KernelRow{"depthwise_conv2d_grad_input", dtype_of<T>, depthwise_input_gradient<T>,
                   depthwise_input_scratch<T>},
    ops::KernelRow{"depthwise_conv2d_grad_filter", dtype_of<T>, depthwise_filter_gradient<T>,
                   depthwise_filter_scratch<T>},
};

constexpr std::array kRows = {kRowsOf<float>, kRowsOf<double>};

}  // namespace

std::span<const ops::KernelRow> convolution_kernels() {
  return {kRows.front().data(), kRows.size() * kRows.front().size()};
}

}  // namespace tenure::cpu
