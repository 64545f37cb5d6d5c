// Running sums and products, forwards and backwards, with and without the element itself.
#include "case.h"
#include "ops/apply.h"
#include "ops/scan_attrs.h"
#include "reference_lines.h"

namespace tenure::testing {

std::vector<Case> scan_cases() {
  std::vector<Case> cases;
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const ScanOptions options{.exclusive = exclusive, .reverse = reverse};
      const std::string suffix =
          std::string(exclusive ? "_exclusive" : "") + (reverse ? "_reverse" : "");
      const int axis = exclusive ? -1 : (reverse ? 0 : 1);
      const Case sums{
          .name = "cumsum" + suffix,
          .ops = {"cumsum"},
          .run = [axis, options](Tensors in, DType) { return cumsum(OP_IN(0), axis, options); },
          .inputs = {{}},
          .shapes = {{{2, 3, 4}}, {{3, 5}}, {{1, 1}}, {{2, 0}}, {{0, 2}}},
          .value_shapes = {{{200, 201}}, {{3, 50, 300}}, {{4, 9000}}},
          .reference = [axis,
                        options](const Arrays& in) { return running(in[0], axis, false, options); },
          .tolerance = {.ulps = 2, .epsilons = 10},
          .value_tolerance = {.ulps = 2, .epsilons = 10000},
          .dtypes = {DType::float32, DType::float64, DType::int32, DType::int8},
          .result = total_dtype};
      cases.push_back(sums);
      Case products = sums;
      products.name = "cumprod" + suffix;
      products.ops = {"cumprod"};
      products.error_name = "cumprod";
      products.run = [axis, options](Tensors in, DType) {
        return cumprod(OP_IN(0), axis, options);
      };
      products.inputs = {{.low = -1.5, .high = 1.5, .whole = true, .least = -1, .most = 1}};
      products.reference = [axis, options](const Arrays& in) {
        return running(in[0], axis, true, options);
      };
      cases.push_back(products);
      products.name += "_of_fractions";
      products.inputs = {{}};
      products.dtypes = kFloats;
      products.value_shapes = {};
      cases.push_back(products);
    }
  }
  for (const bool reverse : {false, true}) {
    for (const bool lagged : {false, true}) {
      const ops::RecurrenceAttrs attrs{1, reverse, lagged};
      cases.push_back(
          {.name =
               std::string("recurrence") + (reverse ? "_reverse" : "") + (lagged ? "_lagged" : ""),
           .ops = {"recurrence"},
           .run =
               [attrs](Tensors in, DType) {
                 return ops::apply(op_named("recurrence"), ops::ref(attrs),
                                   std::source_location::current(), OP_IN(0), OP_IN(1));
               },
           .inputs = {{.low = -1, .high = 1}, {}},
           .shapes = {{{2, 3}, {2, 3}}, {{2, 4, 3}, {2, 4, 3}}, {{1, 0}, {1, 0}}},
           .value_shapes = {{{40, 200, 8}, {40, 200, 8}}},
           .reference = [reverse,
                         lagged](const Arrays& in) { return recurred(in, 1, reverse, lagged); },
           .tolerance = {.ulps = 2, .epsilons = 10}});
    }
  }
  return cases;
}

}  // namespace tenure::testing
