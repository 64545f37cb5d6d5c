// The loop of Adam's update (ops/adam.h), for kernels that have a piece of the gradient at hand.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/kernel.h"

namespace tenure::cpu {

template <class T>
struct AdamRun {
  const T* parameter;
  const T* mean;
  const T* square;
  const T* gradient;
  T* new_parameter;
  T* new_mean;
  T* new_square;
  std::array<T, 6> numbers;

  // The run from element `offset` on; `piece` is the gradient's there.
  AdamRun from(std::int64_t offset, const T* piece) const {
    return {parameter + offset,     mean + offset,     square + offset,     piece,
            new_parameter + offset, new_mean + offset, new_square + offset, numbers};
  }
};

// Without a gradient: `state` is parameter, mean and square.
template <class T>
AdamRun<T> adam_run(std::span<const ops::KernelView> state,
                    std::span<const ops::KernelView> numbers,
                    std::span<const ops::KernelView> out) {
  AdamRun<T> run{state[0].as<T>(), state[1].as<T>(), state[2].as<T>(), nullptr,
                 out[0].as<T>(),   out[1].as<T>(),   out[2].as<T>(),   {}};
  for (std::size_t i = 0; i < run.numbers.size(); ++i) run.numbers[i] = *numbers[i].as<T>();
  return run;
}

// Elements [0, count), on this thread.
void adam_update(const AdamRun<float>& run, std::int64_t count) noexcept;
void adam_update(const AdamRun<double>& run, std::int64_t count) noexcept;

}  // namespace tenure::cpu
