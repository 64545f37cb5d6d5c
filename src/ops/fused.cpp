#include "ops/fused.h"

#include <fmt/format.h>

#include <algorithm>

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

bool same_attrs(AttrsRef a, AttrsRef b) {
  if (a.type() != b.type()) return false;
  return a.data() == nullptr || b.data() == nullptr ? a.data() == b.data()
                                                    : a.type()->equal(a.data(), b.data());
}

template <class A>
constexpr AttrsType kTypeOf{
    .copy = [](const void* value) -> void* { return new A(*static_cast<const A*>(value)); },
    .destroy = [](void* value) noexcept { delete static_cast<A*>(value); },
    .equal =
        [](const void* a, const void* b) {
          const A &one = *static_cast<const A*>(a), &other = *static_cast<const A*>(b);
          if constexpr (requires { one.producer; }) {
            if (one.producer != other.producer) return false;
            if (!same_attrs(one.attrs.ref(), other.attrs.ref())) return false;
          }
          if constexpr (requires { one.reducer; }) {
            if (one.reducer != other.reducer) return false;
            if (!same_attrs(one.attrs.ref(), other.attrs.ref())) return false;
          }
          return one.program == other.program;
        },
    .print =
        [](const void* value) {
          const A& attrs = *static_cast<const A*>(value);
          std::string text = text_of(attrs.program);
          if constexpr (requires { attrs.producer; }) {
            const std::string of_producer = attrs.attrs.ref().print();
            text = fmt::format("%0 = {}({}); {}", attrs.producer->name, of_producer, text);
          }
          if constexpr (requires { attrs.reducer; }) {
            text += fmt::format("; {}(r0) {}", attrs.reducer->name, attrs.attrs.ref().print());
          }
          return text;
        },
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

void infer_results(Infer& infer, const FusedProgram& program) {
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    infer.result(program.shape, program.results[i], i);
  }
}

constexpr const char* kOnlyInGraphs = "tapes see the ops it was made of";

}  // namespace

AttrsRef ref(const FusedAttrs& attrs) { return {&attrs, &kTypeOf<FusedAttrs>}; }
AttrsRef ref(const ReducedAttrs& attrs) { return {&attrs, &kTypeOf<ReducedAttrs>}; }
AttrsRef ref(const FinishedAttrs& attrs) { return {&attrs, &kTypeOf<FinishedAttrs>}; }

constinit const OpDef kFused{
    .name = "fused",
    .infer = [](Infer& infer) { infer_results(infer, infer.attrs.as<FusedAttrs>().program); },
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
    .infer = [](Infer& infer) { infer_results(infer, infer.attrs.as<FinishedAttrs>().program); },
    .inputs = OpDef::kVariadic,
    .dispatch_on = OpDef::kOutput0,
    .accepts_of =
        [](AttrsRef attrs, std::size_t input) {
          const auto& finished = attrs.as<FinishedAttrs>();
          return input < finished.producer_inputs ? finished.producer->accepts
                                                  : Accepts::elementwise;
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
