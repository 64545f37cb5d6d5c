#include "tenure/nn/augmentation_layers.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/config.h"
#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

// 1, 2, 3, ...
Tensor counted(const Shape& shape) {
  return reshape(arange(1, shape.numel() + 1, 1, DType::float32), shape);
}

std::vector<nn::Layer> all_layers(std::optional<std::int64_t> seed = {}) {
  return {nn::RandomFlip({.seed = seed}),
          nn::RandomRotation({.factor = 0.2, .seed = seed}),
          nn::RandomZoom({.height_factor = {-0.3, 0.3}, .width_factor = 0.2, .seed = seed}),
          nn::RandomTranslation({.height_factor = 0.3, .width_factor = 0.3, .seed = seed}),
          nn::RandomContrast({.factor = 0.5, .seed = seed}),
          nn::RandomBrightness({.factor = 0.1, .seed = seed})};
}

TEST(AugmentationLayers, only_training_changes_anything) {
  const Tensor x = counted({2, 4, 5, 3});
  for (const nn::Layer& layer : all_layers()) {
    SCOPED_TRACE(layer.class_name());
    EXPECT_EQ(floats(layer(x)), floats(x));
    EXPECT_NE(layer(x).id(), x.id());
    EXPECT_NE(floats(layer(x, kTraining)), floats(x));
    EXPECT_EQ(layer(cast(x, DType::uint8)).dtype(), DType::float32);
    EXPECT_EQ(layer(x[0], kTraining).shape(), (Shape{4, 5, 3}));
    EXPECT_EQ(layer(nn::Input({.shape = {4, 5, 3}})).shape(), (Shape{nn::kAny, 4, 5, 3}));
    check_config(layer, {x});
    check_trace(layer, {x});
    check_spec(layer, {x});
  }
}

TEST(AugmentationLayers, a_seed_begins_a_sequence_that_goes_on_eager_or_traced) {
  const Tensor x = counted({2, 6, 6, 1});
  const std::vector<nn::Layer> eager = all_layers(3), traced = all_layers(3);
  for (std::size_t i = 0; i < eager.size(); ++i) {
    SCOPED_TRACE(eager[i].class_name());
    const Function f = function("f", [&](Tensor t) { return traced[i](t, kTraining); });
    std::set<Floats> seen;
    for (int call = 0; call < 6; ++call) {
      const Floats y = floats(eager[i](x, kTraining));
      expect_near(f(x), grid_of(tensor(y, x.shape())), 1e-5);
      seen.insert(y);
    }
    EXPECT_GT(seen.size(), 2u);
  }
}

TEST(AugmentationLayers, each_image_is_varied_by_itself) {
  const Tensor x = broadcast_to(counted({1, 6, 6, 1}), {32, 6, 6, 1});
  for (const nn::Layer& layer : all_layers(8)) {
    SCOPED_TRACE(layer.class_name());
    const Tensor y = layer(x, kTraining);
    std::set<Floats> seen;
    for (int i = 0; i < 32; ++i) seen.insert(floats(y[i]));
    EXPECT_GT(seen.size(), 2u);
  }
}

TEST(AugmentationLayers, flips_mirror_whole_images) {
  const Tensor x = counted({1, 2, 3, 1});
  const Floats same{1, 2, 3, 4, 5, 6}, across{3, 2, 1, 6, 5, 4}, down{4, 5, 6, 1, 2, 3},
      both{6, 5, 4, 3, 2, 1};
  const auto seen = [&](const char* mode) {
    const nn::RandomFlip layer({.mode = mode, .seed = 1});
    std::set<Floats> all;
    for (int call = 0; call < 40; ++call) all.insert(floats(layer(x, kTraining)));
    return all;
  };
  EXPECT_EQ(seen("horizontal"), (std::set<Floats>{same, across}));
  EXPECT_EQ(seen("vertical"), (std::set<Floats>{same, down}));
  EXPECT_EQ(seen("horizontal_and_vertical"), (std::set<Floats>{same, across, down, both}));
}

// A factor from a to a leaves nothing to chance.

TEST(AugmentationLayers, a_quarter_turn_is_counterclockwise) {
  const Tensor x = counted({1, 3, 3, 1});
  const nn::RandomRotation turn({.factor = {0.25, 0.25}});
  expect_near(turn(x, kTraining), grid_of(tensor({3, 6, 9, 2, 5, 8, 1, 4, 7}, {1, 3, 3, 1})), 1e-5);
  const nn::RandomRotation nearest(
      {.factor = {-0.25, -0.25}, .fill_mode = "constant", .interpolation = "nearest"});
  EXPECT_EQ(floats(nearest(x, kTraining)), (Floats{7, 4, 1, 8, 5, 2, 9, 6, 3}));
}

