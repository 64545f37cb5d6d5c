// Handwritten digits told apart by a small convolutional network: trained, measured, written to a
// file and read back, disposed.
#include <unistd.h>

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include <tenure/tenure.h>

namespace tn = tenure;
namespace nn = tenure::nn;

constexpr std::int64_t kTrained = 1600;  // of the 2,000 digits; the rest is for the test
constexpr double kWanted = 0.9;          // of which so many are to be told right

struct Digits {
  tn::Tensor images, labels;
};

static Digits read_digits() {
  const tn::io::Archive file = tn::io::load_npz(EXAMPLE_DATA "/digits.npz");
  return {tn::reshape(tn::cast(file["images"], tn::DType::float32), {-1, 28, 28, 1}),
          tn::cast(file["labels"], tn::DType::int32)};
}

static Digits part(const Digits& all, std::int64_t from, std::int64_t count) {
  return {tn::slice(all.images, {from, 0, 0, 0}, {count, 28, 28, 1}),
          tn::slice(all.labels, {from}, {count})};
}

static nn::Sequential make_model() {
  return nn::Sequential(
      {nn::Rescaling({.scale = 1.0 / 255, .input_shape = {28, 28, 1}}),
       nn::Conv2D({.filters = 8, .kernel_size = 3, .activation = "relu"}), nn::MaxPooling2D(),
       nn::Conv2D({.filters = 16, .kernel_size = 3, .activation = "relu"}), nn::MaxPooling2D(),
       nn::Flatten(), nn::Dropout({.rate = 0.2}),
       nn::Dense({.units = 10, .activation = "softmax"})},
      {.name = "digits"});
}

// Every second row, since characters are twice as high as wide.
static void show(const tn::Tensor& image) {
  const std::vector<float> shades = image.to_vector<float>();
  for (std::size_t row = 0; row < 28; row += 2) {
    std::string line = "  ";
    for (std::size_t column = 0; column < 28; ++column) {
      line += " .:*#"[static_cast<int>(shades[row * 28 + column] / 256 * 5)];
    }
    std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

static void show_confusions(const tn::Tensor& labels, const tn::Tensor& predicted) {
  const std::vector<int> counts = tn::confusion_matrix(labels, predicted, 10).to_vector<int>();
  std::cout << "\nWhat each digit was taken for:\n      ";
  for (int digit = 0; digit < 10; ++digit) std::cout << std::setw(4) << digit;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i % 10 == 0) std::cout << "\n" << std::setw(6) << i / 10;
    std::cout << std::setw(4) << (counts[i] == 0 ? "." : std::to_string(counts[i]));
  }
  std::cout << "\n";
}

// Whether all went well.
static bool classify() {
  const Digits all = read_digits();
  const Digits known = part(all, 0, kTrained);
  const Digits test = part(all, kTrained, all.labels.numel() - kTrained);

  const nn::Sequential model = make_model();
  std::cout << model.summary() << "\n";
  model.compile({.optimizer = nn::Adam({.learning_rate = 0.003}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  const nn::History history =
      model.fit(known.images, known.labels,
                {.epochs = 6, .verbose = nn::Verbose::silent, .validation_split = 0.1});
  std::cout << std::fixed << std::setprecision(3) << "epoch   loss  accuracy  validation\n";
  for (std::size_t i = 0; i < history.epochs.size(); ++i) {
    std::cout << std::setw(5) << i + 1 << std::setw(7) << history["loss"][i] << std::setw(10)
              << history["accuracy"][i] << std::setw(12) << history["val_accuracy"][i] << "\n";
  }

  const double accuracy = nn::value_of(model.evaluate(test.images, test.labels), "accuracy");
  std::cout << "\nof " << test.labels.numel() << " digits it never saw, right: " << accuracy
            << "\n";
  const tn::Tensor scores = model.predict(test.images);
  show_confusions(test.labels, tn::arg_max(scores, -1));

  std::cout << "\nA test digit:\n";
  show(test.images[4]);
  std::cout << "  taken for " << tn::arg_max(scores[4], -1).item<int>() << "\n";

  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("digits-" + std::to_string(getpid()) + ".safetensors");
  model.save(path);
  const nn::Model loaded = nn::load_model(path);
  std::filesystem::remove(path);
  const bool same = tn::all(tn::equal(loaded.predict(test.images), scores)).item<bool>();
  std::cout << "\nread back from a file, it predicts the same: " << (same ? "yes" : "no") << "\n";

  std::cout << "disposing both frees " << model.dispose().variables << " and "
            << loaded.dispose().variables << " variables\n";
  return same && accuracy >= kWanted;
}

int main() {
  tn::set_seed(3);
  const bool good = classify();
  const tn::MemoryInfo left = tn::memory();
  std::cout << "left: " << left.tensors << " tensors, " << left.live_bytes << " bytes\n";
  return good && left.tensors == 0 && left.live_bytes == 0 ? 0 : 1;
}
