// Convolutions and their gradients: from tensors to walks (convolution_walk.h), cut for threads.
//
// Only the gradient of the input rearranges weights: it needs each tap's transposed, and does that
// itself unless it is given that form. The gradient of the filter is cut by the filter's elements
// where there are enough of them; else the pixels are cut into pieces that depend on shapes alone,
// and the pieces' sums are added in order.
#include <algorithm>

#include "backend/cpu/convolution_walk.h"
#include "backend/cpu/convolution_winograd.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/transposed.h"
#include "ops/maths_attrs.h"

namespace tenure::cpu {
namespace {

constexpr std::int64_t kEnoughUnits = 32;         // for any number of threads
constexpr std::int64_t kLeastPiecePixels = 2048;  // in a piece of a filter's gradient
constexpr std::int64_t kMostShares = 16;          // that images are read in for it
constexpr std::int64_t kFiltersOfImages = 4;      // each share being as many filters large

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
  const std::int64_t serial = walk.by_channel ? kSerialChannelWork : kSerialWork;
  const std::int64_t threads = work < serial ? 1 : num_threads();
  walk.flatten();
  if (epilogue) walk.finish = &epilogue;
  walk.cut(threads == 1 ? 1 : threads * kPiecesPerThread);
  const bool whole = walk.block_columns >= walk.dst_row;
  if (!whole) walk.finish = nullptr;
  if (threads == 1) {
    for (std::int64_t i = 0; i < walk.items(); ++i) run(walk, i);
  } else {
    parallel_each(walk.items(), [&](std::int64_t item) { run(walk, item); });
  }
  return whole;
}

// Convolutions over all channels that Winograd's way suits.
std::int64_t winograd_seats(std::int64_t pieces) { return std::min(max_slots(), pieces); }

template <class T>
void take_winograd(Parts& parts, const Walk<T>& walk) {
  if constexpr (std::is_same_v<T, float>) {
    if (!Winograd::suits(walk)) return;
    const Winograd winograd(walk);
    parts.take<float>(winograd.filter_size());
    parts.take<float>(winograd_seats(winograd.blocks()) * winograd.block_size());
  }
}

void run_winograd(const Walk<float>& walk, Parts parts) {
  const Winograd winograd(walk);
  const std::int64_t seats = winograd_seats(winograd.blocks());
  float* const filter = parts.take<float>(winograd.filter_size());
  float* const scratch = parts.take<float>(seats * winograd.block_size());
  parallel_for(walk.depth, ceil_div(kSerialElements, kPlaces * walk.columns),
               [&](std::int64_t first, std::int64_t last) {
                 winograd_filter(winograd, first, last, filter);
               });
  const std::int64_t threads = walk.work() < kSerialWork ? 1 : seats;
  parallel_seated(winograd.blocks(), threads, [&](std::int64_t block, std::int64_t seat) {
    winograd_block(winograd, block, filter, scratch + seat * winograd.block_size());
  });
}

// A convolution over all channels, whose scratch begins with `parts`; true as run_walk() is.
template <class T>
bool run_channels(const Walk<T>& walk, Parts parts, const ops::Epilogue& epilogue = {}) {
  if constexpr (std::is_same_v<T, float>) {
    if (Winograd::suits(walk)) {
      Walk<float> whole = walk;
      if (epilogue && walk.columns == walk.dst_row) whole.finish = &epilogue;
      run_winograd(whole, parts);
      return walk.columns == walk.dst_row;
    }
  }
  return run_walk(walk, [](const auto& w, auto item) { walk_tiles(w, item); }, epilogue);
}

template <class T>
void clear(T* dst, std::int64_t count) {
  std::fill_n(dst, count, T{0});
}

// The channel of x that each column of y belongs to, or with `of_x` the first of y's that belong to
// one of x, where that is another, and zeros behind them so that whole vectors may be read.
template <class T>
void* fill_channels(Parts& parts, std::int64_t columns, std::int64_t multiplier, bool of_x) {
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  if (multiplier == 1) return nullptr;
  const std::int64_t count = ceil_div(columns, kLineElements<T>) * kLineElements<T>;
  auto* channels = parts.take<Index>(count);
  if (channels == nullptr) return nullptr;
  for (std::int64_t j = 0; j < columns; ++j) {
    channels[j] = static_cast<Index>(of_x ? j * multiplier : j / multiplier);
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

bool is_relu(Activation activation) {
  return activation == Activation::relu || activation == Activation::relu6;
}

// What a fused convolution does to a sum before it is written.
template <class T>
Ending<T> ending_of(const ops::KernelArgs& args) {
  const Activation activation = args.attrs.as<ops::ConvAttrs>().activation;
  Ending<T> ending{.bias = args.in.size() > 2 ? args.in[2].as<T>() : nullptr,
                   .relu = is_relu(activation)};
  if (activation == Activation::relu6) ending.most = 6;
  return ending;
}

// What it does to pixels once they are written: other activations, by the loop of the op that each
// is, and then what follows the convolution in a graph.
class Finish {
 public:
  explicit Finish(const ops::KernelArgs& args) : y_(args.out[0].data), next_(args.epilogue) {
    const auto& attrs = args.attrs.as<ops::ConvAttrs>();
    if (attrs.activation == Activation::linear || is_relu(attrs.activation)) return;
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
  const ConvArgs conv = forward_args(args);
  Parts parts(nullptr);
  parts.take<T>(conv.geometry.in_channels);
  take_winograd(parts, forward_walk<T>(conv));
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
  walk.ending = ending_of<T>(args);
  const Finish finish(args);
  const ops::Epilogue epilogue = finish.epilogue();
  bool is_finished = true;
  for (std::int64_t group = 0; group < conv.geometry.groups; ++group) {
    is_finished = run_channels(walk, parts, epilogue);
    walk.src += walk.depth;
    walk.dst += walk.columns;
    walk.weights += walk.columns;
    if (walk.ending.bias != nullptr) walk.ending.bias += walk.columns;
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
  Walk<T> walk = backward_walk<T>(conv);
  std::size_t bytes = parts.bytes();
  each_phase(conv.geometry, walk, [&] {
    Parts with_places = parts;
    take_winograd(with_places, walk);
    bytes = std::max(bytes, with_places.bytes());
  });
  return bytes;
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
    each_phase(g, walk, [&] { run_channels(walk, parts); });
    walk.src += walk.depth;
    walk.dst += walk.columns;
    walk.weights += walk.depth * g.depth;
  }
}

// Into how many pieces the pixels of a filter's gradient are cut: enough for all threads, and where
// a filter is small beside the images, so many that threads need not all read all of them.
std::int64_t pieces_of(const ConvArgs& conv, std::int64_t units, std::int64_t pixels) {
  if (units == 0) return 1;
  const std::int64_t images = conv.x.numel() + conv.y.numel();
  const std::int64_t shares = images / (kFiltersOfImages * conv.filter.numel());
  const std::int64_t most = std::max(ceil_div(kEnoughUnits, units), std::min(kMostShares, shares));
  return std::clamp<std::int64_t>(pixels / kLeastPiecePixels, 1, most);
}

template <class T>
FilterSum<T> filter_sum(const ConvArgs& conv) {
  Walk<T> walk = forward_walk<T>(conv);
  walk.weights = nullptr;
  return {walk, conv.y.as<T>(), conv.geometry.out_channels, conv.filter.as<T>(),
          conv.geometry.out_channels};
}

template <class T>
void next_group(FilterSum<T>& sum) {
  sum.walk.src += sum.walk.depth;
  sum.dy += sum.walk.columns;
  sum.dst += sum.walk.columns;
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
  parallel_for(size, ceil_div(kSerialElements, pieces), [=](std::int64_t begin, std::int64_t end) {
    std::copy(partial + begin, partial + end, dst + begin);
    for (std::int64_t piece = 1; piece < pieces; ++piece) {
      const T* __restrict__ from = partial + piece * size;
      TENURE_VECTORISE
      for (std::int64_t i = begin; i < end; ++i) dst[i] += from[i];
    }
  });
}

// The same by Winograd's way: pieces are blocks of all places.
std::int64_t winograd_pieces(const Winograd& winograd) {
  const std::int64_t most = winograd.walk().pixels() / kLeastPiecePixels;
  return std::clamp<std::int64_t>(most, 1, std::min(kMostShares, winograd.blocks()));
}

template <class T>
void take_winograd_sums(Parts& parts, const FilterSum<T>& sum) {
  if constexpr (std::is_same_v<T, float>) {
    if (sum.walk.pixels() == 0 || !Winograd::suits(sum)) return;
    const Winograd winograd(sum.walk);
    const std::int64_t pieces = winograd_pieces(winograd);
    parts.take<float>((pieces + 1) * winograd.filter_size());
    parts.take<float>(winograd_seats(pieces) * winograd.block_size());
  }
}

bool run_winograd_group(const FilterSum<float>& sum, Parts parts) {
  const Winograd winograd(sum.walk);
  const std::int64_t pieces = winograd_pieces(winograd);
  const std::int64_t size = winograd.filter_size();
  float* const places = parts.take<float>((pieces + 1) * size);
  const std::int64_t seats = winograd_seats(pieces);
  float* const scratch = parts.take<float>(seats * winograd.block_size());
  parallel_seated(pieces, seats, [&](std::int64_t piece, std::int64_t seat) {
    winograd_filter_blocks(winograd, sum, piece * winograd.blocks() / pieces,
                           (piece + 1) * winograd.blocks() / pieces, places + (piece + 1) * size,
                           scratch + seat * winograd.block_size());
  });
  add_pieces(places, places + size, pieces, size);
  return winograd_filter_sums(winograd, sum, 0, sum.walk.depth, places);
}

// False if it does not suit, or the sums are not all finite.
template <class T>
bool run_winograd_sums(FilterSum<T> sum, std::int64_t groups, const Parts& parts) {
  if constexpr (std::is_same_v<T, float>) {
    if (!Winograd::suits(sum)) return false;
    for (std::int64_t group = 0; group < groups; ++group) {
      if (!run_winograd_group(sum, parts)) return false;
      next_group(sum);
    }
    return true;
  }
  return false;
}

template <class T>
std::size_t filter_scratch(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = filter_args(args);
  const FilterSum<T> sum = filter_sum<T>(conv);
  const std::int64_t pieces = pieces_of(conv, filter_units(sum), sum.walk.pixels());
  Parts parts(nullptr);
  parts.take<T>(sum.walk.src_row);
  Parts with_places = parts;
  take_winograd_sums(with_places, sum);
  if (pieces > 1) parts.take<T>(pieces * conv.filter.numel());
  return std::max(parts.bytes(), with_places.bytes());
}

template <class T>
void filter_gradient(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = filter_args(args);
  const std::int64_t size = conv.filter.numel();
  if (size == 0) return;
  FilterSum<T> sum = filter_sum<T>(conv);
  if (sum.walk.pixels() == 0) return clear(sum.dst, size);
  const std::int64_t units = filter_units(sum);
  const std::int64_t pieces = pieces_of(conv, units, sum.walk.pixels());
  Parts parts(args.scratch);
  T* zeros = parts.take<T>(sum.walk.src_row);
  clear(zeros, sum.walk.src_row);
  sum.walk.zeros = zeros;
  if (run_winograd_sums(sum, conv.geometry.groups, parts)) return;
  T* partial = pieces > 1 ? parts.take<T>(pieces * size) : nullptr;
  if (pieces > 1) sum.dst = partial;
  for (std::int64_t group = 0; group < conv.geometry.groups; ++group) {
    run_pieces(sum, units, pieces, size,
               [](const FilterSum<T>& part, std::int64_t first_unit, std::int64_t last_unit,
                  std::int64_t first,
                  std::int64_t last) { filter_tiles(part, first_unit, last_unit, first, last); });
    next_group(sum);
  }
  if (pieces > 1) add_pieces(conv.filter.as<T>(), partial, pieces, size);
}

// Each channel by itself. The filter is [..., channels of x, multiplier].

std::int64_t multiplier_of(const Geometry& g) {
  return g.in_channels == 0 ? 1 : g.out_channels / g.in_channels;
}

template <class T>
void as_depthwise(Walk<T>& walk, const Geometry& g) {
  walk.by_channel = true;
  walk.multiplier = multiplier_of(g);
  walk.weight_tap = g.out_channels;
  walk.depth = 1;
}

// Whose columns a walk has: those of the result.
std::int64_t depthwise_columns(const Geometry& g, bool of_x) {
  return of_x ? g.in_channels : g.out_channels;
}

template <class T>
void as_depthwise_of(Walk<T>& walk, const Geometry& g, bool of_x, Parts& parts) {
  as_depthwise(walk, g);
  walk.columns = depthwise_columns(g, of_x);
  walk.channel_of = fill_channels<T>(parts, walk.columns, walk.multiplier, of_x);
}

template <class T, bool of_x>
std::size_t depthwise_scratch(const ops::KernelArgs& args) noexcept {
  const Geometry g = (of_x ? input_args(args) : forward_args(args)).geometry;
  Parts parts(nullptr);
  fill_channels<T>(parts, depthwise_columns(g, of_x), multiplier_of(g), of_x);
  return parts.bytes();
}

template <class T>
void depthwise(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = forward_args(args);
  const Geometry& g = conv.geometry;
  if (conv.y.numel() == 0) return;
  Walk<T> walk = forward_walk<T>(conv);
  Parts parts(args.scratch);
  as_depthwise_of(walk, g, false, parts);
  walk.ending = ending_of<T>(args);
  const Finish finish(args);
  const ops::Epilogue epilogue = finish.epilogue();
  const bool is_finished =
      run_walk(walk, [](const auto& w, auto item) { depthwise_tiles(w, item); }, epilogue);
  if (!is_finished) finish_at_once(epilogue, conv.y.numel());
}

template <class T>
void depthwise_input_gradient(const ops::KernelArgs& args) noexcept {
  const ConvArgs conv = input_args(args);
  const Geometry& g = conv.geometry;
  if (conv.x.numel() == 0) return;
  Walk<T> walk = backward_walk<T>(conv);
  walk.weights = conv.filter.as<T>();
  Parts parts(args.scratch);
  as_depthwise_of(walk, g, true, parts);
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
  const std::int64_t pieces = pieces_of(conv, depthwise_units(sum), sum.walk.pixels());
  Parts parts(nullptr);
  parts.take<T>(sum.walk.src_row);
  fill_channels<T>(parts, sum.walk.columns, sum.walk.multiplier, false);
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
  const std::int64_t pieces = pieces_of(conv, units, sum.walk.pixels());
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
    forward_row<T>("depthwise_conv2d", depthwise<T>, depthwise_scratch<T, false>),
    forward_row<T>("fused_depthwise_conv2d", depthwise<T>, depthwise_scratch<T, false>),
    ops::KernelRow{"depthwise_conv2d_grad_input", dtype_of<T>, depthwise_input_gradient<T>,
                   depthwise_scratch<T, true>},
    ops::KernelRow{"depthwise_conv2d_grad_filter", dtype_of<T>, depthwise_filter_gradient<T>,
                   depthwise_filter_scratch<T>},
};

constexpr std::array kRows = {kRowsOf<float>, kRowsOf<double>};

}  // namespace

std::span<const ops::KernelRow> convolution_kernels() {
  return {kRows.front().data(), kRows.size() * kRows.front().size()};
}

}  // namespace tenure::cpu
