// Statements that must fail, with the same class of error however the program is run.
#include <fmt/format.h>

#include "draws.h"
#include "interpreter.h"
#include "printer.h"
#include "runner.h"
#include "statements.h"
#include "tenure/control.h"
#include "tenure/function.h"
#include "tenure/gradient.h"
#include "tenure/indexing.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::programs {
namespace {

using S = const Statement&;

struct MistakeRow {
  const char* text;
  const char* error;
  bool (*suits)(const Type&);
  // Fails; where the error depends on values, the result leads to it.
  Tensor (*run)(Tensor x, Runner& runner);
  bool by_value = false;
};

Tensor out_of_range(const Tensor& x) {
  return x + sum(gather(x, tensor({0, static_cast<int>(x.dim(0))})));
}

const std::vector<MistakeRow>& mistakes() {
  static const std::vector<MistakeRow> rows{
      {"y = {0} * 2; y.dispose(); y + 1", "DisposedError", is_number,
       [](Tensor x, Runner&) {
         Tensor y = x * 2;
         y.dispose();
         return y + 1;
       }},
      {"y = tidy([&] { z = {0} * 2; out = z; }); out + 1", "DisposedError", is_number,
       [](Tensor x, Runner&) {
         Tensor out;
         tidy([&] { out = x * 2; });
         return out + 1;
       }},
      {"y = {0} * 2; next(donate(y)) + y", "DisposedError", is_number,
       [](Tensor x, Runner&) {
         const Function next = function("next", [](Tensor z) { return z + 1; });
         const Tensor y = x * 2;
         const Tensor z = next(donate(y));
         return z + y;
       }},
      {"cond(a predicate of another trace, ...)", "InaccessibleTensorError", is_float,
       [](Tensor x, Runner&) {
         Tensor stolen;
         const Function leaky = function("leaky", [&](Tensor z) {
           stolen = sum(z) > 0;
           return z;
         });
         leaky(zeros({2}));
         return cond(stolen, [&] { return x; }, [&] { return x * 2; });
       }},
      {"tape.gradient(a value of another trace, {0})", "InaccessibleTensorError", is_float,
       [](Tensor x, Runner&) {
         Tensor stolen;
         const Function leaky = function("leaky", [&](Tensor z) { return stolen = z * z; });
         GradientTape tape;
         tape.watch(x);
         leaky(x);
         return tape.gradient(stolen, x);
       }},
      {"y = std::move({0}); {0} + 1", "ValueError", is_number,
       [](Tensor x, Runner&) {
         const Tensor y = std::move(x);
         return x + 1;  // NOLINT: what is tried
       }},
      {"{0} + zeros({7, 5})", "ShapeError", is_float,
       [](Tensor x, Runner&) { return x + zeros({7, 5}) + zeros({5, 7}); }},
      {"matmul({0}, zeros({7}))", "ShapeError", is_float,
       [](Tensor x, Runner&) { return matmul(reshape(x, {1, -1}), zeros({29, 5}, x.dtype())); }},
      {"logical_and({0}, {0})", "DtypeError", is_float,
       [](Tensor x, Runner&) { return logical_and(x, x); }},
      {"reshape({0}, {31})", "ShapeError", is_number,
       [](Tensor x, Runner&) { return reshape(x, {31}); }},
      {"tape.gradient twice", "TapeError", is_float,
       [](Tensor x, Runner&) {
         GradientTape tape;
         tape.watch(x);
         const Tensor y = sum(x * x);
         tape.gradient(y, x);
         return tape.gradient(y, x);
       }},
      {"v0.assign(zeros({31}))", "ShapeError", is_float,
       [](Tensor x, Runner& runner) {
         if (runner.variables().empty()) return reshape(x, {31});
         runner.variable(0).assign(zeros({31}, runner.variable(0).dtype()));
         return x;
       }},
      {"{0} + sum(gather({0}, {0, {0}.dim(0)}))", "ValueError",
       [](const Type& type) { return is_number(type) && type.shape.rank() > 0; },
       [](Tensor x, Runner&) { return out_of_range(x); }, true},
      {"switch_case(7 + sum({0}) * 0, one branch)", "ValueError", is_int,
       [](Tensor x, Runner&) {
         return switch_case<Tensor>(sum(x) * 0 + 7, {[&] { return x * 2; }});
       },
       true},
      {"while_loop that changes its state's shape", "ShapeError", is_float,
       [](Tensor x, Runner&) {
         return while_loop([](Tensor) { return tensor({true}, Shape{}); },
                           [](Tensor state) { return stack({state, state}); }, x);
       }},
  };
  return rows;
}

const MistakeRow& row_of(S s) { return mistakes()[static_cast<std::size_t>(s.numbers[0])]; }

// numbers: which of the rows; whether it is by a value inside a block; whether the result must be
// the program's, since nothing computes what no result needs.
bool draw_mistake(Generator& generator) {
  const int which = generator.random().below(static_cast<int>(mistakes().size()));
  const MistakeRow& row = mistakes()[static_cast<std::size_t>(which)];
  if (!generator.may_err(row.by_value)) return false;
  const Value value = generator.pick(row.suits);
  if (value < 0) return false;
  Statement statement = statement_of("mistake");
  const bool nested = row.by_value && !generator.is_outermost();
  const bool must_get_out = row.by_value && !nested;
  statement.numbers = {which, nested ? 1 : 0, must_get_out ? 1 : 0};
  statement.inputs = {{value}};
  const Value result = generator.define(generator.type(value));
  generator.give_second_name(result);
  generator.share_bytes(result);
  statement.outputs = {result};
  generator.put(std::move(statement));
  generator.err(must_get_out ? result : -1);
  if (!nested) generator.spend(result);
  return true;
}

}  // namespace

const std::vector<StatementRow>& mistake_statements() {
  static const std::vector<StatementRow> rows{
      {"mistake", 3, draw_mistake,
       [](Runner& runner, S s) {
         runner.slot(s.outputs[0]) = row_of(s).run(runner.use(s.inputs[0]), runner);
       },
       [](Interpreter&, S s) { throw Mistake{row_of(s).error, s.numbers[1] == 1}; },
       [](Printer& printer, S s) {
         std::string text = row_of(s).text;
         for (std::size_t at; (at = text.find("{0}")) != text.npos;) {
           text.replace(at, 3, printer.name(s.inputs[0]));
         }
         printer.line(fmt::format("{}{};  // {}", printer.results(s), text, row_of(s).error));
       }},
  };
  return rows;
}

}  // namespace tenure::programs
