#include <dlpack/dlpack.h>

#include <cmath>
#include <memory>
#include <sstream>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::bytes_of;
using testing::Floats;
using testing::floats;
using testing::message_of;

TEST(HostReads, to_vector_reads_any_layout_row_major) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(transpose(x).to_vector<int>(), (std::vector<int>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(slice(x, {0, 1}, {2, 1}).to_vector<int>(), (std::vector<int>{2, 5}));
  EXPECT_EQ(broadcast_to(x[0], {2, 3}).to_vector<int>(), (std::vector<int>{1, 2, 3, 1, 2, 3}));
  EXPECT_TRUE(zeros({0, 3}).to_vector<float>().empty());
}

TEST(HostReads, every_dtype_reads_as_its_own_type) {
  EXPECT_EQ(tensor(std::vector<bool>{true, false}).to_vector<bool>(), (std::vector{true, false}));
  EXPECT_EQ(tensor({1.5}).dtype(), DType::float32);
  EXPECT_EQ(tensor(std::vector<double>{1.5}).to_vector<double>(), (std::vector{1.5}));
  EXPECT_EQ(tensor(std::vector<std::uint8_t>{200}).item<std::uint8_t>(), 200);
  EXPECT_EQ(tensor(std::vector<std::int8_t>{-3}).item<std::int8_t>(), -3);
  EXPECT_EQ(tensor(std::vector<std::int64_t>{1ll << 40}).item<std::int64_t>(), 1ll << 40);
  const Tensor half = cast(tensor({0.5f, 65504.f}), DType::float16);
  EXPECT_EQ(static_cast<float>(half.to_vector<Float16>()[1]), 65504.f);
  EXPECT_EQ(static_cast<float>(cast(tensor(1.5f), DType::bfloat16).item<BFloat16>()), 1.5f);
}

TEST(HostReads, the_wrong_type_says_what_to_do) {
  EXPECT_HAS(message_of<DtypeError>([] { ones({1}).to_vector<int>(); }),
             "to_vector: float32 elements read as int32: cast(x, DType::int32) first");
  EXPECT_HAS(message_of<ShapeError>([] { ones({2}).item<float>(); }),
             "item: 2 elements in [2], item reads exactly one");
}

TEST(HostReads, view_pins_and_copies_nothing) {
  Tensor x = tensor({1.f, 2.f, 3.f});
  auto span = x.view<float>();
  EXPECT_EQ(reinterpret_cast<const std::byte*>(span.data()), bytes_of(x));
  x.dispose();
  EXPECT_EQ(span[2], 3.f);
  auto moved = std::move(span);
  EXPECT_EQ(moved.size(), 3u);
  const auto strided = transpose(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2})).view<float>();
  EXPECT_EQ(Floats(strided.begin(), strided.end()), (Floats{1, 3, 2, 4}));
}

TEST(HostReads, read_async_holds_what_it_needs) {
  Job<Floats> job = [] {
    Tensor x = tensor({1.f, 2.f});
    Job<Floats> started = x.read_async<float>();
    x.dispose();
    return started;
  }();
  EXPECT_EQ(job.get(), (Floats{1, 2}));
  EXPECT_TRUE(job.ready());
  EXPECT_EQ(job.progress(), 1.0);
  EXPECT_THROW(job.get(), ValueError) << "the value was taken";
}

TEST(HostReads, reading_a_disposed_tensor_tells_its_life) {
  Tensor x = tensor({1.f});
  x.dispose();
  EXPECT_HAS(message_of<DisposedError>([&] { x.to_vector<float>(); }),
             "DisposedError: to_vector: the tensor was disposed: float32 [1]");
  EXPECT_THROW(x.item<float>(), DisposedError);
  EXPECT_THROW(x.view<float>(), DisposedError);
  EXPECT_THROW(x.read_async<float>(), DisposedError);
}

