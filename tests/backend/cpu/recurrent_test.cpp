// The kernels of recurrent layers on every instruction set: forward against the equations, backward
// against differences of the forward pass.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ops/recurrent_attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using ops::RecurrentAttrs;
using ops::RecurrentGradAttrs;
using ops::RecurrentKind;
using testing::Operand;

struct Buffer {
  Shape shape;
  std::vector<double> values;
  explicit Buffer(Shape of)
      : shape(std::move(of)), values(static_cast<std::size_t>(shape.numel()), NAN) {}
  Operand operand() const { return Operand(values.data(), shape); }
};
using Buffers = std::vector<Buffer>;

// As scratch_call.h has it, for several results.
template <class Attrs>
void call(const ops::KernelRow& row, const Buffers& in, Buffers& out, const Attrs& attrs) {
  constexpr std::size_t kGuard = 256;
  constexpr std::byte kMark{0xA5};
  std::vector<Operand> operands;
  operands.reserve(in.size() + out.size());
  std::vector<ops::KernelView> from, to;
  for (const Buffer& each : in) from.push_back(operands.emplace_back(each.operand()).view());
  for (const Buffer& each : out) to.push_back(operands.emplace_back(each.operand()).view());
  ops::KernelArgs args{from, to, ops::AttrsRef(&attrs, nullptr), nullptr};
  const std::size_t bytes = row.scratch_bytes(args);
  const std::unique_ptr<std::byte, decltype(&std::free)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(64, bytes + kGuard)), &std::free);
  std::fill_n(scratch.get(), bytes + kGuard, kMark);
  args.scratch = scratch.get();
  row.run(args);
  for (std::size_t i = bytes; i < bytes + kGuard; ++i) {
    ASSERT_EQ(scratch.get()[i], kMark) << "written " << i - bytes << " bytes behind the scratch";
  }
}

struct Layer {
  RecurrentAttrs attrs;
  std::int64_t batch, steps, features, units;

