#include "call.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/raise.h"
#include "ops/apply.h"
#include "ops/views.h"
#include "tensor/access.h"
#include "tenure/views.h"

namespace tenure::node {

namespace {

std::int64_t bytes_of(const Tensor& tensor) {
  constexpr std::size_t kTensor = sizeof(detail::Header) + sizeof(detail::Storage);
  return static_cast<std::int64_t>(detail::Access::header(tensor)->layout.nbytes() + kTensor);
}

}  // namespace

int dtype_code(DType dtype) {
  static constexpr auto kCodes = [] {
    std::array<std::int8_t, kDTypeCount> codes{};
    codes.fill(-1);
    for (std::size_t i = 0; i < std::size(kDTypes); ++i) {
      codes[static_cast<std::size_t>(kDTypes[i])] = static_cast<std::int8_t>(i);
    }
    return codes;
  }();
  const int code = kCodes[static_cast<std::size_t>(dtype)];
  if (code < 0) [[unlikely]]
    raise<DtypeError>("tfjs: TensorFlow.js has no dtype {}", dtype);
  return code;
}

void Slots::raise_empty(std::int32_t slot) const {
  if (const auto error = errors_.find(slot); error != errors_.end()) {
    std::rethrow_exception(error->second);
  }
  raise<ValueError>("tfjs: no tensor is in slot {}: it was freed, or its backend was removed",
                    slot);
}

std::int32_t Slots::find(std::uint64_t id) const {
  const auto slot = std::ranges::find_if(tensors_, [id](const Tensor& tensor) {
    return tensor.defined() && detail::Access::header(tensor)->id == id;
  });
  return slot == tensors_.end() ? -1 : static_cast<std::int32_t>(slot - tensors_.begin());
}

std::int32_t Slots::spare() {
  if (free_.empty()) {
    tensors_.emplace_back();
    // So that drop cannot throw.
    if (free_.capacity() < tensors_.capacity()) free_.reserve(tensors_.capacity());
    return static_cast<std::int32_t>(tensors_.size() - 1);
  }
  const std::int32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void Slots::put(std::int32_t slot, Tensor tensor) {
  if (static_cast<std::uint32_t>(slot) >= tensors_.size()) [[unlikely]]
    raise<ValueError>("tfjs: there is no slot {}", slot);
  bytes_ += bytes_of(tensor);
  tensors_[static_cast<std::size_t>(slot)] = std::move(tensor);
}

void Slots::put(std::int32_t slot, std::exception_ptr error) {
  errors_.insert_or_assign(slot, std::move(error));
}

void Slots::drop(std::int32_t slot) {
  retire(slot);
  free_.push_back(slot);
}

void Slots::retire(std::int32_t slot) {
  if (!errors_.empty() && errors_.erase(slot) > 0) return;
  bytes_ -= bytes_of(at(slot));
  tensors_[static_cast<std::size_t>(slot)] = Tensor();
}

void Call::raise_short() const {
  raise<ValueError>("tfjs: an op reads more than was written: {} integers", integers_.size());
}

std::size_t Call::count() {
  const std::int32_t value = next();
  if (value < 0 || static_cast<std::size_t>(value) > integers_.size() - read_) [[unlikely]] {
    raise<ValueError>("tfjs: {} integers cannot follow: there are {}", value,
                      integers_.size() - read_);
  }
  return static_cast<std::size_t>(value);
}

std::size_t Call::index(std::size_t among) {
  const std::int32_t value = next();
  if (value < 0 || static_cast<std::size_t>(value) >= among) [[unlikely]]
    raise<ValueError>("tfjs: there is no choice {} among {}", value, among);
  return static_cast<std::size_t>(value);
}

Tensor Call::tensor() {
  const Tensor& held = slots_.at(next());
  const auto rank = static_cast<int>(count());
  const std::int32_t* const dims = integers_.data() + read_;
  read_ += static_cast<std::size_t>(rank);
  const Shape& held_shape = detail::Access::header(held)->layout.shape;
  if (held_shape.rank() == rank && std::equal(dims, dims + rank, held_shape.begin())) return held;
  Shape shape = Shape::filled(rank, 0);
  std::copy_n(dims, rank, shape.begin());
  return reshape(held, shape);
}

std::optional<Tensor> Call::maybe_tensor() {
  if (next() < 0) return {};
  --read_;
  return tensor();
}

std::optional<KeptArg> Call::maybe_arg() {
  if (std::optional<Tensor> tensor = maybe_tensor()) return Arg(std::move(*tensor));
  return {};
}

std::vector<Tensor> Call::tensors() {
  std::vector<Tensor> all(count());
  for (Tensor& one : all) one = tensor();
  return all;
}

Shape Call::shape() {
  Shape entries = Shape::filled(static_cast<int>(count()), 0);
  for (std::int64_t& entry : entries) entry = next();
  return entries;
}

double Call::number() {
  if (read_doubles_ >= shared_.doubles.size()) [[unlikely]]
    raise_short();
  return shared_.doubles[read_doubles_++];
}

std::string Call::text() {
  std::string units(count(), '\0');
  for (char& unit : units) unit = static_cast<char>(next());
  return units;
}

void Call::give(Tensor result) {
  // What JavaScript disposes of must free its bytes: no result is a look at a part of another's,
  // nor one that kernels would have to copy whenever it is used.
  const detail::Header& header = detail::checked(result, "tfjs");
  if (!header.layout.contiguous || header.storage->nbytes > header.layout.nbytes()) [[unlikely]] {
    result = ops::apply(ops::kCopy, {}, std::source_location::current(), std::move(result));
  }
  if (result_ >= 0) {
    slots_.put(result_, std::move(result));
    return;
  }
  const Layout& layout = detail::Access::header(result)->layout;  // the slot keeps it
  const auto rank = static_cast<std::size_t>(layout.shape.rank());
  if (written_ + 3 + rank > integers_.size()) [[unlikely]] {
    raise<ValueError>("tfjs: no room for results of rank {} in {} integers", rank,
                      integers_.size());
  }
  for (const std::int64_t dim : layout.shape) {
    if (dim > std::numeric_limits<std::int32_t>::max()) [[unlikely]]
      raise<ShapeError>("tfjs: a dimension is 2^31 or more: {}", layout.shape);
  }
  const int dtype = dtype_code(layout.dtype);
  const std::int32_t slot = slots_.spare();
  slots_.put(slot, std::move(result));
  put(slot);
  put(dtype);
  put(layout.shape.rank());
  for (const std::int64_t dim : layout.shape) put(static_cast<std::int32_t>(dim));
}

void Call::give(std::vector<Tensor> results) {
  // No result overwrites attributes that a later one would need: all are computed.
  put(static_cast<std::int32_t>(results.size()));
  for (Tensor& one : results) give(std::move(one));
}

const std::vector<Row>& all_rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> table;
    for (const std::span<const Row> rows :
         {small_rows(), elementwise_rows(), shape_rows(), matrix_rows(), window_rows(),
          image_rows(), index_rows(), recurrent_rows(), adam_rows()}) {
      table.insert(table.end(), rows.begin(), rows.end());
    }
    return table;
  }();
  return all;
}

}  // namespace tenure::node
