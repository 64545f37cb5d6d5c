// Two convolutions with pooling and two dense layers, trained to classify images.
#pragma once

#include <vector>

#include "models/training.h"

namespace bench::models {

struct CnnSizes {
  std::int64_t batch = 64, side = 28, first = 32, second = 64, hidden = 128, classes = 10;
};

class Cnn {
 public:
  explicit Cnn(const CnnSizes& sizes = {})
      : sizes_(sizes),
        first_(1, sizes.first),
        second_(sizes.first, sizes.second),
        hidden_(flat(sizes), sizes.hidden),
        output_(sizes.hidden, sizes.classes) {}

  std::vector<Variable> parameters() const {
    std::vector<Variable> all;
    for (const Convolution* layer : {&first_, &second_}) {
      all.push_back(layer->filter);
      all.push_back(layer->bias);
    }
    hidden_.add_to(all);
    output_.add_to(all);
    return all;
  }
  Tensor loss(const Tensor& images, const Tensor& labels) const {
    Tensor x = max_pool(relu(first_(images)), {2, 2});
    x = max_pool(relu(second_(std::move(x))), {2, 2});
    x = relu(hidden_(reshape(std::move(x), {sizes_.batch, -1})));
    return softmax_cross_entropy(output_(std::move(x)), labels);
  }
  Batch random_batch() const {
    return {tenure::random::uniform({sizes_.batch, sizes_.side, sizes_.side, 1}),
            random_labels(sizes_.batch, sizes_.classes)};
  }

 private:
  struct Convolution {
    Convolution(std::int64_t in, std::int64_t out)
        : filter(weights({3, 3, in, out}, 9 * in)), bias(weights({out}, 9 * in)) {}
    Tensor operator()(Tensor x) const { return conv2d(std::move(x), filter) + bias; }
    Variable filter, bias;
  };
  static std::int64_t flat(const CnnSizes& sizes) {
    const std::int64_t side = ((sizes.side - 2) / 2 - 2) / 2;
    return side * side * sizes.second;
  }

  CnnSizes sizes_;
  Convolution first_, second_;
  Dense hidden_, output_;
};

}  // namespace bench::models
