// One crossing from JavaScript. Both sides know the same memory: JavaScript writes an op's code,
// its inputs (slot, rank, dimensions) and its attributes as integers and doubles; the op reads them
// in that order, runs, and writes what its results are in their place. Nothing else crosses.
//
// Tensors stay here, in slots; JavaScript holds the slots' numbers. A TensorFlow.js tensor may show
// the data of another under a shape of its own, so shapes come with the inputs.
//
// Neither side believes the other: a count, a dtype, a choice or a length that cannot be is an
// error, wherever it came from.
//
// What JavaScript knows the result of beforehand need not cross at once: ops on small tensors, and
// the disposal of those, wait in a queue that every call runs first. Such an op has its result's
// slot from a list of spare ones, and an error of its waits in that slot for who uses the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/tensor.h"

namespace tenure::node {

// The dtypes of TensorFlow.js that have bytes, by the numbers that JavaScript knows them by.
inline constexpr DType kDTypes[] = {DType::float32, DType::int32, DType::boolean, DType::complex64};
int dtype_code(DType dtype);

// The tensors of one environment (a Node.js thread).
class Slots {
 public:
  const Tensor& at(std::int32_t slot) const {
    const auto index = static_cast<std::uint32_t>(slot);  // none is below zero
    if (index >= tensors_.size() || !tensors_[index].defined()) [[unlikely]]
      raise_empty(slot);
    return tensors_[index];
  }
  std::int32_t find(std::uint64_t id) const;  // the slot of the ledger's tensor; -1: none
  std::int32_t spare();                       // an empty slot
  void put(std::int32_t slot, Tensor tensor);
  void put(std::int32_t slot, std::exception_ptr error);  // why there is no tensor
  void drop(std::int32_t slot);
  void retire(std::int32_t slot);                // the same, and no other tensor will be there
  std::int64_t bytes() const { return bytes_; }  // with what it costs to have the tensors

 private:
  [[noreturn]] void raise_empty(std::int32_t slot) const;
  std::vector<Tensor> tensors_;
  std::map<std::int32_t, std::exception_ptr> errors_;
  std::vector<std::int32_t> free_;
  std::int64_t bytes_ = 0;
};

// The memory that both sides know: integers, doubles, the bytes of a small tensor, and what waits.
struct Shared {
  std::span<std::int32_t> integers;
  std::span<double> doubles;
  std::span<std::byte> bytes;
  // Where the next entry goes, then the entries: their length, a slot, an op's code (below zero:
  // the slot is freed) and its inputs.
  std::span<std::int32_t> queue;
  std::span<std::int32_t> spare;  // how many, then as many empty slots
  // Not 0: V8 has collected since JavaScript last asked which of its tokens are gone.
  std::span<std::int32_t> collected;
};

class Call {
 public:
  Call(Slots& slots, const Shared& shared)
      : slots_(slots), shared_(shared), integers_(shared.integers) {}
  // Of an op that waited, whose one result goes into a slot.
  Call(Slots& slots, const Shared& shared, std::span<std::int32_t> integers, std::int32_t result)
      : slots_(slots), shared_(shared), integers_(integers), result_(result) {}

  std::int32_t slot() { return next(); }
  Tensor tensor();
  std::optional<Tensor> maybe_tensor();  // a slot below zero stands for none
  std::optional<KeptArg> maybe_arg();
  std::vector<Tensor> tensors();  // a count, then as many
  std::int32_t integer() { return next(); }
  bool flag() { return next() != 0; }
  Shape shape();  // a count, then as many
  DType dtype() { return kDTypes[index(std::size(kDTypes))]; }
  // One of an enumeration, which ends with `last`.
  template <typename Enum>
  Enum choice(Enum last) {
    return static_cast<Enum>(index(static_cast<std::size_t>(last) + 1));
  }
  std::size_t index(std::size_t among);
  double number();
  std::string text();  // a count, then as many code units below 256

  void give(Tensor result);
  void give(std::vector<Tensor> results);

  Slots& slots() { return slots_; }
  const Shared& shared() const { return shared_; }

 private:
  std::int32_t next() {
    if (read_ >= integers_.size()) [[unlikely]]
      raise_short();
    return integers_[read_++];
  }
  std::size_t count();  // of integers that follow
  [[noreturn]] void raise_short() const;
  void put(std::int32_t value) { integers_[written_++] = value; }

  Slots& slots_;
  const Shared& shared_;
  std::span<std::int32_t> integers_;
  std::int32_t result_ = -1;
  std::size_t read_ = 1;  // behind the op's code
  std::size_t read_doubles_ = 0;
  std::size_t written_ = 0;
};

// An op that JavaScript may call: by its place in the list of all, which it is told once.
struct Row {
  std::string_view name;
  void (*run)(Call&);
};
std::span<const Row> small_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> shape_rows();
std::span<const Row> matrix_rows();
std::span<const Row> window_rows();
std::span<const Row> image_rows();
std::span<const Row> index_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> adam_rows();
const std::vector<Row>& all_rows();

}  // namespace tenure::node