TEST(AugmentationLayers, an_eighth_turn_samples_by_the_rotation_matrix) {
  const int size = 5;
  Grid x = numbers({1, size, size, 1});
  const nn::RandomRotation turn(
      {.factor = {0.125, 0.125}, .fill_mode = "constant", .fill_value = 7, .dtype = kDouble});
  Grid want(x.shape);
  const double c = std::sqrt(0.5), middle = (size - 1) / 2.0;
  const auto at = [&](int row, int column) {
    const bool inside = row >= 0 && row < size && column >= 0 && column < size;
    return inside ? x(0, row, column, 0) : 7;
  };
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const double dx = column - middle, dy = row - middle;
      const double from_x = middle + c * dx - c * dy, from_y = middle + c * dx + c * dy;
      const int left = static_cast<int>(std::floor(from_x));
      const int top = static_cast<int>(std::floor(from_y));
      const double u = from_x - left, v = from_y - top;
      want(0, row, column, 0) = (1 - v) * ((1 - u) * at(top, left) + u * at(top, left + 1)) +
                                v * ((1 - u) * at(top + 1, left) + u * at(top + 1, left + 1));
    }
  }
  expect_near(turn(x.tensor(), kTraining), want, 1e-6);
}

TEST(AugmentationLayers, translations_shift_down_and_right_and_fill_what_comes_in) {
  const Tensor x = counted({1, 1, 4, 1});
  const auto shifted = [&](const char* fill) {
    return floats(nn::RandomTranslation(
        {.height_factor = 0, .width_factor = {0.5, 0.5}, .fill_mode = fill, .fill_value = 9})(
        x, kTraining));
  };
  EXPECT_EQ(shifted("constant"), (Floats{9, 9, 1, 2}));
  EXPECT_EQ(shifted("reflect"), (Floats{2, 1, 1, 2}));
  EXPECT_EQ(shifted("wrap"), (Floats{3, 4, 1, 2}));
  EXPECT_EQ(shifted("nearest"), (Floats{1, 1, 1, 2}));
  const nn::RandomTranslation up(
      {.height_factor = {-0.5, -0.5}, .width_factor = 0, .fill_mode = "constant"});
  EXPECT_EQ(floats(up(counted({1, 4, 1, 1}), kTraining)), (Floats{3, 4, 0, 0}));
}

