// Eager code that changes variables as a whole or not at all.
//
//   Rollback rollback;          // from here on, what this thread assigns can be taken back
//   ...                         // whatever throws puts every variable back
//   rollback.commit();
//
// A variable's value is kept when it is first written, so a scope in which nothing is written costs
// nothing. Bytes are shared: the write goes to new ones, as it does when a tape uses the old.
#pragma once

#include <map>
#include <memory>

#include "tensor/variable_state.h"

namespace tenure::detail {

class Rollback {
 public:
  Rollback();
  // Puts back what was written since, unless it was committed. What another thread assigned to the
  // same variables meanwhile goes with it; a variable that was disposed stays so.
  ~Rollback();
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;

  // What was written stays; one around this may still take it back.
  void commit() noexcept;

  // To be called before a write by whoever holds the variable's lock; its slot is alive.
  static void before_write(const std::shared_ptr<VariableState>& variable);

 private:
  void keep(const std::shared_ptr<VariableState>& variable);

  std::map<std::shared_ptr<VariableState>, Saved> before_;
  Rollback* outer_;
};

}  // namespace tenure::detail
