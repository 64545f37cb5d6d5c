#include "graph/free_dims.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <utility>

#include "core/raise.h"
#include "graph/trace.h"
#include "memory/text.h"

namespace tenure::graph {
namespace {

constexpr std::size_t kMostNames = 3;
constexpr int kHighestDegree = 3;

// Sizes that stand in for a free one: `first`, and five more in even steps, all of them a prime
// times kFactor. So halves, thirds and quarters of them are whole, and only sizes that come from
// one are likely to be a multiple of it.
constexpr std::int64_t kFactor = 48;
constexpr int kFurther = 5;  // the step of the further point
struct Progression {
  std::int64_t first = 0;
  std::int64_t step = 0;
};
constexpr std::array<Progression, 8> kPrimes{
    {{107, 30}, {359, 30}, {541, 30}, {641, 60}, {503, 90}, {239, 120}, {281, 120}, {701, 120}}};

constexpr const char* kAdvice =
    "Let operations take the size from a tensor (reshape(x, {-1, 32}), broadcasting, "
    "zeros_like(x)), or leave the dimension fixed.";

std::string dims_text(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    text += text.empty() ? "" : ", ";
    text += !dim.is_free()       ? std::to_string(dim.size())
            : dim.name().empty() ? "dyn"
                                 : fmt::format("dyn(\"{}\")", dim.name());
  }
  return "[" + text + "]";
}

// `text` with another word for a number wherever it stands alone.
std::string with_word(const std::string& text, std::int64_t number, std::string_view word) {
  const std::string digits = std::to_string(number);
  std::string changed;
  std::size_t from = 0;
  const auto is_part = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.');
  };
  for (std::size_t at = text.find(digits); at != text.npos; at = text.find(digits, at + 1)) {
    const std::size_t end = at + digits.size();
    if (is_part(end) || (at > 0 && is_part(at - 1))) continue;
    changed += text.substr(from, at - from);
    changed += word;
    from = end;
  }
  return changed + text.substr(from);
}

TracedGraph trace_at(const NewCall& call, std::span<const Layout> layouts, detail::FreeSizes* free,
                     bool check_escapes) {
  TracedGraph traced;
  Trace tracing(call.function, check_escapes);
  if (free != nullptr) free->trace = tracing.id();
  std::vector<Tensor> symbols;
  symbols.reserve(layouts.size());
  for (const Layout& layout : layouts) symbols.push_back(tracing.add_input(layout, call.site));
  std::vector<Tensor> results =
      call.tracing.trace(call.tracing.object, std::move(symbols), traced.result_shape);
  traced.graph = tracing.finish(results, call.site);
  return traced;
}

std::vector<Shape> shapes_of(std::span<const Tensor> in) {
  std::vector<Shape> shapes;
  shapes.reserve(in.size());
  for (const Tensor& x : in) shapes.push_back(x.shape());
  return shapes;
}

}  // namespace

// As the arguments lie. What a result may be written over is row-major.
TracedGraph trace_call(const NewCall& call) {
  std::vector<Layout> layouts;
  for (const Tensor& x : call.in) layouts.push_back(detail::Access::header(x)->layout);
  for (const std::size_t i : call.donated) {
    layouts[i] = contiguous_layout(layouts[i].shape, layouts[i].dtype);
  }
  return trace_at(call, layouts, nullptr, call.check_escapes);
}

// The traces that a template is made of.
class FreeDims::Probing {
 public:
  // `fixed` names are of the call's own size.
  Probing(const FreeDims& owner, const NewCall& call, const std::vector<bool>& fixed)
      : owner_(owner), call_(call), shapes_(shapes_of(call.in)) {
    for (std::size_t name = 0; name < fixed.size(); ++name) {
      if (!fixed[name]) names_.push_back(name);
    }
    choose_stand_ins();
  }