  Shape sequence() const { return {batch, steps, units}; }
  Shape state() const { return {batch, units}; }
  Buffers inputs() const {
    std::mt19937_64 random(7);
    const std::int64_t columns = attrs.gates() * units;
    Buffers in{Buffer({batch, steps, features}), Buffer({features, columns}),
               Buffer({units, columns}),
               Buffer(attrs.two_biases() ? Shape{2, columns} : Shape{columns}), Buffer(state())};
    if (attrs.is_lstm()) in.emplace_back(state());
    std::uniform_real_distribution<double> drawn(-1, 1);
    const double scale = 1 / std::sqrt(static_cast<double>(units));
    for (std::size_t i = 0; i < in.size(); ++i) {
      for (double& value : in[i].values) value = drawn(random) * (i == 1 || i == 2 ? scale : 1);
    }
    return in;
  }
  Buffers outputs() const {
    const ops::RecurrentOutputs index(attrs);
    Buffers out(static_cast<std::size_t>(index.count), Buffer(state()));
    const auto put = [&out](int i, const Shape& shape) {
      if (i >= 0) out[static_cast<std::size_t>(i)] = Buffer(shape);
    };
    put(index.sequence, sequence());
    for (const int i : {index.states, index.cells}) put(i, {steps, batch, units});
    put(index.gates, {steps, batch, attrs.kept_gates() * units});
    return out;
  }
  Buffers run(const Buffers& in) const {
    Buffers out = outputs();
    call(testing::find_row(recurrent_kernels(), ops::choice_name(attrs.kind), DType::float64), in,
         out, attrs);
    return out;
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The last state, by the equations.
std::vector<double> expected(const Layer& layer, const Buffers& in) {
  const std::int64_t units = layer.units, columns = layer.attrs.gates() * units;
  std::vector<double> result;
  for (std::int64_t b = 0; b < layer.batch; ++b) {
    const auto first = in[4].values.begin() + b * units;
    std::vector<double> h(first, first + units), c(static_cast<std::size_t>(units));
    if (layer.attrs.is_lstm())
      c.assign(in[5].values.begin() + b * units, in[5].values.begin() + (b + 1) * units);
    for (std::int64_t t = 0; t < layer.steps; ++t) {
      const auto input = [&](std::int64_t column) {
        double sum = in[3].values[static_cast<std::size_t>(column)];
        for (std::int64_t f = 0; f < layer.features; ++f) {
          sum +=
              in[0].values[static_cast<std::size_t>((b * layer.steps + t) * layer.features + f)] *
              in[1].values[static_cast<std::size_t>(f * columns + column)];
        }
        return sum;
      };
      const auto inner = [&](const std::vector<double>& from, std::int64_t column) {
        double sum =
            layer.attrs.two_biases() ? in[3].values[static_cast<std::size_t>(columns + column)] : 0;
        for (std::int64_t u = 0; u < units; ++u) {
          sum += from[static_cast<std::size_t>(u)] *
                 in[2].values[static_cast<std::size_t>(u * columns + column)];
        }
        return sum;
      };
      const std::vector<double> old = h;
      const auto gate = [&](std::int64_t g, std::size_t u) {
        const std::int64_t column = g * units + static_cast<std::int64_t>(u);
        return input(column) + inner(old, column);
      };
      std::vector<double> reset = old;
      if (layer.attrs.kind == RecurrentKind::gru) {
        for (std::size_t u = 0; u < reset.size(); ++u) reset[u] *= sigmoid(gate(1, u));
      }
      for (std::size_t u = 0; u < h.size(); ++u) {
        const auto column = 2 * units + static_cast<std::int64_t>(u);
        switch (layer.attrs.kind) {
          case RecurrentKind::simple_rnn:
            h[u] = std::tanh(gate(0, u));
            break;
          case RecurrentKind::lstm:
            c[u] = sigmoid(gate(1, u)) * c[u] + sigmoid(gate(0, u)) * std::tanh(gate(2, u));
            h[u] = sigmoid(gate(3, u)) * std::tanh(c[u]);
            break;
          case RecurrentKind::gru: {
            const double z = sigmoid(gate(0, u));
            const double candidate = layer.attrs.reset_after
                                         ? input(column) + sigmoid(gate(1, u)) * inner(old, column)
                                         : input(column) + inner(reset, column);
            h[u] = z * old[u] + (1 - z) * std::tanh(candidate);
            break;
          }
        }
      }
    }
    result.insert(result.end(), h.begin(), h.end());
  }
  return result;
}

// The gradients of all inputs, of the sum of the last outputs times `dy`.
Buffers gradients(const Layer& layer, const Buffers& in, const Buffer& dy) {
  RecurrentGradAttrs attrs{.forward = layer.attrs,
                           .from_output = true,
                           .of_x = true,
                           .of_kernel = true,
                           .of_recurrent = true,
                           .of_bias = true,
                           .of_state = true};
  const Buffers saved = layer.run(in);
  const ops::RecurrentOutputs index(layer.attrs);
  Buffers all = in;
  for (const int i : {index.saved_states(layer.attrs), index.gates, index.cells}) {
    if (i >= 0) all.push_back(saved[static_cast<std::size_t>(i)]);
  }
  all.push_back(dy);
  Buffers out;
  for (const Buffer& each : in) out.emplace_back(each.shape);
  const std::string op = std::string(ops::choice_name(layer.attrs.kind)) + "_grad";
  call(testing::find_row(recurrent_grad_kernels(), op, DType::float64), all, out, attrs);
  return out;
}

std::vector<Layer> layers() {
  std::vector<Layer> all;
  for (const RecurrentKind kind :
       {RecurrentKind::simple_rnn, RecurrentKind::gru, RecurrentKind::lstm}) {
    for (const bool reset_after : {false, true}) {
      if (reset_after && kind != RecurrentKind::gru) continue;
      const RecurrentAttrs attrs{
          .kind = kind, .reset_after = reset_after, .bias = true, .state = true, .training = true};
      all.push_back({attrs, 3, 4, 2, 5});
      all.push_back({attrs, 1, 2, 3, 32});   // whole vectors, read where they lie
      all.push_back({attrs, 13, 3, 1, 19});  // several tiles of rows, and panels with a rest
    }
  }
  return all;
}

struct RecurrentKernels : ::testing::TestWithParam<std::int64_t> {
  testing::UseTarget target{GetParam()};
};

TEST_P(RecurrentKernels, forward_follows_the_equations) {
  for (const Layer& layer : layers()) {
    SCOPED_TRACE(ops::ref(layer.attrs).print() + ", units=" + std::to_string(layer.units));
    const Buffers in = layer.inputs();
    const std::vector<double> want = expected(layer, in);
    const Buffers out = layer.run(in);
    const ops::RecurrentOutputs index(layer.attrs);
    const std::vector<double>& got = out[static_cast<std::size_t>(index.output)].values;
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-12) << i;
  }
}

TEST_P(RecurrentKernels, backward_is_the_slope_of_forward) {
  constexpr double kStep = 1e-5;
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> drawn(-1, 1);
  for (const Layer& layer : layers()) {
    SCOPED_TRACE(ops::ref(layer.attrs).print() + ", units=" + std::to_string(layer.units));
    const Buffers in = layer.inputs();
    Buffer dy(layer.state());
    for (double& value : dy.values) value = drawn(random);
    const Buffers slopes = gradients(layer, in, dy);
    const auto output = static_cast<std::size_t>(ops::RecurrentOutputs(layer.attrs).output);
    for (std::size_t i = 0; i < in.size(); ++i) {
      Buffers ahead = in, behind = in;
      double along = 0;
      for (std::size_t j = 0; j < in[i].values.size(); ++j) {
        const double direction = drawn(random);
        ahead[i].values[j] += kStep * direction;
        behind[i].values[j] -= kStep * direction;
        along += slopes[i].values[j] * direction;
      }
      const Buffers high = layer.run(ahead), low = layer.run(behind);
      double measured = 0;
      for (std::size_t j = 0; j < dy.values.size(); ++j) {
        measured += (high[output].values[j] - low[output].values[j]) / (2 * kStep) * dy.values[j];
      }
      EXPECT_NEAR(along, measured, 1e-7 * (1 + std::abs(along))) << "input " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RecurrentKernels, ::testing::ValuesIn(testing::targets()),
                         [](const auto& tested) {
                           return std::string(hwy::TargetName(tested.param));
                         });

}  // namespace
}  // namespace tenure::cpu
