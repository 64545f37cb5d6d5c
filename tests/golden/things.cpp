// Layers, models, optimizers, sessions, tapes, scopes, jobs, functions.
#include <filesystem>
#include <thread>

#include "golden/situation.h"

namespace golden {

namespace {

constexpr nn::Verbose kSilent = nn::Verbose::silent;

nn::Sequential scorer(std::source_location site = std::source_location::current()) {
  const nn::Sequential model({nn::Dense({.units = 2, .name = "head", .input_shape = {3}})},
                             {.name = "scorer"}, site);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

struct Calls : nn::CallbackBase {
  explicit Calls(std::function<void()> given) : call(std::move(given)) {}
  void on_train_batch_end(nn::Training&, const nn::Logs&) override { call(); }
  std::function<void()> call;
};

void while_training(const nn::Model& model, std::function<void()> call, std::source_location site) {
  model.fit(tn::ones({4, 3}), tn::ones({4, 2}),
            {.verbose = kSilent, .callbacks = {nn::make_callback<Calls>(std::move(call))}}, site);
}

}  // namespace

SITUATION(disposed_layer, Tells::end) {
  const nn::Dense head({.units = 2, .name = "head"});
  head(tn::ones({1, 3}));
  head.dispose();
  head(tn::ones({1, 3}));
}

SITUATION(disposed_layer_asked_for_its_weights, Tells::end) {
  const nn::Dense head({.units = 2, .name = "head"});
  head(tn::ones({1, 3}));
  head.dispose();
  head.get_weights();
}

SITUATION(layer_disposed_with_its_model, Tells::end) {
  const nn::Dense head({.units = 2, .name = "head", .input_shape = {3}});
  const nn::Sequential model({head}, {.name = "scorer"});
  model.dispose();
  head(tn::ones({1, 3}));
}

SITUATION(weight_disposed_with_its_layer, Tells::end) {
  const nn::Dense head({.units = 2, .name = "head"});
  head(tn::ones({1, 3}));
  const tn::Variable kernel = head.weights()[0];
  head.dispose();
  kernel.read();
}

SITUATION(disposed_model, Tells::end) {
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})}, {.name = "scorer"});
  model.dispose();
  model.predict(tn::ones({1, 3}));
}

SITUATION(disposed_model_trained, Tells::end) {
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})}, {.name = "scorer"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.dispose();
  model.fit_async(tn::ones({4, 3}), tn::ones({4, 2}));
}

SITUATION(disposed_optimizer, Tells::end) {
  const nn::Optimizer adam = nn::Adam({.learning_rate = 0.1});
  tn::Variable w(tn::zeros({2}), {.name = "w"});
  adam.apply({tn::ones({2})}, {w});
  adam.dispose();
  adam.apply({tn::ones({2})}, {w});
}

SITUATION(closed_session, Tells::end) {
  tn::Session render({.name = "render"});
  render.close();
  render.run([] { tn::zeros({2}); });
}

SITUATION(model_disposed_while_it_trains, Tells::thing) {
  const nn::Sequential model = scorer();
  const auto fit = std::source_location::current();
  while_training(model, [&] { model.dispose(); }, fit);
}

SITUATION(model_trained_twice_at_once, Tells::thing) {
  const nn::Sequential model = scorer();
  const auto fit = std::source_location::current();
  while_training(
      model, [&] { model.fit(tn::ones({4, 3}), tn::ones({4, 2}), {.verbose = kSilent}); }, fit);
}

SITUATION(model_compiled_while_it_trains, Tells::thing) {
  const nn::Sequential model = scorer();
  const auto fit = std::source_location::current();
  while_training(model, [&] { model.compile({.optimizer = "adam", .loss = "mse"}); }, fit);
}

SITUATION(session_closed_while_it_runs, Tells::thing) {
  tn::Session render({.name = "render"});
  render.run([&] { render.close(); });
}

SITUATION(model_not_compiled, Tells::thing) {
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})}, {.name = "scorer"});
  model.fit(tn::ones({4, 3}), tn::ones({4, 2}));
}

SITUATION(second_gradient, Tells::thing) {
  const tn::Tensor x = tn::ones({2});
  tn::GradientTape tape({.name = "step"});
  tape.watch(x);
  const tn::Tensor y = tn::tanh(x);
  tape.gradient(y, x);
  tape.gradient(y, x);
}

SITUATION(watch_after_the_gradient, Tells::thing) {
  const tn::Tensor x = tn::ones({2});
  tn::GradientTape tape;
  tape.watch(x);
  tape.gradient(tn::tanh(x), x);
  tape.watch(x);
}

SITUATION(watch_of_integers, Tells::thing) {
  tn::GradientTape tape({.name = "step"});
  tape.watch(tn::arange(4));
}

