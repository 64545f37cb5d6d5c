// Sequence to sequence with attention: an encoder reads digits, a decoder that begins with its
// states writes them backwards, and looks at what was read while it does. Trained on the right
// sequence so far, asked one digit at a time. Keras's example "Character-level recurrent seq2seq".
#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr std::int64_t kLength = 6, kDigits = 8;
static constexpr std::int64_t kBegin = kDigits, kTokens = kDigits + 1;  // what begins an answer
static constexpr std::int64_t kUnits = 48;

struct Pairs {
  tn::Tensor questions, answers;  // [count, length]
  // What the decoder is given: the answer one step later.
  tn::Tensor given() const {
    const tn::Tensor begin = tn::full({answers.dim(0), 1}, kBegin, tn::DType::int32);
    return tn::concat({begin, tn::slice(answers, {0, 0}, {-1, kLength - 1})}, 1);
  }
};

static Pairs make_pairs(std::int64_t count) {
  const tn::Tensor digits = tn::random::randint({count, kLength}, 0, kDigits);
  return {digits, tn::reverse(digits, {1})};
}

static nn::Model make_network() {
  const nn::Node question =
      nn::Input({.shape = {kLength}, .dtype = tn::DType::int32, .name = "question"});
  const nn::Node given =
      nn::Input({.shape = {nn::kAny}, .dtype = tn::DType::int32, .name = "given"});
  const nn::Embedding embed({.input_dim = kTokens, .output_dim = 16});

  const std::vector<nn::Node> read =
      nn::LSTM({.units = kUnits, .return_sequences = true, .return_state = true, .name = "encoder"})
          .apply({embed(question)});
  const nn::Node written = nn::LSTM({.units = kUnits, .return_sequences = true, .name = "decoder"})(
      {embed(given), read[1], read[2]});
  const nn::Node looked = nn::Attention()({written, read[0]});
  const nn::Node both = nn::Concatenate()({written, looked});
  return nn::Model({question, given}, {nn::Dense({.units = kDigits, .name = "digit"})(both)});
}

// The answers the network gives when it is told nothing but the questions.
static tn::Tensor answers_of(const nn::Model& network, const tn::Tensor& questions) {
  tn::Tensor so_far = tn::full({questions.dim(0), 1}, kBegin, tn::DType::int32);
  for (std::int64_t i = 0; i < kLength; ++i) {
    const tn::Tensor logits = network.predict({questions, so_far})[0];
    const tn::Tensor last = tn::slice(tn::arg_max(logits, -1), {0, i}, {-1, 1});
    so_far = tn::concat({so_far, last}, 1);
  }
  return tn::slice(so_far, {0, 1}, {-1, kLength});
}

static void program() {
  tn::set_seed(16);
  const Pairs known = make_pairs(2000), unseen = make_pairs(100);

  const nn::Model network = make_network();
  std::cout << network.summary() << "\n";
  network.compile({.optimizer = nn::Adam({.learning_rate = 0.01}),
                   .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
  network.fit({known.questions, known.given()}, {known.answers},
              {.epochs = 10, .verbose = nn::Verbose::lines});

  const tn::Tensor answers = answers_of(network, unseen.questions);
  const tn::Tensor right = tn::cast(tn::equal(answers, unseen.answers), tn::DType::float32);
  const double digits = tn::mean(right).item<float>();
  const double whole = tn::mean(tn::min(right, {1})).item<float>();
  std::cout << "of questions it never saw: " << digits << " of the digits are right, " << whole
            << " of the whole answers\n"
            << "question " << unseen.questions[0] << "\nanswer   " << answers[0] << "\n";
  expect_between("the part of right digits", digits, 0.9, 1);
  expect_between("the part of right answers", whole, 0.7, 1);
}

int main() { return status_of(program); }
