// Random trials of every op: shapes, strides, axes and attributes drawn anew each time, sound ones
// held against a reference and unsound ones against the error they should give.
//
// A row draws one trial from the dice. TENURE_FUZZ_DRAWS says how many per row (200), and
// TENURE_FUZZ_SEED where to start; the seed of a trial that fails is in its message.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "case.h"

namespace tenure::testing {

inline const Input kWholeNumbers{.low = -9, .high = 9, .whole = true};  // exact in any order

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random(seed) {}

  std::int64_t in(std::int64_t low, std::int64_t high);  // both included
  bool chance(double probability);
  template <class T>
  const T& pick(const std::vector<T>& of) {
    return of[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(of.size()) - 1))];
  }
  // Dimensions are 1 to `most`, and now and then 0 unless `least` is more.
  Shape shape(int least_rank = 0, int most_rank = 4, std::int64_t most = 5, std::int64_t least = 0);
  int axis(int rank);                  // of at least one, negative half of the time
  Axes axes(int rank);                 // some of them, each once, in any order
  Lay lay();                           // contiguous half of the time
  Shape narrowed(const Shape& shape);  // one that broadcasts to it

  Random random;
};

struct Drawn {
  Array values;
  DType dtype;
  Lay lay = Lay::contiguous;
};

struct Trial {
  std::vector<Drawn> inputs;
  std::function<Tensor(Tensors)> run;
  // A sound trial:
  Reference expect = {};
  DType result = DType::float32;
  Tolerance tolerance = {};
  // An unsound one: what the ShapeError, DtypeError or ValueError must say, values included.
  std::vector<std::string> complaint = {};
};

// `input` of that shape, drawn and laid out by the dice.
Drawn drawn(Dice& dice, const Shape& shape, DType dtype, const Input& input = {});

struct Fuzz {
  std::string name;                   // of its test
  std::vector<std::string_view> ops;  // the OpDefs and composites it is a trial of
  std::function<Trial(Dice&)> draw;
};

// A case row whose reference is elementwise, on any shapes that broadcast; refused are shapes that
// do not, and dtypes without arithmetic unless the row has them.
Fuzz fuzz_elementwise(const Case& row);

#define TENURE_DECLARE(name) std::vector<Fuzz> name##_fuzz();
TENURE_FAMILIES(TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_DECLARE)
#undef TENURE_DECLARE
const std::vector<Fuzz>& all_fuzz();

}  // namespace tenure::testing
