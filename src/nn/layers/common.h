// What several families of layers share. A layer that has nothing to do gives a clone of its input:
// disposing the one must not end the other.
#pragma once

#include <string>
#include <utility>

#include "core/raise.h"
#include "nn/bounds.h"
#include "nn/layers/rows.h"
#include "tenure/views.h"
#include "tenure/window.h"

// A handle's constructor, and its row among the layers that names and files find.
#define TENURE_DEFINE_LAYER(Name, Options, Base)                             \
  Name::Name(Options options, std::source_location site)                     \
      : Layer(detail::make_base<detail::Base>(site, std::move(options))) {}  \
  template <>                                                                \
  struct detail::RowOf<Name> {                                               \
    static constexpr LayerRow row{#Name, detail::make_layer<Name, Options>}; \
  };

// The settings of a weight: those that begin with its name.
#define TENURE_WEIGHT_OPTIONS(options, weight)                                                    \
  WeightOptions {                                                                                 \
    .initializer = (options).weight##_initializer, .regularizer = (options).weight##_regularizer, \
    .constraint = (options).weight##_constraint, .dtype = (options).dtype                         \
  }

namespace tenure::nn::detail {

template <class Handle>
struct RowOf;

template <class... Handles>
std::span<const LayerRow> rows_of() {
  static constexpr LayerRow rows[] = {RowOf<Handles>::row...};
  return rows;
}

// One number for each of `axes` axes, from one for all or one for each.
Shape per_axis(const char* layer, const char* what, const Shape& numbers, int axes,
               std::int64_t least = 1);
Paddings margins_per_axis(const char* layer, const char* what, const Margins& margins, int axes);
bool is_channels_first(const char* layer, const std::string& data_format);
// "valid" or "same"; "causal" is the caller's.
Padding padding_named(const char* layer, const std::string& padding);

void check_rank(const Shape& input, int rank);
void check_rank_from(const Shape& input, int least);
// From 0; an axis that the input lacks is a ShapeError.
int axis_of(const Shape& input, std::int64_t axis);

// Numbers of rows or classes, which may come as floats: NaN is none of them.
Tensor as_indices(const Tensor& x);
// Of an error about an index that gather found out of range: names the layer, and the option that
// says how many there are.
void name_index(Error& error, const LayerBase& layer, const char* option, std::int64_t count);

// Scores of which softmax makes 0 where the mask, which may be an empty handle, is false.
Tensor masked(Tensor scores, const Tensor& mask);

// What a regularizer makes of an output, per example: as in Keras, of every output of a layer.
void add_activity_loss(const Call& call, const Regularizer& regularizer, const Tensor& y,
                       int batch_axis = 0);

}  // namespace tenure::nn::detail
