// Images and boxes where random values do not lead: examples that can be checked by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "array.h"

namespace tenure::testing {
namespace {

using Integers = std::vector<std::int32_t>;

Tensor picture() { return reshape(arange(1.0, 10.0), {1, 3, 3, 1}); }

TEST(Image, the_whole_image_cropped_to_its_own_size_is_the_image) {
  for (const auto method : {image::Interpolation::bilinear, image::Interpolation::nearest}) {
    const Tensor y = image::crop_and_resize(picture(), tensor({0.F, 0.F, 1.F, 1.F}, {1, 4}),
                                            tensor({0}), {3, 3}, {.method = method});
    EXPECT_EQ(y.to_vector<float>(), picture().to_vector<float>());
  }
}

TEST(Image, a_box_from_1_to_0_is_the_image_turned_around) {
  const Tensor y =
      image::crop_and_resize(picture(), tensor({1.F, 1.F, 0.F, 0.F}, {1, 4}), tensor({0}), {3, 3});
  EXPECT_EQ(y.to_vector<float>(), (Floats{9, 8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(Image, what_a_box_has_outside_is_extrapolated) {
  const Tensor y = image::crop_and_resize(picture(), tensor({0.F, -0.5F, 0.F, 1.5F}, {1, 4}),
                                          tensor({0}), {1, 5}, {.extrapolation_value = -7});
  EXPECT_EQ(y.to_vector<float>(), (Floats{-7, 1, 2, 3, -7}));
}

TEST(Image, boxes_must_be_of_images_there_are) {
  const Tensor boxes = zeros({2, 4});
  EXPECT_EQ(message_of<ValueError>(
                [&] { image::crop_and_resize(picture(), boxes, tensor({0, 1}), {2, 2}); }),
            "crop_and_resize: box index 1 at position 1 is out of range for 1 images");
  EXPECT_EQ(message_of<DtypeError>(
                [&] { image::crop_and_resize(picture(), boxes, tensor({0.F, 0.F}), {2, 2}); }),
            "crop_and_resize: box_indices must be integers, not float32");
}

TEST(Image, half_pixel_centers_keep_the_mean_of_a_doubled_image) {
  const Tensor x = tensor({1.F, 3.F}, {1, 2, 1});
  const Tensor y = image::resize_bilinear(x, {1, 4}, {.half_pixel_centers = true});
  EXPECT_EQ(y.to_vector<float>(), (Floats{1, 1.5F, 2.5F, 3}));
  EXPECT_EQ(image::resize_bilinear(x, {1, 3}, {.align_corners = true}).to_vector<float>(),
            (Floats{1, 2, 3}));
}

TEST(Image, a_quarter_turn_goes_counterclockwise) {
  const Tensor y = image::rotate_with_offset(picture(), std::numbers::pi / 2,
                                             {.center_x = 1.0 / 3, .center_y = 1.0 / 3});
  EXPECT_EQ(y.to_vector<float>(), (Floats{3, 6, 9, 2, 5, 8, 1, 4, 7}));
}

// Where the image stays in place every sample lies on a pixel: the slope is that towards the next,
// and at the last, beyond which nothing changes, 0.
TEST(Image, an_image_in_place_has_slopes_to_the_transforms_that_no_fill_value_enters) {
  const Tensor same = tensor({1.F, 0.F, 0.F, 0.F, 1.F, 0.F, 0.F, 0.F}, {1, 8});
  for (const auto mode :
       {image::FillMode::nearest, image::FillMode::reflect, image::FillMode::wrap}) {
    GradientTape tape;
    tape.watch(same);
    const Tensor y = image::transform(
        picture(), same,
        {.interpolation = image::Interpolation::bilinear, .fill_mode = mode, .fill_value = 1000});
    EXPECT_EQ(tape.gradient(y, same).to_vector<float>(), (Floats{3, 6, 6, 18, 9, 18, -12, -12}));
  }
}

TEST(Image, a_transform_to_the_nearest_pixel_has_no_slopes_to_the_transforms) {
  const Tensor same = tensor({1.F, 0.F, 0.F, 0.F, 1.F, 0.F, 0.F, 0.F}, {1, 8});
  GradientTape tape;
  tape.watch(same);
  EXPECT_FALSE(tape.gradient(image::transform(picture(), same), same).defined());
}

TEST(Image, pixels_that_come_from_nowhere_have_no_slopes) {
  const Tensor flat =
      tensor({1.F, 0.F, 0.5F, 0.F, 1.F, 0.5F, -1.F, 0.F}, {1, 8});  // k is 0 at x = 1
  GradientTape outer;
  outer.watch(flat);
  GradientTape tape;
  tape.watch(flat);
  const Tensor y =
      image::transform(picture(), flat, {.interpolation = image::Interpolation::bilinear});
  const Tensor slopes = tape.gradient(y, flat);
  for (const float slope : slopes.to_vector<float>()) EXPECT_TRUE(std::isfinite(slope));
  for (const float slope : outer.gradient(slopes, flat).to_vector<float>()) {
    EXPECT_TRUE(std::isfinite(slope));
  }
}

TEST(Image, places_at_infinity_are_filled) {
  const Tensor transforms = tensor({1.F, 0.F, 0.F, 0.F, 1.F, 0.F, -1.F, 0.F}, {1, 8});
  for (const auto how : {image::Interpolation::bilinear, image::Interpolation::nearest}) {
    const Tensor y = image::transform(
        picture(), transforms, {.interpolation = how, .fill_value = 5, .output_size = {1, 2}});
    EXPECT_EQ(y.to_vector<float>(), (Floats{1, 5}));
  }
}

TEST(Image, the_identity_transform_changes_nothing) {
  const Tensor transforms = tensor({1.F, 0.F, 0.F, 0.F, 1.F, 0.F, 0.F, 0.F}, {1, 8});
  for (const auto mode : {image::FillMode::constant, image::FillMode::reflect,
                          image::FillMode::wrap, image::FillMode::nearest}) {
    const Tensor y =
        image::transform(picture(), transforms,
                         {.interpolation = image::Interpolation::bilinear, .fill_mode = mode});
    EXPECT_EQ(y.to_vector<float>(), picture().to_vector<float>());
  }
}

TEST(Image, grayscale_of_integers_stays_integer) {
  const Tensor rgb = tensor(std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0}, {1, 2, 3});
  EXPECT_EQ(image::rgb_to_grayscale(rgb).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{76, 149}));
}

TEST(Image, otsu_separates_two_groups) {
  const Tensor x = tensor({10.F, 12.F, 11.F, 200.F, 210.F, 205.F}, {2, 3, 1});
  EXPECT_EQ(image::threshold(x, {.method = image::ThresholdMethod::otsu}).to_vector<std::int32_t>(),
            (Integers{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(image::threshold(x, {.inverted = true, .threshold = 0.8}).to_vector<std::int32_t>(),
            (Integers{255, 255, 255, 255, 0, 0}));
}

struct Boxes : ::testing::Test {
  const Tensor boxes =
      tensor({0.F, 0.F,  1.F, 1.F,  0.F, 0.1F,  1.F, 1.1F,  0.F, -0.1F, 1.F, 0.9F,
              0.F, 10.F, 1.F, 11.F, 0.F, 10.1F, 1.F, 11.1F, 0.F, 100.F, 1.F, 101.F},
             {6, 4});
  const Tensor scores = tensor({0.9F, 0.75F, 0.6F, 0.95F, 0.5F, 0.3F});
};

TEST_F(Boxes, three_clusters_leave_three_boxes) {
  EXPECT_EQ(image::non_max_suppression(boxes, scores, 3).to_vector<std::int32_t>(),
            (Integers{3, 0, 5}));
  EXPECT_EQ(image::non_max_suppression(boxes, scores, 3, {.score_threshold = 0.4})
                .to_vector<std::int32_t>(),
            (Integers{3, 0}));
}

TEST_F(Boxes, of_equal_scores_the_first_box_wins) {
  const Tensor same = ones({6});
  EXPECT_EQ(image::non_max_suppression(boxes, same, 6).to_vector<std::int32_t>(),
            (Integers{0, 3, 5}));
}

TEST_F(Boxes, scores_that_are_nan_are_never_chosen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor some = tensor({nan, 0.5F, nan, nan, nan, 0.2F});
  EXPECT_EQ(image::non_max_suppression(boxes, some, 6).to_vector<std::int32_t>(), (Integers{1, 5}));
}

TEST_F(Boxes, soft_suppression_lowers_scores_and_changes_the_order) {
  const auto [indices, values] = image::non_max_suppression_with_score(
      boxes, scores, 6, {.iou_threshold = 1, .score_threshold = 0, .soft_nms_sigma = 0.5});
  EXPECT_EQ(indices.to_vector<std::int32_t>(), (Integers{3, 0, 1, 5, 4, 2}));
  const Floats expected{0.95F, 0.9F, 0.384F, 0.3F, 0.256F, 0.197F};
  const Floats got = values.to_vector<float>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-3);
}

TEST_F(Boxes, scores_kept_have_slope_1_and_those_suppressed_0) {
  GradientTape tape;
  tape.watch(scores);
  const Tensor kept = image::non_max_suppression_with_score(boxes, scores, 6).selected_scores;
  EXPECT_EQ(tape.gradient(kept, scores).to_vector<float>(), (Floats{1, 0, 0, 1, 0, 1}));
}

TEST_F(Boxes, padding_is_zeros_and_the_count_tells_it_apart) {
  const auto [indices, count] =
      image::non_max_suppression_padded(boxes, scores, 5, {.pad_to_max_output_size = true});
  EXPECT_EQ(indices.to_vector<std::int32_t>(), (Integers{3, 0, 5, 0, 0}));
  EXPECT_EQ(count.item<std::int32_t>(), 3);
}

}  // namespace
}  // namespace tenure::testing
