// Non-maximum suppression, hard and soft.
//
// Candidates wait in a heap, the best at its top. One that comes up is held against the boxes
// chosen since it was last looked at: if it overlaps one of them too much it is dropped, and if
// soft suppression lowered its score it goes back into the heap, otherwise it is chosen.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/cpu/kernels.h"
#include "ops/image_attrs.h"

namespace tenure::cpu {
namespace {

struct Candidate {
  double score;
  std::int32_t box;
  std::int32_t seen;  // how many of the chosen boxes it was held against

  // In a heap, the largest is on top: of equal scores the first box.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.box > b.box;
  }
};

template <class T>
double intersection_over_union(const T* a, const T* b) {
  const auto corners = [](const T* box) {
    const double y1 = static_cast<double>(box[0]), x1 = static_cast<double>(box[1]);
    const double y2 = static_cast<double>(box[2]), x2 = static_cast<double>(box[3]);
    return std::array{std::min(y1, y2), std::min(x1, x2), std::max(y1, y2), std::max(x1, x2)};
  };
  const auto [top, left, bottom, right] = corners(a);
  const auto [other_top, other_left, other_bottom, other_right] = corners(b);
  const double area = (bottom - top) * (right - left);
  const double other_area = (other_bottom - other_top) * (other_right - other_left);
  if (area <= 0 || other_area <= 0) return 0;
  const double height = std::min(bottom, other_bottom) - std::max(top, other_top);
  const double width = std::min(right, other_right) - std::max(left, other_left);
  const double both = std::max(height, 0.0) * std::max(width, 0.0);
  return both / (area + other_area - both);
}

// Scratch: the heap of candidates, and behind it the chosen ones.
std::size_t scratch_bytes(const ops::KernelArgs& args) noexcept {
  const auto most = args.attrs.as<ops::SuppressionAttrs>().max_output_size;
  return static_cast<std::size_t>((*args.in[0].shape)[0] + most) * sizeof(Candidate);
}

// The chosen ones, best first.
template <class T>
std::span<const Candidate> choose(const ops::KernelArgs& args) {
  const auto& attrs = args.attrs.as<ops::SuppressionAttrs>();
  const std::int64_t boxes = (*args.in[0].shape)[0];
  const T* box = args.in[0].as<T>();
  const T* scores = args.in[1].as<T>();
  auto* heap = reinterpret_cast<Candidate*>(args.scratch);
  if (boxes == 0 || attrs.max_output_size == 0) return {};
  Candidate* end = heap;
  for (std::int64_t i = 0; i < boxes; ++i) {
    const double score = static_cast<double>(scores[i]);
    if (score > attrs.score_threshold) *end++ = {score, static_cast<std::int32_t>(i), 0};
  }
  std::make_heap(heap, end);
  Candidate* chosen = heap + boxes;
  std::int32_t count = 0;
  const double sigma = attrs.soft_nms_sigma;
  const double scale = sigma > 0 ? -0.5 / sigma : 0;
  while (count < attrs.max_output_size && end != heap) {
    std::pop_heap(heap, end);
    Candidate& candidate = *--end;
    const double before = candidate.score;
    bool dropped = false;
    for (std::int32_t j = count - 1; j >= candidate.seen && !dropped; --j) {
      const double overlap =
          intersection_over_union(box + 4 * candidate.box, box + 4 * chosen[j].box);
      if (overlap >= attrs.iou_threshold) {
        dropped = true;
      } else {
        candidate.score *= std::exp(scale * overlap * overlap);
        dropped = candidate.score <= attrs.score_threshold;
      }
    }
    if (dropped) continue;
    candidate.seen = count;
    if (candidate.score == before) {
      chosen[count++] = candidate;
    } else {
      std::push_heap(heap, ++end);
    }
  }
  return {chosen, static_cast<std::size_t>(count)};
}

template <class T>
void measure(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  sizes[0] = static_cast<std::int64_t>(choose<T>(args).size());
}

template <class T>
void suppress(const ops::KernelArgs& args) noexcept {
  auto* indices = args.out[0].as<std::int32_t>();
  for (const Candidate& each : choose<T>(args)) *indices++ = each.box;
}

template <class T>
void suppress_with_score(const ops::KernelArgs& args) noexcept {
  auto* indices = args.out[0].as<std::int32_t>();
  T* scores = args.out[1].as<T>();
  for (const Candidate& each : choose<T>(args)) {
    *indices++ = each.box;
    *scores++ = static_cast<T>(each.score);
  }
}

template <class T>
void suppress_padded(const ops::KernelArgs& args) noexcept {
  const std::span<const Candidate> chosen = choose<T>(args);
  auto* indices = args.out[0].as<std::int32_t>();
  std::fill_n(indices, args.out[0].numel(), 0);
  for (const Candidate& each : chosen) *indices++ = each.box;
  *args.out[1].as<std::int32_t>() = static_cast<std::int32_t>(chosen.size());
}

}  // namespace

std::span<const ops::KernelRow> boxes_kernels() {
  static constexpr ops::KernelRow rows[] = {
      {"non_max_suppression", DType::float32, suppress<float>, scratch_bytes, measure<float>},
      {"non_max_suppression", DType::float64, suppress<double>, scratch_bytes, measure<double>},
      {"non_max_suppression_with_score", DType::float32, suppress_with_score<float>, scratch_bytes,
       measure<float>},
      {"non_max_suppression_with_score", DType::float64, suppress_with_score<double>, scratch_bytes,
       measure<double>},
      {"non_max_suppression_padded", DType::float32, suppress_padded<float>, scratch_bytes},
      {"non_max_suppression_padded", DType::float64, suppress_padded<double>, scratch_bytes},
  };
  return rows;
}

}  // namespace tenure::cpu