  Template run(std::vector<std::int64_t> key) {
    Template new_template{std::move(key), false, {}, nullptr};
    Grid grid = grid_;
    const std::vector<std::int64_t> first = grid.sizes_at(0);
    const std::vector<std::int64_t> second = grid.sizes_at(grid.points() - 1);
    std::vector<std::int64_t> further = grid.first;
    for (std::size_t i = 0; i < further.size(); ++i) further[i] += kFurther * grid.step[i];
    const Probe& one = probe(first);
    const Probe& other = probe(second);
    new_template.result_shape = result_shape_;
    std::optional<Difference> difference = first_difference(one.graph, other.graph);
    known_ = differing_dims(one.graph, other.graph,
                            difference ? difference->values : one.graph.values.size());
    const Probe& last = probe(further);
    known_.clear();
    new_template.opaque = is_opaque(one.graph);
    if (new_template.opaque) return new_template;
    check(difference);
    check(first_difference(one.graph, last.graph));
    for (; grid.degree <= kHighestDegree; ++grid.degree) {
      std::vector<const Probe*> points;
      for (std::size_t point = 0; point < grid.points(); ++point) {
        points.push_back(&probe(grid.sizes_at(point)));
        check(first_difference(one.graph, points.back()->graph));
      }
      difference = GraphTemplate::fit(grid, points, last, new_template.of);
      if (!difference) return new_template;
    }
    raise_different(*difference);
  }

 private:
  void choose_stand_ins() {
    std::size_t next = 0;
    for ([[maybe_unused]] const std::size_t name : names_) {
      while (next + 1 < kPrimes.size() && is_taken(kPrimes[next])) ++next;
      grid_.first.push_back(kPrimes[next].first * kFactor);
      grid_.step.push_back(kPrimes[next].step * kFactor);
      ++next;
    }
  }

  // Whether a size among the arguments that is not free looks like a stand-in.
  bool is_taken(Progression primes) const {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      for (int axis = 0; axis < shapes_[i].rank(); ++axis) {
        const std::int64_t dim = shapes_[i][axis];
        if (dim == 0 || owner_.name_at(static_cast<int>(i), axis)) continue;
        for (int step = 0; step <= kFurther; ++step) {
          if (dim % (kFactor * (primes.first + step * primes.step)) == 0) return true;
        }
      }
    }
    return false;
  }

  const Probe& probe(const std::vector<std::int64_t>& sizes) {
    for (const Probe& done : probes_) {
      if (done.sizes == sizes) return done;
    }
    std::vector<Shape> shapes = shapes_;
    for (const Place& place : owner_.places_) {
      const auto free = std::ranges::find(names_, place.name);
      if (free == names_.end()) continue;
      shapes[static_cast<std::size_t>(place.argument)][place.axis] =
          sizes[static_cast<std::size_t>(free - names_.begin())];
    }
    detail::FreeSizes free{sizes, 0, known_};
    if (const detail::FreeSizes* outer = detail::context().free) {
      free.stand_ins.insert(free.stand_ins.end(), outer->stand_ins.begin(), outer->stand_ins.end());
    }
    const detail::Meanwhile meanwhile(detail::context().free, &free);
    const auto trace = [&]() -> const Probe& {
      std::vector<Layout> layouts;
      layouts.reserve(shapes.size());
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        layouts.push_back(contiguous_layout(shapes[i], call_.in[i].dtype()));
      }
      TracedGraph traced = trace_at(call_, layouts, &free, call_.check_escapes && probes_.empty());
      if (probes_.empty()) result_shape_ = std::move(traced.result_shape);
      return probes_.emplace_back(Probe{sizes, std::move(traced.graph)});
    };
    return telling<ShapeError, ValueError, UnsupportedError>([&](Error& error) { explain(error); },
                                                             trace);
  }

  void explain(Error& error) const {
    detail::edit(error, [&](detail::ErrorRecord& record) {
      record.problem = without_stand_ins(std::move(record.problem));
      for (detail::Line& line : record.lines) line.rest = without_stand_ins(std::move(line.rest));
      record.remedy = without_stand_ins(std::move(record.remedy));
      for (Shape& shape : record.shapes) {
        std::ranges::replace_if(shape, [&](std::int64_t dim) { return is_stand_in(dim); }, -1);
      }
      std::erase_if(record.values, [&](const ErrorValue& v) { return is_stand_in(v.value); });
    });
    error.advise(fmt::format(
        "while {} was traced for any size of {}. If other arguments have that dimension too, "
        "declare it there as well. {}",
        label_text(*call_.function.get()), names_text(), kAdvice));
  }

  bool is_stand_in(std::int64_t size) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::int64_t steps = size - grid_.first[i];
      if (steps % grid_.step[i] == 0 && steps / grid_.step[i] <= kFurther && steps >= 0)
        return true;
    }
    return false;
  }

  std::string without_stand_ins(std::string text) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = owner_.names_[names_[i]];
      for (int step = 0; step <= kFurther; ++step) {
        text = with_word(text, grid_.first[i] + step * grid_.step[i], name.empty() ? "?" : name);
      }
    }
    return text;
  }

  std::string names_text() const {
    std::string text;
    for (const std::size_t name : names_) {
      text += text.empty() ? "" : ", or of ";
      text += owner_.name_text(name);
    }
    return text;
  }

  void check(const std::optional<Difference>& difference) const {
    if (difference) raise_different(*difference);
  }

  [[noreturn]] void raise_different(const Difference& difference) const {
    raise<UnsupportedError>(
        "{}: what it does depends on the size of {}, which is free: {} at one size, {} at "
        "another.\n\n  {}",
        label_text(*call_.function.get()), names_text(), without_stand_ins(difference.one),
        without_stand_ins(difference.other), kAdvice);
  }

  const FreeDims& owner_;
  const NewCall& call_;
  std::vector<Shape> shapes_;       // of the call
  std::vector<std::size_t> names_;  // that are stood in for
  Grid grid_;
  std::list<Probe> probes_;
  std::vector<std::uint64_t> known_;
  std::shared_ptr<void> result_shape_;
};

