// Times of the public rows, against the shared library that users link.
#include "rows.h"

int main(int argc, char** argv) {
  bench::Runner runner(argc, argv);
  bench::public_rows(runner);
  return runner.exit_code();
}
