// What the programs here have in common. Each is a small, healthy program; with --planted it has
// one bug. A comment names what is to be found, another marks the line:
//
//   // Finds: growth
//   tn::Tensor loss = ...;  // PLANTED
//
// "// Counts: 60" and "// Bytes: 240" say how many tensors the first of them is to name, and how
// many bytes they hold.
#pragma once

#include <tenure/tenure.h>

#include <iostream>
#include <string_view>

namespace tn = tenure;
namespace nn = tenure::nn;

// Runs the program as users do: an error is told, and it ends.
template <class Program>
int run(int argc, char** argv, Program program) {
  const bool planted = argc > 1 && std::string_view(argv[1]) == "--planted";
  try {
    program(planted);
  } catch (const tn::Error& error) {
    std::cout << error.what() << "\n";
    return 3;
  }
  return 0;
}
