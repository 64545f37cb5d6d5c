#include "report/advice.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tenure::report {
namespace {

struct AdviceRow {
  Advice about;
  std::string_view cpp;
  std::string_view javascript;
};
constexpr AdviceRow kAdvice[] = {
    {Advice::stored_in_a_loop,
     "something stores every one of them: read out the numbers you need, drop or dispose the "
     "tensor at the end of the step, or store it in place of the last one.",
     "something stores every one of them, or nothing disposes them: read out the numbers you need "
     "(dataSync(), or await data()), and put the step into tf.tidy(), or call tensor.dispose() at "
     "its end."},
    {Advice::stored_and_forgotten,
     "nothing used them again: drop or dispose each at the end of its turn.",
     "nothing used them again: put the turn into tf.tidy(), or call tensor.dispose() at its end."},
    {Advice::variables_in_a_loop,
     "models or variables are made in the loop and stored: make them once, or dispose() them when "
     "they are done.",
     "models or variables are made in the loop, and tf.tidy() disposes no variable: make them "
     "once, or call dispose() on each when it is done."},
    {Advice::saved_for_ever, "whatever saves them is never disposed.",
     "whatever saves them is never disposed."},
    {Advice::tape_over_steps,
     "the tape records on through every step: make a tape in each step, and let it end there.",
     "gradients are recorded on through every step: call tf.grads(), tf.variableGrads() or "
     "optimizer.minimize() anew in each step."},
    {Advice::larger_every_turn, "write what is complete to a file, or keep a bounded part of it.",
     "read out what is complete (dataSync(), or await data()), or keep a bounded part of it."},
    {Advice::symbolic_outlived,
     "a symbolic tensor means nothing once its trace has ended: return it from the function "
     "instead of storing it.",
     "it means nothing once the function that made it has ended: return it instead of storing "
     "it."},
    {Advice::outlived,
     "it was kept or stored where nothing lets go of it: dispose() it when it is done, or destroy "
     "what stores it.",
     "tf.keep() or a promise took it out of its scope, or it was made in no tf.tidy(): call "
     "tensor.dispose() when it is done."},
    {Advice::undestroyed_tape,
     "let the tape end with the step: make it a local, or take the gradient, which gives back what "
     "a tape that is not persistent has saved.",
     "take the gradient within the step, by tf.grads() or optimizer.minimize()."},
    {Advice::pinned_by_a_view,
     "a view holds the whole storage it looks into: keep a copy of the part (concat({view}) makes "
     "one) and let the rest go.",
     "it holds the whole storage that it looks into: tf.keep() a copy of the part (view.add(0) "
     "makes one) and dispose the rest."},
    {Advice::traced_again,
     "an argument's shape or value changes with every call: make the dimension free with "
     "input({dyn, ...}), pad to a few sizes, or pass the number as a tensor.",
     "an argument's shape or value changes with every call: pad to a few sizes, or pass the number "
     "as a tensor."},
};

}  // namespace

std::string advice(const Run& run, Advice about) {
  const AdviceRow& row = *std::ranges::find(kAdvice, about, &AdviceRow::about);
  return std::string(run.language == Language::javascript ? row.javascript : row.cpp);
}

}  // namespace tenure::report
