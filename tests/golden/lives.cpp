// Tensors and variables that have ended, or are of another session or trace.
#include "golden/situation.h"

namespace golden {

SITUATION(disposed_input, Tells::life) {
  tn::Tensor a = tn::ones({4}), h = tn::tanh(a);
  h.set_name("h");
  h.dispose();
  a + h;
}

SITUATION(disposed_input_moved_in, Tells::life) {
  tn::Tensor a = tn::ones({4});
  a.dispose();
  tn::exp(std::move(a));
}

SITUATION(disposed_input_given_twice, Tells::life) {
  tn::Tensor a = tn::ones({4});
  a.dispose();
  a* a;
}

SITUATION(disposed_read, Tells::life) {
  tn::Tensor a = tn::ones({2, 3});
  const tn::Tensor other = a;
  a.dispose();
  other.to_vector<float>();
}

SITUATION(disposed_item, Tells::life) {
  tn::Tensor loss = tn::mean(tn::ones({8})).set_name("loss");
  loss.dispose();
  loss.item<float>();
}

SITUATION(disposed_clone, Tells::life) {
  tn::Tensor a = tn::ones({2});
  a.dispose();
  a.clone();
}

SITUATION(disposed_before_a_view_of_it, Tells::life) {
  tn::Tensor a = tn::ones({2, 3});
  a.dispose();
  tn::reshape(a, {3, 2});
}

SITUATION(disposed_view, Tells::life) {
  tn::Tensor a = tn::ones({2, 3});
  tn::Tensor row = a[0];
  row.dispose();
  row + 1;
}

SITUATION(disposed_and_watched, Tells::life) {
  tn::Tensor a = tn::ones({2});
  a.dispose();
  tn::GradientTape tape;
  tape.watch(a);
}

SITUATION(disposed_and_kept, Tells::life) {
  tn::Tensor a = tn::ones({2});
  a.dispose();
  tn::keep(a);
}

SITUATION(disposed_result_of_a_gradient, Tells::life) {
  const tn::Tensor x = tn::ones({2});
  tn::GradientTape tape;
  tape.watch(x);
  const tn::Tensor y = tn::tanh(x);
  tn::Tensor slope = tape.gradient(y, x);
  slope.dispose();
  slope * 2;
}

SITUATION(ended_with_its_tidy, Tells::life) {
  tn::Tensor escaped;
  const tn::Tensor x = tn::ones({4});
  tn::tidy("step", [&] { escaped = tn::tanh(x).set_name("h"); });
  x + escaped;
}

SITUATION(ended_with_a_tidy_without_a_name, Tells::life) {
  tn::Tensor escaped;
  tn::tidy([&] { escaped = tn::zeros({2}); });
  tn::sum(escaped);
}

SITUATION(ended_with_the_outer_tidy, Tells::life) {
  tn::Tensor escaped;
  tn::tidy("epoch", [&] { escaped = tn::tidy("step", [] { return tn::zeros({2}); }); });
  escaped.item<float>();
}

SITUATION(ended_when_the_tidy_threw, Tells::life) {
  tn::Tensor escaped;
  try {
    tn::tidy("step", [&] {
      escaped = tn::zeros({2});
      throw 1;
    });
  } catch (int) {
  }
  tn::exp(escaped);
}

SITUATION(donated, Tells::life) {
  auto grow = tn::function("grow", [](tn::Tensor x) { return x * 2; });
  tn::Tensor x = tn::ones({4});
  const tn::Tensor y = grow(tn::donate(x));
  x + y;
}

SITUATION(disposed_argument_of_a_function, Tells::life) {
  auto grow = tn::function("grow", [](tn::Tensor x) { return x * 2; });
  tn::Tensor x = tn::ones({4});
  x.dispose();
  grow(x);
}

SITUATION(disposed_before_it_was_captured, Tells::life) {
  tn::Tensor w = tn::ones({4}).set_name("w");
  auto f = tn::function("f", [&](tn::Tensor x) { return x * w; });
  w.dispose();
  f(tn::ones({4}));
}

SITUATION(ended_with_its_session, Tells::life) {
  tn::Session render({.name = "render"});
  const tn::Tensor t = render.run([] { return tn::zeros({8}); });
  render.close();
  t.to_vector<float>();
}

SITUATION(of_another_session, Tells::life) {
  tn::Session render({.name = "render"});
  const tn::Tensor t = render.run([] { return tn::zeros({8}); });
  tn::ones({8}) + t;
}

SITUATION(of_another_session_and_held_by_others, Tells::life) {
  tn::Session render({.name = "render"});
  const tn::Tensor t = render.run([] { return tn::zeros({8}).set_name("frame"); });
  const tn::Tensor top = render.run([&] { return t[0]; });
  t.to_vector<float>();
}

SITUATION(of_the_default_session, Tells::life) {
  tn::Session render({.name = "render"});
  const tn::Tensor t = tn::zeros({8});
  render.run([&] { return tn::exp(t); });
}

SITUATION(disposed_variable_read, Tells::end) {
  tn::Variable w(tn::zeros({2, 2}), {.name = "w"});
  w.dispose();
  w.read();
}

SITUATION(disposed_variable_used, Tells::end) {
  tn::Variable w(tn::zeros({2, 2}), {.name = "w"});
  w.dispose();
  tn::matmul(tn::ones({2, 2}), w);
}

SITUATION(disposed_variable_assigned, Tells::end) {
  tn::Variable w(tn::zeros({2}), {.name = "w"});
  w.dispose();
  w.assign(tn::ones({2}));
}

SITUATION(variable_of_a_closed_session, Tells::end) {
  tn::Session render({.name = "render"});
  tn::Variable w;
  render.run([&] { w = tn::Variable(tn::zeros({2}), {.name = "w"}); });
  render.close();
  w.read();
}

SITUATION(variable_of_another_session, Tells::life) {
  tn::Session render({.name = "render"});
  tn::Variable w;
  render.run([&] { w = tn::Variable(tn::zeros({2}), {.name = "w"}); });
  w.read();
}

SITUATION(variable_assigned_in_another_session, Tells::life) {
  tn::Session render({.name = "render"});
  tn::Variable w;
  render.run([&] { w = tn::Variable(tn::zeros({2}), {.name = "w"}); });
  w.assign(tn::ones({2}));
}

SITUATION(capture_of_another_session, Tells::life) {
  tn::Session render({.name = "render"}), other({.name = "other"});
  auto f = tn::function("scale", [](tn::Tensor x) { return x * tn::tensor({1.f, 2.f}); });
  render.run([&] { f(tn::ones({2})); });
  other.run([&] { f(tn::ones({2})); });
}

SITUATION(saved_by_a_tape_in_another_session, Tells::life) {
  tn::Session render({.name = "render"});
  tn::GradientTape tape({.name = "step"});
  tn::Tensor x, y;
  render.run([&] {
    x = tn::ones({2});
    tape.watch(x);
    y = tn::square(x);
  });
  tape.gradient(y, x);
}

SITUATION(disposed_variable_in_a_function, Tells::end) {
  tn::Variable w(tn::ones({2}), {.name = "w"});
  auto f = tn::function("f", [&](tn::Tensor x) { return x * w; });
  f(tn::ones({2}));
  w.dispose();
  f(tn::ones({2}));
}

SITUATION(symbolic_read, Tells::life) {
  auto f = tn::function("score", [](tn::Tensor x) {
    const tn::Tensor y = tn::sum(x);
    return x * y.item<float>();
  });
  f(tn::ones({2}));
}

SITUATION(symbolic_condition, Tells::life) {
  auto f = tn::function("clip", [](tn::Tensor x) {
    if ((tn::sum(x) > 1).item<bool>()) return x;
    return x * 2;
  });
  f(tn::ones({2}));
}

SITUATION(symbolic_escaped, Tells::life) {
  tn::Tensor hidden;
  auto f = tn::function("score", [&](tn::Tensor x) {
    hidden = tn::tanh(x).set_name("hidden");
    return hidden * 2;
  });
  f(tn::ones({2}));
  hidden + 1;
}

SITUATION(symbolic_of_another_trace, Tells::life) {
  tn::Tensor hidden;
  auto f = tn::function("first", [&](tn::Tensor x) { return hidden = tn::tanh(x); });
  f(tn::ones({2}));
  auto g = tn::function("second", [&](tn::Tensor x) { return x + hidden; });
  g(tn::ones({2}));
}

SITUATION(symbolic_left_its_branch, Tells::life) {
  auto f = tn::function("pick", [](tn::Tensor x) {
    tn::Tensor inner;
    const tn::Tensor y =
        tn::cond(tn::sum(x) > 1, [&] { return inner = tn::exp(x); }, [&] { return x; });
    return y + inner;
  });
  f(tn::ones({2}));
}

SITUATION(symbolic_size_that_is_free, Tells::life) {
  auto f = tn::function("batch", [](tn::Tensor x) { return x / x.dim(0); });
  f.input({tn::dyn, 4});
  f(tn::ones({2, 4}));
}

}  // namespace golden
