#include "reference_recurrent.h"

#include <complex>
#include <limits>

namespace tenure::testing {
namespace {

using ops::RecurrentAttrs;
using ops::RecurrentKind;
using Real = long double;
using Complex = std::complex<long double>;

Real real_part(Real x) { return x; }
Real real_part(const Complex& x) { return x.real(); }

template <class S>
S activated(Activation activation, const S& x) {
  switch (activation) {
    case Activation::linear:
      return x;
    case Activation::tanh:
      return std::tanh(x);
    case Activation::relu:
      return real_part(x) > 0 ? x : S(0);
    case Activation::sigmoid:
      return S(1) / (S(1) + std::exp(-x));
    case Activation::hard_sigmoid: {
      const S y = S(0.2L) * x + S(0.5L);
      return real_part(y) <= 0 ? S(0) : real_part(y) >= 1 ? S(1) : y;
    }
    default:
      return S(std::numeric_limits<Real>::quiet_NaN());  // no recurrent op knows it
  }
}

template <class S>
struct Table {
  Shape shape;
  std::vector<S> data;
  const S& operator()(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i * shape[-1] + j)];
  }
};

template <class S>
Table<S> table_of(const Array& array) {
  return {array.shape, {array.data.begin(), array.data.end()}};
}

template <class S>
struct Layer {
  const RecurrentAttrs& attrs;
  std::vector<Table<S>> in;
  ops::RecurrentInputs index{attrs};
  std::int64_t batch = in[0].shape[0], steps = in[0].shape[1], features = in[0].shape[2];
  std::int64_t units = in[2].shape[0];
  std::vector<S> results[4] = {};  // as RecurrentValue has them

  const Table<S>& input(int i) const { return in[static_cast<std::size_t>(i)]; }

  S from_inputs(std::int64_t b, std::int64_t t, std::int64_t column) const {
    S sum = 0;
    for (std::int64_t f = 0; f < features; ++f) {
      sum += input(index.x)(b * steps + t, f) * input(index.kernel)(f, column);
    }
    return attrs.bias ? sum + input(index.bias).data[static_cast<std::size_t>(column)] : sum;
  }
  S from_state(const std::vector<S>& h, std::int64_t column) const {
    S sum = 0;
    for (std::int64_t u = 0; u < units; ++u) {
      sum += h[static_cast<std::size_t>(u)] * input(index.recurrent)(u, column);
    }
    return sum;
  }
  S gated(const S& x) const { return activated(attrs.gate_activation, x); }

  void step(std::int64_t b, std::int64_t t, std::vector<S>& h, std::vector<S>& c) const {
    const std::vector<S> old = h;
    const auto both = [&](std::int64_t g, std::int64_t u) {
      return from_inputs(b, t, g * units + u) + from_state(old, g * units + u);
    };
    const bool two = attrs.bias && attrs.two_biases();
    const auto second_bias = [&](std::int64_t g, std::int64_t u) {
      return two ? input(index.bias)(1, g * units + u) : S(0);
    };
    std::vector<S> reset(old.size());
    if (attrs.kind == RecurrentKind::gru) {
      for (std::size_t u = 0; u < old.size(); ++u) {
        const auto unit = static_cast<std::int64_t>(u);
        reset[u] = gated(both(1, unit) + second_bias(1, unit)) * old[u];
      }
    }
    for (std::int64_t u = 0; u < units; ++u) {
      S& state = h[static_cast<std::size_t>(u)];
      S& cell = c[static_cast<std::size_t>(u)];
      switch (attrs.kind) {
        case RecurrentKind::simple_rnn:
          state = activated(attrs.activation, both(0, u));
          break;
        case RecurrentKind::lstm:
          cell = gated(both(1, u)) * cell +
                 gated(both(0, u)) * activated(attrs.activation, both(2, u));
          state = gated(both(3, u)) * activated(attrs.activation, cell);
          break;
        case RecurrentKind::gru: {
          const S z = gated(both(0, u) + second_bias(0, u));
          S candidate = from_inputs(b, t, 2 * units + u);
          if (attrs.reset_after) {
            const S r = gated(both(1, u) + second_bias(1, u));
            candidate += r * (from_state(old, 2 * units + u) + second_bias(2, u));
          } else {
            candidate += from_state(reset, 2 * units + u);
          }
          state = z * old[static_cast<std::size_t>(u)] +
                  (S(1) - z) * activated(attrs.activation, candidate);
          break;
        }
      }
    }
  }

  void run() {
    const auto append = [](std::vector<S>& to, const std::vector<S>& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    const auto row_of = [&](int i, std::int64_t b) {
      std::vector<S> row(static_cast<std::size_t>(units), S(0));
      if (i < 0) return row;
      for (std::int64_t u = 0; u < units; ++u) row[static_cast<std::size_t>(u)] = input(i)(b, u);
      return row;
    };
    for (std::int64_t b = 0; b < batch; ++b) {
      std::vector<S> h = row_of(index.state, b), c = row_of(index.cell, b), output = row_of(-1, b);
      for (std::int64_t s = 0; s < steps; ++s) {
        const std::int64_t t = attrs.backwards ? steps - 1 - s : s;
        if (!attrs.mask || input(index.mask)(b, t) != S(0)) {
          step(b, t, h, c);
          output = h;
        }
        append(results[0], output);
      }
      append(results[1], output);
      append(results[2], h);
      append(results[3], c);
    }
  }
};

template <class S>
Layer<S> layer_of(const RecurrentAttrs& attrs, const Arrays& in) {
  const ops::RecurrentInputs index(attrs);
  std::vector<Table<S>> tables;
  for (int i = 0; i < index.count; ++i)
    tables.push_back(table_of<S>(in[static_cast<std::size_t>(i)]));
  return Layer<S>{attrs, std::move(tables)};
}

}  // namespace

Array recurrent_value(const RecurrentAttrs& attrs, const Arrays& in, RecurrentValue which) {
  Layer<Real> layer = layer_of<Real>(attrs, in);
  layer.run();
  const std::vector<Real>& values = layer.results[static_cast<int>(which)];
  Array result{which == RecurrentValue::sequence ? Shape{layer.batch, layer.steps, layer.units}
                                                 : Shape{layer.batch, layer.units},
               {}};
  for (const Real value : values) result.data.push_back(static_cast<double>(value));
  return result;
}

Array recurrent_gradient(const ops::RecurrentGradAttrs& attrs, const Arrays& in, int wrt) {
  constexpr Real kStep = 1e-30L;
  const Layer<Complex> at = layer_of<Complex>(attrs.forward, in);
  Array result{in[static_cast<std::size_t>(wrt)].shape, {}};
  for (std::size_t i = 0; i < in[static_cast<std::size_t>(wrt)].data.size(); ++i) {
    Layer<Complex> layer = at;
    layer.in[static_cast<std::size_t>(wrt)].data[i] += Complex(0, kStep);
    layer.run();
    Real slope = 0;
    auto next = static_cast<std::size_t>(layer.index.count);
    const bool flows[] = {attrs.from_sequence, attrs.from_output, attrs.from_state,
                          attrs.from_cell};
    for (int r = 0; r < 4; ++r) {
      if (!flows[r]) continue;
      const std::vector<double>& dy = in[next++].data;
      for (std::size_t j = 0; j < dy.size(); ++j) slope += layer.results[r][j].imag() * dy[j];
    }
    result.data.push_back(static_cast<double>(slope / kStep));
  }
  return result;
}

}  // namespace tenure::testing
