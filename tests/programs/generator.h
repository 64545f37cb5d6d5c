// Makes a program from a seed. It keeps the rules that make a program mean one thing:
//  - a value that was moved from, disposed or donated is not used again (but by what is meant to
//    fail), and only the block that made a value does any of this to it;
//  - a gradient is taken with respect to variables and to values that have no second name: eager
//    code sees through a branch that returns what it was given, a trace does not;
//  - only bytes that nobody shares are donated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ast.h"
#include "random.h"

namespace tenure::programs {

struct GeneratorOptions {
  std::set<std::string> without;  // names of statements, of operations, or of kHabits
  int statements = 14;            // about so many in a program's body
  int depth = 4;                  // of blocks in blocks
};

// Ways to combine statements that can be left out, by name.
inline constexpr const char* kHabits[] = {
    "assign_in_block",      // an assignment inside a branch or a loop
    "read_in_block",        // a variable read inside a branch or a loop
    "assign_in_tape",       // an assignment while a tape records
    "assign_in_condition",  // an assignment in a while_loop's condition
    "dead_custom_inputs",   // a custom_gradient whose inputs die before the gradient is taken
    "gradient_by_capture",  // a gradient with respect to an eager tensor that is captured
    "promotion",            // an operation on two dtypes
    "empty",                // shapes without elements
    "donate",
    "checkpoint",
};

class Generator {
 public:
  Generator(std::uint64_t seed, const GeneratorOptions& options);

  Program program();

  // For the rows of statements and operations:
  Random& random() { return random_; }
  // A copy: the list grows while statements are drawn.
  Type type(Value value) const { return program_.types[static_cast<std::size_t>(value)]; }
  using Suits = std::function<bool(const Type&)>;
  // A value that can be used here, those made last more often; -1 where none suits.
  Value pick(const Suits& suits);
  Value pick(Type wanted);
  Value pick_local(const Suits& suits);  // of this block
  // A value of this type, made for the purpose if need be.
  Value fit(Type wanted);
  Value define(Type type);
  // Puts a statement into the block that is being drawn.
  void put(Statement statement);
  Value put_op(std::string_view op, std::vector<Value> inputs, Type result,
               std::vector<std::int64_t> numbers = {}, std::vector<double> literals = {});
  Value put_constant(Type type, std::vector<double> data);
  Type draw_type(DType dtype);
  DType draw_float();  // the dtype that most of the program is in
  std::vector<double> draw_data(const Type& type);

  enum class Kind : std::uint8_t {
    straight,  // runs once, as part of what is around it: tidy, tape, task
    body,      // a branch or a loop: runs any number of times
    apart,     // a function: sees captures and variables, not the values around it
  };
  struct Inside {
    Kind kind = Kind::straight;
    int tapes = 0;      // that it opens
    bool pure = false;  // no variables are read or assigned
    bool tidy = false;  // disposes what is made in it
    bool sees_captures = true;
  };
  // A block with parameters of these types: some statements, and what `finish` puts after them and
  // yields, given the parameters.
  using Finish = std::function<std::vector<Value>(const std::vector<Value>& params)>;
  Block block(const std::vector<Type>& params, Inside inside, const Finish& finish);
  Block block(const std::vector<Type>& params, Inside inside, const std::vector<Type>& yields);
  // One to `most` values that a block may yield, for it to be freely drawn.
  std::vector<Value> draw_yields(int most);
  std::vector<Value> define_all(const std::vector<Type>& types);  // with second names
  std::vector<Type> types_of(const std::vector<Value>& values) const;
  bool can_nest() const;

  // Whether the place allows it.
  bool allows(const std::string& name) const { return !options_.without.contains(name); }
  bool in_body() const { return here().in_body; }
  bool in_tidy() const { return here().in_tidy; }
  bool is_pure() const { return here().is_pure; }
  bool is_apart() const { return here().is_apart; }
  int tapes() const { return here().tapes; }
  bool in_tape() const { return tapes() > 0; }
  bool is_outermost() const { return open_.size() == 1 && !is_apart(); }  // the program's body
  int variables() const { return static_cast<int>(program_.variables.size()); }
  const Program& so_far() const { return program_; }
  bool may_call(int function) const;  // what it does is allowed here
  // A program makes one mistake at most; a value that hangs on it is among the results. What fails
  // by its shape or its life stands where it is always reached: a trace sees it in any case.
  bool may_err(bool by_value) const;
  void err(Value hanging_on_it = -1);

  // What is known of a value.
  bool is_local(Value value) const;      // made by a statement of this block, and not held
  bool has_one_name(Value value) const;  // fit to be differentiated by
  bool is_captured(Value value) const;
  bool owns_its_bytes(Value value) const;  // fit to be donated
  void spend(Value value);                 // not to be used again
  void hold(Value value);                  // to be used later: not to be moved from or disposed
  void give_second_name(Value value);
  void lead_to_gradient(Value value, int tape);  // picked more often under that tape
  void share_bytes(Value value);
  bool is_spent(Value value) const;

 private:
  struct Fact {
    int block = 0;
    bool is_param = false;
    bool spent = false;
    bool held = false;
    int tape = 0;  // the innermost one whose sources it depends on, as far as one can tell
    bool second_name = false;
    bool shared_bytes = true;
  };
  // A block that is being drawn, and what is so in it because of all that is around it.
  struct Open {
    int number = 0;
    std::vector<Value> visible_around;
    Block block;
    bool in_body = false;
    bool is_pure = false;
    bool is_apart = false;
    int tapes = 0;
    bool in_tidy = false;
    bool sees_captures = true;
  };
  Fact& fact(Value value) { return facts_[static_cast<std::size_t>(value)]; }
  const Fact& fact(Value value) const { return facts_[static_cast<std::size_t>(value)]; }
  Value pick_from(const Suits& suits, int block);
  Value fit_loosely(const Type& wanted);
  bool draw_statement();
  bool draw_op();
  void draw_statements(int count);
  Open& here() { return open_.back(); }
  const Open& here() const { return open_.back(); }
  void enter(Inside inside);
  Value add_param(const Type& type);

  Random random_;
  GeneratorOptions options_;
  Program program_;
  std::vector<Fact> facts_;
  std::vector<Value> visible_;
  std::vector<Open> open_;
  DType main_float_ = DType::float32;
  int blocks_ = 0;
  int budget_ = 0;  // statements that may still be drawn
  std::vector<bool> function_assigns_;
  bool assigned_ = false;  // somewhere in the function that is being drawn
  bool has_mistake_ = false;
  std::vector<Value> wanted_results_;
};

}  // namespace tenure::programs
