// What moves elements: copies through strides, joins, cuts, indices, files and reads.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "large.h"

namespace tenure::testing {
namespace {

using LargeMoving = Large;

void expect_pattern(const Tensor& x, std::int64_t shift = 0) {
  for (const std::int64_t i : kPlaces) {
    if (i + shift < 0 || i + shift >= x.numel()) continue;
    EXPECT_EQ(item<std::int8_t>(x, i + shift), value_at(i)) << i;
  }
}

TEST_F(LargeMoving, tiling_repeats_past_int32) {
  NEEDS_GIB(3);
  expect_pattern(pattern());
}

TEST_F(LargeMoving, concat_and_split_meet_past_int32) {
  NEEDS_GIB(5);
  const Tensor x = pattern();
  const std::vector<Tensor> parts = split(x, {kPast / 2, kPast / 2 + 5, -1});
  EXPECT_EQ(item<std::int8_t>(parts[2], 0), value_at(kPast + 5));
  expect_pattern(concat(parts));
}

TEST_F(LargeMoving, a_strided_slice_reaches_the_end) {
  NEEDS_GIB(5);
  const Tensor x = pattern();
  const Tensor backwards = contiguous(reverse(x));
  for (const std::int64_t i : kPlaces) {
    EXPECT_EQ(item<std::int8_t>(backwards, kSize - 1 - i), value_at(i)) << i;
  }
  const Tensor third = contiguous(slice(x, {2}, {-1}, {3}));
  for (const std::int64_t i : kPlaces) {
    if (3 * i + 2 >= kSize) continue;
    EXPECT_EQ(item<std::int8_t>(third, i), value_at(3 * i + 2)) << i;
  }
}

TEST_F(LargeMoving, pad_adds_and_cuts) {
  NEEDS_GIB(5);
  Tensor x = pad(pattern(), {{3, 2}}, 9);
  EXPECT_EQ(item<std::int8_t>(x, 2), 9);
  EXPECT_EQ(item<std::int8_t>(x, kSize + 3), 9);
  expect_pattern(x, 3);
  x = pad(std::move(x), {{-5, 0}});
  expect_pattern(x, -2);
}

TEST_F(LargeMoving, roll_comes_in_again_at_the_other_end) {
  NEEDS_GIB(5);
  const Tensor x = roll(pattern(), 10);
  for (const std::int64_t i : kPlaces) {
    EXPECT_EQ(item<std::int8_t>(x, (i + 10) % kSize), value_at(i)) << i;
  }
}

TEST_F(LargeMoving, a_transposed_matrix_is_copied) {
  NEEDS_GIB(5);
  const Tensor x = reshape(pattern(), {kPeriod, kRepeats});
  const Tensor y = reshape(contiguous(transpose(x)), {kSize});
  for (const std::int64_t i : kPlaces) {
    const std::int64_t row = i / kRepeats, column = i % kRepeats;
    EXPECT_EQ(item<std::int8_t>(y, column * kPeriod + row), value_at(i)) << i;
  }
}

TEST_F(LargeMoving, indices_past_int32_gather_and_scatter) {
  NEEDS_GIB(3);
  Tensor x = pattern();
  const std::vector<std::int64_t> at{kSize - 1, 0, kPast + 1, kPast - 1};
  std::vector<std::int8_t> expected;
  for (const std::int64_t i : at) expected.push_back(value_at(i));
  EXPECT_EQ(gather(x, tensor(at)).to_vector<std::int8_t>(), expected);
  EXPECT_EQ(gather_nd(x, tensor(at, {4, 1})).to_vector<std::int8_t>(), expected);
  x = tensor_scatter_add(std::move(x), tensor(at, {4, 1}), ones({4}, DType::int8));
  for (std::int8_t& value : expected) value = static_cast<std::int8_t>(value + 1);
  EXPECT_EQ(gather(x, tensor(at)).to_vector<std::int8_t>(), expected);
  EXPECT_EQ(item<std::int8_t>(x, kPast), value_at(kPast));
  x = Tensor();
  const Tensor y = scatter_nd(tensor(at, {4, 1}), cast(tensor({1, 2, 3, 4}), DType::int8), {kSize});
  EXPECT_EQ(gather(y, tensor(at)).to_vector<std::int8_t>(), (std::vector<std::int8_t>{1, 2, 3, 4}));
  EXPECT_EQ(item<std::int8_t>(y, kPast), 0);
}

TEST_F(LargeMoving, small_inputs_make_large_results) {
  NEEDS_GIB(3);
  {
    const Tensor x = reshape(eye(kSide, kSide, DType::int8), {-1});
    EXPECT_EQ(item<std::int8_t>(x, x.numel() - 1), 1);
    EXPECT_EQ(item<std::int8_t>(x, x.numel() - 2), 0);
    EXPECT_EQ(item<std::int8_t>(x, (kSide - 2) * (kSide + 1)), 1);
  }
  {
    const Tensor x = one_hot(arange(kSide), kSide, {.dtype = DType::int8});
    EXPECT_EQ(x[kSide - 1][kSide - 1].item<std::int8_t>(), 1);
    EXPECT_EQ(x[kSide - 1][kSide - 2].item<std::int8_t>(), 0);
  }
  const Tensor small = cast(tensor({1, 2, 3, 4}, {1, 2, 2, 1}), DType::int8);
  const Tensor x = reshape(image::resize_nearest(small, {kSide, kSide}), {kSide, kSide});
  EXPECT_EQ(x[0][0].item<std::int8_t>(), 1);
  EXPECT_EQ(x[kSide - 1][0].item<std::int8_t>(), 3);
  EXPECT_EQ(x[kSide - 1][kSide - 1].item<std::int8_t>(), 4);
}

TEST_F(LargeMoving, the_host_reads_every_element) {
  NEEDS_GIB(5);
  const Tensor x = pattern();
  {
    const std::vector<std::int8_t> values = x.to_vector<std::int8_t>();
    ASSERT_EQ(values.size(), static_cast<std::size_t>(kSize));
    for (const std::int64_t i : kPlaces) {
      EXPECT_EQ(values[static_cast<std::size_t>(i)], value_at(i)) << i;
    }
  }
  const auto seen = x.view<std::int8_t>();
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kSize));
  for (const std::int64_t i : kPlaces) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], value_at(i)) << i;
  }
  EXPECT_EQ(to_string(x), fmt::format("tensor([-125, -124, -123, ...,  123,  124,  125], "
                                      "shape=[{}], dtype=int8)",
                                      kSize));
}

TEST_F(LargeMoving, files_hold_every_element) {
  NEEDS_GIB(7);  // the file's pages among them
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("tenure-large-{}", getpid());
  fs::create_directories(folder);
  if (fs::space(folder).available < std::uintmax_t{5 * kGiB}) {
    fs::remove_all(folder);
    GTEST_SKIP() << "needs 5 GiB of disk";
  }
  const fs::path npy = folder / "x.npy", safetensors = folder / "x.safetensors";
  {
    const Tensor x = pattern();
    io::save_npy(npy, x);
    io::save_safetensors(safetensors, {{"small", tensor({1.F})}, {"x", x}});
  }
  expect_pattern(io::map_npy(npy));
  expect_pattern(io::load_npy(npy));
  fs::remove(npy);
  expect_pattern(io::load_safetensors(safetensors)["x"]);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tenure::testing
