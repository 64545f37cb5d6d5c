// Models of many layers: what making, saving and freeing them costs, and how deep they may be.
#include <pthread.h>
#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "nn/layers/checks.h"
#include "tenure/nn.h"

namespace tenure::testing {
namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class F>
double cost_of(F&& fn) {
  const double before = processor_seconds();
  fn();
  return processor_seconds() - before;
}

nn::Sequential sequential_of(int layers) {
  nn::Sequential model({nn::Input({.shape = {2}})});
  for (int i = 0; i < layers; ++i) model.add(nn::Identity());
  return model;
}

nn::Model graph_of(int layers) {
  const nn::Node in = nn::Input({.shape = {2}});
  nn::Node node = in;
  for (int i = 0; i < layers; ++i) node = nn::Identity()(node);
  return nn::Model({in}, {node});
}

// Four times the layers cost four times as much, where nothing is quadratic; with room for a
// machine that does other things.
constexpr int kFew = 2'500, kMany = 4 * kFew;
constexpr double kMostGrowth = 9;

TEST(LongModels, a_sequential_costs_in_proportion_to_its_layers) {
  sequential_of(100);
  const double few = cost_of([] { sequential_of(kFew); });
  EXPECT_LT(cost_of([] { sequential_of(kMany); }), kMostGrowth * few);
}

TEST(LongModels, a_model_of_nodes_costs_in_proportion_to_its_layers) {
  graph_of(100);
  const double few = cost_of([] { graph_of(kFew); });
  EXPECT_LT(cost_of([] { graph_of(kMany); }), kMostGrowth * few);
}

TEST(LongModels, a_layer_called_many_times_costs_in_proportion) {
  const auto calls = [](int count) {
    const nn::Identity shared;
    const nn::Node in = nn::Input({.shape = {2}});
    nn::Node node = in;
    for (int i = 0; i < count; ++i) node = shared(node);
    const nn::Model model({in}, {node});
  };
  calls(100);
  const double few = cost_of([&] { calls(kFew); });
  EXPECT_LT(cost_of([&] { calls(kMany); }), kMostGrowth * few);
}

// On a thread whose stack is small.
void on_small_stack(std::function<void()> fn) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{512} << 10);
  pthread_t thread{};
  const auto run = [](void* what) -> void* {
    (*static_cast<std::function<void()>*>(what))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &fn), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(LongModels, a_chain_of_nodes_may_be_longer_than_the_stack_is_deep) {
  const nn::Identity shared;
  const nn::Node in = nn::Input({.shape = {2}, .batch_size = 1});
  nn::Node node = in;
  for (int i = 0; i < 20'000; ++i) node = shared(node);
  on_small_stack([&] {
    std::optional<nn::Model> model(nn::Model({in}, {node}));
    model.reset();
    node = in;
  });
  EXPECT_EQ(shared.outputs().size(), 0u);
}

TEST(LongModels, what_is_saved_is_loaded) {
  const nn::Node in = nn::Input({.shape = {2}});
  nn::Node node = in;
  for (int i = 0; i < 8'000; ++i) node = node + 1.0;
  const nn::Model model({in}, {node});
  const std::string path = ::testing::TempDir() + "long_model.safetensors";
  model.save(path);
  EXPECT_EQ(floats(nn::load_model(path)(zeros({1, 2}))), (Floats{8'000, 8'000}));
  std::filesystem::remove(path);
}

TEST(LongModels, what_could_not_be_loaded_is_not_saved) {
  nn::Model model = nn::Sequential({nn::Dense({.units = 1, .input_shape = {1}})});
  for (int depth = 0; depth < 70; ++depth) model = nn::Sequential({model});
  const std::string path = ::testing::TempDir() + "deep_model.safetensors";
  EXPECT_HAS(message_of<IoError>([&] { model.save(path); }), "the JSON is more than 200 deep");
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tenure::testing
