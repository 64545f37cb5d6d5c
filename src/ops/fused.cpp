#include "ops/fused.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/step.h"

namespace tenure::ops {
namespace {

// tanh(%0); sigmoid(%0): the inputs by number, what is computed as r0 for results and t0 for tiles.
std::string location_text(const FusedProgram& program, Location location) {
  if (location < program.first_number()) return fmt::format("%{}", location);
  if (location < program.first_result()) {
    return fmt::format("n{}", location - program.first_number());
  }
  if (location < program.first_slot()) {
    return fmt::format("r{}", location - program.first_result());
  }
  return fmt::format("t{}", location - program.first_slot());
}

std::string text_of(const FusedProgram& program) {
  std::string text;
  for (const FusedStep& step : program.steps) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} = {}(", location_text(program, step.dst), step.op->name);
    for (std::size_t i = 0; i < static_cast<std::size_t>(step.loop.inputs); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", location_text(program, step.src[i]));
    }
    text += ')';
  }
  return text;
}

bool same(const AttrsBox& a, const AttrsBox& b) {
  const AttrsRef one = a.ref(), other = b.ref();
  if (one.data() == nullptr || other.data() == nullptr) return one.data() == other.data();
  return one.type() == other.type() && one.type()->equal(one.data(), other.data());
}
bool same(const FusedAttrs& a, const FusedAttrs& b) { return a.program == b.program; }
bool same(const ReducedAttrs& a, const ReducedAttrs& b) {
  return a.reducer == b.reducer && same(a.attrs, b.attrs) && a.program == b.program;
}
bool same(const FinishedAttrs& a, const FinishedAttrs& b) {
  return a.producer == b.producer && same(a.producer_attrs, b.producer_attrs) &&
         a.producer_inputs == b.producer_inputs && a.follower == b.follower &&
         same(a.follower_attrs, b.follower_attrs) && a.operand == b.operand && a.shape == b.shape &&
         a.dtype == b.dtype && a.host == b.host;
}

std::string text_of(const FusedAttrs& attrs) { return text_of(attrs.program); }
std::string text_of(const ReducedAttrs& attrs) {
  return fmt::format("{}; {}(r0) {}", text_of(attrs.program), attrs.reducer->name,
                     attrs.attrs.ref().print());
}
std::string text_of(const FinishedAttrs& attrs) {
  const std::string follower = attrs.follower_attrs.ref().print();
  return fmt::format(
      "%{} = {}({}); {}", attrs.operand, attrs.producer->name, attrs.producer_attrs.ref().print(),
      attrs.follower == &kFused ? follower : fmt::format("{}({})", attrs.follower->name, follower));
}

template <class A>
constexpr AttrsType kTypeOf{
    .copy = [](const void* value) -> void* { return new A(*static_cast<const A*>(value)); },
    .destroy = [](void* value) noexcept { delete static_cast<A*>(value); },
    .equal =
        [](const void* a, const void* b) {
          return same(*static_cast<const A*>(a), *static_cast<const A*>(b));
        },
    .print = [](const void* value) { return text_of(*static_cast<const A*>(value)); },
};

// A result may lie where an input lies that no later step reads.
bool is_read_before(const FusedProgram& program, std::size_t input, std::size_t result) {
  const auto written = std::ranges::find(
      program.steps, static_cast<Location>(program.first_result() + result), &FusedStep::dst);
  return std::none_of(written + 1, program.steps.end(), [&](const FusedStep& step) {
    const auto* end = step.src.begin() + step.loop.inputs;
    return std::find(step.src.begin(), end, static_cast<Location>(input)) != end;
  });
}

constexpr const char* kOnlyInGraphs = "tapes see the ops it was made of";

}  // namespace

AttrsRef ref(const FusedAttrs& attrs) { return {&attrs, &kTypeOf<FusedAttrs>}; }
AttrsRef ref(const ReducedAttrs& attrs) { return {&attrs, &kTypeOf<ReducedAttrs>}; }
AttrsRef ref(const FinishedAttrs& attrs) { return {&attrs, &kTypeOf<FinishedAttrs>}; }

constinit const OpDef kFused{
    .name = "fused",
    .infer =
        [](Infer& infer) {
          const FusedProgram& program = infer.attrs.as<FusedAttrs>().program;
          for (std::size_t i = 0; i < program.results.size(); ++i) {
            infer.result(program.shape, program.results[i], i);
          }
        },
    .inputs = OpDef::kVariadic,
    .outputs = OpDef::kVariadic,
    .dispatch_on = OpDef::kOutput0,
    .accepts = Accepts::elementwise,
    .may_take =
        [](AttrsRef attrs, std::size_t input, std::size_t output) {
          return is_read_before(attrs.as<FusedAttrs>().program, input, output);
        },
    .no_gradient = kOnlyInGraphs};

constinit const OpDef kFinished{
    .name = "finished",
    .infer =
        [](Infer& infer) {
          const auto& attrs = infer.attrs.as<FinishedAttrs>();
          const Layout operand = contiguous_layout(attrs.shape, attrs.dtype);
          std::vector<const Layout*> in(infer.in.begin() + static_cast<long>(attrs.producer_inputs),
                                        infer.in.end());
          in.insert(in.begin() + static_cast<long>(attrs.operand), &operand);
          Infer follower{attrs.follower->name, in, attrs.follower_attrs.ref(), infer.out};
          attrs.follower->infer(follower);
        },
    .inputs = OpDef::kVariadic,
    .outputs = OpDef::kVariadic,
    .dispatch_on = OpDef::kOutput0,
    .accepts_of =
        [](AttrsRef attrs, std::size_t input) {
          const auto& finished = attrs.as<FinishedAttrs>();
          return input < finished.producer_inputs ? finished.producer->accepts
                                                  : finished.follower->accepts;
        },
    .may_take =
        [](AttrsRef attrs, std::size_t input, std::size_t output) {
          const auto& finished = attrs.as<FinishedAttrs>();
          return input >= finished.producer_inputs && finished.host != output &&
                 may_take(*finished.follower, finished.follower_attrs.ref(),
                          finished.follower_input(input), output);
        },
    .no_gradient = kOnlyInGraphs};

constinit const OpDef kReduced{
    .name = "reduced",
    .infer =
        [](Infer& infer) {
          const auto& attrs = infer.attrs.as<ReducedAttrs>();
          const Layout whole = contiguous_layout(attrs.program.shape, attrs.program.results[0]);
          const Layout* in = &whole;
          Infer inner{attrs.reducer->name, {&in, 1}, attrs.attrs.ref(), infer.out};
          attrs.reducer->infer(inner);
        },
    .inputs = OpDef::kVariadic,
    .dispatch_on = OpDef::kOutput0,
    .no_gradient = kOnlyInGraphs};

}  // namespace tenure::ops
