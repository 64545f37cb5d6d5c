// One encoder layer of a transformer: attention and feed-forward, each added to its input and
// normalised. No dropout. Trained to give wanted vectors.
#pragma once

#include <cmath>
#include <vector>

#include "models/training.h"

namespace bench::models {

struct TransformerSizes {
  std::int64_t batch = 8, tokens = 128, width = 256, heads = 4, hidden = 1024;
};

class Transformer {
 public:
  explicit Transformer(const TransformerSizes& sizes = {})
      : sizes_(sizes),
        query_(sizes.width, sizes.width),
        key_(sizes.width, sizes.width),
        value_(sizes.width, sizes.width),
        merge_(sizes.width, sizes.width),
        widen_(sizes.width, sizes.hidden),
        narrow_(sizes.hidden, sizes.width),
        first_(sizes.width),
        second_(sizes.width) {}

  std::vector<Variable> parameters() const {
    std::vector<Variable> all;
    for (const Dense* layer : {&query_, &key_, &value_, &merge_, &widen_, &narrow_}) {
      layer->add_to(all);
    }
    for (const Norm* norm : {&first_, &second_}) {
      all.push_back(norm->scale);
      all.push_back(norm->offset);
    }
    return all;
  }
  Tensor loss(Tensor x, const Tensor& wanted) const {
    x = first_(x + attention(x));
    x = second_(x + narrow_(relu(widen_(x))));
    return mean_square_error(x, wanted);
  }
  Batch random_batch() const {
    const Shape shape{sizes_.batch, sizes_.tokens, sizes_.width};
    return {tenure::random::uniform(shape), tenure::random::uniform(shape)};
  }

 private:
  struct Norm {
    explicit Norm(std::int64_t width)
        : scale(tenure::ones({width})), offset(tenure::zeros({width})) {}
    Tensor operator()(Tensor x) const {
      return layer_norm(std::move(x),
                        {.scale = scale, .offset = offset, .axes = {-1}, .epsilon = 1e-5});
    }
    Variable scale, offset;
  };

  // [batch, tokens, width] as [batch, heads, tokens, width / heads].
  Tensor by_head(Tensor x) const {
    return transpose(reshape(std::move(x), {sizes_.batch, sizes_.tokens, sizes_.heads, -1}),
                     {0, 2, 1, 3});
  }
  Tensor attention(const Tensor& x) const {
    const double scale =
        1 / std::sqrt(static_cast<double>(sizes_.width) / static_cast<double>(sizes_.heads));
    const Tensor query = by_head(query_(x) * scale);
    const Tensor scores = matmul(query, by_head(key_(x)), {.transpose_b = true});
    const Tensor mixed = matmul(softmax(scores), by_head(value_(x)));
    return merge_(reshape(transpose(mixed, {0, 2, 1, 3}), x.shape()));
  }

  TransformerSizes sizes_;
  Dense query_, key_, value_, merge_, widen_, narrow_;
  Norm first_, second_;
};

}  // namespace bench::models
