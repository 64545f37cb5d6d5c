// How much of the machine's arithmetic does a square product use, small to large?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

namespace {

void square_row(Runner& runner, const char* name, std::int64_t n, DType dtype) {
  runner.row(name + std::to_string(n), [n, dtype](Row& row) {
    const Tensor a = cast(random::uniform({n, n}), dtype);
    const Tensor b = cast(random::uniform({n, n}), dtype);
    row.measure([&] { use(tenure::matmul(a, b)); });
  });
}

}  // namespace

void matmul(Runner& runner) {
  for (const std::int64_t n : {64, 256, 512, 1024, 2048, 4096}) {
    square_row(runner, "matmul_", n, DType::float32);
  }
  for (const std::int64_t n : {512, 2048}) {
    square_row(runner, "matmul_bf16_", n, DType::bfloat16);
  }
}

}  // namespace bench
