// Layers called on places in a model: the shapes of what they will give.
#include "nn/layers/checks.h"
#include "tenure/nn/attention_layers.h"
#include "tenure/nn/conv_layers.h"
#include "tenure/nn/merge_layers.h"
#include "tenure/nn/normalization_layers.h"
#include "tenure/nn/pooling_layers.h"
#include "tenure/nn/reshaping_layers.h"

namespace tenure::testing {
namespace {

constexpr std::int64_t kAny = nn::kAny;

TEST(LayerNodes, sizes_that_vary_stay_open_and_others_are_known) {
  const nn::Node steps = nn::Input({.shape = {kAny, 6}});
  const auto conv = [](const char* padding) {
    return nn::Conv1D({.filters = 4, .kernel_size = {3}, .padding = padding});
  };
  EXPECT_EQ(conv("causal")(steps).shape(), (Shape{kAny, kAny, 4}));
  EXPECT_EQ(conv("valid")(steps).shape(), (Shape{kAny, kAny, 4}));
  EXPECT_EQ(nn::MaxPooling1D()(steps).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::GlobalAveragePooling1D()(steps).shape(), (Shape{kAny, 6}));
  EXPECT_EQ(nn::UpSampling1D()(steps).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::ZeroPadding1D()(steps).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::Cropping1D()(steps).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::LayerNormalization()(steps).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::BatchNormalization()(steps).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::Flatten()(steps).shape(), (Shape{kAny, kAny}));
  EXPECT_EQ(nn::Permute({.dims = {2, 1}})(steps).shape(), (Shape{kAny, 6, kAny}));
  const nn::MultiHeadAttention attention({.num_heads = 2, .key_dim = 3, .use_causal_mask = true});
  EXPECT_EQ(attention({steps, steps}).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::Add()({steps, steps}).shape(), (Shape{kAny, kAny, 6}));
  EXPECT_EQ(nn::Concatenate()({steps, conv("same")(steps)}).shape(), (Shape{kAny, kAny, 10}));
  EXPECT_EQ(nn::Dot({.axes = {2}})({steps, steps}).shape(), (Shape{kAny, kAny, kAny}));

  const nn::Node image = nn::Input({.shape = {8, kAny, 3}});
  EXPECT_EQ(nn::Conv2D({.filters = 4, .kernel_size = {3}, .strides = {2}})(image).shape(),
            (Shape{kAny, 3, kAny, 4}));
  EXPECT_EQ(nn::Conv2DTranspose({.filters = 4, .kernel_size = {3}, .strides = {2}})(image).shape(),
            (Shape{kAny, 17, kAny, 4}));
  EXPECT_EQ(nn::UpSampling2D()(image).shape(), (Shape{kAny, 16, kAny, 3}));
}

TEST(LayerNodes, what_does_not_fit_is_refused_where_the_model_is_built) {
  const nn::Node flat = nn::Input({.shape = {6}});
  EXPECT_HAS(message_of<ShapeError>(
                 [&] { nn::Conv2D({.filters = 4, .kernel_size = {3}, .name = "c"})(flat); }),
             "Conv2D \"c\": takes inputs of rank 4");
  EXPECT_THROW(nn::Dense({.units = 2})(nn::Input({.shape = {kAny}})), ShapeError);
  EXPECT_THROW(nn::Reshape({.target_shape = {4}})(flat), ShapeError);
}

}  // namespace
}  // namespace tenure::testing
