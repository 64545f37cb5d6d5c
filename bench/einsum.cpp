// Does einsum cost what its products cost? Attention: many small matrices, some of them transposed.
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void einsum(Runner& runner) {
  runner.row("attention_einsum", [](Row& row) {
    const Shape shape{8, 8, 128, 64};  // batch, heads, tokens, features
    const Tensor q = random::uniform(shape);
    const Tensor k = random::uniform(shape);
    const Tensor v = random::uniform(shape);
    row.measure([&] {
      Tensor scores = tenure::einsum("bhqd,bhkd->bhqk", q, k);
      use(tenure::einsum("bhqk,bhkd->bhqd", std::move(scores), v));
    });
  });
}

}  // namespace bench
