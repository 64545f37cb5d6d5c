#include "ops/call.h"
#include "ops/complex.h"

#include <algorithm>

#include "tensor/access.h"

namespace tenure::ops {
namespace {

bool makes_bool_a_number(Takes takes) {
  return takes == Takes::numbers || takes == Takes::totals || takes == Takes::floats;
}

// Operands that need no promotion, as most do, and their handles. Those of tensors that stay where
// they are are borrowed, which saves a locked instruction to count each and one to drop it. In a
// trace they are not: a stand-in may take an operand's place.
template <std::size_t n>
class Operands {
 public:
  ~Operands() {
    for (std::size_t i = 0; i < n; ++i) {
      if (borrowed_.has(i)) detail::Access::forget(in_[i]);
    }
  }
  Operands() = default;
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  void put(std::size_t i, Arg& arg) {
    if (arg.is_borrowed() && detail::context().trace == nullptr) {
      in_[i] = detail::Access::adopt(detail::Access::header(arg.tensor()));
      borrowed_ = borrowed_ | input(static_cast<int>(i));
    } else {
      in_[i] = std::move(arg).tensor();
    }
  }
  std::array<Tensor, n>& tensors() { return in_; }

  Tensor apply(const OpDef& op, AttrsRef attrs, std::source_location site) {
    Tensor out;
    apply_into(op, in_, attrs, site, {&out, 1}, borrowed_);
    return out;
  }

 private:
  std::array<Tensor, n> in_;
  Inputs borrowed_{};
};

bool fits(const OpDef& op, DType dtype) {
  switch (op.takes) {
    case Takes::floats:
      return is_floating(dtype);
    case Takes::complexes:
      return is_complex(dtype);
    case Takes::totals:
      return dtype != DType::boolean && dtype != DType::uint8 && dtype != DType::int8;
    case Takes::numbers:
      return dtype != DType::boolean;
    default:
      return true;
  }
}

bool fit(const OpDef& op, const Arg& x) {
  const detail::Header* header = detail::Access::header(x.tensor());
  return header != nullptr && fits(op, header->layout.dtype);
}

bool fit(const OpDef& op, const Arg& a, const Arg& b) {
  const detail::Header* first = detail::Access::header(a.tensor());
  const detail::Header* second = detail::Access::header(b.tensor());
  if (first == nullptr || second == nullptr) return false;
  const DType dtype = first->layout.dtype;
  if (op.takes == Takes::floats) return dtype == second->layout.dtype && is_floating(dtype);
  return dtype == second->layout.dtype &&
         !(dtype == DType::boolean && makes_bool_a_number(op.takes));
}

// Integers and bool become the floats that they are promoted to beside the others, float32 where
// there are none; numbers become floats.
void make_floats(const char* op, std::span<Arg* const> args) {
  DType floats = DType::boolean;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i]->scalar()) continue;
    const int input = static_cast<int>(i);
    floats = promote(floats, detail::checked(args[i]->tensor(), op, input).layout.dtype);
  }
  if (!is_floating(floats)) floats = DType::float32;
  for (std::size_t i = 0; i < args.size(); ++i) {
    Arg& arg = *args[i];
    const std::source_location site = arg.site();
    const int input = static_cast<int>(i);
    if (arg.scalar()) {
      arg = Arg(arg.scalar()->to_double(), site);
    } else if (!is_floating(detail::checked(arg.tensor(), op, input).layout.dtype)) {
      arg = Arg(operand_as(op, input, std::move(arg).tensor(), floats, site), site);
    }
  }
}

}  // namespace

Tensor take(const OpDef& op, Arg&& x) {
  switch (op.takes) {
    case Takes::floats:
      return as_float(op.name, std::move(x));
    case Takes::numbers:
    case Takes::totals:
      return as_number(op.name, std::move(x), op.takes == Takes::totals);
    case Takes::complexes:
      return as_complex(op.name, std::move(x));
    default:
      return as_tensor(op.name, std::move(x));
  }
}

void take(const OpDef& op, std::span<Arg* const> args, std::span<Tensor> in) {
  if (args.size() == 1) {
    in[0] = take(op, std::move(*args[0]));
    return;
  }
  const auto is_number = [](const Arg* arg) { return arg->scalar().has_value(); };
  // Tensors that must be bool are not promoted: the story of an error would be that of our cast.
  if (op.takes == Takes::anything ||
      (op.takes == Takes::booleans && std::ranges::none_of(args, is_number))) {
    for (std::size_t i = 0; i < args.size(); ++i) in[i] = std::move(*args[i]).tensor();
    return;
  }
  if (op.takes == Takes::floats) make_floats(op.name, args);
  unify(op.name, args, in, makes_bool_a_number(op.takes));
}

Tensor call(const OpDef& op, Arg&& x) {
  const std::source_location site = x.site();
  Operands<1> in;
  if (fit(op, x)) [[likely]] {
    in.put(0, x);
  } else {
    in.tensors()[0] = take(op, std::move(x));
  }
  return in.apply(op, {}, site);
}

Tensor call(const OpDef& op, Arg& a, Arg& b, AttrsRef attrs) {
  const std::source_location site = a.site();
  Operands<2> in;
  if (fit(op, a, b)) [[likely]] {
    in.put(0, a);
    in.put(1, b);
  } else {
    const detail::UserLine line(site);
    take(op, std::array{&a, &b}, in.tensors());
  }
  return in.apply(op, attrs, site);
}

}  // namespace tenure::ops
