#include "interpreter.h"

#include <cmath>

#include "statements.h"

namespace tenure::programs {
namespace {

// Past these, a result says little, and a comparison less.
constexpr double kLargest = 1e5;
constexpr double kLargestError = 1e-2;
constexpr int kMostSteps = 200000;

void check_steady(const Array& array) {
  for (const Num& each : array.at) {
    for (unsigned m = 0; m < Num::kCount; ++m) {
      if (!(std::abs(each.at[m]) < kLargest)) throw Unsteady("out of bounds");
      if (!(each.error[m] < kLargestError)) throw Unsteady("too many rounding errors");
    }
  }
}

Array from(const Datum& datum, const Arithmetic& arithmetic) {
  Array array(datum.type);
  for (std::size_t i = 0; i < array.at.size(); ++i) {
    array.at[i] = Num(arithmetic.rounded(datum.data[i]));
  }
  return array;
}

// A runtime adds up in an order of its own, in the dtypes of target and source.
Num summed_derivative(const Array& target, DType source, int tape) {
  Num total;
  const double unit = Arithmetic(target.type.dtype, 0).unit() + Arithmetic(source, 0).unit();
  for (const Num& each : target.at) {
    const Num part = Arithmetic::derivative(each, tape);
    for (unsigned m = 0; m < Num::kCount; ++m) {
      total.at[m] += part.at[m];
      total.error[m] += part.error[m] + 16 * unit * (std::abs(part.at[m]) + 1e-3);
    }
  }
  return total;
}

}  // namespace

Interpreter::Interpreter(const Program& program) : program_(program), slots_(program.types.size()) {
  for (const Datum& variable : program.variables) {
    variables_.push_back(from(variable, arithmetic(variable.type.dtype)));
    variables_.back().identity = next_identity_++;
  }
  for (std::size_t i = 0; i < program.captures.size(); ++i) {
    set_new(program.captured[i],
            from(program.captures[i], arithmetic(program.captures[i].type.dtype)));
  }
}

Arithmetic Interpreter::arithmetic(DType dtype) const { return {dtype, tapes()}; }

Array Interpreter::use(Value value) const {
  Array array = raw(value);
  for (std::size_t tape = 0; tape < tapes_.size(); ++tape) {
    const Tape& at = tapes_[tape];
    if (at.identity == array.identity) {
      if (array.crossed != 0 && array.crossed < at.began) throw Unsteady("a source by two names");
      array.at[at.element].at[1u << tape] += 1;
    }
  }
  return array;
}

Arrays Interpreter::raw(const std::vector<Use>& uses) const {
  Arrays arrays;
  for (const Use& each : uses) arrays.push_back(raw(each.value));
  return arrays;
}

void Interpreter::set(Value value, Array array) {
  if (++steps_ > kMostSteps) throw Unsteady("too long");
  check_steady(array);
  slots_[static_cast<std::size_t>(value)] = std::move(array);
}

void Interpreter::set_new(Value value, Array array) {
  array.identity = next_identity_++;
  set(value, std::move(array));
}

void Interpreter::set_all(const std::vector<Value>& values, Arrays arrays) {
  for (std::size_t i = 0; i < values.size(); ++i) set(values[i], std::move(arrays[i]));
}

Arrays Interpreter::crossing(Arrays arrays) {
  ++clock_;
  for (Array& each : arrays) each.crossed = each.crossed == 0 ? clock_ : each.crossed;
  return arrays;
}

bool Interpreter::is_true(Value value) const { return raw(value).at[0].value() != 0; }

const Array& Interpreter::read(int variable) const {
  return variables_[static_cast<std::size_t>(variable)];
}

void Interpreter::assign(int variable, const Array& value) {
  Array& to = variables_[static_cast<std::size_t>(variable)];
  for (std::size_t i = 0; i < to.at.size(); ++i) {
    to.at[i] = Arithmetic::without_derivatives(value.at[i]);
  }
  to.loose = value.loose;
}

Arrays Interpreter::block(const Block& block, Arrays arguments) {
  set_all(block.params, std::move(arguments));
  for (const Statement& statement : block.statements) statement.row->interpret(*this, statement);
  Arrays yields;
  for (const Value value : block.yields) yields.push_back(raw(value));
  return yields;
}

Interpreter::Source Interpreter::source(Value value) const {
  return {raw(value).identity, type(value)};
}

Interpreter::Source Interpreter::source_variable(int variable) const {
  const Array& value = variables_[static_cast<std::size_t>(variable)];
  return {value.identity, value.type};
}

std::vector<Arrays> Interpreter::gradient(const std::vector<Source>& sources, const Block& body,
                                          const Arrays& arguments, Arrays& yields) {
  if (tapes() == kMostTapes) throw Unsteady("too many tapes");
  const Arrays before = variables_;
  const int control_flow_before = control_flow_;
  const int tape = tapes();
  tapes_.push_back({.identity = 0, .element = 0, .began = ++clock_});
  yields = block(body, arguments);
  const bool through_control_flow = control_flow_ != control_flow_before;
  const Arrays after = variables_;
  std::vector<Arrays> gradients(yields.size());
  for (const Source& source : sources) {
    for (std::size_t i = 0; i < yields.size(); ++i) {
      gradients[i].emplace_back(source.type);
      gradients[i].back().loose = through_control_flow || yields[i].loose;
    }
    for (std::size_t element = 0; element < source.type.numel(); ++element) {
      variables_ = before;
      tapes_.back() = {source.identity, element, ++clock_};
      block(body, arguments);
      for (std::size_t i = 0; i < yields.size(); ++i) {
        gradients[i].back().at[element] =
            summed_derivative(use(body.yields[i]), source.type.dtype, tape);
      }
    }
  }
  variables_ = after;
  tapes_.pop_back();
  for (Array& each : yields) {
    for (Num& number : each.at) number = Arithmetic::primal(number, tape);
  }
  return gradients;
}

Meaning Interpreter::run() {
  Meaning meaning;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    set_new(program_.body.params[i],
            from(program_.inputs[i], arithmetic(program_.inputs[i].type.dtype)));
  }
  Arrays arguments;
  for (const Value param : program_.body.params) arguments.push_back(raw(param));
  try {
    std::vector<Source> sources;
    for (const Value param : program_.body.params) {
      if (type(param).is_float()) sources.push_back(source(param));
    }
    for (int i = 0; i < static_cast<int>(variables_.size()); ++i) {
      if (source_variable(i).type.is_float()) sources.push_back(source_variable(i));
    }
    const std::vector<Arrays> gradients =
        gradient(sources, program_.body, arguments, meaning.results);
    for (std::size_t s = 0; s < sources.size(); ++s) {
      Array total(sources[s].type);
      for (std::size_t t = 0; t < gradients.size(); ++t) {
        if (!meaning.results[t].type.is_float()) continue;
        const Array& part = gradients[t][s];
        total.loose |= part.loose;
        for (std::size_t i = 0; i < total.at.size(); ++i) {
          total.at[i].at[0] += weight_of(t) * part.at[i].at[0];
          total.at[i].error[0] += part.at[i].error[0];
        }
      }
      meaning.gradients.push_back(std::move(total));
    }
  } catch (const Mistake& mistake) {
    meaning.results.clear();
    meaning.error = mistake.error;
    meaning.error_is_nested = mistake.is_nested;
  }
  meaning.variables = variables_;
  return meaning;
}

Meaning interpret(const Program& program) { return Interpreter(program).run(); }

}  // namespace tenure::programs
