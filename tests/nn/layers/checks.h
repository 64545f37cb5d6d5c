// What every layer is held to, and plain arrays for references in double precision.
#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <string>
#include <vector>

#include "support/expect.h"
#include "tenure/nn/layer.h"
#include "tenure/tenure.h"

namespace tenure::testing {

inline constexpr DType kDouble = DType::float64;
inline const nn::Call kTraining{.training = true};

// A row-major array of doubles.
struct Grid {
  explicit Grid(Shape sizes) : shape(std::move(sizes)) {
    values.resize(static_cast<std::size_t>(shape.numel()));
  }
  template <std::integral... I>
  double& operator()(I... indices) {
    std::int64_t place = 0;
    int axis = 0;
    ((place = place * shape[axis++] + static_cast<std::int64_t>(indices)), ...);
    return values.at(static_cast<std::size_t>(place));
  }
  Tensor tensor(DType dtype = DType::float64) const;

  Shape shape;
  std::vector<double> values;
};

// Numbers in [-1, 1], no two alike, the same each time for a seed.
Grid numbers(const Shape& shape, unsigned seed = 1);
Grid grid_of(const Tensor& tensor);

void expect_near(const Tensor& got, const Grid& want, double tolerance = 1e-9);

// Has layers that have no weights, and were given no dtype, compute in float64: references do.
void compute_in_double(const nn::Layer& layer);
template <class L>
L in_double(L layer) {
  compute_in_double(layer);
  return layer;
}

// Gives the weights numbers, none of them zero.
void fill_weights(const nn::Layer& layer, unsigned seed = 7);

// A layer, of float64, that has its weights:
//  - gradients with respect to inputs and weights are the differences that small steps make,
//  - a layer made from its config and given its weights gives the same,
//  - a traced function, also one for any batch size, gives the same,
//  - it knows the shape of its output before there is one,
//  - a call leaves nothing behind but its outputs.
void check_layer(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                 const nn::Call& call = {});
void check_config(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                  const nn::Call& call = {});
void check_trace(const nn::Layer& layer, const std::vector<Tensor>& inputs,
                 const nn::Call& call = {});
void check_spec(const nn::Layer& layer, const std::vector<Tensor>& inputs);

// sum(y * pattern): a loss to which every element counts differently.
Tensor patterned_sum(const Tensor& y);

}  // namespace tenure::testing
