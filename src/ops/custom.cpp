// A user's own gradient: the value computed with no tape looking, then one op whose gradient is the
// user's function.
#include "ops/custom.h"

#include "core/raise.h"
#include "memory/context.h"
#include "memory/ledger.h"
#include "memory/text.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "ops/tracer.h"
#include "ops/unrecorded.h"
#include "tensor/access.h"
#include "tenure/gradient.h"

namespace tenure {
namespace ops {
namespace {

struct CustomAttrs {
  std::shared_ptr<const CustomGradient> gradient;
  bool operator==(const CustomAttrs&) const = default;
  void visit(auto&&) const {}
};

// Input 0 is the value, of which the result is a view; the rest are what the user computed it from.
constinit const OpDef kCustom{
    .name = "custom_gradient",
    .infer = [](Infer& infer) { infer.result(infer.shape(0), infer.dtype(0)); },
    .inputs = OpDef::kVariadic,
    .view =
        [](const Layout& in, AttrsRef, Layout& out) {
          out.strides = in.strides;
          out.offset = in.offset;
          return true;
        },
    .grad_keeps = kNothing,
    .grad = [](GradContext& g) -> Grads {
      std::vector<Tensor> grads;
      {
        const detail::CallbackScope user_code;
        grads = (*g.attrs_as<CustomAttrs>().gradient)(g.dy());
      }
      check_count(grads.size(), g.inputs() - 1);
      for (std::size_t i = 0; i < grads.size(); ++i) {
        const int input = static_cast<int>(i) + 1;
        check_gradient(i, grads[i], g.x_dtype(input), g.x_shape(input));
      }
      grads.insert(grads.begin(), Tensor());
      return grads;
    }};

}  // namespace

void check_count(std::size_t gradients, std::size_t inputs) {
  if (gradients == inputs) return;
  raise<ValueError>("custom_gradient: {} gradients for {} inputs", gradients, inputs);
}

void check_gradient(std::size_t i, const Tensor& gradient, DType dtype, const Shape& shape) {
  if (!gradient.defined()) return;
  const detail::Header& header = *detail::Access::header(gradient);
  if (header.is_disposed()) {
    raise_disposed(header, {.op = "custom_gradient", .site = detail::context().call.site});
  }
  if (gradient.shape() != shape) {
    raise<ShapeError>("custom_gradient: gradient {} is {}, its input {}", i, gradient.shape(),
                      shape);
  }
  const bool flows = is_floating(dtype) || is_complex(dtype);
  if (flows && gradient.dtype() != dtype) {
    raise<DtypeError>("custom_gradient: gradient {} is {}, its input {}", i, gradient.dtype(),
                      dtype);
  }
}

Family custom_ops() {
  static constexpr const OpDef* ops[] = {&kCustom};
  return ops;
}

}  // namespace ops

Tensor custom_gradient(const std::function<CustomResult(const std::vector<Tensor>&)>& forward,
                       const std::vector<Tensor>& inputs, std::source_location site) {
  detail::check_function("custom_gradient", forward, site, "the function of the value");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    detail::checked(inputs[i], "custom_gradient", static_cast<int>(i), site);
  }
  detail::Context& context = detail::context();
  CustomResult result;
  {
    // What the gradient function holds of all this is its own: no scope of the user's ends it.
    const ops::Unrecorded unrecorded;
    const detail::NoScope no_scope(context);
    std::vector<Tensor> own_inputs = inputs;
    if (context.trace == nullptr) {
      for (Tensor& input : own_inputs) input = input.clone(site);
    }
    result = forward(own_inputs);
  }
  if (!result.value.defined()) {
    throw ValueError(
        describe("custom_gradient: the value that was returned is an empty handle (default-made "
                 "or moved from)")
            .told({detail::used_line(site, "custom_gradient")},
                  "return CustomResult{value, [=](Tensor dy) { ... }}."));
  }
  if (!result.gradient) {
    throw ValueError(describe("custom_gradient: no gradient function was returned")
                         .told({detail::used_line(site, "custom_gradient")},
                               "return CustomResult{value, [=](Tensor dy) { ... }}."));
  }
  if (ops::Tracer* trace = context.trace) {
    return trace->with_gradient(result.value, inputs, result.gradient, site);
  }
  const ops::CustomAttrs attrs{
      std::make_shared<const ops::CustomGradient>(std::move(result.gradient))};
  std::vector<Tensor> in;
  in.reserve(inputs.size() + 1);
  in.push_back(std::move(result.value));
  in.insert(in.end(), inputs.begin(), inputs.end());
  Tensor out;
  ops::apply_into(ops::kCustom, in, ops::ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace tenure
