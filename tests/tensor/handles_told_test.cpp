// An error counts the user's handles, not the copies that the library makes on its way to it.
#include <functional>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::message_of;

struct Use {
  const char* name;
  std::function<void(Tensor&)> use;
};

nn::Sequential scorer() {
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {2}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

// Each is given a float32 [2, 2] that cannot be used.
const std::vector<Use>& uses() {
  static const auto* all = new std::vector<Use>{
      {"add", [](Tensor& x) { x + 1.0; }},
      {"add_itself", [](Tensor& x) { x + x; }},
      {"add_int", [](Tensor& x) { x + ones({2, 2}, DType::int32); }},
      {"exp", [](Tensor& x) { exp(x); }},
      {"sum", [](Tensor& x) { sum(x); }},
      {"softmax", [](Tensor& x) { softmax(x); }},
      {"cast", [](Tensor& x) { cast(x, DType::int32); }},
      {"matmul", [](Tensor& x) { matmul(x, x); }},
      {"index", [](Tensor& x) { x[0]; }},
      {"reshape", [](Tensor& x) { reshape(x, {4}); }},
      {"transpose", [](Tensor& x) { transpose(x); }},
      {"gather", [](Tensor& x) { gather(x, tensor({0, 1})); }},
      {"layer_norm", [](Tensor& x) { layer_norm(x); }},
      {"search_sorted", [](Tensor& x) { lower_bound(x, ones({2, 2})); }},
      {"simple_rnn", [](Tensor& x) { simple_rnn(ones({1, 2, 2}), x, ones({2, 2})); }},
      {"clone", [](Tensor& x) { x.clone(); }},
      {"to_vector", [](Tensor& x) { x.to_vector<float>(); }},
      {"item", [](Tensor& x) { x.item<float>(); }},
      {"view", [](Tensor& x) { x.view<float>(); }},
      {"read_async", [](Tensor& x) { x.read_async<float>(); }},
      {"to_dlpack", [](Tensor& x) { to_dlpack(x); }},
      {"keep", [](Tensor& x) { keep(x); }},
      {"variable", [](Tensor& x) { Variable v(x); }},
      {"assign",
       [](Tensor& x) {
         Variable v(ones({2, 2}));
         v.assign(x);
       }},
      {"watch",
       [](Tensor& x) {
         GradientTape tape;
         tape.watch(x);
       }},
      {"grad", [](Tensor& x) { grad([](Tensor y) { return sum(y * y); })(x); }},
      {"call", [](Tensor& x) { function("f", [](Tensor y) { return y + 1.f; })(x); }},
      {"call_twice",
       [](Tensor& x) { function("f", [](Tensor y, Tensor z) { return y + z; })(x, x); }},
      {"call_of_many",
       [](Tensor& x) {
         std::vector<Tensor> many;  // no list in braces: that keeps copies until the line ends
         many.push_back(std::move(x));
         function("f", [](std::vector<Tensor> y) { return y[0] + 1.f; })(many);
       }},
      {"call_by_reference",
       [](Tensor& x) { function("f", [](const Tensor& y) { return y + 1.f; })(x); }},
      {"call_traced_before",
       [](Tensor& x) {
         auto f = function("f", [](Tensor y) { return y + 1.f; });
         Session::process().run([&] { f(ones({2, 2})); });
         f(x);
       }},
      {"call_of_any_size",
       [](Tensor& x) {
         auto f = function("f", [](Tensor y) { return y + 1.f; });
         f.input({dyn, 2});
         f(x);
       }},
      {"call_under_a_tape",
       [](Tensor& x) {
         GradientTape tape;
         function("f", [](Tensor y) { return y + 1.f; })(x);
       }},
      {"checkpoint_under_a_tape",
       [](Tensor& x) {
         GradientTape tape;
         checkpoint("f", [](Tensor y) { return y + 1.f; })(x);
       }},
      {"donate", [](Tensor& x) { function("f", [](Tensor y) { return y + 1.f; })(donate(x)); }},
      {"capture", [](Tensor& x) { function("f", [&](Tensor y) { return y + x; })(ones({2, 2})); }},
      {"predict", [](Tensor& x) { scorer().predict(x); }},
      {"predict_async", [](Tensor& x) { scorer().predict_async(x); }},
      {"fit", [](Tensor& x) { scorer().fit(x, x); }},
      {"fit_async", [](Tensor& x) { scorer().fit_async(x, x); }},
      {"evaluate", [](Tensor& x) { scorer().evaluate(x, x); }},
      {"train_on_batch", [](Tensor& x) { scorer().train_on_batch(x, x); }},
      {"test_on_batch", [](Tensor& x) { scorer().test_on_batch(x, x); }},
      {"from_tensors", [](Tensor& x) { nn::Dataset::from_tensors(x, x); }},
  };
  return *all;
}

class Told : public ::testing::TestWithParam<Use> {};

TEST_P(Told, one_handle_of_a_disposed_tensor) {
  Tensor x = ones({2, 2});
  x.dispose();
  const std::string text = message_of<DisposedError>([&] { GetParam().use(x); });
  EXPECT_HAS(text, "1 handle (yours)");
  EXPECT_HAS(text, "used      handles_told_test.cpp:");
}

TEST_P(Told, two_handles_of_a_disposed_tensor) {
  Tensor x = ones({2, 2});
  const Tensor other = x;
  x.dispose();
  EXPECT_HAS(message_of<DisposedError>([&] { GetParam().use(x); }), "2 handles");
}

TEST_P(Told, one_handle_of_another_sessions_tensor) {
  Session session({.name = "other"});
  Tensor x = session.run([] { return ones({2, 2}); });
  EXPECT_HAS(message_of<InaccessibleTensorError>([&] { GetParam().use(x); }), "1 handle (yours)");
}

TEST(Handles, a_call_that_is_made_of_others_says_that_it_has_some) {
  Tensor x = ones({2, 2});
  x.dispose();
  const nn::Dense layer({.units = 1});
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { layer(x); }, [&] { nn::MeanSquaredError()(x, ones({2, 2})); }}) {
    const std::string text = message_of<DisposedError>(use);
    const bool alone = text.find("1 handle (yours)") != text.npos;
    EXPECT_TRUE(alone || text.find("handles, this call's among them") != text.npos) << text;
    EXPECT_HAS(text, "used      handles_told_test.cpp:");
  }
}

INSTANTIATE_TEST_SUITE_P(Handles, Told, ::testing::ValuesIn(uses()),
                         [](const auto& use) { return std::string(use.param.name); });

}  // namespace
}  // namespace tenure
