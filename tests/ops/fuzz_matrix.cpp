#include "reference_matrix.h"

namespace tenure::testing {
namespace {

// A trial of one input of any dtype, to be given its run and reference or its complaint.
Trial trial_of(Dice& dice, const Shape& shape, const DTypes& dtypes = kAnything) {
  const DType dtype = dice.pick(dtypes);
  return {.inputs = {drawn(dice, shape, dtype)}, .run = {}, .result = dtype};
}

// diagonal and its sum take the same options and refuse the same.
struct DiagonalDraw {
  Shape shape;
  DiagonalOptions options;
  std::vector<std::string> complaint = {};
};

DiagonalDraw draw_diagonal(Dice& dice, const std::string& op) {
  const Shape shape = dice.shape(2, 4);
  const int rank = shape.rank();
  const auto one = static_cast<int>(dice.in(0, rank - 1));
  const auto other = static_cast<int>((one + dice.in(1, rank - 1)) % rank);
  const auto maybe_negative = [&](int axis) { return dice.chance(0.5) ? axis : axis - rank; };
  DiagonalDraw draw{shape, {dice.in(-4, 4), maybe_negative(one), maybe_negative(other)}};
  if (dice.chance(0.85)) return draw;
  switch (dice.in(0, 2)) {
    case 0:
      draw.shape = Shape{3};
      draw.complaint = {op + ": two axes or more are needed", "[3]"};
      break;
    case 1:
      draw.options.axis2 = draw.options.axis1;
      draw.complaint = {op + ": axes", "are the same", std::to_string(draw.options.axis1)};
      break;
    default:
      draw.options.axis1 = rank + 1;
      draw.complaint = {op + ": axis " + std::to_string(rank + 1) + " out of range",
                        to_string(shape)};
      break;
  }
  return draw;
}

Trial diagonal_trial(Dice& dice) {
  const DiagonalDraw draw = draw_diagonal(dice, "diagonal");
  Trial trial = trial_of(dice, draw.shape);
  trial.run = [draw](Tensors in) { return diagonal(OP_IN(0), draw.options); };
  trial.expect = [draw](const Arrays& in) { return diagonal_of(in[0], draw.options); };
  trial.complaint = draw.complaint;
  return trial;
}

Trial trace_trial(Dice& dice) {
  const DiagonalDraw draw = draw_diagonal(dice, "trace");
  Trial trial = trial_of(dice, draw.shape, kNumbers);
  trial.result = total_dtype(trial.result);
  trial.run = [draw](Tensors in) { return trace(OP_IN(0), draw.options); };
  trial.expect = [draw](const Arrays& in) { return trace_of(in[0], draw.options); };
  trial.tolerance = {.ulps = 2, .epsilons = 8};
  trial.complaint = draw.complaint;
  return trial;
}

Trial matrix_diag_trial(Dice& dice) {
  const bool sound = dice.chance(0.85);
  const std::int64_t offset = dice.in(-3, 3);
  Trial trial = trial_of(dice, sound ? dice.shape(1, 3) : Shape{});
  trial.run = [offset](Tensors in) { return matrix_diag(OP_IN(0), offset); };
  trial.expect = [offset](const Arrays& in) { return matrix_diag_of(in[0], offset); };
  if (!sound) trial.complaint = {"matrix_diag: one axis or more is needed", "[]"};
  return trial;
}

Trial diag_trial(Dice& dice) {
  Trial trial = trial_of(dice, dice.shape(0, 3, 4));
  trial.run = [](Tensors in) { return diag(OP_IN(0)); };
  trial.expect = [](const Arrays& in) { return diag_of(in[0]); };
  return trial;
}

Trial diag_part_trial(Dice& dice) {
  const Shape half = dice.shape(0, 2, 4);
  Shape shape = half;
  for (const std::int64_t dim : half) shape.push_back(dim);
  const bool sound = dice.chance(0.85);
  if (!sound) shape.push_back(shape.rank() % 2 == 0 ? 3 : 2);
  Trial trial = trial_of(dice, shape);
  trial.run = [](Tensors in) { return diag_part(OP_IN(0)); };
  trial.expect = [](const Arrays& in) { return diag_part_of(in[0]); };
  if (!sound) trial.complaint = {"diag_part: the second half", to_string(shape)};
  return trial;
}

Trial band_trial(Dice& dice) {
  Shape shape = dice.shape(2, 4, 6);
  std::int64_t lower = dice.in(-2, shape[-2]), upper = dice.in(-2, shape[-1]);
  std::vector<std::string> complaint;
  if (dice.chance(0.15)) {
    switch (dice.in(0, 2)) {
      case 0:
        shape = Shape{4};
        complaint = {"band_part: two axes or more are needed", "[4]"};
        break;
      case 1:
        lower = shape[-2] + 1;
        complaint = {"band_part: " + std::to_string(lower) + " diagonals below", to_string(shape)};
        break;
      default:
        upper = shape[-1] + 1;
        complaint = {"band_part: " + std::to_string(upper) + " diagonals above", to_string(shape)};
        break;
    }
  }
  Trial trial = trial_of(dice, shape);
  trial.run = [=](Tensors in) { return band_part(OP_IN(0), lower, upper); };
  trial.expect = [=](const Arrays& in) { return band_of(in[0], lower, upper); };
  trial.complaint = complaint;
  return trial;
}

Trial matrix_transpose_trial(Dice& dice) {
  const bool sound = dice.chance(0.85);
  Trial trial = trial_of(dice, sound ? dice.shape(2, 5) : Shape{2});
  trial.run = [](Tensors in) { return matrix_transpose(OP_IN(0)); };
  trial.expect = [](const Arrays& in) { return matrix_transpose_of(in[0]); };
  if (!sound) trial.complaint = {"matrix_transpose: two axes or more are needed", "[2]"};
  return trial;
}

Trial dot_trial(Dice& dice) {
  const std::vector<DType> dtypes{DType::float32, DType::float64, DType::int32, DType::int64};
  const DType dtype = dice.pick(dtypes);
  const std::int64_t k = dice.in(1, 9), m = dice.in(1, 5), n = dice.in(1, 5);
  Shape a = dice.chance(0.5) ? Shape{k} : Shape{m, k};
  Shape b = dice.chance(0.5) ? Shape{k} : Shape{k, n};
  Trial trial;
  if (dice.chance(0.15)) {
    if (dice.chance(0.5)) {
      b[0] = k + 1;
      trial.complaint = {"dot: inner dimensions differ"};
    } else {
      a = Shape{2, m, k};
      trial.complaint = {"dot: operands must be vectors or matrices"};
    }
    trial.complaint.push_back(to_string(a));
    trial.complaint.push_back(to_string(b));
  }
  trial.inputs = {drawn(dice, a, dtype), drawn(dice, b, dtype)};
  trial.run = [](Tensors in) { return tenure::dot(OP_IN(0), OP_IN(1)); };
  trial.expect = [](const Arrays& in) { return dot_of(in[0], in[1]); };
  trial.result = dtype;
  trial.tolerance = {.ulps = 2, .epsilons = 64};
  return trial;
}

Trial outer_trial(Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  const Shape a{dice.in(0, 6)};
  Shape b{dice.in(0, 6)};
  Trial trial;
  if (dice.chance(0.15)) {
    b = Shape{2, 3};
    trial.complaint = {"outer: operands must be vectors", to_string(a), "[2, 3]"};
  }
  trial.inputs = {drawn(dice, a, dtype), drawn(dice, b, dtype)};
  trial.run = [](Tensors in) { return outer(OP_IN(0), OP_IN(1)); };
  trial.expect = [](const Arrays& in) { return outer_of(in[0], in[1]); };
  trial.tolerance = {.ulps = 1};
  trial.result = number_dtype(dtype);
  return trial;
}

Trial gram_schmidt_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const std::int64_t rows = dice.in(1, 4);
  const Shape shape{rows, rows + dice.in(0, 3)};
  Trial trial{.inputs = {drawn_regular(dice, shape, dtype)}, .run = {}, .result = dtype};
  trial.tolerance = {.ulps = 32, .epsilons = 32};
  const bool as_list = dice.chance(0.5);
  trial.run = [=](Tensors in) {
    if (!as_list) return gram_schmidt(OP_IN(0));
    Tensors vectors;
    for (std::int64_t i = 0; i < rows; ++i) vectors.push_back(in[0][i]);
    vectors = gram_schmidt(std::move(vectors));
    for (Tensor& each : vectors) each = expand_dims(std::move(each), 0);
    return concat(std::move(vectors));
  };
  trial.expect = [](const Arrays& in) { return gram_schmidt_of(in[0]); };
  if (dice.chance(0.15)) {
    const Shape tall{shape[1] + 1, shape[1]};
    trial.inputs = {drawn(dice, tall, dtype)};
    trial.run = [](Tensors in) { return gram_schmidt(OP_IN(0)); };
    trial.complaint = {"gram_schmidt: a matrix of no more rows than columns", to_string(tall)};
  }
  return trial;
}

}  // namespace

std::vector<Fuzz> matrix_fuzz() {
  return {{"diagonal", {"diagonal"}, diagonal_trial},
          {"matrix_diag", {"undiagonal", "matrix_diag"}, matrix_diag_trial},
          {"diag", {"diag"}, diag_trial},
          {"diag_part", {"diag_part"}, diag_part_trial},
          {"trace", {"trace"}, trace_trial},
          {"band_part", {"band_part"}, band_trial},
          {"matrix_transpose", {"matrix_transpose"}, matrix_transpose_trial},
          {"dot", {"dot"}, dot_trial},
          {"outer", {"outer"}, outer_trial},
          {"gram_schmidt", {"gram_schmidt"}, gram_schmidt_trial}};
}

}  // namespace tenure::testing
