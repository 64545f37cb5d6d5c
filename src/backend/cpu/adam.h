// The loop of Adam's update (ops/adam.h), for kernels that have a piece of the gradient at hand.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/adam.h"
#include "ops/kernel.h"

namespace tenure::cpu {

template <class T>
struct AdamRun {
  const T* value;
  const T* mean;
  const T* square;
  const T* gradient;
  T* new_value;
  T* new_mean;
  T* new_square;
  std::array<T, 6> numbers;  // beta_1, 1 - beta_1, beta_2, 1 - beta_2, rate, epsilon

  // The run from element `offset` on; `piece` is the gradient's there.
  AdamRun from(std::int64_t offset, const T* piece) const {
    return {value + offset,     mean + offset,     square + offset,     piece,
            new_value + offset, new_mean + offset, new_square + offset, numbers};
  }
};

// Without a gradient: `state` is value, mean and square, `numbers` are rate and epsilon.
template <class T>
AdamRun<T> adam_run(const ops::AdamAttrs& attrs, std::span<const ops::KernelView> state,
                    std::span<const ops::KernelView> numbers,
                    std::span<const ops::KernelView> out) {
  return {
      state[0].as<T>(),
      state[1].as<T>(),
      state[2].as<T>(),
      nullptr,
      out[0].as<T>(),
      out[1].as<T>(),
      out[2].as<T>(),
      {static_cast<T>(attrs.beta_1), static_cast<T>(1 - attrs.beta_1), static_cast<T>(attrs.beta_2),
       static_cast<T>(1 - attrs.beta_2), *numbers[0].as<T>(), *numbers[1].as<T>()}};
}

// Elements [0, count), on this thread.
void adam_update(const AdamRun<float>& run, std::int64_t count) noexcept;
void adam_update(const AdamRun<double>& run, std::int64_t count) noexcept;

}  // namespace tenure::cpu
