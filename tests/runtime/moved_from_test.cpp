// Handles that were moved from, or made without an object: every use of one says so.
#include <filesystem>

#include "support/expect.h"

namespace tenure {
namespace {

// Every call is a ValueError that says that the handle is empty.
template <class... Fs>
void expect_empty(const char* what, Fs&&... calls) {
  int call = 0;
  const auto check = [&](auto&& fn) {
    SCOPED_TRACE(std::string(what) + ", call " + std::to_string(call++));
    try {
      fn();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const ValueError& error) {
      EXPECT_HAS(error.what(), "empty");
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another error: " << error.what();
    }
  };
  (check(calls), ...);
}

TEST(MovedFrom, L6_a_job_says_so) {
  Job<int> job = start_job<int>([](JobControl&) { return 2; });
  Job<int> taken = std::move(job);
  expect_empty(
      "Job", [&] { job.get(); }, [&] { job.wait(); }, [&] { job.ready(); }, [&] { job.cancel(); },
      [&] { job.progress(); }, [&] { run([&]() -> Task<int> { co_return co_await job; }); },
      [&] { run([&]() -> Task<int> { co_return co_await std::move(job); }); });
  EXPECT_EQ(taken.get(), 2);
  job = start_job<int>([](JobControl&) { return 3; });
  EXPECT_EQ(job.get(), 3);
}

TEST(MovedFrom, L6_a_function_says_so) {
  auto twice = function("twice", [](Tensor x) { return x * 2; });
  auto taken = std::move(twice);
  expect_empty(
      "Function", [&] { twice(ones({2})); }, [&] { twice(donate(ones({2}))); },
      [&] { twice.input({dyn}); }, [&] { twice.name(); }, [&] { twice.traces(); },
      [&] { twice.captures(); }, [&] { twice.plan(); }, [&] { twice.dump(); },
      [&] { twice.dot(); });
  EXPECT_EQ(taken(ones({2}))[0].item<float>(), 2.f);
}

TEST(MovedFrom, L6_a_task_says_so) {
  const auto coroutine = []() -> Task<int> { co_return 1; };
  Task<int> task = coroutine();
  Task<int> taken = std::move(task);
  const auto give = [&] { return std::move(task); };
  expect_empty(
      "Task", [&] { run(give()); }, [&] { start(give()); },
      [&] { run([&]() -> Task<int> { co_return co_await std::move(task); }); },
      [&] {
        TaskLoop loop;
        loop.add(give());
      });
  EXPECT_EQ(run(std::move(taken)), 1);
}

TEST(MovedFrom, L6_a_variable_and_a_tensor_say_so) {
  Variable v(ones({2}));
  Variable taken = std::move(v);
  expect_empty(
      "Variable", [&] { v.read(); }, [&] { v.assign(ones({2})); }, [&] { v.shape(); },
      [&] { v.dtype(); }, [&] { v.name(); }, [&] { v.trainable(); }, [&] { v.id(); },
      [&] { v.dispose(); }, [&] { v.is_disposed(); }, [&] { v + 1; }, [&] { (void)Source(v); });
  Tensor x = ones({2});
  Tensor moved = std::move(x);
  expect_empty(
      "Tensor", [&] { x.id(); }, [&] { x.shape(); }, [&] { x.dim(0); }, [&] { x.rank(); },
      [&] { x.numel(); }, [&] { x.nbytes(); }, [&] { x.dtype(); }, [&] { x.device(); },
      [&] { x.name(); }, [&] { x.is_disposed(); }, [&] { x.story(); }, [&] { x.set_name("x"); },
      [&] { x.clone(); }, [&] { x[0]; }, [&] { x.to_vector<float>(); }, [&] { x.item<float>(); },
      [&] { x.view<float>(); }, [&] { x.read_async<float>(); }, [&] { x + 1; }, [&] { keep(x); },
      [&] { why_alive(x); }, [&] { (void)Variable(x); }, [&] { GradientTape().watch(x); },
      [&] { transfer(x, Session::process()); });
}

TEST(MovedFrom, L6_lookups_of_text_say_so) {
  nn::StringLookup lookup({.vocabulary = {"a"}});
  nn::TextVectorization words({.vocabulary = {"a"}});
  nn::Hashing hashing({.num_bins = 2});
  const nn::StringLookup lookup_taken = std::move(lookup);
  const nn::TextVectorization words_taken = std::move(words);
  const nn::Hashing hashing_taken = std::move(hashing);
  const nn::Text text{.strings = {"a"}};
  expect_empty(
      "StringLookup", [&] { lookup(text); }, [&] { lookup.get_vocabulary(); },
      [&] { lookup.vocabulary_size(); }, [&] { lookup.to_inputs(); }, [&] { lookup.to_targets(); },
      [&] { lookup.adapt({"a"}); }, [&] { lookup.set_vocabulary({"a"}); },
      [&] { lookup.strings(tensor({0})); }, [&] { lookup.save("file"); });
  expect_empty(
      "TextVectorization", [&] { words(text); }, [&] { words.get_vocabulary(); },
      [&] { words.vocabulary_size(); }, [&] { words.to_inputs(); }, [&] { words.to_targets(); },
      [&] { words.adapt({"a"}); }, [&] { words.set_vocabulary({"a"}); }, [&] { words.tokens("a"); },
      [&] { words.save("file"); });
  expect_empty(
      "Hashing", [&] { hashing(text); }, [&] { hashing.to_inputs(); },
      [&] { hashing.to_targets(); });
}

TEST(MovedFrom, L6_a_dataset_says_so) {
  nn::Dataset dataset = nn::Dataset::from_tensors(ones({4, 2}));
  nn::Dataset taken = std::move(dataset);
  expect_empty(
      "Dataset", [&] { dataset.shuffle(); }, [&] { dataset.batch(2); },
      [&] { dataset.map([](nn::Batch batch) { return batch; }); },
      [&] { dataset.filter([](const nn::Batch&) { return true; }); },
      [&] { dataset.concatenate(taken); }, [&] { taken.concatenate(dataset); },
      [&] { dataset.padded_batch(2); }, [&] { dataset.window(2); }, [&] { dataset.enumerate(); },
      [&] { dataset.cache(); }, [&] { dataset.cache("file"); },
      [&] { nn::Dataset::zip(dataset, taken); }, [&] { nn::Dataset::zip(taken, dataset); },
      [&] { dataset.flat_map([&](nn::Batch) { return taken; }); },
      [&] { dataset.interleave([&](nn::Batch) { return taken; }); }, [&] { dataset.unbatch(); },
      [&] { dataset.repeat(2); }, [&] { dataset.take(1); }, [&] { dataset.skip(1); },
      [&] { dataset.prefetch(1); }, [&] { dataset.size(); }, [&] { dataset.iterate(); },
      [&] { dataset.iterate(1); },
      [&] {
        for (nn::Batch& batch : dataset) (void)batch;
      });
  nn::DatasetIterator pass = taken.iterate();
  nn::DatasetIterator moved = std::move(pass);
  expect_empty("DatasetIterator", [&] { pass.next(); });
}

TEST(MovedFrom, L6_layers_and_models_say_so) {
  nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const nn::Sequential taken = std::move(model);
  const Tensor x = ones({1, 3}), y = ones({1, 2});
  const nn::Dataset batches = nn::Dataset::from_tensors(x, y).batch(1);
  expect_empty(
      "Layer", [&] { model(x); }, [&] { model(std::vector<Tensor>{x}); }, [&] { model.apply({x}); },
      [&] { model(nn::Input({.shape = {3}})); }, [&] { model.name(); }, [&] { model.class_name(); },
      [&] { model.trainable(); }, [&] { model.set_trainable(true); },
      [&] { model.set_recompute(true); }, [&] { model.build({1, 3}); }, [&] { model.is_built(); },
      [&] { model.weights(); }, [&] { model.trainable_weights(); },
      [&] { model.non_trainable_weights(); }, [&] { model.get_weights(); },
      [&] { model.set_weights({}); }, [&] { model.count_params(); }, [&] { model.layers(); },
      [&] { model.reset_states(); }, [&] { model.reset_states(std::vector<Tensor>()); },
      [&] { model.get_states(); }, [&] { model.compute_mask({x}, {}); },
      [&] { model.output_spec({{{1, 3}}}); }, [&] { model.dispose(); },
      [&] { model.is_disposed(); }, [&] { model.config(); }, [&] { model.as<nn::LayerBase>(); });
  expect_empty(
      "Model", [&] { model.compile({}); }, [&] { model.fit(x, y); }, [&] { model.fit(batches); },
      [&] { model.fit_async(x, y); }, [&] { model.fit_async(batches); },
      [&] { model.train_on_batch(x, y); }, [&] { model.test_on_batch(x, y); },
      [&] { model.evaluate(x, y); }, [&] { model.evaluate(batches); }, [&] { model.predict(x); },
      [&] { model.predict_async(x); }, [&] { model.inputs(); }, [&] { model.outputs(); },
      [&] { model.optimizer(); }, [&] { model.summary(); }, [&] { model.dot(); },
      [&] { model.save("moved.safetensors"); }, [&] { model.save_weights("moved.safetensors"); },
      [&] { model.load_weights("moved.safetensors"); }, [&] { model.add(nn::ReLU()); },
      [&] { model.pop(); });
  EXPECT_TRUE(model.weak().expired());
  expect_empty(
      "a part of a model", [&] { nn::Sequential(std::vector<nn::Layer>{model}); },
      [&] { taken.add(model); }, [&] { nn::Bidirectional{nn::Layer(model)}; });
  nn::Node node = nn::Input({.shape = {3}});
  const nn::Node kept = std::move(node);
  expect_empty(
      "Node", [&] { node.shape(); }, [&] { node.dtype(); }, [&] { node.layer(); },
      [&] { nn::ReLU()(node); }, [&] { nn::Model({node}, {kept}); });
  expect_empty("no layer", [] { nn::Layer(std::shared_ptr<nn::LayerBase>()); });
}

TEST(MovedFrom, L6_what_a_model_is_trained_with_says_so) {
  nn::Optimizer optimizer = nn::Adam();
  const nn::Optimizer taken = std::move(optimizer);
  Variable w(ones({2}));
  expect_empty(
      "Optimizer", [&] { optimizer.build({w}); }, [&] { optimizer.apply({ones({2})}, {w}); },
      [&] { optimizer.learning_rate(); }, [&] { optimizer.set_learning_rate(1); },
      [&] { optimizer.iterations(); }, [&] { optimizer.variables(); }, [&] { optimizer.name(); },
      [&] { optimizer.class_name(); }, [&] { optimizer.config(); }, [&] { optimizer.dispose(); },
      [&] { optimizer.is_disposed(); });
  nn::Metric metric("mse");
  const nn::Metric kept = std::move(metric);
  const Tensor x = ones({2, 2});
  expect_empty(
      "Metric", [&] { metric.update(x, x); }, [&] { metric.add(x); }, [&] { metric.result(); },
      [&] { metric.results(); }, [&] { metric.reset(); }, [&] { metric.name(); },
      [&] { metric.variables(); }, [&] { metric.class_name(); }, [&] { metric.config(); },
      [&] { metric.resolved("mse", {2}); }, [&] { metric.fresh(); }, [&] { metric.dispose(); });
  nn::Loss loss("mse");
  const nn::Loss held = std::move(loss);
  expect_empty(
      "Loss", [&] { loss(x, x); }, [&] { loss.per_example(x, x); }, [&] { loss.name(); },
      [&] { loss.class_name(); }, [&] { loss.config(); }, [&] { loss.reduction(); },
      [&] { loss.before("softmax"); }, [&] { (void)nn::Metric(loss); });
  nn::Callback callback = nn::TerminateOnNaN();
  const nn::Callback other = std::move(callback);
  expect_empty("Callback", [&] { (void)*callback; }, [&] { (void)callback.operator->(); });
  const nn::Initializer initializer;
  const nn::Regularizer regularizer;
  const nn::Constraint constraint;
  const nn::LambdaFn lambda;
  expect_empty(
      "Part", [&] { initializer({2}); }, [&] { initializer.class_name(); },
      [&] { initializer.config(); }, [&] { regularizer(x); }, [&] { constraint(x); },
      [&] { lambda({x}); });
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {2}})});
  expect_empty(
      "compile", [&] { model.compile({.optimizer = optimizer, .loss = "mse"}); },
      [&] { model.compile({.optimizer = "sgd", .loss = loss}); },
      [&] { model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {metric}}); });
}

