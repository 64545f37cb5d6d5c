// Times of the rows that need internals.
#include "rows.h"

int main(int argc, char** argv) {
  bench::Runner runner(argc, argv);
  bench::internal_rows(runner);
  return runner.exit_code();
}
