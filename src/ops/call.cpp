#include "ops/call.h"
#include "ops/complex.h"

#include <algorithm>

#include "tensor/access.h"

namespace tenure::ops {
namespace {

bool makes_bool_a_number(Takes takes) {
  return takes == Takes::numbers || takes == Takes::totals || takes == Takes::floats;
}

// Two tensors that need no promotion: most operands, and `unify` is a good part of a small op.
bool fit(const OpDef& op, const Arg& a, const Arg& b) {
  const detail::Header* first = detail::Access::header(a.tensor());
  const detail::Header* second = detail::Access::header(b.tensor());
  if (first == nullptr || second == nullptr) return false;
  const DType dtype = first->layout.dtype;
  if (op.takes == Takes::floats) return dtype == second->layout.dtype && is_floating(dtype);
  return dtype == second->layout.dtype &&
         !(dtype == DType::boolean && makes_bool_a_number(op.takes));
}

// Integers, bool and numbers become floats, each for itself.
void make_floats(const char* op, std::span<Arg* const> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    Arg& arg = *args[i];
    const std::source_location site = arg.site();
    const int input = static_cast<int>(i);
    if (arg.scalar()) {
      arg = Arg(arg.scalar()->to_double(), site);
    } else if (!is_floating(detail::checked(arg.tensor(), op, input).layout.dtype)) {
      arg = Arg(operand_as(op, input, std::move(arg).tensor(), DType::float32, site), site);
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
  Tensor in = take(op, std::move(x));
  Tensor out;
  apply_into(op, {&in, 1}, {}, site, {&out, 1});
  return out;
}

Tensor call(const OpDef& op, Arg& a, Arg& b, AttrsRef attrs) {
  const std::source_location site = a.site();
  std::array<Tensor, 2> in;
  if (fit(op, a, b)) [[likely]] {
    in[0] = std::move(a).tensor();
    in[1] = std::move(b).tensor();
  } else {
    const detail::UserLine line(site);
    take(op, std::array{&a, &b}, in);
  }
  Tensor out;
  apply_into(op, in, attrs, site, {&out, 1});
  return out;
}

}  // namespace tenure::ops
