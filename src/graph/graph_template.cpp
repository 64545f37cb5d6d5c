#include "graph/graph_template.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/raise.h"
#include "memory/text.h"
#include "memory/transfer.h"
#include "tensor/variable_state.h"

namespace tenure::graph {
namespace {

constexpr std::int64_t kExactReal = std::int64_t{1} << 53;
constexpr int kMostOver = 16;  // a / n is looked for up to this a

struct Number {
  bool real = false;
  std::int64_t integer = 0;
  double value = 0;

  bool operator==(const Number& other) const {  // of bits
    return real == other.real && integer == other.integer &&
           std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other.value);
  }
};
using Numbers = std::vector<Number>;

// Reads the numbers among a struct's fields, or puts others in their place, as long as there are
// any. Truth values, dtypes and choices are no numbers.
class NumberVisitor final : public ops::FieldVisitor {
 public:
  explicit NumberVisitor(const Numbers* others = nullptr) : others_(others) {}
  void integer(std::string_view, std::int64_t& value) override {
    if (replaces()) value = (*others_)[numbers.size()].integer;
    numbers.push_back({false, value, 0});
  }
  void real(std::string_view, double& value) override {
    if (replaces()) value = (*others_)[numbers.size()].value;
    numbers.push_back({true, 0, value});
  }
  void integers(std::string_view name, Shape& values) override {
    for (std::int64_t& value : values) integer(name, value);
  }
  void number(std::string_view name, Scalar& value) override {
    if (value.natural_dtype() == DType::boolean) return;
    if (value.is_integer()) {
      std::int64_t whole = value.to_int64();
      integer(name, whole);
      value = whole;
    } else {
      double broken = value.to_double();
      real(name, broken);
      value = broken;
    }
  }
  void flag(std::string_view, bool&) override {}
  void dtype(std::string_view, DType&) override {}
  void choice(std::string_view, std::size_t&, std::span<const char* const>) override {}
  Numbers numbers;  // those there are, after that

 private:
  bool replaces() const { return others_ != nullptr && numbers.size() < others_->size(); }
  const Numbers* others_;
};

Numbers numbers_of(const Node& node) {
  NumberVisitor reader;
  ops::AttrsBox attrs = node.attrs;
  if (attrs.data() != nullptr && attrs.ref().type()->visit != nullptr) {
    attrs.ref().type()->visit(attrs.data(), reader);
  }
  return std::move(reader.numbers);
}

void set_numbers_of(ops::AttrsBox& attrs, const Numbers& numbers) {
  if (numbers.empty()) return;
  NumberVisitor writer(&numbers);
  attrs.ref().type()->visit(attrs.data(), writer);
}

std::string text_of(const Node& node) {
  const std::string attrs = node.attrs.ref().print();
  return fmt::format("{}{} ({})", node.op->name, attrs.empty() ? "" : fmt::format(" {{{}}}", attrs),
                     detail::site_text(node.site));
}

// Whether attributes are the same but for numbers.
bool same_attrs(const Node& a, const Node& b) {
  const ops::AttrsType* type = a.attrs.ref().type();
  if (type != b.attrs.ref().type()) return false;
  if (a.attrs.ref().data() == nullptr) return true;
  const Numbers numbers = numbers_of(b);
  ops::AttrsBox changed = a.attrs;
  if (numbers_of(a).size() != numbers.size()) return false;
  set_numbers_of(changed, numbers);
  return changed.ref().print() == b.attrs.ref().print();
}

bool same_node(const Graph& a, const Graph& b, std::size_t n) {
  const Node& one = a.nodes[n];
  const Node& other = b.nodes[n];
  if (one.op != other.op || one.in != other.in || one.out != other.out) return false;
  for (const ValueId value : one.out) {
    const Value &x = a.values[value], &y = b.values[value];
    if (x.dtype != y.dtype || x.shape.rank() != y.shape.rank()) return false;
  }
  return same_attrs(one, other);
}

// One tensor, or two of the same bytes: literals are made anew by every trace.
bool same_capture(const Capture& a, const Capture& b) {
  if (a.value != b.value) return false;
  const detail::Header &x = a.header(), &y = b.header();
  if (x.layout.dtype != y.layout.dtype || x.layout.shape != y.layout.shape) return false;
  if (x.storage == y.storage && x.layout.offset == y.layout.offset &&
      x.layout.strides == y.layout.strides) {
    return true;
  }
  std::vector<std::byte> one(x.layout.nbytes()), other(y.layout.nbytes());
  detail::device_transfer(x.device.type).to_host(one.data(), *x.storage, x.layout);
  detail::device_transfer(y.device.type).to_host(other.data(), *y.storage, y.layout);
  return one == other;
}

std::string text_of(const Capture& capture) {
  const detail::Header& header = capture.header();
  const detail::LabelRef name = name_of(header);
  return fmt::format("it uses {}{} {} made at {}", name ? "\"" + name->text + "\" " : "",
                     header.layout.dtype, header.layout.shape,
                     detail::site_text(header.birth.site));
}

std::optional<Number> value_at(const Grid& grid, const Polynomial& polynomial, double over,
                               bool real, std::span<const std::int64_t> sizes) {
  const std::optional<std::int64_t> whole = polynomial.at(grid, sizes);
  if (!whole) return {};
  if (!real) return Number{false, *whole, 0};
  if (*whole > kExactReal || *whole < -kExactReal) return {};
  const auto value = static_cast<double>(*whole);
  return Number{true, 0, over != 0 ? over / value : value};
}

struct Rule {
  Polynomial value;
  double over = 0;
};

// The rule that a number follows at the points and at one more.
std::optional<Rule> rule_of(const Grid& grid, const Numbers& at_points, const Number& further,
                            std::span<const std::int64_t> further_sizes) {
  const bool real = further.real;
  const auto whole = [](double value) {
    return std::nearbyint(value) == value && std::abs(value) < static_cast<double>(kExactReal);
  };
  for (int over = 0; over <= (real ? kMostOver : 0); ++over) {
    std::vector<std::int64_t> values;
    bool fits = true;
    for (const Number& number : at_points) {
      double value = number.value;
      if (over != 0) {
        value = std::nearbyint(over / value);
        fits &= std::abs(value) < static_cast<double>(kExactReal) && over / value == number.value;
      }
      fits &= !real || whole(value);
      if (!fits) break;
      values.push_back(real ? static_cast<std::int64_t>(value) : number.integer);
    }
    if (!fits) continue;
    Polynomial polynomial(grid, values);
    if (value_at(grid, polynomial, over, real, further_sizes) == further) {
      return Rule{std::move(polynomial), static_cast<double>(over)};
    }
  }
  return {};
}

// Whether a view of contiguous bytes stays within them.
bool within(const Layout& view, std::int64_t elements) {
  if (view.shape.numel() == 0) return true;
  std::int64_t least = view.offset, most = view.offset;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    const std::int64_t reach = (view.shape[axis] - 1) * view.strides[axis];
    (reach < 0 ? least : most) += reach;
  }
  return least >= 0 && most < elements;
}

}  // namespace

