// What convolutions refuse, in exactly these words, where random trials do not pin it down.
#include <functional>

#include "array.h"

namespace tenure::testing {
namespace {

struct BadConvolution {
  const char* name;
  std::function<Tensor()> run;
  std::string text;
};
void PrintTo(const BadConvolution& refused, std::ostream* out) { *out << refused.name; }

const BadConvolution kBadConvolutions[] = {
    {"rank", [] { return conv2d(z({3, 3}), z({2, 2, 1, 1})); },
     "conv2d: the input needs 4 axes, or 3 without a batch: [3, 3]"},
    {"number", [] { return conv1d(1.0, z({2, 1, 1})); },
     "conv1d: the input needs 3 axes, or 2 without a batch: []"},
    {"channels", [] { return conv2d(z({1, 4, 4, 3}), z({2, 2, 4, 1})); },
     "conv2d: the input has 3 channels, the filter takes 4: [1, 4, 4, 3] and [2, 2, 4, 1]"},
    {"channels_first",
     [] { return conv2d(z({1, 4, 4, 3}), z({2, 2, 3, 1}), {.channels_first = true}); },
     "conv2d: the input has 4 channels, the filter takes 3: [1, 4, 4, 3] and [2, 2, 3, 1]"},
    {"groups", [] { return conv2d(z({4, 4, 4}), z({2, 2, 2, 3}), {.groups = 2}); },
     "conv2d: 2 groups do not divide the filter's 3 outputs: [2, 2, 2, 3]"},
    {"depthwise_groups",
     [] { return depthwise_conv2d(z({4, 4, 2}), z({2, 2, 2, 1}), {.groups = 2}); },
     "depthwise_conv2d: groups must be 1: 2"},
    {"padding", [] { return conv2d(z({4, 4, 1}), z({2, 2, 1, 1}), {.padding = -1}); },
     "conv2d: padding must be at least 0: [-1]"},
    {"padding_axes",
     [] { return conv3d(z({4, 4, 4, 1}), z({2, 2, 2, 1, 1}), {.padding = {{1, 1}, {1, 1}}}); },
     "conv3d: padding [1, 1] are for 2 axes, not 3"},
    {"rounding",
     [] {
       return conv2d(z({4, 4, 1}), z({2, 2, 1, 1}),
                     {.padding = Padding::same, .rounding = Rounding::up});
     },
     "conv2d: same padding leaves nothing to round"},
    {"empty_window", [] { return conv2d(z({4, 4, 1}), z({2, 0, 1, 1})); },
     "conv2d: the filter has an empty axis: [2, 0, 1, 1]"},
    {"window", [] { return conv1d(z({2, 4, 1}), z({3, 1, 1}), {.padding = 1, .dilations = {3}}); },
     "conv1d: a window of 7 does not fit into axis 0 of size 6: [2, 4, 1] and [3, 1, 1]"},
    {"transpose",
     [] {
       return conv2d_transpose(z({1, 2, 3, 3}), z({2, 2, 1, 3}), {1, 5, 4, 1}, {.strides = {2}});
     },
     "conv2d_transpose: a convolution of [1, 5, 4, 1] with [2, 2, 1, 3] gives [1, 2, 2, 3], not "
     "[1, 2, 3, 3]"},
};

struct RefusedConvolution : ::testing::TestWithParam<BadConvolution> {};

TEST_P(RefusedConvolution, says_what_is_wrong) {
  EXPECT_EQ(message_of<ShapeError>(GetParam().run), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Convolution, RefusedConvolution, ::testing::ValuesIn(kBadConvolutions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(FusedConvolution, prelu_and_its_weights_go_together) {
  const std::string text = "fused_conv2d: prelu and its weights go together";
  EXPECT_EQ(message_of<ValueError>([] {
              fused_conv2d(z({2, 2, 1}), z({1, 1, 1, 1}), {.activation = Activation::prelu});
            }),
            text);
  EXPECT_EQ(message_of<ValueError>(
                [] { fused_conv2d(z({2, 2, 1}), z({1, 1, 1, 1}), {.prelu_weights = z({1})}); }),
            text);
}

}  // namespace
}  // namespace tenure::testing