void FreeDims::declare(const detail::Label& function, int argument, std::vector<Dim> dims) {
  if (argument < 0) argument = static_cast<int>(declared_.size());
  if (static_cast<std::size_t>(argument) >= declared_.size()) {
    declared_.resize(static_cast<std::size_t>(argument) + 1);
  }
  if (declared_[static_cast<std::size_t>(argument)]) {
    raise<ValueError>("input: argument {} of {} was declared before", argument,
                      label_text(function));
  }
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (!dims[axis].is_free()) {
      if (dims[axis].size() >= 0) continue;
      raise<ValueError>("input: a size below 0: {}: dyn is a free one", dims_text(dims));
    }
    auto name = std::ranges::find(names_, dims[axis].name());
    if (name == names_.end()) name = names_.insert(name, dims[axis].name());
    places_.push_back(
        {argument, static_cast<int>(axis), static_cast<std::size_t>(name - names_.begin())});
  }
  if (names_.size() > kMostNames) {
    raise<UnsupportedError>("input: {} has {} free sizes of different names, at most {} can be",
                            label_text(function), names_.size(), kMostNames);
  }
  declared_[static_cast<std::size_t>(argument)] = std::move(dims);
}

std::optional<std::size_t> FreeDims::name_at(int argument, int axis) const {
  for (const Place& place : places_) {
    if (place.argument == argument && place.axis == axis) return place.name;
  }
  return {};
}

std::string FreeDims::name_text(std::size_t name) const {
  std::string text = names_[name].empty() ? "" : fmt::format("\"{}\", ", names_[name]);
  bool first = true;
  for (const Place& place : places_) {
    if (place.name != name) continue;
    text += fmt::format("{}dimension {} of argument {}", std::exchange(first, false) ? "" : " and ",
                        place.axis, place.argument);
  }
  return text;
}

