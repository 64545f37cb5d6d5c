#include "generator.h"

#include <algorithm>

#include "ops.h"
#include "statements.h"

namespace tenure::programs {

Generator::Generator(std::uint64_t seed, const GeneratorOptions& options)
    : random_(seed), options_(options) {}

Value Generator::define(Type type) {
  program_.types.push_back(std::move(type));
  Fact fact;
  fact.block = open_.empty() ? 0 : here().number;
  facts_.push_back(fact);
  return static_cast<Value>(facts_.size()) - 1;
}

std::vector<Value> Generator::define_all(const std::vector<Type>& types) {
  std::vector<Value> values;
  for (const Type& each : types) {
    values.push_back(define(each));
    give_second_name(values.back());
  }
  return values;
}

std::vector<Type> Generator::types_of(const std::vector<Value>& values) const {
  std::vector<Type> types;
  for (const Value value : values) types.push_back(type(value));
  return types;
}

Value Generator::pick(const Suits& suits) { return pick_from(suits, 0); }

Value Generator::pick_local(const Suits& suits) { return pick_from(suits, here().number); }

Value Generator::pick_from(const Suits& suits, int block) {
  std::vector<Value> candidates, leading;
  const int tape = open_.empty() ? 0 : here().tapes;
  for (const Value value : visible_) {
    if (is_spent(value) || (block != 0 && fact(value).block != block)) continue;
    if (!suits(type(value))) continue;
    candidates.push_back(value);
    if (tape > 0 && fact(value).tape == tape) leading.push_back(value);
  }
  if (candidates.empty()) return -1;
  if (!leading.empty() && random_.chance(60)) candidates = std::move(leading);
  const int count = static_cast<int>(candidates.size());
  return candidates[static_cast<std::size_t>(std::max(random_.below(count), random_.below(count)))];
}

Value Generator::pick(Type wanted) {
  return pick([&wanted](const Type& each) { return each == wanted; });
}

Value Generator::fit(Type wanted) {
  const Value value = fit_loosely(wanted);
  hold(value);
  return value;
}

Value Generator::fit_loosely(const Type& wanted) {
  if (random_.chance(75)) {
    if (const Value value = pick(wanted); value >= 0) return value;
  }
  Value value = pick([&wanted](const Type& each) {
    return each.dtype == wanted.dtype && each.dtype != DType::boolean;
  });
  if (value < 0) return put_constant(wanted, draw_data(wanted));
  if (type(value).shape.rank() > 0) {
    std::vector<std::int64_t> numbers{0};
    for (int axis = 0; axis < type(value).shape.rank(); ++axis) numbers.push_back(axis);
    value = put_op("sum", {value}, {wanted.dtype, Shape{}}, numbers);
  }
  if (wanted.shape.rank() == 0) return value;
  return put_op("broadcast_to", {value}, wanted,
                std::vector<std::int64_t>(wanted.shape.begin(), wanted.shape.end()));
}

void Generator::put(Statement statement) {
  for (Use& use : statement.inputs) {
    const auto same = [&use](const Use& other) { return other.value == use.value; };
    const bool once = std::ranges::count_if(statement.inputs, same) == 1;
    const bool may_move = statement.op != nullptr || statement.row->name == std::string("assign");
    const Fact& known = fact(use.value);
    if (may_move && once && known.block == here().number && !known.held && random_.chance(20)) {
      use.moved = true;
      spend(use.value);
    }
  }
  if (statement.row->name == std::string("assign")) assigned_ = true;
  int tape = 0;
  for (const Use& use : statement.inputs) tape = std::max(tape, fact(use.value).tape);
  for (const Block& block : statement.blocks) {
    for (const Value value : block.yields) tape = std::max(tape, fact(value).tape);
  }
  for (const Value value : statement.outputs) {
    fact(value).tape = std::max(fact(value).tape, std::min(tape, here().tapes));
    visible_.push_back(value);
  }
  here().block.statements.push_back(std::move(statement));
}

Value Generator::put_op(std::string_view op, std::vector<Value> inputs, Type result,
                        std::vector<std::int64_t> numbers, std::vector<double> literals) {
  Statement statement = statement_of("op");
  statement.op = &op_named(op);
  for (const Value value : inputs) {
    statement.inputs.push_back({value});
    if (statement.op->is_view) share_bytes(value);
  }
  const Value value = define(std::move(result));
  fact(value).shared_bytes = statement.op->is_view;
  statement.outputs = {value};
  statement.numbers = std::move(numbers);
  statement.literals = std::move(literals);
  put(std::move(statement));
  return value;
}

Value Generator::put_constant(Type type, std::vector<double> data) {
  const Value value = define(type);
  put(constant(value, type, std::move(data)));
  return value;
}

Type Generator::draw_type(DType dtype) {
  Shape shape;
  for (int rank = random_.one_of<int>({0, 1, 1, 2, 2, 2, 3}); rank > 0; --rank) {
    const bool empty = random_.chance(2) && allows("empty");
    shape.push_back(empty ? 0 : random_.one_of<int>({1, 2, 2, 3, 3}));
  }
  return {dtype, shape};
}

DType Generator::draw_float() { return main_float_; }

std::vector<double> Generator::draw_data(const Type& type) {
  std::vector<double> data(type.numel());
  for (double& each : data) {
    if (type.is_float()) {
      each = random_.number();
    } else {
      each = type.dtype == DType::boolean ? random_.below(2) : random_.between(-3, 3);
    }
  }
  return data;
}

void Generator::enter(Inside inside) {
  Open open;
  open.number = ++blocks_;
  open.visible_around = visible_;
  const bool apart = inside.kind == Kind::apart;
  open.sees_captures = inside.sees_captures && (open_.empty() || here().sees_captures);
  if (apart) visible_ = open.sees_captures ? program_.captured : std::vector<Value>();
  if (!open_.empty() && !apart) {
    open.in_body = here().in_body;
    open.is_apart = here().is_apart;
    open.in_tidy = here().in_tidy;
    open.tapes = here().tapes;
  }
  if (!open_.empty()) open.is_pure = here().is_pure;
  open.in_body |= inside.kind == Kind::body;
  open.is_apart |= apart;
  open.is_pure |= inside.pure;
  open.in_tidy |= inside.tidy;
  open.tapes += inside.tapes;
  open_.push_back(std::move(open));
}

Value Generator::add_param(const Type& type) {
  const Value value = define(type);
  fact(value).is_param = true;
  fact(value).tape = here().tapes;
  fact(value).second_name = true;
  visible_.push_back(value);
  here().block.params.push_back(value);
  return value;
}

Block Generator::block(const std::vector<Type>& params, Inside inside, const Finish& finish) {
  enter(inside);
  for (const Type& each : params) add_param(each);
  draw_statements(random_.between(1, inside.pure ? 2 : 4));
  const std::vector<Value> first = here().block.params;
  here().block.yields = finish(first);
  for (const Value value : here().block.yields) give_second_name(value);
  Block block = std::move(here().block);
  visible_ = std::move(here().visible_around);
  open_.pop_back();
  return block;
}

Block Generator::block(const std::vector<Type>& params, Inside inside,
                       const std::vector<Type>& yields) {
  return block(params, inside, [&](const std::vector<Value>&) {
    std::vector<Value> values;
    for (const Type& each : yields) values.push_back(fit(each));
    return values;
  });
}

std::vector<Value> Generator::draw_yields(int most) {
  std::vector<Value> values;
  for (int count = random_.between(1, most); count > 0; --count) {
    const bool any = random_.chance(20);
    const auto suits = [any](const Type& each) { return any || each.is_float(); };
    Value value = random_.chance(75) ? pick_local(suits) : -1;
    if (value < 0) value = pick(suits);
    if (value < 0) continue;
    hold(value);
    values.push_back(value);
  }
  if (values.empty()) {
    const Type type = draw_type(main_float_);
    values.push_back(put_constant(type, draw_data(type)));
  }
  return values;
}

bool Generator::can_nest() const {
  return static_cast<int>(open_.size()) <= options_.depth && budget_ > 0;
}

bool Generator::draw_op() {
  static const std::vector<const OpRow*> rows = [] {
    std::vector<const OpRow*> weighted;
    for (const OpRow* row : all_ops()) weighted.insert(weighted.end(), row->weight, row);
    return weighted;
  }();
  const OpRow* row = random_.one_of(rows);
  if (!allows(row->name)) return false;
  Statement statement = statement_of("op");
  statement.op = row;
  Type result;
  if (!row->draw(*this, statement, result)) return false;
  if (row->is_view) share_bytes(statement.inputs[0].value);
  const Value value = define(std::move(result));
  fact(value).shared_bytes = row->is_view;
  statement.outputs = {value};
  put(std::move(statement));
  return true;
}

bool Generator::draw_statement() {
  static const std::vector<const StatementRow*> rows = [] {
    std::vector<const StatementRow*> weighted;
    for (const StatementRow* row : all_statements()) {
      weighted.insert(weighted.end(), row->weight, row);
    }
    return weighted;
  }();
  if (random_.chance(55)) return draw_op();
  const StatementRow* row = random_.one_of(rows);
  return allows(row->name) && row->draw(*this);
}

void Generator::draw_statements(int count) {
  for (int failures = 0; count > 0 && failures < 30;) {
    --budget_;
    if (draw_statement()) {
      --count;
    } else {
      ++failures;
    }
  }
}

bool Generator::is_local(Value value) const {
  const Fact& known = fact(value);
  return known.block == here().number && !known.is_param && !known.held;
}
bool Generator::has_one_name(Value value) const { return !fact(value).second_name; }
bool Generator::is_captured(Value value) const {
  return std::ranges::find(program_.captured, value) != program_.captured.end();
}
bool Generator::owns_its_bytes(Value value) const {
  return !fact(value).shared_bytes && !fact(value).second_name;
}
void Generator::lead_to_gradient(Value value, int tape) { fact(value).tape = tape; }
void Generator::hold(Value value) { fact(value).held = true; }
void Generator::spend(Value value) { fact(value).spent = true; }
bool Generator::is_spent(Value value) const { return fact(value).spent; }
void Generator::give_second_name(Value value) { fact(value).second_name = true; }
void Generator::share_bytes(Value value) { fact(value).shared_bytes = true; }

bool Generator::may_call(int function) const {
  if (!function_assigns_[static_cast<std::size_t>(function)]) return !is_pure();
  return !is_pure() && (!in_body() || allows("assign_in_block")) &&
         (!in_tape() || allows("assign_in_tape"));
}

bool Generator::may_err(bool by_value) const {
  return !has_mistake_ && (by_value ? !is_pure() : !in_body() && !is_apart());
}

void Generator::err(Value hanging_on_it) {
  has_mistake_ = true;
  if (hanging_on_it >= 0) wanted_results_.push_back(hanging_on_it);
}

Program Generator::program() {
  main_float_ = random_.chance(60) ? DType::float32 : DType::float64;
  budget_ = options_.statements * 4;
  const auto draw_datum = [this](int percent_float) {
    const DType dtype = random_.chance(percent_float) ? main_float_
                        : random_.chance(60)          ? DType::int32
                                                      : DType::boolean;
    const Type type = draw_type(dtype);
    return Datum{type, draw_data(type)};
  };
  for (int count = random_.below(4); count > 0; --count) {
    program_.variables.push_back(draw_datum(100));
  }
  for (int count = random_.below(3); count > 0; --count) {
    program_.captures.push_back(draw_datum(80));
    program_.captured.push_back(define(program_.captures.back().type));
  }
  for (int count = random_.below(3); count > 0 && allows("call"); --count) {
    std::vector<Type> params;
    for (int n = random_.between(1, 2); n > 0; --n) params.push_back(draw_type(main_float_));
    assigned_ = false;
    Subroutine function;
    function.checkpoint = random_.chance(35) && allows("checkpoint");
    function.body = block(
        params,
        {.kind = Kind::apart, .tapes = 0, .pure = false, .tidy = false, .sees_captures = true},
        [this](const std::vector<Value>&) { return draw_yields(3); });
    program_.functions.push_back(std::move(function));
    function_assigns_.push_back(assigned_);
  }
  visible_ = program_.captured;
  for (int count = random_.between(1, 3); count > 0; --count) {
    program_.inputs.push_back(draw_datum(75));
  }
  std::vector<Type> params;
  for (const Datum& input : program_.inputs) params.push_back(input.type);
  enter({});
  for (const Type& each : params) {
    const Value value = add_param(each);
    fact(value).second_name = false;
  }
  draw_statements(random_.between(options_.statements / 2, options_.statements * 3 / 2));
  here().block.yields = draw_yields(6);
  for (const Value value : wanted_results_) here().block.yields.push_back(value);
  program_.body = std::move(here().block);
  open_.pop_back();
  return std::move(program_);
}

}  // namespace tenure::programs
