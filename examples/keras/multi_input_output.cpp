// Several inputs and outputs: tickets have a title, a body and tags; the network says how urgent
// each is and which department is to have it. Losses, their weights and metrics go by the names of
// the outputs. Keras's guide "The Functional API", on models with multiple inputs and outputs.
#include <cmath>

#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr std::int64_t kWords = 50, kTitle = 5, kBody = 12, kTags = 6, kDepartments = 3;

struct Tickets {
  tn::Tensor title, body, tags;
  tn::Tensor priority, department;
};

// Word 1 in a title is "urgent". The body has a word of its department, and so have the tags, as
// far as there are any.
static Tickets make_tickets(std::int64_t count) {
  const tn::Tensor urgent = tn::random::randint({count, 1}, 0, 2);
  const tn::Tensor department = tn::random::randint({count, 1}, 0, kDepartments);
  const tn::Tensor title = tn::random::randint({count, kTitle - 1}, 2, kWords);
  const tn::Tensor body = tn::random::randint({count, kBody - 1}, 10, kWords);
  const tn::Tensor tagged = tn::random::bernoulli({count, 1}, 0.5);
  const tn::Tensor tags = tn::one_hot(tn::squeeze(department, {1}), kTags) * tagged;
  return {tn::concat({tn::where(tn::equal(urgent, 1), 1, 2), title}, 1),
          tn::concat({body, department + 2}, 1), tags, tn::cast(urgent, tn::DType::float32),
          tn::one_hot(tn::squeeze(department, {1}), kDepartments)};
}

static nn::Model make_network() {
  const nn::Node title =
      nn::Input({.shape = {nn::kAny}, .dtype = tn::DType::int32, .name = "title"});
  const nn::Node body = nn::Input({.shape = {nn::kAny}, .dtype = tn::DType::int32, .name = "body"});
  const nn::Node tags = nn::Input({.shape = {kTags}, .name = "tags"});

  const nn::Embedding embed({.input_dim = kWords, .output_dim = 16});  // one for both
  const nn::Node read = nn::Concatenate()(
      {nn::LSTM({.units = 16})(embed(title)), nn::GRU({.units = 24})(embed(body)), tags});
  return nn::Model(
      {title, body, tags},
      {nn::Dense({.units = 1, .activation = "sigmoid", .name = "priority"})(read),
       nn::Dense({.units = kDepartments, .activation = "softmax", .name = "department"})(read)},
      {.name = "tickets"});
}

static void program() {
  tn::set_seed(20);
  const Tickets known = make_tickets(1000), unseen = make_tickets(250);

  const nn::Model network = make_network();
  std::cout << network.summary() << "\n";
  network.compile(
      {.optimizer = nn::Adam({.learning_rate = 0.005}),
       .loss = {{"priority", "binary_crossentropy"}, {"department", nn::CategoricalCrossentropy()}},
       .loss_weights = {{"department", 0.5}},
       .metrics = {{"priority", {"accuracy", nn::AUC()}}, {"department", "accuracy"}}});
  const nn::History history =
      network.fit({known.title, known.body, known.tags}, {known.priority, known.department},
                  {.epochs = 12, .verbose = nn::Verbose::silent});
  for (const auto& [name, values] : history.values) {
    std::cout << name << ": " << values.front() << " to " << values.back() << "\n";
  }
  const double parts = history["priority_loss"].back() + 0.5 * history["department_loss"].back();
  expect(std::abs(history["loss"].back() - parts) < 1e-4, "the loss is that of its weighted parts");

  const nn::Logs logs = network.evaluate({unseen.title, unseen.body, unseen.tags},
                                         {unseen.priority, unseen.department});
  for (const auto& [name, value] : logs) std::cout << "unseen " << name << ": " << value << "\n";
  expect_between("accuracy of the priority", nn::value_of(logs, "priority_accuracy"), 0.9, 1);
  expect_between("AUC of the priority", nn::value_of(logs, "priority_auc"), 0.95, 1);
  expect_between("accuracy of the department", nn::value_of(logs, "department_accuracy"), 0.9, 1);

  const std::vector<tn::Tensor> said = network.predict({unseen.title, unseen.body, unseen.tags});
  expect(said[0].shape() == tn::Shape{250, 1} && said[1].shape() == tn::Shape{250, kDepartments},
         "there is an answer of each output for every ticket");
}

int main() { return status_of(program); }