std::vector<std::int64_t> FreeDims::sizes_of(const NewCall& call) const {
  const std::string function = label_text(*call.function.get());
  if (declared_.size() > call.in.size()) {
    raise<ValueError>("{}: {} tensor arguments were declared, a call has {}", function,
                      declared_.size(), call.in.size());
  }
  std::vector<std::int64_t> sizes(names_.size(), -1);
  std::vector<Place> first_place(names_.size());
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    if (!declared_[i]) continue;
    const std::vector<Dim>& dims = *declared_[i];
    const Shape& shape = call.in[i].shape();
    if (static_cast<std::size_t>(shape.rank()) != dims.size()) {
      raise<ShapeError>("{}: argument {} is {}, declared {}: rank {} is not {}", function, i, shape,
                        dims_text(dims), shape.rank(), dims.size());
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Dim& dim = dims[static_cast<std::size_t>(axis)];
      if (!dim.is_free()) {
        if (dim.size() == shape[axis]) continue;
        raise<ShapeError>("{}: argument {} is {}, declared {}: dimension {} is {}, not {}",
                          function, i, shape, dims_text(dims), axis, shape[axis], dim.size());
      }
      const std::size_t name = *name_at(static_cast<int>(i), axis);
      if (sizes[name] < 0) {
        sizes[name] = shape[axis];
        first_place[name] = {static_cast<int>(i), axis, name};
      } else if (sizes[name] != shape[axis]) {
        raise<ShapeError>(
            "{}: argument {} is {}, declared {}: dimension {} is {}, but dimension {} of argument "
            "{} is {}. {} are of one size: give them different names, such as dyn(\"rows\"), if "
            "they are not",
            function, i, shape, dims_text(dims), axis, shape[axis], first_place[name].axis,
            first_place[name].argument, sizes[name],
            names_[name].empty() ? std::string("All plain dyn of a function")
                                 : fmt::format("All dyn(\"{}\")", names_[name]));
      }
    }
  }
  return sizes;
}

std::shared_ptr<const FreeDims::Template> FreeDims::template_for(const NewCall& call,
                                                                 const std::vector<bool>& fixed,
                                                                 std::size_t most_templates) {
  std::vector<std::int64_t> key;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Shape& shape = call.in[i].shape();
    key.push_back(static_cast<std::int64_t>(call.in[i].dtype()) << 8 | shape.rank());
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::optional<std::size_t> name = name_at(static_cast<int>(i), axis);
      key.push_back(name && !fixed[*name] ? -1 : shape[axis]);
    }
  }
  key.insert(key.end(), call.kinds.begin(), call.kinds.end());
  const auto find = [&] {
    const auto match = std::ranges::find(templates_, key,
                                         [](const auto& each) -> const auto& { return each->key; });
    if (match == templates_.end()) return std::shared_ptr<const Template>();
    templates_.splice(templates_.begin(), templates_, match);
    return templates_.front();
  };
  {
    const std::lock_guard lock(mutex_);
    if (auto known = find()) return known;
  }
  // Traced without the lock: the user's function may call this one, or take its time.
  Probing probing(*this, call, fixed);
  auto new_template = std::make_shared<const Template>(probing.run(key));
  std::list<std::shared_ptr<const Template>> dropped;  // let go of without the lock
  const std::lock_guard lock(mutex_);
  if (auto known = find()) return known;
  templates_.push_front(new_template);
  if (templates_.size() > most_templates) {
    dropped.splice(dropped.end(), templates_, std::prev(templates_.end()));
  }
  return new_template;
}

std::optional<TracedGraph> FreeDims::graph_for(const NewCall& call, std::size_t most_templates) {
  const std::vector<std::int64_t> sizes = sizes_of(call);
  // At least one for each way to be of size 0, 1 or any.
  most_templates = std::max<std::size_t>(most_templates, 27);
  if (sizes.empty()) return {};
  std::vector<bool> fixed(sizes.size(), false);
  // First with nothing fixed, so that what cannot be traced is refused whatever size comes first.
  std::shared_ptr<const Template> fitting = template_for(call, fixed, most_templates);
  std::vector<std::int64_t> free;
  for (std::size_t name = 0; name < sizes.size(); ++name) {
    fixed[name] = sizes[name] <= 1;
    if (!fixed[name]) free.push_back(sizes[name]);
  }
  if (fitting->opaque || free.empty()) return {};
  if (free.size() < sizes.size()) fitting = template_for(call, fixed, most_templates);
  if (fitting->opaque) return {};
  std::optional<Graph> graph = fitting->of.at(free, shapes_of(call.in));
  if (!graph) return {};
  return TracedGraph{std::move(*graph), fitting->result_shape};
}

}  // namespace tenure::graph