TEST(Creation, shapes_must_match_the_values) {
  EXPECT_HAS(message_of<ShapeError>([] { tensor({1.f, 2.f}, {3}); }),
             "tensor: 2 values do not fill [3]");
  EXPECT_HAS(message_of<DtypeError>([] { full({1}, 2.5, DType::int32); }),
             "full: 2.5 is not exactly a value of int32");
  EXPECT_THROW(arange(0, 10, 0), ValueError);
  EXPECT_EQ(arange(5).to_vector<int>(), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(arange(5, 0, -2).to_vector<int>(), (std::vector{5, 3, 1}));
  EXPECT_EQ(floats(linspace(0, 1, 5)), (Floats{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(floats(eye(2, 3)), (Floats{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(full({}, 3).item<int>(), 3);
}

TEST(OutsideMemory, from_buffer_copies_nothing_and_deletes_once) {
  auto buffer = std::make_unique<Floats>(Floats{1, 2, 3, 4});
  const float* data = buffer->data();
  int deleted = 0;
  {
    Tensor x = from_buffer(data, {2, 2}, [&] { ++deleted; });
    EXPECT_EQ(x.view<float>().data(), data);
    EXPECT_EQ(memory().external_bytes, 16u);
    Tensor row = x[1];
    const Tensor doubled = std::move(x) * 2.0;
    EXPECT_EQ(floats(doubled), (Floats{2, 4, 6, 8}));
    EXPECT_EQ(*buffer, (Floats{1, 2, 3, 4})) << "outside memory is never overwritten";
    EXPECT_EQ(deleted, 0) << "a view still holds it";
    EXPECT_EQ(floats(row), (Floats{3, 4}));
  }
  EXPECT_EQ(deleted, 1);
}

TEST(OutsideMemory, from_buffer_deletes_when_it_refuses) {
  int deleted = 0;
  EXPECT_THROW(from_buffer<float>(nullptr, {2}, [&] { ++deleted; }), ValueError);
  alignas(8) const std::byte bytes[16]{};
  EXPECT_THROW(from_buffer(bytes + 1, {2}, DType::float32, [&] { ++deleted; }), ValueError);
  EXPECT_EQ(deleted, 2);
}

TEST(OutsideMemory, a_deleter_that_throws_is_told_of) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  const float value = 1;
  const int line = testing::here().line() + 1;
  from_buffer(&value, {1}, [] { throw std::runtime_error("in use"); });
  EXPECT_THROW(from_buffer<float>(nullptr, {2}, [] { throw 1; }), ValueError);
  set_warning_sink({});
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0],
            "from_buffer at host_test.cpp:" + std::to_string(line) + ": the deleter threw: in use");
  EXPECT_HAS(warnings[1], "the deleter threw");
}

TEST(OutsideMemory, dlpack_out_pins_the_bytes) {
  Tensor x = tensor({1.f, 2.f, 3.f, 4.f}, {2, 2});
  DLManagedTensor* out = to_dlpack(slice(x, {1, 0}, {1, 2}));
  const auto* data = reinterpret_cast<const std::byte*>(out->dl_tensor.data);
  EXPECT_EQ(data, bytes_of(x));
  EXPECT_EQ(out->dl_tensor.byte_offset, 8u);
  EXPECT_EQ(out->dl_tensor.ndim, 2);
  x.dispose();
  EXPECT_EQ(memory().tensors, 0u);
  EXPECT_EQ(memory().live_bytes, 16u);
  EXPECT_EQ(reinterpret_cast<const float*>(data + 8)[1], 4.f);
  out->deleter(out);
  EXPECT_EQ(memory().live_bytes, 0u);
}

TEST(OutsideMemory, dlpack_round_trip_is_the_same_memory) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f}, {2, 2});
  const Tensor y = from_dlpack(to_dlpack(transpose(x)));
  EXPECT_EQ(bytes_of(y), bytes_of(x));
  EXPECT_EQ(floats(y), (Floats{1, 3, 2, 4}));
}

TEST(OutsideMemory, dlpack_in_calls_the_deleter_with_the_last_holder) {
  static int deleted;
  deleted = 0;
  static float data[2] = {5, 6};
  static std::int64_t shape[1] = {2};
  DLManagedTensor managed{};
  managed.dl_tensor = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  managed.deleter = [](DLManagedTensor*) { ++deleted; };
  {
    Tensor x = from_dlpack(&managed);
    EXPECT_EQ(x.view<float>().data(), data);
    x.dispose();
    EXPECT_EQ(deleted, 1) << "disposing the last tensor lets go";
  }
  managed.dl_tensor.device.device_type = kDLCUDA;
  EXPECT_THROW(from_dlpack(&managed), UnsupportedError);
  managed.dl_tensor.device.device_type = kDLCPU;
  managed.dl_tensor.dtype.bits = 7;
  EXPECT_THROW(from_dlpack(&managed), DtypeError);
  EXPECT_EQ(deleted, 3) << "a refused one is let go of too";
}

TEST(OutsideMemory, dlpack_in_that_cannot_be_is_refused) {
  static float data[4] = {5, 6, 7, 8};
  static std::int64_t shape[2] = {2, 2};
  static std::int64_t wide[2] = {std::int64_t{1} << 61, std::int64_t{1} << 61};
  const auto refused = [](void* at, int rank, std::int64_t* dims, std::int64_t* strides) {
    DLManagedTensor managed{};
    managed.dl_tensor = {at, {kDLCPU, 0}, rank, {kDLFloat, 32, 1}, dims, strides, 0};
    return message_of<ValueError>([&] { from_dlpack(&managed); });
  };
  EXPECT_HAS(refused(data, -1, shape, nullptr), "from_dlpack: -1 dimensions");
  EXPECT_HAS(refused(data, 2, nullptr, nullptr), "2 dimensions and no shape");
  EXPECT_HAS(refused(nullptr, 2, shape, nullptr), "a null pointer for [2, 2]");
  EXPECT_HAS(refused(data, 2, shape, wide), "reaches further than memory does");
}

TEST(Indexing, along_the_first_axis_from_both_ends) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_EQ(x[1].to_vector<int>(), (std::vector{3, 4}));
  EXPECT_EQ(x[-1].to_vector<int>(), (std::vector{5, 6}));
  EXPECT_EQ(x[2][1].item<int>(), 6);
  EXPECT_HAS(message_of<ShapeError>([&] { x[3]; }), "index: 3 out of range for [3, 2]");
  EXPECT_THROW(tensor(1.f)[0], ShapeError);
}