SITUATION(gradient_of_integers, Tells::use) {
  const tn::Tensor x = tn::ones({2});
  tn::GradientTape tape;
  tape.watch(x);
  const tn::Tensor label = tn::arg_max(x, 0);
  tape.gradient(label, x);
}

SITUATION(gradient_that_flows_in_has_another_shape, Tells::use) {
  const tn::Tensor x = tn::ones({2});
  tn::GradientTape tape;
  tape.watch(x);
  tape.gradient(tn::tanh(x), {x}, {.output_gradient = tn::ones({3})});
}

SITUATION(gradient_of_what_the_tape_has_not_seen, Tells::use) {
  const tn::Tensor x = tn::ones({2}), y = tn::ones({2});
  tn::GradientTape tape;
  tape.watch(x);
  const tn::Tensor slope = tape.gradient(tn::tanh(x), y);
  slope * 2;
}

SITUATION(tidy_closed_out_of_order, Tells::problem) {
  std::optional<tn::detail::ScopeGuard> outer, inner;
  const auto at = [](std::source_location site = std::source_location::current()) { return site; };
  outer.emplace("outer", at());
  inner.emplace("inner", at());
  outer->close();
}

SITUATION(tidy_closed_on_another_thread, Tells::problem) {
  std::optional<tn::detail::ScopeGuard> scope;
  scope.emplace("step", std::source_location::current());
  std::exception_ptr error;
  std::thread([&] {
    try {
      scope->close();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  tn::tidy([] {});  // takes the ended one out of this thread's list
  std::rethrow_exception(error);
}

SITUATION(cancelled_task, Tells::problem) {
  tn::TaskLoop loop;
  auto forever = []() -> tn::Task<> {
    for (;;) co_await tn::next_turn();
  };
  tn::Job<void> job = loop.add(forever);
  loop.step();
  job.cancel();
  loop.run();
  job.get();
}

SITUATION(task_whose_loop_is_gone, Tells::problem) {
  std::optional<tn::TaskLoop> loop(std::in_place);
  auto forever = []() -> tn::Task<> {
    for (;;) co_await tn::next_turn();
  };
  tn::Job<void> job = loop->add(forever);
  loop->step();
  loop.reset();
  job.get();
}

SITUATION(task_that_waits_for_one_of_its_loop, Tells::use) {
  tn::TaskLoop loop;
  auto one = []() -> tn::Task<int> { co_return 1; };
  std::optional<tn::Job<int>> first;
  auto two = [&]() -> tn::Task<int> { co_return first->get(); };
  tn::Job<int> second = loop.add(two);
  first = loop.add(one);
  loop.run();
  second.get();
}

SITUATION(job_read_twice, Tells::use) {
  tn::Job<std::vector<float>> job = tn::ones({2}).read_async<float>();
  job.get();
  job.get();
}

SITUATION(task_awaited_twice, Tells::problem) {
  auto once = []() -> tn::Task<int> { co_return 1; };
  tn::Task<int> task = once();
  tn::run(std::move(task));
  tn::run(std::move(task));
}

SITUATION(donated_twice, Tells::thing) {
  auto add = tn::function("add", [](tn::Tensor a, tn::Tensor b) { return a + b; });
  tn::Tensor x = tn::ones({4});
  add(tn::donate(x), x);
}

SITUATION(donated_while_shared, Tells::thing) {
  auto grow = tn::function("grow", [](tn::Tensor x) { return x * 2; });
  tn::Tensor x = tn::ones({4});
  const tn::Tensor view = x[0];
  grow(tn::donate(x));
}

SITUATION(donated_without_room, Tells::thing) {
  auto total = tn::function("total", [](tn::Tensor x) { return tn::sum(x); });
  tn::Tensor x = tn::ones({4});
  total(tn::donate(x));
}

SITUATION(function_that_calls_itself, Tells::thing) {
  std::optional<tn::Function<tn::Tensor(tn::Tensor)>> f;
  f.emplace(tn::function("again", [&](tn::Tensor x) -> tn::Tensor { return (*f)(x); }));
  (*f)(tn::ones({2}));
}

SITUATION(size_declared_after_a_call, Tells::problem) {
  auto f = tn::function("late", [](tn::Tensor x) { return x * 2; });
  f(tn::ones({2}));
  f.input({tn::dyn});
}

SITUATION(donated_twice_in_a_call, Tells::thing) {
  auto add = tn::function("add", [](tn::Tensor a, tn::Tensor b) { return a + b; });
  tn::Tensor x = tn::ones({4});
  add(tn::donate(x), tn::donate(x));
}

SITUATION(transfer_to_a_closed_session, Tells::end) {
  tn::Session render({.name = "render"});
  render.close();
  tn::transfer(tn::ones({2}), render);
}

SITUATION(transfer_of_what_is_shared, Tells::thing) {
  tn::Session render({.name = "render"});
  const tn::Tensor t = tn::zeros({8}), view = t[0];
  tn::transfer(t, render);
}

}  // namespace golden
