// A user's own gradient: the value computed with no tape looking, then one op whose gradient is the
// user's function.
#include "core/raise.h"
#include "memory/context.h"
#include "ops/apply.h"
#include "ops/families.h"
#include "tensor/access.h"
#include "tenure/gradient.h"

namespace tenure {
namespace ops {
namespace {

struct CustomAttrs {
  std::shared_ptr<std::function<std::vector<Tensor>(Tensor)>> gradient;
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
      std::vector<Tensor> given;
      {
        const detail::CallbackScope user_code;
        given = (*g.attrs_as<CustomAttrs>().gradient)(g.dy());
      }
      const std::size_t wanted = g.inputs() - 1;
      if (given.size() != wanted) {
        raise<ValueError>("custom_gradient: {} gradients for {} inputs", given.size(), wanted);
      }
      for (std::size_t i = 0; i < wanted; ++i) {
        const Shape& shape = g.x_shape(static_cast<int>(i) + 1);
        if (given[i].defined() && given[i].shape() != shape) {
          raise<ShapeError>("custom_gradient: gradient {} is {}, its input {}", i, given[i].shape(),
                            shape);
        }
      }
      given.insert(given.begin(), Tensor());
      return given;
    }};

// No tape records while this is in scope.
class Unrecorded {
 public:
  Unrecorded() : context_(detail::context()), tapes_(std::exchange(context_.tapes, nullptr)) {}
  ~Unrecorded() { context_.tapes = tapes_; }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  detail::Context& context_;
  Recorder* tapes_;
};

}  // namespace

Family custom_ops() {
  static constexpr const OpDef* ops[] = {&kCustom};
  return ops;
}

}  // namespace ops

Tensor custom_gradient(const std::function<CustomResult(const std::vector<Tensor>&)>& forward,
                       const std::vector<Tensor>& inputs, std::source_location site) {
  CustomResult result;
  {
    const ops::Unrecorded unrecorded;
    result = forward(inputs);
  }
  if (!result.gradient) raise<ValueError>("custom_gradient: no gradient function was returned");
  const ops::CustomAttrs attrs{
      std::make_shared<std::function<std::vector<Tensor>(Tensor)>>(std::move(result.gradient))};
  std::vector<Tensor> in;
  in.reserve(inputs.size() + 1);
  in.push_back(std::move(result.value));
  in.insert(in.end(), inputs.begin(), inputs.end());
  Tensor out;
  ops::apply_into(ops::kCustom, in, ops::ref(attrs), site, {&out, 1});
  return out;
}

}  // namespace tenure