std::size_t Grid::points() const {
  std::size_t count = 1;
  for (std::size_t i = 0; i < first.size(); ++i) count *= static_cast<std::size_t>(degree) + 1;
  return count;
}

std::vector<std::int64_t> Grid::sizes_at(std::size_t point) const {
  const auto along = static_cast<std::size_t>(degree) + 1;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < first.size(); ++i, point /= along) {
    sizes.push_back(first[i] + step[i] * static_cast<std::int64_t>(point % along));
  }
  return sizes;
}

Polynomial::Polynomial(const Grid& grid, std::span<const std::int64_t> values)
    : differences_(values.begin(), values.end()) {
  const auto along = static_cast<std::size_t>(grid.degree) + 1;
  for (std::size_t apart = 1; apart < differences_.size(); apart *= along) {
    for (std::size_t order = 1; order < along; ++order) {
      for (std::size_t i = differences_.size(); i-- > 0;) {
        if (i / apart % along >= order) differences_[i] -= differences_[i - apart];
      }
    }
  }
}

// Newton's formula: sum of differences[j] * C(t, j) with t = (size - first) / step, for each free
// dimension, over a common denominator.
std::optional<std::int64_t> Polynomial::at(const Grid& grid,
                                           std::span<const std::int64_t> sizes) const {
  const auto along = static_cast<std::size_t>(grid.degree) + 1;
  std::vector<Wide> terms = differences_;
  Wide below = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // weights[j] / denominator = C(t, j)
    std::vector<Wide> weights(along, 1);
    Wide denominator = 1;
    for (std::size_t j = 1; j < along; ++j) {
      const auto order = static_cast<Wide>(j);
      const Wide by = sizes[i] - grid.first[i] - (order - 1) * grid.step[i];
      if (__builtin_mul_overflow(weights[j - 1], by, &weights[j])) return {};
      const Wide scale = order * grid.step[i];
      denominator *= scale;
      for (std::size_t l = 0; l < j; ++l) {
        if (__builtin_mul_overflow(weights[l], scale, &weights[l])) return {};
      }
    }
    if (__builtin_mul_overflow(below, denominator, &below)) return {};
    std::vector<Wide> sums(terms.size() / along, 0);
    for (std::size_t s = 0; s < sums.size(); ++s) {
      for (std::size_t j = 0; j < along; ++j) {
        Wide term;
        if (__builtin_mul_overflow(terms[s * along + j], weights[j], &term) ||
            __builtin_add_overflow(sums[s], term, &sums[s])) {
          return {};
        }
      }
    }
    terms = std::move(sums);
  }
  if (terms[0] % below != 0) return {};
  const Wide value = terms[0] / below;
  if (value > std::numeric_limits<std::int64_t>::max() ||
      value < std::numeric_limits<std::int64_t>::min()) {
    return {};
  }
  return static_cast<std::int64_t>(value);
}

