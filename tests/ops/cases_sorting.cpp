// Orders: top_k, sort, unique and searches.
#include "case.h"
#include "reference_indexing.h"

namespace tenure::testing {
namespace {

// Some equal, so that places decide; gradients need values that differ.
const Input kWithTies{.low = -5, .high = 5, .whole = true, .least = -5, .most = 5};

void add_top_k(std::vector<Case>& cases, std::int64_t k, bool largest) {
  const std::string suffix = (largest ? "_" : "_smallest_") + std::to_string(k);
  Case row{
      .name = "top_k" + suffix,
      .ops = {"top_k"},
      .run = [=](Tensors in, DType) { return top_k(OP_IN(0), k, {.largest = largest}).values; },
      .inputs = {{}},
      .shapes = {{{3, 5}}, {{2, 2, 4}}, {{4}}, {{0, 4}}, {{2, 37}}},
      .value_shapes = k > 0 ? std::vector<Shapes>{{{22, 1400}}} : std::vector<Shapes>{},
      .reference =
          [=](const Arrays& in) {
            const int last = in[0].shape.rank() - 1;
            return taken_along(in[0], first_places(in[0], k, largest), last);
          },
      .dtypes = kAnything};
  cases.push_back(row);
  row.name += "_indices";
  row.run = [=](Tensors in, DType) { return top_k(OP_IN(0), k, {.largest = largest}).indices; };
  row.inputs = {kWithTies};
  row.reference = [=](const Arrays& in) { return first_places(in[0], k, largest); };
  row.result = int32_dtype;
  row.differentiable = false;
  cases.push_back(row);
}

void add_sort(std::vector<Case>& cases, int axis, bool descending) {
  const std::string suffix = (axis < 0 ? std::string("_last") : "_axis_" + std::to_string(axis)) +
                             (descending ? "_descending" : "");
  const auto normal = [axis](const Array& x) { return axis < 0 ? axis + x.shape.rank() : axis; };
  Case row{.name = "sort" + suffix,
           .ops = {"sort"},
           .run = [=](Tensors in,
                      DType) { return sort(OP_IN(0), {.axis = axis, .descending = descending}); },
           .inputs = {{}},
           .shapes = {{{3, 5}}, {{2, 3, 4}}, {{4}}, {{0, 2}}, {{2, 0}}},
           .value_shapes = {axis < 0 ? Shapes{{22, 1400}} : Shapes{{1400, 22}}},
           .reference =
               [=](const Arrays& in) {
                 const int along = normal(in[0]);
                 return taken_along(in[0], order_of(in[0], along, descending), along);
               },
           .dtypes = kAnything};
  cases.push_back(row);
  row.name = "argsort" + suffix;
  row.run = [=](Tensors in, DType) {
    return argsort(OP_IN(0), {.axis = axis, .descending = descending});
  };
  row.inputs = {kWithTies};
  row.reference = [=](const Arrays& in) { return order_of(in[0], normal(in[0]), descending); };
  row.result = int32_dtype;
  row.differentiable = false;
  row.error_name = "argsort";
  cases.push_back(row);
}

Array sorted_rows(const Array& x) {
  const int last = x.shape.rank() - 1;
  return taken_along(x, order_of(x, last, false), last);
}

}  // namespace

std::vector<Case> sorting_cases() {
  std::vector<Case> cases;
  add_top_k(cases, 3, true);
  add_top_k(cases, 4, false);
  add_top_k(cases, 0, true);
  add_sort(cases, -1, false);
  add_sort(cases, 0, true);

  for (const bool rows : {false, true}) {
    const std::vector<Shapes> shapes = rows ? std::vector<Shapes>{{{2, 6}}, {{2, 5, 2}}, {{0, 3}}}
                                            : std::vector<Shapes>{{{9}}, {{3, 4}}, {{}}, {{0}}};
    const auto found = [rows](Tensors& in) {
      return rows ? unique(OP_IN(0), 1) : unique(OP_IN(0));
    };
    const auto expected = [rows](const Array& x) {
      if (rows) return differing(x, 1);
      return differing(reshaped(x, {static_cast<std::int64_t>(x.data.size())}), 0);
    };
    const std::string suffix = rows ? "_on_axis_1" : "";
    Case row{.name = "unique_values" + suffix,
             .ops = {"gather", "unique", "reshape"},
             .run = [found](Tensors in, DType) { return found(in).values; },
             .inputs = {{.low = -1, .high = 1, .whole = true, .least = 0, .most = 2}},
             .shapes = shapes,
             .reference = [expected](const Arrays& in) { return expected(in[0]).values; },
             .dtypes = kAnything,
             .differentiable = false,
             .error_name = "unique"};
    cases.push_back(row);
    row.name = "unique_inverse" + suffix;
    row.ops = {"unique", "gather", "reshape"};
    row.run = [found](Tensors in, DType) { return found(in).inverse; };
    row.reference = [expected](const Arrays& in) { return expected(in[0]).inverse; };
    row.result = int32_dtype;
    cases.push_back(row);
  }

  for (const bool right : {false, true}) {
    cases.push_back(
        {.name = right ? "searchsorted_right" : "searchsorted_left",
         .ops = {"searchsorted", "sort"},
         .run = [right](Tensors in,
                        DType) { return searchsorted(sort(in[0]), OP_IN(1), {.right = right}); },
         .inputs = {kWithTies, kWithTies},
         .shapes = {{{7}, {5}}, {{7}, {2, 3}}, {{2, 6}, {2, 4}}, {{4}, {}}},
         .value_shapes = {{{30, 100}, {30, 1000}}},
         .reference =
             [right](const Arrays& in) { return searched(sorted_rows(in[0]), in[1], right); },
         .dtypes = kNumbers,
         .result = int32_dtype,
         .differentiable = false,
         .error_name = ""});
  }
  return cases;
}

}  // namespace tenure::testing
