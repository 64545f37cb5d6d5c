// einsum.cpp's row in libtorch.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "libtorch_rows.h"

namespace bench::peers {

void einsum(Runner& runner) {
  runner.row("attention_einsum", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor q = at::rand({8, 8, 128, 64});
    const at::Tensor k = at::rand({8, 8, 128, 64});
    const at::Tensor v = at::rand({8, 8, 128, 64});
    row.measure([&] {
      const at::Tensor scores = at::einsum("bhqd,bhkd->bhqk", {q, k});
      use(at::einsum("bhqk,bhkd->bhqd", {scores, v}));
    });
  });
}

}  // namespace bench::peers
