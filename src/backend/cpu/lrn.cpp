// Local response normalisation. Sums over neighbours are taken afresh for each element: a running
// one would carry its roundings along.
#include "backend/cpu/lrn.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "ops/norm_attrs.h"

namespace tenure::cpu {
namespace {

// Calls fn(offset of its first element) for each line along the last axis.
template <class F>
void each_line(const Shape& shape, F&& fn) {
  const std::int64_t depth = shape[-1];
  const std::int64_t numel = shape.numel();
  if (numel == 0) return;
  const auto line = [&](std::int64_t i) { fn(i * depth); };
  if (numel < kSerialMathElements) {
    for (std::int64_t i = 0; i < numel / depth; ++i) line(i);
  } else {
    parallel_each(numel / depth, line);
  }
}

// The sum of value(j) over the neighbours of i, itself included.
template <class F>
double around(std::int64_t i, std::int64_t depth, std::int64_t radius, F&& value) {
  double sum = 0;
  const std::int64_t end = radius < depth - i ? i + radius + 1 : depth;
  for (std::int64_t j = std::max<std::int64_t>(0, i - radius); j < end; ++j) sum += value(j);
  return sum;
}

template <class T>
double energy_at(const ops::LocalResponseAttrs& attrs, const T* x, std::int64_t i,
                 std::int64_t depth) {
  const double squares = around(i, depth, attrs.depth_radius, [x](std::int64_t j) {
    return static_cast<double>(x[j]) * static_cast<double>(x[j]);
  });
  return attrs.bias + attrs.alpha * squares;
}

}  // namespace

template <class T>
void local_response(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::LocalResponseAttrs>();
  const std::int64_t depth = (*args.in[0].shape)[-1];
  each_line(*args.in[0].shape, [&](std::int64_t offset) {
    const T* x = args.in[0].as<T>() + offset;
    T* y = args.out[0].as<T>() + offset;
    for (std::int64_t i = 0; i < depth; ++i) {
      y[i] = static_cast<T>(static_cast<double>(x[i]) *
                            std::pow(energy_at(attrs, x, i, depth), -attrs.beta));
    }
  });
}

template <class T>
std::size_t local_response_grad_scratch(const ops::KernelArgs& args) noexcept {
  return static_cast<std::size_t>(args.in[0].numel()) * sizeof(double);
}

template <class T>
void local_response_grad(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::LocalResponseAttrs>();
  const std::int64_t depth = (*args.in[0].shape)[-1];
  const double slope = 2 * attrs.alpha * attrs.beta;
  each_line(*args.in[0].shape, [&](std::int64_t offset) {
    const T* dy = args.in[0].as<T>() + offset;
    const T* x = args.in[1].as<T>() + offset;
    T* dx = args.out[0].as<T>() + offset;
    auto* flow = reinterpret_cast<double*>(args.scratch) + offset;  // dy x energy^(-beta - 1)
    for (std::int64_t i = 0; i < depth; ++i) {
      const double energy = energy_at(attrs, x, i, depth);
      const double direct = static_cast<double>(dy[i]) * std::pow(energy, -attrs.beta);
      dx[i] = static_cast<T>(direct);
      flow[i] = direct * static_cast<double>(x[i]) / energy;
    }
    for (std::int64_t i = 0; i < depth; ++i) {
      const double sum =
          around(i, depth, attrs.depth_radius, [flow](std::int64_t j) { return flow[j]; });
      dx[i] = static_cast<T>(static_cast<double>(dx[i]) - slope * static_cast<double>(x[i]) * sum);
    }
  });
}

template void local_response<float>(const ops::KernelArgs&) noexcept;
template void local_response<double>(const ops::KernelArgs&) noexcept;
template void local_response_grad<float>(const ops::KernelArgs&) noexcept;
template void local_response_grad<double>(const ops::KernelArgs&) noexcept;
template std::size_t local_response_grad_scratch<float>(const ops::KernelArgs&) noexcept;
template std::size_t local_response_grad_scratch<double>(const ops::KernelArgs&) noexcept;

}  // namespace tenure::cpu
