// The user's line in errors that the library throws far below a public call and without one.
#pragma once

#include <source_location>
#include <string>

#include "memory/context.h"
#include "memory/text.h"
#include "tenure/error.h"

namespace tenure::nn::detail {

// Runs `fn` for the public call `op`, which another may have made on the user's behalf, and adds
// where the user is to errors that tell of no life and so of no line.
template <class F>
auto told_at(const char* op, std::source_location site, F&& fn) {
  tenure::detail::UserCall user = tenure::detail::context().call;
  if (user.op == nullptr) user = {op, false, site};
  const auto text = [&](const Error& error) {
    std::string problem = error.what();
    if (problem.find("\n\n  ") != problem.npos) return problem;
    return tenure::detail::told(problem, {tenure::detail::used_line(user.site, user.op)}, "");
  };
  try {
    return fn();
  } catch (const ShapeError& error) {
    throw ShapeError(text(error));
  } catch (const DtypeError& error) {
    throw DtypeError(text(error));
  } catch (const ValueError& error) {
    throw ValueError(text(error));
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(text(error));
  }
}

}  // namespace tenure::nn::detail
