// A program as data: statements over typed values, each defined once. Values of a block are known
// in it and in the blocks inside it; what a block gives to the outside it yields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/dtype.h"
#include "tenure/shape.h"

namespace tenure::programs {

struct OpRow;         // ops.h
struct StatementRow;  // statements.h

struct Type {
  DType dtype = DType::float32;
  Shape shape;

  std::size_t numel() const { return static_cast<std::size_t>(shape.numel()); }
  bool is_float() const { return dtype == DType::float32 || dtype == DType::float64; }
  friend bool operator==(const Type&, const Type&) = default;
};

using Value = int;  // an index into Program::types

struct Use {
  Value value = -1;
  bool moved = false;  // std::move: the value is not used again
};

struct Statement;

struct Block {
  std::vector<Value> params;
  std::vector<Statement> statements;
  std::vector<Value> yields;
};

struct Statement {
  const StatementRow* row = nullptr;
  const OpRow* op = nullptr;  // of an operation
  std::vector<Use> inputs;
  std::vector<Value> outputs;
  std::vector<Block> blocks;
  std::vector<std::int64_t> numbers;  // axes, sizes, steps: what they mean is the row's business
  std::vector<double> literals;
  std::vector<int> variables;
  int function = -1;
};

struct Datum {
  Type type;
  std::vector<double> data;
};

// What a call calls: it knows its parameters, the captures and the variables, and no other values.
struct Subroutine {
  Block body;
  bool checkpoint = false;
};

struct Program {
  std::vector<Type> types;            // of all values
  std::vector<Datum> inputs;          // of body.params, in order
  std::vector<Value> captured;        // eager tensors that are there before the program begins
  std::vector<Datum> captures;        // and their data
  std::vector<Datum> variables;       // initial values
  std::vector<Subroutine> functions;  // a function calls those before it
  Block body;
};

// Every block of a program, the inner ones after those around them.
template <class Visit> void each_block(Block& block, Visit&& visit) {
  visit(block);
  for (Statement& statement : block.statements) {
    for (Block& inner : statement.blocks) each_block(inner, visit);
  }
}
template <class Visit> void each_block(Program& program, Visit&& visit) {
  for (Subroutine& function : program.functions) each_block(function.body, visit);
  each_block(program.body, visit);
}

std::string print(const Program& program);

}  // namespace tenure::programs
