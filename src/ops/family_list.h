// The one list of families. A line says what a family has, and in which files:
//
//   OPS(name)      its ops: src/ops/name.cpp defines name_ops()
//   KERNELS(name)  their kernels: name.cpp of each device's folder defines name_kernels()
//   CASES(name)    their case rows: tests/ops/cases_name.cpp defines name_cases()
//   TRIALS(name)   their random trials: tests/ops/fuzz_name.cpp defines name_fuzz()
//
// The registry, a device's kernel table and the tests each expand the part they are about.
#pragma once

// clang-format off
#define TENURE_FAMILIES(OPS, KERNELS, CASES, TRIALS)                                              \
  OPS(creation) KERNELS(creation) CASES(creation) TRIALS(creation)                                \
  OPS(unary) KERNELS(unary) KERNELS(cast) CASES(unary) TRIALS(unary)                              \
  OPS(binary) KERNELS(binary) KERNELS(compare) CASES(binary) TRIALS(binary)                       \
  OPS(select) KERNELS(where)                                                                      \
  OPS(reduce) KERNELS(reduce) KERNELS(arg_reduce) CASES(reduce) TRIALS(reduce)                    \
  OPS(matmul) KERNELS(matmul) CASES(matmul) TRIALS(matmul)                                        \
  OPS(views) KERNELS(copy) CASES(views) TRIALS(views)                                             \
  OPS(join) KERNELS(concat) TRIALS(join)                                                          \
  OPS(random) KERNELS(random) KERNELS(shuffle) CASES(random) TRIALS(random)                       \
  OPS(custom) TRIALS(custom)                                                                      \
  OPS(maths) KERNELS(maths) CASES(maths) TRIALS(maths)                                            \
  OPS(activation) KERNELS(activation) CASES(activation) TRIALS(activation)                        \
  OPS(logical) KERNELS(logical) CASES(logical) TRIALS(logical)                                    \
  OPS(softmax) KERNELS(softmax) CASES(softmax) TRIALS(softmax)                                    \
  OPS(scan) KERNELS(scan) CASES(scan) TRIALS(scan)                                                \
  OPS(norm) KERNELS(norm) CASES(norm) TRIALS(norm)                                                \
  OPS(gather) KERNELS(gather) CASES(gather) TRIALS(gather)                                        \
  OPS(pad) KERNELS(pad) CASES(pad) TRIALS(pad)                                                    \
  OPS(sorting) KERNELS(sorting) CASES(sorting) TRIALS(sorting)                                    \
  OPS(counting) KERNELS(counting) CASES(counting) TRIALS(counting)                                \
  OPS(space) CASES(space) TRIALS(space)                                                           \
  OPS(convolution) KERNELS(convolution) CASES(convolution) TRIALS(convolution)                    \
  OPS(pooling) KERNELS(pooling) CASES(pooling) TRIALS(pooling)                                    \
  OPS(dilation) KERNELS(dilation) CASES(dilation) TRIALS(dilation)                                \
  OPS(image) KERNELS(image) CASES(image) TRIALS(image)                                            \
  OPS(boxes) KERNELS(boxes) CASES(boxes) TRIALS(boxes)                                            \
  OPS(decomposition) KERNELS(decomposition) CASES(decomposition) TRIALS(decomposition)            \
  OPS(einsum) CASES(einsum) TRIALS(einsum)                                                        \
  OPS(matrix) KERNELS(matrix) CASES(matrix) TRIALS(matrix)                                        \
  OPS(segment) KERNELS(segment) CASES(segment) TRIALS(segment)                                    \
  OPS(sparse) KERNELS(sparse) CASES(sparse) TRIALS(sparse)                                        \
  OPS(ragged) KERNELS(ragged) CASES(ragged) TRIALS(ragged)                                        \
  OPS(complex) KERNELS(complex) CASES(complex) TRIALS(complex)                                    \
  OPS(fft) KERNELS(fft) CASES(fft) TRIALS(fft)                                                    \
  OPS(sampling) KERNELS(sampling) CASES(sampling) TRIALS(sampling)                                \
  OPS(recurrent) KERNELS(recurrent) KERNELS(recurrent_grad) CASES(recurrent) TRIALS(recurrent)    \
  OPS(adam) KERNELS(adam) CASES(adam) TRIALS(adam)                                                \
  /* What only graphs contain (graph_ops). */                                                     \
  KERNELS(fused)
// clang-format on

#define TENURE_NOT_HERE(name)  // for the parts of a line that an expansion is not about
