// Fourier transforms: rows take and give parts, so that arrays stay real. They are linear, so
// finite differences may take large steps.
#include "case.h"
#include "reference_fft.h"

namespace tenure::testing {
namespace {

DType float32_dtype(DType) { return DType::float32; }

Case common(const char* name, const char* op) {
  return {.name = name,
          .ops = {op},
          .run = {},
          .inputs = {{}, {}},
          .tolerance = {.ulps = 4, .epsilons = 64},
          .value_tolerance = {.ulps = 4, .epsilons = 4000},
          .result = float32_dtype,
          .step = 1,
          .error_name = ""};
}

Case whole(const char* name, Tensor (*run)(Arg), bool inverse) {
  Case row = common(name, name);
  row.run = [run](Tensors in, DType) { return mixed(run(complex(OP_IN(0), OP_IN(1)))); };
  for (const Shape& shape :
       {Shape{8}, Shape{3, 5}, Shape{1}, Shape{2, 1, 7}, Shape{22}, Shape{0, 3}}) {
    row.shapes.push_back({shape, shape});
  }
  row.shapes.erase(row.shapes.begin());
  for (const Shape& shape : {Shape{1000}, Shape{1009}, Shape{90, 243}, Shape{60, 257}}) {
    row.value_shapes.push_back({shape, shape});
  }
  row.reference = [inverse](const Arrays& in) { return fft_mixed(in[0], in[1], inverse); };
  return row;
}

Case half(const char* name, std::optional<std::int64_t> length) {
  Case row = common(name, "rfft");
  row.inputs = {{}};
  row.run = [length](Tensors in, DType) { return mixed(rfft(OP_IN(0), length)); };
  row.shapes = {{{8}}, {{3, 5}}, {{1}}, {{2, 6}}, {{2, 7}}, {{14}}, {{0, 3}}};
  row.value_shapes = {{{1024}}, {{1009}}, {{2018}}, {{120, 256}}, {{120, 257}}};
  row.reference = [length](const Arrays& in) {
    return rfft_mixed(in[0], length.value_or(in[0].shape[-1]));
  };
  row.error_name = "rfft";
  return row;
}

Case half_inverse(const char* name, std::optional<std::int64_t> length) {
  Case row = common(name, "irfft");
  row.run = [length](Tensors in, DType) { return irfft(complex(OP_IN(0), OP_IN(1)), length); };
  row.shapes = {{{5}, {5}}, {{3, 4}, {3, 4}}, {{2}, {2}}, {{2, 8}, {2, 8}}, {{0, 3}, {0, 3}}};
  row.value_shapes = {{{513}, {513}}, {{506}, {506}}, {{120, 129}, {120, 129}}};
  row.reference = [length](const Arrays& in) {
    return irfft_of(in[0], in[1], length.value_or(2 * (in[0].shape[-1] - 1)));
  };
  return row;
}

}  // namespace

std::vector<Case> fft_cases() {
  std::vector<Case> cases;
  cases.push_back(whole("fft", fft, false));
  cases.push_back(whole("ifft", ifft, true));
  cases.push_back(half("rfft", {}));
  cases.push_back(half("rfft_of_a_length", 6));
  cases.push_back(half_inverse("irfft", {}));
  cases.push_back(half_inverse("irfft_of_odd_length", 5));

  Case row = common("frame", "frame");
  row.inputs = {{}};
  row.run = OP_CALL(frame(OP_IN(0), 3, 2));
  row.shapes = {{{9}}, {{2, 3}}, {{2, 2}}, {{2, 0}}, {{0, 4}}};
  row.reference = [](const Arrays& in) { return framed(in[0], 3, 2, false, 0); };
  row.tolerance = {};
  row.dtypes = kAnything;
  row.result = same_dtype;
  row.error_name = "frame";
  cases.push_back(row);

  row = common("overlap_and_add", "overlap_and_add");
  row.inputs = {{}};
  row.run = OP_CALL(overlap_and_add(OP_IN(0), 2));
  row.shapes = {{{4, 3}}, {{2, 3, 5}}, {{3, 1}}, {{0, 3}}, {{2, 0, 3}}};
  row.value_shapes = {{{3, 2000, 7}}};
  row.reference = [](const Arrays& in) { return overlapped(in[0], 2); };
  row.result = same_dtype;
  row.error_name = "overlap_and_add";
  cases.push_back(row);
  return cases;
}

}  // namespace tenure::testing
