// Text classification: from strings to numbers by a vocabulary that is learned, in the dataset;
// then a network of embeddings and convolutions that learns what "not" does to a word. Keras's
// example "Text classification from scratch".
#include <unistd.h>

#include <filesystem>
#include <random>

#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

struct Reviews {
  std::vector<std::string> texts;
  std::vector<float> liked;
};

static Reviews make_reviews(std::size_t count, std::mt19937& random) {
  const auto one_of = [&](const std::vector<std::string>& words) {
    return words[random() % words.size()];
  };
  Reviews reviews;
  for (std::size_t i = 0; i < count; ++i) {
    const bool good = random() % 2 == 0, denied = random() % 2 == 0;
    const std::string judged =
        (denied ? "not " : "") + (good ? one_of({"good", "great", "lovely", "funny", "moving"})
                                       : one_of({"bad", "dull", "awful", "boring", "weak"}));
    const std::string thing = one_of({"film", "plot", "acting", "music", "end", "story"});
    std::string text = one_of({"I think", "Well,", "They say", "To be honest,", "All in all,"}) +
                       " the " + thing + " was " + judged;
    text += one_of({"!", ".", " I saw it with friends.", ", as always."});
    reviews.texts.push_back(text);
    reviews.liked.push_back(good != denied ? 1 : 0);
  }
  return reviews;
}

static nn::Dataset dataset_of(const Reviews& reviews) {
  const auto count = static_cast<std::int64_t>(reviews.liked.size());
  return nn::Dataset::from_text(reviews.texts, tn::tensor(reviews.liked, {count, 1}));
}

static nn::Sequential make_model(std::int64_t words) {
  return nn::Sequential(
      {nn::Embedding({.input_dim = words, .output_dim = 16}), nn::Dropout({.rate = 0.2}),
       nn::Conv1D({.filters = 32, .kernel_size = 3, .padding = "same", .activation = "relu"}),
       nn::GlobalMaxPooling1D(), nn::Dense({.units = 16, .activation = "relu"}),
       nn::Dense({.units = 1, .activation = "sigmoid"})});
}

static void program() {
  tn::set_seed(18);
  std::mt19937 random(18);
  const nn::Dataset known = dataset_of(make_reviews(800, random));
  const nn::Dataset unseen = dataset_of(make_reviews(200, random));

  nn::TextVectorization words({.max_tokens = 100, .output_sequence_length = 16});
  words.adapt(known);  // one pass counts the words
  std::cout << words.vocabulary_size() << " words; \"Not bad!\" is "
            << words(nn::Text{{"Not bad!"}, {1}}) << "\n";

  const nn::Sequential model = make_model(words.vocabulary_size());
  model.compile({.optimizer = nn::Adam({.learning_rate = 0.005}),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"}});
  const nn::Dataset validation = unseen.map(words.to_inputs()).batch(32);
  const nn::History history = model.fit(known.map(words.to_inputs()).shuffle().batch(32),
                                        {.epochs = 12, .verbose = nn::Verbose::silent});
  const double accuracy = nn::value_of(model.evaluate(validation), "accuracy");
  std::cout << "loss: " << history["loss"].front() << " in the first epoch, "
            << history["loss"].back()
            << " in the last; of reviews it never saw, right: " << accuracy << "\n";
  expect_between("the last loss", history["loss"].back(), 0, 0.3);
  expect_between("accuracy", accuracy, 0.9, 1);

  // The vocabulary is kept beside the model.
  const std::string path =
      std::filesystem::temp_directory_path() / ("words-" + std::to_string(getpid()) + ".json");
  words.save(path);
  const nn::TextVectorization again = nn::TextVectorization::load(path);
  std::filesystem::remove(path);
  expect(again.get_vocabulary() == words.get_vocabulary(), "a file gives the same vocabulary");

  const nn::Text mine{{"The music was great.", "The music was not great.", "the plot was not dull"},
                      {3}};
  const std::vector<float> liked = model.predict(again(mine)).to_vector<float>();
  for (std::size_t i = 0; i < liked.size(); ++i) {
    std::cout << liked[i] << "  " << mine.strings[i] << "\n";
  }
  expect(liked[0] > 0.5f && liked[1] < 0.5f && liked[2] > 0.5f, "it knows what \"not\" does");
}

int main() { return status_of(program); }