std::optional<Difference> first_difference(const Graph& a, const Graph& b) {
  const std::size_t both = std::min(a.nodes.size(), b.nodes.size());
  for (std::size_t n = 0; n < both; ++n) {
    if (same_node(a, b, n)) continue;
    const std::size_t values = std::min(a.nodes[n].out[0], b.nodes[n].out[0]);
    return Difference{text_of(a.nodes[n]), text_of(b.nodes[n]), values};
  }
  const std::size_t values = std::min(a.values.size(), b.values.size());
  if (a.nodes.size() != b.nodes.size()) {
    const Graph& longer = a.nodes.size() > b.nodes.size() ? a : b;
    const std::string next = text_of(longer.nodes[both]);
    const std::string end = "no further operation";
    return Difference{&longer == &a ? next : end, &longer == &b ? next : end, values};
  }
  const auto counted = [&](std::size_t one, std::size_t other, const char* what) {
    return Difference{fmt::format("{} {}", one, what), fmt::format("{} {}", other, what), values};
  };
  if (a.captures.size() != b.captures.size()) {
    return counted(a.captures.size(), b.captures.size(), "captured tensors");
  }
  for (std::size_t i = 0; i < a.captures.size(); ++i) {
    if (same_capture(a.captures[i], b.captures[i])) continue;
    return Difference{text_of(a.captures[i]), text_of(b.captures[i]) + ", of other values", values};
  }
  if (a.variables.size() != b.variables.size()) {
    return counted(a.variables.size(), b.variables.size(), "variables");
  }
  for (std::size_t i = 0; i < a.variables.size(); ++i) {
    const VariableUse &one = a.variables[i], &other = b.variables[i];
    if (one.variable == other.variable && one.read == other.read &&
        one.assigned == other.assigned) {
      continue;
    }
    return Difference{fmt::format("a use of variable \"{}\"", one.variable->label->text),
                      fmt::format("another of \"{}\"", other.variable->label->text), values};
  }
  if (a.results.size() != b.results.size()) {
    return counted(a.results.size(), b.results.size(), "results");
  }
  const bool same = a.results == b.results && a.inputs == b.inputs &&
                    a.values.size() == b.values.size() && a.draws.size() == b.draws.size();
  if (!same) return Difference{"it returns some values", "it returns others", values};
  return {};
}

bool is_opaque(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const ops::AttrsRef attrs = node.attrs.ref();
    return node.op->infer == nullptr || (attrs.data() != nullptr && attrs.type()->visit == nullptr);
  });
}

std::vector<std::uint64_t> differing_dims(const Graph& a, const Graph& b, std::size_t values) {
  std::vector<std::uint64_t> dims(values, 0);
  for (std::size_t v = 0; v < values; ++v) {
    const Shape &one = a.values[v].shape, &other = b.values[v].shape;
    for (int axis = 0; axis < std::min({one.rank(), other.rank(), 64}); ++axis) {
      if (one[axis] != other[axis]) dims[v] |= std::uint64_t{1} << axis;
    }
  }
  return dims;
}

