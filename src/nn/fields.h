// The settings of layers, losses, metrics, optimizers and their parts, from one list of fields per
// options struct:
//
//   void fields(Fields& visit, DenseOptions& o) { TENURE_FIELDS(visit, o, units, activation); }
//
// What visits the list writes the fields, or reads them: as JSON in Keras's schema, which
// nn/config.cpp knows and nobody else. A field that a file lacks keeps its default; one of the
// wrong kind is a ValueError that names it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/fields.h"
#include "core/listed.h"
#include "core/raise.h"
#include "tenure/dtype.h"
#include "tenure/nn/parts.h"
#include "tenure/nn/sizes.h"
#include "tenure/shape.h"

// As of a Shape.
template <>
struct fmt::formatter<tenure::nn::Sizes> : fmt::formatter<tenure::Shape> {};

namespace tenure::nn {
class DTypePolicy;
class LambdaFn;
class Layer;
class LearningRate;
enum class Curve;
enum class Reduction;
enum class Summation;
}  // namespace tenure::nn

namespace tenure::nn::detail {

// A list in which -1 is a number as any other: axes, or a shape to be. In files none is null, and
// one stands by itself unless it is always a list.
struct Numbers {
  Shape& list;
  bool is_list = false;
};

// Pairs of before and after, one for each of `axes` axes; in files of one axis, a list of two.
struct MarginField {
  std::vector<std::pair<std::int64_t, std::int64_t>>& pairs;
  int axes;
};

using Field = std::variant<
    bool*, int*, std::int64_t*, double*, std::string*, DType*, DTypePolicy*, Shape*,
    std::vector<double>*, std::optional<bool>*, std::optional<std::int64_t>*,
    std::optional<double>*, std::optional<std::string>*, std::optional<Shape>*,
    std::optional<std::uint64_t>*,        // a seed; in files, what is no whole number is none
    std::optional<std::vector<double>>*,  // in files one may stand by itself
    Numbers, MarginField, Curve*, Reduction*, Summation*, ActivationFn*, Initializer*, Regularizer*,
    Constraint*, LearningRate*, LambdaFn*, std::optional<Layer>*, std::vector<Layer>*>;

class Fields {
 public:
  virtual ~Fields() = default;
  virtual bool reads() const { return true; }  // else it writes
  // Refuses settings that lack one of these.
  virtual void need(std::initializer_list<const char*>) const {}
  template <class T>
  void operator()(const char* key, T& value) {
    visit(key, Field(std::in_place_type<T*>, &value));
  }
  void operator()(const char* key, Sizes& value) { (*this)(key, static_cast<Shape&>(value)); }
  template <class T>
  void operator()(const char* key, OneOrMore<T>& value) {
    (*this)(key, static_cast<std::vector<T>&>(value));
  }
  template <class E>
  void operator()(const char* key, Choice<E>& value) {
    (*this)(key, value.value);
  }
  void operator()(const char* key, Numbers value) { visit(key, value); }
  void operator()(const char* key, MarginField value) { visit(key, value); }

 private:
  virtual void visit(const char* key, const Field& field) = 0;
};

// Settings that nobody wrote down: but for the name, defaults.
class Unwritten final : public Fields {
 public:
  explicit Unwritten(std::string name = {}) : name_(std::move(name)) {}

 private:
  void visit(const char* key, const Field& field) override {
    if (key == std::string_view("name")) *std::get<std::string*>(field) = name_;
  }
  std::string name_;
};

// Gives the second struct that it visits what the first has in the fields of the same names.
class FieldCopy final : public Fields {
 private:
  void visit(const char* key, const Field& field) override;
  std::map<std::string_view, Field> first_;
};

using Settings = std::function<void(Fields& visit)>;
std::string written(const Settings& settings);  // {"units":8,"activation":"relu"}

template <class O>
Settings settings_of(O options) {
  return [options = std::move(options)](Fields& visit) {
    O copy = options;
    fields(visit, copy);
  };
}
template <class O>
std::string config_of(const O& options) {
  return written(settings_of(options));
}

// "glorot_uniform", "glorotUniform" and "GlorotUniform" name the same.
std::string plain_name(std::string_view name);

std::string snake_case(std::string_view class_name);  // "global_pooling1d", of default names

// A row of a table of what names and files may ask for.
template <class T>
struct Row {
  const char* name;
  T (*make)(Fields& settings);
  const char* other_names = "";  // plain, each between blanks
};

bool is_called(const std::string& plain, std::string_view name, std::string_view other_names);
[[noreturn]] void raise_no_such(const std::string& what, const std::string& name,
                                const std::string& known);

template <class T, std::size_t N>
std::optional<T> find_named(const Row<T> (&rows)[N], const std::string& name, Fields& settings) {
  const std::string plain = plain_name(name);
  for (const Row<T>& row : rows) {
    if (is_called(plain, row.name, row.other_names)) return row.make(settings);
  }
  return std::nullopt;
}

template <class T, std::size_t N>
std::string names_of(const Row<T> (&rows)[N]) {
  return tenure::detail::listed(rows, [](const Row<T>& row) { return row.name; });
}

template <class T, std::size_t N>
T make_named(const char* what, const Row<T> (&rows)[N], const std::string& name, Fields& settings) {
  std::optional<T> named = find_named(rows, name, settings);
  if (!named) raise_no_such(what, name, names_of(rows));
  return *std::move(named);
}

template <class T, class O>
O options_of(T (*make)(O));
template <class T, class O>
O options_of(T (*make)(O, std::source_location));
// What kMake makes of its options. Whoever asks has told of the user's line.
template <auto kMake>
auto make(decltype(options_of(kMake)) options) {
  if constexpr (requires { kMake(std::move(options)); }) {
    return kMake(std::move(options));
  } else {
    return kMake(std::move(options), {});
  }
}
// The function of a row for that.
template <auto kMake>
auto made_by(Fields& settings) {
  decltype(options_of(kMake)) options;
  if constexpr (requires { options.name; }) settings("name", options.name);
  if constexpr (requires { options.reduction; }) settings("reduction", options.reduction);
  fields(settings, options);
  return make<kMake>(std::move(options));
}

}  // namespace tenure::nn::detail
