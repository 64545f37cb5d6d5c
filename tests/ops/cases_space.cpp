// Blocks of space as entries of other axes.
#include "case.h"
#include "reference_indexing.h"

namespace tenure::testing {

std::vector<Case> space_cases() {
  std::vector<Case> cases;
  const Pads pads{{1, 0}, {0, 2}}, crops{{1, 0}, {0, 2}};
  const Shape block{2, 3};
  cases.push_back(
      {.name = "space_to_batch_nd",
       .ops = {"transpose", "reshape", "pad"},
       .run = [=](Tensors in, DType) { return space_to_batch_nd(OP_IN(0), block, pads); },
       .inputs = {{}},
       .shapes = {{{2, 3, 4, 2}}, {{1, 1, 1}}, {{0, 3, 1}}},
       .reference = [=](const Arrays& in) { return space_to_batch(in[0], block, pads); },
       .dtypes = kAnything,
       .error_name = "space_to_batch_nd"});
  cases.push_back(
      {.name = "batch_to_space_nd",
       .ops = {"transpose", "reshape", "slice"},
       .run = [=](Tensors in, DType) { return batch_to_space_nd(OP_IN(0), block, crops); },
       .inputs = {{}},
       .shapes = {{{12, 2, 2, 2}}, {{6, 1, 1}}},
       .reference = [=](const Arrays& in) { return batch_to_space(in[0], block, crops); },
       .dtypes = kAnything,
       .error_name = "batch_to_space_nd"});
  cases.push_back(
      {.name = "batch_to_space_nd_without_crops",
       .ops = {"transpose", "reshape"},
       .run = [](Tensors in, DType) { return batch_to_space_nd(OP_IN(0), {2}, {{0, 0}}); },
       .inputs = {{}},
       .shapes = {{{4, 3}}, {{2, 2, 3}}},
       .reference = [](const Arrays& in) { return batch_to_space(in[0], {2}, {{0, 0}}); },
       .dtypes = kAnything,
       .error_name = "batch_to_space_nd"});
  for (const ImageLayout layout : {ImageLayout::nhwc, ImageLayout::nchw}) {
    const bool first = layout == ImageLayout::nchw;
    const std::string suffix = first ? "_nchw" : "";
    cases.push_back(
        {.name = "depth_to_space" + suffix,
         .ops = {"transpose", "reshape"},
         .run = [=](Tensors in, DType) { return depth_to_space(OP_IN(0), 2, layout); },
         .inputs = {{}},
         .shapes = {{first ? Shape{2, 8, 1, 3} : Shape{2, 1, 3, 8}}},
         .reference = [=](const Arrays& in) { return depth_to_pixels(in[0], 2, first); },
         .dtypes = kAnything,
         .error_name = "depth_to_space"});
    cases.push_back(
        {.name = "space_to_depth" + suffix,
         .ops = {"transpose", "reshape"},
         .run = [=](Tensors in, DType) { return space_to_depth(OP_IN(0), 2, layout); },
         .inputs = {{}},
         .shapes = {{first ? Shape{2, 3, 2, 4} : Shape{2, 2, 4, 3}}},
         .reference = [=](const Arrays& in) { return pixels_to_depth(in[0], 2, first); },
         .dtypes = kAnything,
         .error_name = "space_to_depth"});
  }
  return cases;
}

}  // namespace tenure::testing
