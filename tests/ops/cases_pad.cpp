// Padding.
#include "case.h"
#include "reference_indexing.h"

namespace tenure::testing {
namespace {

struct PadRow {
  const char* name;
  Pads pads;
  Scalar value;
  std::vector<Shapes> shapes;
  std::vector<Shapes> value_shapes = {};
};

const PadRow kPads[] = {
    {"pad", {{1, 2}, {0, 3}}, 0, {{{2, 3}}, {{1, 1}}, {{0, 2}}, {{2, 0}}}, {{{70, 700}}}},
    {"pad_outer", {{2, 0}, {1, 1}, {0, 0}}, 1, {{{2, 2, 3}}, {{1, 1, 0}}}},
    {"pad_with_nothing", {{0, 0}, {0, 0}}, 7, {{{2, 3}}}},
    {"pad_that_cuts", {{-1, 2}, {3, -2}}, 1, {{{3, 4}}, {{1, 2}}, {{2, 0}}}, {{{70, 700}}}},
    {"pad_that_cuts_inside", {{0, 0}, {-1, -1}, {0, 0}}, 0, {{{2, 4, 3}}, {{1, 2, 2}}}},
    {"pad_past_what_is_cut", {{-5, 6}, {6, -5}}, 1, {{{3, 2}}}},
    {"pad_of_a_scalar", {}, 1, {{{}}}},
};

const PadRow kMirrors[] = {
    {"", {{1, 2}, {0, 3}}, 0, {{{3, 4}}, {{5, 4}}}},
    {"_of_all_axes", {{1, 1}, {2, 0}, {1, 2}}, 0, {{{2, 3, 3}}}},
    {"_with_nothing", {{0, 0}}, 0, {{{2}}, {{0}}}},
};

}  // namespace

std::vector<Case> pad_cases() {
  std::vector<Case> cases;
  for (const PadRow& row : kPads) {
    cases.push_back(
        {.name = row.name,
         .ops = {"pad"},
         .run = [row](Tensors in, DType) { return pad(OP_IN(0), row.pads, row.value); },
         .inputs = {{}},
         .shapes = row.shapes,
         .value_shapes = row.value_shapes,
         .reference =
             [row](const Arrays& in) { return padded(in[0], row.pads, row.value.to_double()); },
         .dtypes = row.value == Scalar(7) ? DTypes{DType::float32, DType::int8, DType::float16}
                                          : kAnything});
  }
  for (const PadRow& row : kMirrors) {
    for (const Mirror mirror : {Mirror::reflect, Mirror::symmetric}) {
      const bool edge = mirror == Mirror::symmetric;
      cases.push_back(
          {.name = std::string(edge ? "mirror_pad_symmetric" : "mirror_pad_reflect") + row.name,
           .ops = {"concat", "slice"},
           .run = [row, mirror](Tensors in,
                                DType) { return mirror_pad(OP_IN(0), row.pads, mirror); },
           .inputs = {{}},
           .shapes = row.shapes,
           .reference = [row, edge](const Arrays& in) { return mirrored(in[0], row.pads, edge); },
           .dtypes = kAnything,
           .error_name = "mirror_pad"});
    }
  }
  return cases;
}

}  // namespace tenure::testing
