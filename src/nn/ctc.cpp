// Connectionist temporal classification: of all sequences of classes, one a step, that spell the
// labels once runs are merged and blanks dropped, the probability, as minus its logarithm.
//
// A path goes through blank, first label, blank, second label, ..., blank: 2 * length + 1 places.
// Each step it stays, goes one place on, or skips a blank between two labels that differ. How
// likely it is to be in each place is one scan over the steps, in logarithms; the gradient is the
// tape's, which needs no backward pass of its own.
#include <limits>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/user_site.h"
#include "nn/loss_functions.h"
#include "tenure/control.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn::detail {

namespace {

// The logarithm of nothing, which unlike -infinity has differences.
constexpr double kNever = -1e30;

// Labels in front, padding after them.
Tensor packed(const Tensor& labels, std::int64_t length) {
  const Tensor places = arange(0, length, 1, DType::int32);
  const Tensor order = sort(where(not_equal(labels, 0), places, full({}, length, DType::int32)));
  return take_along_axis(pad(labels, {{0, 0}, {0, 1}}), order, -1);
}

// x by so many places further on.
Tensor moved(const Tensor& x, std::int64_t by, Scalar value) {
  return pad(x, {{0, 0}, {by, -by}}, value);
}

void check_shapes(const std::string& what, const Shape& truth, const Shape& guess) {
  if (guess.rank() != 3 || guess[1] < 1) {
    raise<ShapeError>("{}: takes logits of shape [batch, steps, classes], was given {}", what,
                      guess);
  }
  if (truth.rank() != 2 || truth[0] != guess[0] || truth[1] < 1) {
    raise<ShapeError>(
        "{}: takes labels of shape [batch, length], padded with 0, was given {} for logits {}",
        what, truth, guess);
  }
}

}  // namespace

Tensor ctc(const std::string& what, const Tensor& labels, const Tensor& y_pred) {
  const Shape truth = shape_of(labels, "y_true"), guess = shape_of(y_pred, "y_pred");
  check_shapes(what, truth, guess);
  const Tensor text = packed(cast(labels, DType::int32), truth[1]);
  const Tensor lengths = sum(cast(not_equal(text, 0), DType::int32), {-1}, {.keep_dims = true});
  const Tensor path =
      pad(reshape(stack({zeros_like(text), text}, -1), {-1, 2 * truth[1]}), {{0, 0}, {0, 1}});
  const Tensor may_skip = logical_and(not_equal(path, 0), not_equal(path, moved(path, 2, 0)));

  const Tensor logs =
      log_softmax(is_floating(y_pred.dtype()) ? y_pred : cast(y_pred, DType::float32));
  const Tensor places = gather(transpose(logs, {0, 2, 1}), path, {.axis = 1, .batch_dims = 1});
  const Tensor steps = transpose(places, {2, 0, 1});
  Tensor now = where(arange(0, 2 * truth[1] + 1, 1, DType::int32) < 2, steps[0], kNever);
  const std::source_location site = tenure::detail::user_site({});
  const auto step = [&](const std::vector<Tensor>& in) {
    const tenure::detail::CallScope call("ctc", site);  // not the user's code, as bodies else are
    const Tensor& here = in[0];
    const Tensor skipped = where(may_skip, moved(here, 2, kNever), kNever);
    const Tensor reached = logsumexp(stack({here, moved(here, 1, kNever), skipped}), {0});
    return std::vector<Tensor>{reached + in[1]};
  };
  if (guess[1] > 1) {
    now = tenure::detail::run_scan("ctc", step, {now}, {slice(steps, {1, 0, 0}, {-1, -1, -1})},
                                   guess[1] - 1, site)[0];
  }

  // At the last blank, or at the last label.
  const Tensor blank = take_along_axis(now, lengths * 2, -1);
  const Tensor label = take_along_axis(now, maximum(lengths * 2 - 1, 0), -1);
  const Tensor last = where(lengths > 0, label, kNever);
  const Tensor loss = -logsumexp(concat({blank, last}, -1), {-1});
  return where(loss > -kNever / 2, std::numeric_limits<double>::infinity(), loss);
}

}  // namespace tenure::nn::detail
