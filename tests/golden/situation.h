// Situations that end in an error, each a small function whose error is compared, text and all,
// with expected/<name>.txt.
//
//   SITUATION(disposed_input, Tells::life) { ...; a + b; }
//
// Lines are counted from the SITUATION's own, ids from the first that appears. With TENURE_UPDATE=1
// in the environment the files are written instead: read each before it is committed.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "tenure/tenure.h"

namespace golden {

namespace tn = tenure;
namespace nn = tenure::nn;

// What an error must tell, besides what its file says.
enum class Tells : std::uint8_t {
  life,     // of a tensor: born, died or alive or traced, used, holders, what to do
  end,      // of something else that ended: born, died, used, what to do
  thing,    // of something that lives: born, used, what to do
  use,      // where it was used
  problem,  // only what is wrong
};

struct Situation {
  const char* name;
  Tells tells;
  void (*run)();
  std::source_location site;
};

std::vector<Situation>& situations();
void PrintTo(const Situation& situation, std::ostream* out);

struct Registered {
  Registered(const char* name, Tells tells, void (*run)(),
             std::source_location site = std::source_location::current());
};

}  // namespace golden

#define SITUATION(name, tells)                                             \
  static void name();                                                      \
  static const ::golden::Registered name##_registered(#name, tells, name); \
  static void name()