TEST(AugmentationLayers, zooms_out_above_0_and_in_below) {
  const Tensor x = counted({1, 1, 5, 1});
  const auto zoomed = [&](double by) {
    return floats(nn::RandomZoom(
        {.height_factor = 0, .width_factor = nn::Factor(by, by), .fill_mode = "constant"})(
        x, kTraining));
  };
  EXPECT_EQ(zoomed(1), (Floats{0, 1, 3, 5, 0}));           // at -1, 1, 3, 5, 7 of 1 to 5
  EXPECT_EQ(zoomed(-0.5), (Floats{2, 2.5f, 3, 3.5f, 4}));  // at 1, 1.5, 2, 2.5, 3
  // Without a width_factor the aspect ratio stays.
  const nn::RandomZoom both({.height_factor = {1, 1}, .fill_mode = "constant"});
  EXPECT_EQ(floats(both(ones({1, 3, 3, 1}), kTraining)), (Floats{0, 0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(AugmentationLayers, channels_may_come_first) {
  const Tensor x = counted({2, 4, 5, 3}), first = transpose(x, {0, 3, 1, 2});
  const nn::RandomTranslation last({.height_factor = 0.4, .width_factor = 0.4, .seed = 2});
  const nn::RandomTranslation other(
      {.height_factor = 0.4, .width_factor = 0.4, .seed = 2, .data_format = "channels_first"});
  expect_near(other(first, kTraining), grid_of(transpose(last(x, kTraining), {0, 3, 1, 2})), 1e-6);
}

TEST(AugmentationLayers, crops_are_parts_and_the_same_of_a_whole_batch) {
  const Tensor x = counted({1, 3, 4, 1}), two = concat({x, x}, 0);
  const nn::RandomCrop crop({.height = 2, .width = 2, .seed = 4});
  std::set<Floats> seen;
  for (int call = 0; call < 60; ++call) {
    const Tensor y = crop(two, kTraining);
    EXPECT_EQ(y.shape(), (Shape{2, 2, 2, 1}));
    EXPECT_EQ(floats(y[0]), floats(y[1]));
    seen.insert(floats(y[0]));
  }
  std::set<Floats> want;
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 3; ++column) {
      const auto first = static_cast<float>(1 + 4 * row + column);
      want.insert({first, first + 1, first + 4, first + 5});
    }
  }
  EXPECT_EQ(seen, want);
  // Otherwise the middle of that aspect ratio: columns 0 to 2 of 4, of 3 rows.
  EXPECT_EQ(crop(x).shape(), (Shape{1, 2, 2, 1}));
  const nn::RandomCrop whole({.height = 3, .width = 2});
  EXPECT_EQ(floats(whole(x)), (Floats{2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(nn::RandomCrop({.height = 8, .width = 8})(x, kTraining).shape(), (Shape{1, 8, 8, 1}));
  EXPECT_EQ(crop(nn::Input({.shape = {9, 9, 3}})).shape(), (Shape{nn::kAny, 2, 2, 3}));
  check_config(crop, {x});
  check_trace(crop, {x});
}

TEST(AugmentationLayers, contrast_goes_from_the_mean_of_each_channel_and_stays_in_range) {
  const Tensor x = tensor({10.f, 100.f, 20.f, 250.f}, {1, 2, 1, 2});
  const nn::RandomContrast more({.factor = {0, 1}, .seed = 1});
  const Floats y = floats(more(x, kTraining));  // means 15 and 175
  const float by = (y[0] - 15) / -5;
  EXPECT_GE(by, 1.f);
  EXPECT_LE(by, 2.f);
  EXPECT_NEAR(y[2], 15 + 5 * by, 1e-3);
  EXPECT_NEAR(y[1], 175 - 75 * by, 1e-3);
  EXPECT_NEAR(y[3], std::min(255.f, 175 + 75 * by), 1e-3);
}

TEST(AugmentationLayers, brightness_moves_a_whole_image_by_a_part_of_the_range) {
  const Tensor x = tensor({0.1f, 0.2f, 0.9f}, {1, 1, 3, 1});
  const nn::RandomBrightness more({.factor = {0.2, 0.2}, .value_range = {0, 1}});
  expect_near(more(x, kTraining), grid_of(tensor({0.3f, 0.4f, 1.f}, {1, 1, 3, 1})), 1e-6);
}

TEST(AugmentationLayers, gradients_go_through) {
  const nn::RandomRotation turn({.factor = {0.1, 0.1}, .dtype = kDouble});
  check_layer(turn, {numbers({1, 3, 3, 2}).tensor()}, kTraining);
}

TEST(AugmentationLayers, what_keras_wrote_is_read) {
  const auto read = [](const char* name, const char* config) {
    return nn::detail::layer_from_json(name, nn::detail::Json::parse(config)).config();
  };
  EXPECT_HAS(read("RandomRotation", R"({"factor": [-0.1, 0.2], "fill_mode": "wrap"})"),
             R"("factor":[-0.1,0.2],"fill_mode":"wrap")");
  EXPECT_HAS(read("RandomRotation", R"({"factor": 0.1})"), R"("factor":[0.1])");
  EXPECT_HAS(read("RandomContrast", R"({"factor": 0.1, "value_range": [0, 1]})"),
             R"("value_range":[0.0,1.0])");
  EXPECT_HAS(read("RandomZoom", R"({"height_factor": 0.1, "width_factor": null})"),
             R"("width_factor":null)");
}

TEST(AugmentationLayers, what_cannot_be_is_refused) {
  EXPECT_HAS(message_of<ValueError>([] { nn::RandomFlip({.mode = "sideways"}); }),
             "RandomFlip: no such mode: \"sideways\"");
  EXPECT_HAS(message_of<ValueError>([] { nn::RandomRotation({.factor = 2}); }),
             "RandomRotation: factor must be between -1 and 1: -2");
  EXPECT_HAS(message_of<ValueError>([] { nn::RandomRotation({.factor = {0.5, 0.1}}); }),
             "RandomRotation: factor must be a range: 0.5, 0.1");
  EXPECT_HAS(message_of<ValueError>(
                 [] { nn::RandomTranslation({.height_factor = 0.1, .fill_mode = "mirror"}); }),
             "no such fill_mode: \"mirror\"");
  EXPECT_HAS(message_of<ValueError>([] { nn::RandomZoom({.interpolation = "cubic"}); }),
             "RandomZoom: no such interpolation: \"cubic\"");
  EXPECT_HAS(message_of<ValueError>([] { nn::RandomCrop({.height = 0, .width = 2}); }),
             "RandomCrop: height and width must be positive: 0, 2");
  EXPECT_HAS(message_of<ValueError>([] { nn::RandomContrast({.factor = 2}); }),
             "RandomContrast: factor must be between 0 and 1: 2");
  EXPECT_HAS(message_of<ValueError>([] { nn::RandomBrightness({.value_range = {1, 0}}); }),
             "value_range must be from a number to a larger one: 1, 0");
  EXPECT_HAS(message_of<ShapeError>([] { nn::RandomFlip({.name = "f"})(ones({2, 3})); }),
             "RandomFlip \"f\": takes images of rank 3 or 4, was given [2, 3]");
}

}  // namespace
}  // namespace tenure::testing