TEST(Views, errors_name_the_values) {
  const Tensor x = zeros({2, 3});
  EXPECT_HAS(message_of<ShapeError>([&] { reshape(x, {4}); }),
             "reshape: 6 elements do not fill [4]");
  EXPECT_THROW(reshape(x, {-1, -1}), ShapeError);
  EXPECT_THROW(reshape(x, {-1, 4}), ShapeError);
  EXPECT_EQ(reshape(x, {-1, 2}).shape(), (Shape{3, 2}));
  EXPECT_HAS(message_of<ShapeError>([&] { slice(x, {0, 2}, {2, 2}); }),
             "do not fit [2, 3] on axis 1");
  EXPECT_THROW(transpose(x, {0, 0}), ShapeError);
  EXPECT_THROW(transpose(x, {0}), ShapeError);
  EXPECT_THROW(broadcast_to(x, {3, 3}), ShapeError);
  EXPECT_THROW(broadcast_to(zeros({2}), {1}), ShapeError);
  EXPECT_THROW(squeeze(x, {0}), ShapeError);
  EXPECT_EQ(squeeze(zeros({1, 2, 1})).shape(), (Shape{2}));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{2, 3, 1}));
}

TEST(Views, reshape_shares_bytes_where_strides_allow) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const Tensor t = transpose(x, {0, 2, 1});
  EXPECT_EQ(bytes_of(reshape(x, {4, 2})), bytes_of(x));
  EXPECT_EQ(bytes_of(reshape(t, {2, 1, 2, 2})), bytes_of(x));
  const Tensor copied = reshape(t, {8});
  EXPECT_NE(bytes_of(copied), bytes_of(x));
  EXPECT_EQ(copied.to_vector<int>(), (std::vector{1, 3, 2, 4, 5, 7, 6, 8}));
  const Tensor every_other = slice(x, {0, 0, 0}, {2, 2, 1});
  EXPECT_EQ(bytes_of(reshape(every_other, {4})), bytes_of(x));
  EXPECT_EQ(reshape(every_other, {4}).to_vector<int>(), (std::vector{1, 3, 5, 7}));
}

TEST(Ranks, more_axes_than_fit_inline) {
  const Shape shape{1, 2, 1, 2, 1, 2, 1, 2};
  const Tensor x = reshape(arange(16), shape);
  const Tensor y = x + transpose(x);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(sum(x).item<int>(), 120);
  EXPECT_EQ(x.clone().shape(), shape);
}

std::string printed(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

TEST(Printing, looks_like_numpys) {
  EXPECT_EQ(printed(tensor({1.f, -2.5f})), "tensor([ 1. , -2.5], dtype=float32)");
  EXPECT_EQ(printed(tensor(3)), "tensor(3, dtype=int32)");
  EXPECT_EQ(printed(tensor({1, 20, 300, 4}, {2, 2})),
            "tensor([[  1,  20],\n        [300,   4]], dtype=int32)");
  EXPECT_EQ(printed(tensor(std::vector<bool>{true, false})), "tensor([ true, false], dtype=bool)");
  EXPECT_EQ(printed(zeros({0, 3})), "tensor([], shape=[0, 3], dtype=float32)");
  EXPECT_EQ(printed(Tensor()), "tensor(empty handle)");
  EXPECT_EQ(printed(tensor({NAN, INFINITY, -INFINITY})),
            "tensor([ nan,  inf, -inf], dtype=float32)");
  EXPECT_EQ(printed(tensor({1e-9f, 1.f})), "tensor([1.e-09, 1.e+00], dtype=float32)");
  EXPECT_EQ(printed(tensor({0.1f})), "tensor([0.1], dtype=float32)");
}

TEST(Printing, large_tensors_are_summarised) {
  const std::string text = printed(arange(2000));
  EXPECT_EQ(text, "tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=[2000], dtype=int32)");
  EXPECT_HAS(printed(zeros({100, 100})), "...,\n");
}

}  // namespace
}  // namespace tenure
