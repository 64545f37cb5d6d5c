#include "modes.h"

#include <fmt/format.h>

#include <thread>

#include "interpreter.h"
#include "runner.h"
#include "statements.h"
#include "tenure/create.h"
#include "tenure/error.h"
#include "tenure/gradient.h"
#include "tenure/memory.h"
#include "tenure/session.h"

namespace tenure::programs {
namespace {

using Outcomes = std::vector<Outcome>;

template <class T> std::vector<double> doubles(const Tensor& tensor) {
  const std::vector<T> values = tensor.to_vector<T>();
  return std::vector<double>(values.begin(), values.end());
}

Datum read(const Tensor& tensor) {
  const Type type{tensor.dtype(), tensor.shape()};
  switch (type.dtype) {
    case DType::float32:
      return {type, doubles<float>(tensor)};
    case DType::float64:
      return {type, doubles<double>(tensor)};
    case DType::int32:
      return {type, doubles<std::int32_t>(tensor)};
    case DType::boolean:
      return {type, doubles<bool>(tensor)};
    default:
      return {type, {}};
  }
}

std::vector<Datum> read_all(const Tensors& tensors) {
  std::vector<Datum> data;
  for (const Tensor& each : tensors) data.push_back(read(each));
  return data;
}

std::string class_of(const Error& error) {
#define TENURE_CLASS(name) \
  if (dynamic_cast<const name*>(&error) != nullptr) return #name
  TENURE_CLASS(DisposedError);
  TENURE_CLASS(InaccessibleTensorError);
  TENURE_CLASS(ShapeError);
  TENURE_CLASS(DtypeError);
  TENURE_CLASS(ValueError);
  TENURE_CLASS(TapeError);
  TENURE_CLASS(OutOfMemoryError);
  TENURE_CLASS(BusyError);
  TENURE_CLASS(UnsupportedError);
  TENURE_CLASS(ScopeError);
  TENURE_CLASS(CancelledError);
#undef TENURE_CLASS
  return "Error";
}

// Whether the program itself has ended, in a run with a tape around it.
thread_local bool went_through = false;

// The outcome of `call`, which gives results, and gradients after them where there are more than
// the program has.
Outcome outcome_of(const Program& program, const Runner& runner,
                   const std::function<Tensors()>& call) {
  Outcome outcome;
  went_through = false;
  try {
    Tensors tensors = call();
    const auto count = static_cast<std::ptrdiff_t>(program.body.yields.size());
    outcome.results = read_all(Tensors(tensors.begin(), tensors.begin() + count));
    if (std::ssize(tensors) > count) {
      outcome.gradients = read_all(Tensors(tensors.begin() + count, tensors.end()));
    }
  } catch (const Error& error) {
    outcome.error = class_of(error);
    outcome.message = error.what();
    outcome.failed_in_gradient = went_through;
  } catch (const std::exception& error) {
    outcome.error = "untyped";
    outcome.message = error.what();
  }
  for (const Variable& variable : runner.variables()) {
    try {
      outcome.variables.push_back(read(variable.read()));
    } catch (const Error& error) {
      outcome.error = class_of(error) + " of a variable";
      outcome.message = error.what();
    }
  }
  return outcome;
}

// The results of `forward`, then the gradients by the inputs and variables of floats.
Tensors with_gradients(const Program& program, const Runner& runner, const Tensors& inputs,
                       const std::function<Tensors(Tensors)>& forward) {
  went_through = false;
  GradientTape tape;
  std::vector<Source> sources;
  for (const Tensor& input : inputs) {
    const DType dtype = input.dtype();
    if (dtype != DType::float32 && dtype != DType::float64) continue;
    tape.watch(input);
    sources.emplace_back(input);
  }
  for (const Variable& variable : runner.variables()) sources.emplace_back(variable);
  Tensors results = forward(inputs);
  went_through = true;
  Tensors targets, weights;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Type& type = program.types[static_cast<std::size_t>(program.body.yields[i])];
    if (!type.is_float()) continue;
    targets.push_back(results[i]);
    weights.push_back(full(type.shape, weight_of(i), type.dtype));
  }
  if (targets.empty() || sources.empty()) return results;
  for (Tensor& each : tape.gradients(targets, weights, sources,
                                     {.output_gradient = {}, .zero_if_unconnected = true})) {
    results.push_back(std::move(each));
  }
  return results;
}

constexpr RunnerOptions kPlain{.traced_functions = false, .under_tape = false, .session = nullptr};
constexpr RunnerOptions kPlainUnderTape{
    .traced_functions = false, .under_tape = true, .session = nullptr};
constexpr RunnerOptions kUnderTape{
    .traced_functions = true, .under_tape = true, .session = nullptr};

Outcomes eager(const Program& program) {
  Runner runner(program, kPlain);
  return {outcome_of(program, runner, [&] { return runner.body(runner.inputs()); })};
}

Outcomes with_functions(const Program& program, RunnerOptions options) {
  Runner runner(program, options);
  Outcomes outcomes;
  for (int call = 0; call < 2; ++call) {
    runner.reset_variables();
    outcomes.push_back(outcome_of(program, runner, [&] { return runner.body(runner.inputs()); }));
  }
  return outcomes;
}

Outcomes eager_with_functions(const Program& program) { return with_functions(program, {}); }

// `call` once more, warm: with the variables as they were, and captured tensors disposed.
Outcomes twice(const Program& program, Runner& runner,
               const std::function<Tensors(const Tensors& inputs)>& call) {
  Outcomes outcomes;
  outcomes.push_back(outcome_of(program, runner, [&] { return call(runner.inputs()); }));
  if (!outcomes[0].error) runner.dispose_captures();
  runner.reset_variables();
  {
    const Tensors inputs = runner.inputs();
    const MemoryInfo before = memory();
    outcomes.push_back(outcome_of(program, runner, [&] { return call(inputs); }));
    const MemoryInfo after = memory();
    // Fewer bytes are no leak: a variable may share those of a constant it was assigned.
    if (before.tensors != after.tensors || before.live_bytes < after.live_bytes) {
      outcomes[1].leak =
          fmt::format("{} tensors and {} bytes before a warm call, {} and {} after it",
                      before.tensors, before.live_bytes, after.tensors, after.live_bytes);
    }
  }
  return outcomes;
}

Outcomes traced(const Program& program, RunnerOptions options) {
  Runner runner(program, options);
  Function f = function("program", [&](Tensors in) { return runner.body(std::move(in)); });
  return twice(program, runner, [&](const Tensors& inputs) { return f(inputs); });
}

Outcomes traced(const Program& program) { return traced(program, {}); }

Outcomes tape_around_eager(const Program& program) {
  Runner runner(program, kPlainUnderTape);
  return {outcome_of(program, runner, [&] {
    return with_gradients(program, runner, runner.inputs(),
                          [&](Tensors in) { return runner.body(std::move(in)); });
  })};
}

Outcomes tape_around_eager_with_functions(const Program& program) {
  Runner runner(program, kUnderTape);
  return {outcome_of(program, runner, [&] {
    return with_gradients(program, runner, runner.inputs(),
                          [&](Tensors in) { return runner.body(std::move(in)); });
  })};
}

Outcomes tape_around(const Program& program, bool checkpoint) {
  Runner runner(program, kUnderTape);
  FunctionOptions options;
  options.checkpoint = checkpoint;
  Function f = function("program", [&](Tensors in) { return runner.body(std::move(in)); }, options);
  return twice(program, runner, [&](const Tensors& inputs) {
    return with_gradients(program, runner, inputs, [&](Tensors in) { return f(std::move(in)); });
  });
}
Outcomes tape_around_traced(const Program& program) { return tape_around(program, false); }
Outcomes tape_around_checkpoint(const Program& program) { return tape_around(program, true); }

Outcomes tape_in_traced(const Program& program) {
  Runner runner(program, kUnderTape);
  Function f = function("program", [&](Tensors arguments) {
    return with_gradients(program, runner, arguments,
                          [&](Tensors in) { return runner.body(std::move(in)); });
  });
  return twice(program, runner, [&](const Tensors& inputs) { return f(inputs); });
}

template <Outcomes (*run)(const Program&, RunnerOptions)>
Outcomes in_a_session(const Program& program) {
  Session session({.name = "session", .budget = 0});
  RunnerOptions options;
  options.session = &session;
  return session.run([&] { return run(program, options); });
}

bool assigns(Program program) {
  bool found = false;
  each_block(program, [&found](Block& block) {
    for (const Statement& statement : block.statements) {
      found |= statement.row->name == std::string_view("assign");
    }
  });
  return found;
}

// One traced function, called on two threads at once. What assigns would give either order.
Outcomes on_two_threads(const Program& program) {
  if (assigns(program)) return {};
  Runner runner(program, {});
  Function f = function("program", [&](Tensors in) { return runner.body(std::move(in)); });
  Outcomes outcomes(3);
  outcomes[0] = outcome_of(program, runner, [&] { return f(runner.inputs()); });
  if (outcomes[0].error) return {outcomes[0]};
  const auto call = [&](std::size_t i) {
    outcomes[i] = outcome_of(program, runner, [&] { return f(runner.inputs()); });
  };
  std::thread other(call, 1);
  call(2);
  other.join();
  return outcomes;
}

// Two of it, in turns: neither sees the other.
Outcomes as_tasks(const Program& program) {
  Runner first(program, {}), second(program, kPlain);
  Outcomes outcomes(2);
  TaskLoop loop;
  Job<Tensors> jobs[] = {loop.add(first.body_as_task(first.inputs())),
                         loop.add(second.body_as_task(second.inputs()))};
  loop.run();
  outcomes[0] = outcome_of(program, first, [&] { return jobs[0].get(); });
  outcomes[1] = outcome_of(program, second, [&] { return jobs[1].get(); });
  return outcomes;
}

}  // namespace

const std::vector<Mode>& all_modes() {
  static const std::vector<Mode> modes{
      {"eager", false, false, eager},
      {"eager with functions", false, true, eager_with_functions},
      {"traced", true, true, traced},
      {"tape around eager", false, false, tape_around_eager},
      {"tape around eager with functions", false, true, tape_around_eager_with_functions},
      {"tape around traced", true, true, tape_around_traced},
      {"tape around checkpoint", true, true, tape_around_checkpoint},
      {"tape in traced", true, true, tape_in_traced},
      {"in a session", false, true, in_a_session<with_functions>},
      {"traced in a session", true, true, in_a_session<traced>},
      {"as tasks", false, true, as_tasks},
      {"on two threads", true, true, on_two_threads},
  };
  return modes;
}

}  // namespace tenure::programs
