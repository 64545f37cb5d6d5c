// A function that is not there is refused where it is given, with the line.
#include "support/expect.h"

namespace tenure {
namespace {

using testing::here;
using testing::whole_message_of;

void refuses(const std::function<void()>& call, int line, const std::string& problem) {
  const std::string text = whole_message_of<ValueError>(call);
  EXPECT_HAS(text, problem + " is empty");
  EXPECT_HAS(text, "no_function_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "give it one that can be called.");
}

#define REFUSES(problem, ...) refuses([&] { __VA_ARGS__; }, here().line(), problem)

using OneToOne = std::function<Tensor(Tensor)>;

TEST(NoFunction, control_flow_refuses_it) {
  const Tensor x = tensor(1.f), yes = tensor(true);
  const std::function<Tensor()> none;
  const std::function<Tensor()> some = [&] { return x; };
  REFUSES("cond: the branch for true", cond(yes, none, some));
  REFUSES("cond: the branch for false", cond(yes, some, none));
  REFUSES("switch_case: a branch", switch_case<Tensor>(tensor(0), {some, none}));
  const OneToOne no_step;
  const OneToOne step = [](Tensor s) { return s; };
  const std::function<Tensor(Tensor)> goes = [](Tensor s) { return s < 1.f; };
  REFUSES("while_loop: the condition", while_loop(no_step, step, x));
  REFUSES("while_loop: the body", while_loop(goes, no_step, x));
  const std::function<Tensor(Tensor, Tensor)> no_body;
  REFUSES("for_loop: the body", for_loop(2, no_body, x));
  const std::function<std::pair<Tensor, Tensor>(Tensor, Tensor)> no_scan;
  REFUSES("scan: the function", scan(no_scan, x, ones({3})));
  const auto in_trace = function("in trace", [&](Tensor in) { return cond(yes, none, some) + in; });
  EXPECT_THROW(in_trace(x), ValueError);
}

TEST(NoFunction, scopes_functions_gradients_and_work_refuse_it) {
  const std::function<Tensor()> none;
  const OneToOne no_step;
  REFUSES("tidy: the function", tidy("step", none));
  REFUSES("tidy: the function", tidy(none));
  REFUSES("profile: the function", profile(none));
  Session session;
  REFUSES("run: the function", session.run(none));
  REFUSES("the std::function it was made of", function("f", no_step));
  REFUSES("the std::function it was made of", checkpoint(no_step));
  REFUSES("grad: the function", grad(no_step));
  REFUSES("value_and_grad: the function", value_and_grad(no_step));
  Tensor (*const pointer)(Tensor) = nullptr;
  REFUSES("grad: the function", grad(pointer));
  REFUSES("start_job: the function", start_job<int>(std::function<int(JobControl&)>()));
  const std::function<Task<int>()> no_task;
  REFUSES("start: the function", start(no_task));
  REFUSES("run: the function", run(no_task));
  TaskLoop loop;
  REFUSES("add: the function", loop.add(no_task));
}

TEST(NoFunction, datasets_and_parts_of_models_refuse_it) {
  const nn::Dataset data = nn::Dataset::from_tensors(ones({4, 2}));
  REFUSES("map: the function", data.map(std::function<nn::Batch(nn::Batch)>()));
  REFUSES("filter: the function", data.filter(nullptr));
  REFUSES("flat_map: the function", data.flat_map(nullptr));
  REFUSES("interleave: the function", data.interleave(nullptr));
  const std::function<std::string(std::string_view)> no_standardize;
  REFUSES("standardize: the function", (void)nn::TextStandardize(no_standardize));
  REFUSES("from_generator: the function", nn::Dataset::from_generator(nullptr));
  const nn::Dataset gives_none =
      nn::Dataset::from_generator([] { return nn::Dataset::Generator(); });
  EXPECT_THROW(gives_none.iterate().next(), ValueError);
  const OneToOne none;
  const std::function<Tensor(Tensor, Tensor)> no_loss;
  REFUSES("activation: the function", nn::Dense({.units = 1, .activation = none}));
  REFUSES("regularizer: the function", nn::Dense({.units = 1, .kernel_regularizer = none}));
  REFUSES("constraint: the function", nn::Dense({.units = 1, .kernel_constraint = none}));
  REFUSES("initializer: the function",
          nn::Initializer(std::function<Tensor(const Shape&, DType)>()));
  REFUSES("schedule: the function", (void)nn::Schedule(none));
  REFUSES("loss: the function", (void)nn::Loss(no_loss));
  REFUSES("metric: the function", (void)nn::Metric(no_loss, "mine"));
  REFUSES("Lambda: the function", (void)nn::LambdaFn(none));
  REFUSES("LearningRateScheduler: the function", nn::LearningRateScheduler(nullptr));
  REFUSES("register_layer: the function", nn::register_layer("Mine", nullptr));
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  REFUSES("loss: the function", model.compile({.loss = no_loss}));
}

}  // namespace
}  // namespace tenure