std::optional<Difference> GraphTemplate::fit(const Grid& grid, std::span<const Probe* const> points,
                                             const Probe& further, GraphTemplate& target) {
  target.grid_ = grid;
  target.base_ = points[0]->graph;
  target.slots_.clear();
  target.dims_.clear();
  const Graph& base = target.base_;
  // Adds rules for the numbers that `of` gives of each graph; false when one follows none.
  const auto add_slots = [&](std::size_t node, auto&& of) {
    std::vector<Numbers> numbers;
    for (const Probe* point : points) numbers.push_back(of(point->graph));
    const Numbers last = of(further.graph);
    for (std::size_t i = 0; i < last.size(); ++i) {
      Numbers at_points;
      for (const Numbers& each : numbers) at_points.push_back(each[i]);
      if (std::ranges::all_of(at_points, [&](const Number& x) { return x == last[i]; })) continue;
      std::optional<Rule> rule = rule_of(grid, at_points, last[i], further.sizes);
      if (!rule) return false;
      target.slots_.push_back({node, i, std::move(rule->value), rule->over, last[i].real});
    }
    return true;
  };
  for (std::size_t n = 0; n < base.nodes.size(); ++n) {
    if (!add_slots(n, [n](const Graph& graph) { return numbers_of(graph.nodes[n]); })) {
      return Difference{text_of(base.nodes[n]), text_of(further.graph.nodes[n]), 0};
    }
  }
  const auto draws = [](const Graph& graph) {
    Numbers numbers;
    for (const std::uint64_t count : graph.draws) {
      numbers.push_back({false, static_cast<std::int64_t>(count), 0});
    }
    return numbers;
  };
  if (!add_slots(base.nodes.size(), draws)) {
    return Difference{fmt::format("{} random numbers", base.draws[0]),
                      fmt::format("{}", further.graph.draws[0]), 0};
  }
  for (const Node& node : base.nodes) {
    for (const ValueId value : node.out) {
      for (int axis = 0; axis < base.values[value].shape.rank(); ++axis) {
        std::vector<std::int64_t> sizes;
        for (const Probe* point : points) sizes.push_back(point->graph.values[value].shape[axis]);
        Polynomial size(grid, sizes);
        if (size.at(grid, further.sizes) != further.graph.values[value].shape[axis]) continue;
        target.dims_.push_back({value, axis, std::move(size)});
      }
    }
  }
  return {};
}

bool GraphTemplate::set_numbers(Graph& graph, std::span<const std::int64_t> sizes) const {
  for (std::size_t s = 0; s < slots_.size();) {
    const std::size_t node = slots_[s].node;
    const bool is_node = node < graph.nodes.size();
    Numbers numbers = is_node ? numbers_of(graph.nodes[node]) : Numbers(graph.draws.size());
    for (; s < slots_.size() && slots_[s].node == node; ++s) {
      const Slot& slot = slots_[s];
      const std::optional<Number> number = value_at(grid_, slot.value, slot.over, slot.real, sizes);
      if (!number) return false;
      if (is_node) {
        numbers[slot.number] = *number;
      } else {
        graph.draws[slot.number] = static_cast<std::uint64_t>(number->integer);
      }
    }
    if (is_node) set_numbers_of(graph.nodes[node].attrs, numbers);
  }
  return true;
}

bool GraphTemplate::infer(Graph& graph) const {
  for (const Node& node : graph.nodes) {
    if (node.op->infer == nullptr) return false;
    std::vector<Layout> layouts;
    layouts.reserve(node.in.size());
    std::vector<const Layout*> in;
    for (const ValueId value : node.in) {
      layouts.push_back(contiguous_layout(graph.values[value].shape, graph.values[value].dtype));
      in.push_back(&layouts.back());
    }
    std::vector<Layout> out(node.out.size());
    ops::Infer infer{node.op->name, in, node.attrs.ref(), out};
    try {
      node.op->infer(infer);
    } catch (const Error&) {
      return false;  // a trace of this size says what is wrong, at the user's line
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      Value& value = graph.values[node.out[i]];
      const Shape& shape = out[i].shape;
      if (out[i].dtype != value.dtype || shape.rank() != value.shape.rank()) return false;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        // Nothing is left where free sizes are 2 and more: a window or an offset does not fit.
        const bool vanishes = shape[axis] == 0 && value.shape[axis] != 0;
        if (shape[axis] < 0 || vanishes) return false;
      }
      value.shape = shape;
    }
    if (node.op->view != nullptr && node.op->view(layouts[0], node.attrs.ref(), out[0]) &&
        !within(out[0], layouts[0].shape.numel())) {
      return false;
    }
  }
  return true;
}

bool GraphTemplate::agrees(const Graph& graph, std::span<const std::int64_t> sizes) const {
  return std::ranges::all_of(dims_, [&](const DimRule& rule) {
    const std::optional<std::int64_t> size = rule.size.at(grid_, sizes);
    return !size || *size == graph.values[rule.value].shape[rule.axis];
  });
}

bool GraphTemplate::chooses_the_same(const Graph& graph) const {
  return std::ranges::all_of(graph.choices, [&](const Choice& choice) {
    std::vector<Shape> shapes;
    shapes.reserve(choice.by.size());
    for (const Choice::By& by : choice.by) {
      shapes.push_back(by.value ? graph.values[*by.value].shape : by.shape);
    }
    try {
      return choice.same(shapes);
    } catch (const Error&) {
      return false;
    }
  });
}

std::optional<Graph> GraphTemplate::at(std::span<const std::int64_t> sizes,
                                       std::span<const Shape> inputs) const {
  Graph graph = base_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    graph.values[graph.inputs[i]].shape = inputs[i];
  }
  if (!set_numbers(graph, sizes) || !infer(graph)) return {};
  if (!agrees(graph, sizes) || !chooses_the_same(graph)) return {};
  return graph;
}

}  // namespace tenure::graph
