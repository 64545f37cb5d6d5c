// Elementwise ops strung together: a program whose instructions are the loops of other kernels.
//
// The program computes one or more results of the same shape from inputs that broadcast to it. It
// runs over tiles of a few hundred to two thousand elements, instruction by instruction; what lies
// between instructions lies in slots as large as a tile, which stay in the first cache. An element
// goes through the same loops as in the ops the program was made of, so its bits are the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/attrs_ref.h"
#include "ops/element_loop.h"
#include "ops/op_def.h"
#include "tenure/dtype.h"
#include "tenure/shape.h"

namespace tenure::ops {

// A program's operands are numbered: its inputs, then its numbers, results and slots.
using Location = std::uint8_t;

struct FusedStep {
  const OpDef* op = nullptr;  // whose loop it is
  RunLoop loop;
  std::array<Location, kMaxLoopInputs> src{};
  Location dst = 0;  // a result or a slot
  bool operator==(const FusedStep&) const = default;
};

struct FusedProgram {
  static constexpr std::size_t kMaxInputs = 16;
  static constexpr std::size_t kMaxSteps = 48;
  static constexpr std::size_t kMaxResults = 8;

  Shape shape;  // of every result
  std::size_t inputs = 0;
  std::vector<std::uint8_t> input_sizes;  // bytes of an element
  std::vector<Number> numbers;
  std::vector<DType> results;
  std::vector<std::uint8_t> slot_sizes;
  std::vector<FusedStep> steps;
  bool operator==(const FusedProgram&) const = default;

  std::size_t first_number() const { return inputs; }
  std::size_t first_result() const { return inputs + numbers.size(); }
  std::size_t first_slot() const { return first_result() + results.size(); }
  std::size_t locations() const { return first_slot() + slot_sizes.size(); }
};

// Attributes of kFused: the node's inputs are the program's.
struct FusedAttrs {
  FusedProgram program;
};

// Attributes of kFinished: an op whose result another uses up piece by piece, as soon as a piece is
// complete: a program after a product, an update after what makes its gradient. The node's inputs
// are the producer's, then the follower's but for the operand that the producer makes.
struct FinishedAttrs {
  const OpDef* producer = nullptr;
  AttrsBox producer_attrs;
  std::size_t producer_inputs = 0;
  const OpDef* follower = nullptr;
  AttrsBox follower_attrs;
  std::size_t operand = 0;
  Shape shape;  // of the operand
  DType dtype = DType::float32;
  // The result in whose memory the operand lies until it is overwritten. None: it is nowhere whole.
  std::optional<std::size_t> host;

  // Which of the follower's inputs is the node's `input`.
  std::size_t follower_input(std::size_t input) const {
    const std::size_t i = input - producer_inputs;
    return i < operand ? i : i + 1;
  }
};

// Attributes of kReduced: a reduction of the one result of a program, which is computed piece by
// piece as the reduction reads it. The node's inputs are the program's.
struct ReducedAttrs {
  const OpDef* reducer = nullptr;
  AttrsBox attrs;
  FusedProgram program;
};

AttrsRef ref(const FusedAttrs& attrs);
AttrsRef ref(const ReducedAttrs& attrs);
AttrsRef ref(const FinishedAttrs& attrs);

extern const OpDef kFused;
extern const OpDef kFinished;
extern const OpDef kReduced;

}  // namespace tenure::ops
