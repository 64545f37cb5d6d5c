#include "runner.h"

#include "statements.h"
#include "tenure/create.h"

namespace tenure::programs {

// The values of a block end with it, as the variables of a lambda would.
struct Runner::Locals {
  Locals(Runner& of, const Block& in) : runner(of), block(in) {}
  Locals(const Locals&) = delete;
  Locals& operator=(const Locals&) = delete;
  ~Locals() {
    for (auto statement = block.statements.rbegin(); statement != block.statements.rend();
         ++statement) {
      for (const Value value : statement->outputs) runner.slot(value) = Tensor();
    }
    for (const Value value : block.params) runner.slot(value) = Tensor();
  }
  Tensors yields() const {
    Tensors tensors;
    for (const Value value : block.yields) tensors.push_back(runner.slot(value));
    return tensors;
  }

  Runner& runner;
  const Block& block;
};

Runner::Runner(const Program& program, RunnerOptions options)
    : program_(program),
      options_(options),
      slots_(program.types.size()),
      functions_(program.functions.size()),
      session_(options.session != nullptr ? options.session : &Session::process()) {
  for (const Datum& variable : program.variables) {
    variables_.emplace_back(make_tensor(variable.type, variable.data));
  }
  for (std::size_t i = 0; i < program.captures.size(); ++i) {
    slot(program.captured[i]) = make_tensor(program.captures[i].type, program.captures[i].data);
  }
}

Tensors Runner::inputs() const {
  Tensors tensors;
  for (const Datum& input : program_.inputs) {
    tensors.push_back(make_tensor(input.type, input.data));
  }
  return tensors;
}

void Runner::reset_variables() {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    variables_[i].assign(make_tensor(program_.variables[i].type, program_.variables[i].data));
  }
}

void Runner::dispose_captures() {
  for (const Value value : program_.captured) slot(value).dispose();
}

Tensors Runner::block(const Block& block, Tensors arguments) {
  const Locals locals(*this, block);
  set_all(block.params, std::move(arguments));
  for (const Statement& statement : block.statements) statement.row->run(*this, statement);
  return locals.yields();
}

Task<Tensors> Runner::block_as_task(const Block& block) {
  const Locals locals(*this, block);
  for (const Statement& statement : block.statements) {
    statement.row->run(*this, statement);
    co_await next_turn();
  }
  co_return locals.yields();
}

Task<Tensors> Runner::body_as_task(Tensors arguments) {
  set_all(program_.body.params, std::move(arguments));
  return block_as_task(program_.body);
}

Tensor Runner::use(const Use& use) {
  return use.moved ? std::move(slot(use.value)) : slot(use.value);
}

Tensors Runner::use(const std::vector<Use>& uses) {
  Tensors tensors;
  for (const Use& each : uses) tensors.push_back(use(each));
  return tensors;
}

void Runner::set_all(const std::vector<Value>& values, Tensors tensors) {
  for (std::size_t i = 0; i < values.size(); ++i) slot(values[i]) = std::move(tensors[i]);
}

Tensors Runner::run_in(Session& session, const Block& inside, Tensors arguments) {
  Session* const outer = std::exchange(session_, &session);
  Tensors results = session.run([&] { return block(inside, std::move(arguments)); });
  session_ = outer;
  return results;
}

Tensors Runner::call(int index, Tensors arguments, bool donates) {
  const auto at = static_cast<std::size_t>(index);
  const Subroutine& subroutine = program_.functions[at];
  if (!options_.traced_functions) return block(subroutine.body, std::move(arguments));
  std::optional<Callable>& function = functions_[at];
  if (!function) {
    FunctionOptions options;
    options.checkpoint = subroutine.checkpoint;
    function.emplace(
        "f" + std::to_string(index),
        [this, &subroutine](Tensors in) { return block(subroutine.body, std::move(in)); }, options);
  }
  if (donates && !is_under_tape()) {
    return (*function)(donate(std::move(arguments)));
  }
  return (*function)(std::move(arguments));
}

}  // namespace tenure::programs