TEST(MovedFrom, L6_readers_say_so) {
  const std::string folder = ::testing::TempDir();
  const std::string npz = folder + "moved.npz", safe = folder + "moved.safetensors",
                    csv = folder + "moved.csv";
  io::save_npz(npz, {{"x", ones({2})}});
  io::save_safetensors(safe, {{"x", ones({2})}});
  std::FILE* file = std::fopen(csv.c_str(), "w");
  std::fputs("a,b\n1,2\n", file);
  std::fclose(file);
  {
    io::NpzReader zip(npz);
    const io::NpzReader kept = std::move(zip);
    expect_empty(
        "NpzReader", [&] { zip.tensors(); }, [&] { zip.contains("x"); }, [&] { zip.read("x"); });
    io::SafetensorsReader tensors(safe);
    const io::SafetensorsReader held = std::move(tensors);
    expect_empty(
        "SafetensorsReader", [&] { tensors.tensors(); }, [&] { tensors.metadata(); },
        [&] { tensors.contains("x"); }, [&] { tensors.read("x"); }, [&] { tensors.map("x"); });
    io::CsvReader rows(csv);
    const io::CsvReader other = std::move(rows);
    expect_empty("CsvReader", [&] { rows.columns(); }, [&] { rows.next(); }, [&] { rows.line(); });
  }
  for (const std::string& path : {npz, safe, csv}) std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenure
