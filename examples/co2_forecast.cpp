// A stateful recurrent network learns the monthly CO2 concentration at Mauna Loa, and forecasts
// five years it has never seen. Its state lives in the layer from call to call: it is read, put
// back, saved and loaded, and in the end every byte is given back.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <tenure/tenure.h>

namespace tn = tenure;
namespace nn = tenure::nn;

namespace {

constexpr int kYear = 12;
constexpr int kHeldOut = 5 * kYear;
constexpr int kChunk = 2 * kYear;  // months that a step of training sees
const bool kTerminal = isatty(STDOUT_FILENO) == 1;

struct Months {
  int first = 0;  // since year 0
  std::vector<float>
      ppm;  // one for each month; missing ones lie on a line between their neighbours
  int missing = 0;
};

Months read_months(const std::string& path) {
  Months months;
  tn::io::CsvReader file(path, {});
  while (file.next()) {
    const std::string date(file.field(0));
    const int month = std::stoi(date.substr(0, 4)) * kYear + std::stoi(date.substr(5, 2)) - 1;
    const float value = file.value<float>(1);
    if (months.ppm.empty()) months.first = month;
    const int gap = month - months.first - static_cast<int>(months.ppm.size());
    const float last = months.ppm.empty() ? value : months.ppm.back();
    for (int i = 1; i <= gap; ++i) {
      months.ppm.push_back(last +
                           (value - last) * static_cast<float>(i) / static_cast<float>(gap + 1));
      ++months.missing;
    }
    months.ppm.push_back(value);
  }
  return months;
}

// What the network is given for a month: the growth over a year, and the season.
void add_features(std::vector<float>& x, float growth, int month) {
  const double angle = 2 * M_PI * month / kYear;
  x.insert(x.end(), {growth - 1.5f, static_cast<float>(std::sin(angle)),
                     static_cast<float>(std::cos(angle))});
}

struct Forgetful : nn::CallbackBase {  // each epoch begins at the first month, with an empty state
  void on_epoch_begin(nn::Training& training) override { training.model().reset_states(); }
};

// Feeds the months that are known, then its own forecasts.
std::vector<float> forecast(const nn::Model& model, const Months& months, std::size_t known) {
  std::vector<float> ppm(months.ppm.begin(),
                         months.ppm.begin() + static_cast<std::ptrdiff_t>(known));
  for (int i = 0; i < kHeldOut; ++i) {
    const std::size_t now = ppm.size() - 1;
    std::vector<float> x;
    add_features(x, ppm[now] - ppm[now - kYear], months.first + static_cast<int>(now));
    const float growth =
        tn::tidy([&] { return model.predict(tn::tensor(x, {1, 1, 3})).view<float>()[0] + 1.5f; });
    ppm.push_back(ppm[now + 1 - kYear] + growth);
  }
  return {ppm.end() - kHeldOut, ppm.end()};
}

double error(const std::vector<float>& forecast, const std::vector<float>& truth) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) sum += std::pow(forecast[i] - truth[i], 2);
  return std::sqrt(sum / static_cast<double>(truth.size()));
}

std::vector<double> wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

int run() {
  tn::set_seed(1958);
  const Months months = read_months(std::string(EXAMPLE_DATA) + "/co2-mauna-loa.csv");
  const std::size_t known = months.ppm.size() - kHeldOut;
  std::printf(
      "CO2 at Mauna Loa: %zu months from %d, %d of them interpolated; the last %d are held out\n\n",
      months.ppm.size(), months.first / kYear, months.missing, kHeldOut);

  // From the growth over the year that ends in a month, the growth over the one a month later.
  std::vector<float> x, y;
  const std::size_t chunks = (known - kYear - 1) / kChunk;
  const std::size_t begin = known - 1 - chunks * kChunk;
  for (std::size_t now = begin; now + 1 < known; ++now) {
    add_features(x, months.ppm[now] - months.ppm[now - kYear],
                 months.first + static_cast<int>(now));
    y.push_back(months.ppm[now + 1] - months.ppm[now + 1 - kYear] - 1.5f);
  }
  const auto count = static_cast<std::int64_t>(chunks);

  nn::Sequential model({nn::SimpleRNN({.units = 16,
                                       .return_sequences = true,
                                       .stateful = true,
                                       .name = "memory",
                                       .batch_input_shape = {1, nn::kAny, 3}}),
                        nn::Dense({.units = 1, .name = "growth"})},
                       {.name = "co2"});
  std::cout << model.summary() << "\n";
  model.compile({.optimizer = nn::Adam({.learning_rate = 2e-3}), .loss = "mse"});
  const nn::History history = tn::tidy([&] {
    return model.fit(tn::tensor(x, {count, kChunk, 3}), tn::tensor(y, {count, kChunk, 1}),
                     {.batch_size = 1,
                      .epochs = 40,
                      .verbose = kTerminal ? nn::Verbose::progress : nn::Verbose::silent,
                      .callbacks = {nn::make_callback<Forgetful>()}});
  });
  std::printf("\nloss: %.4f in the first epoch, %.4f in the last\n", history["loss"].front(),
              history["loss"].back());
  std::cout << history.plot({.width = 60, .height = 5, .names = {}, .colour = kTerminal}) << "\n";

  // The state after the last month it was trained on: once through all of them.
  model.reset_states();
  tn::tidy([&] { model.predict(tn::tensor(x, {1, count * kChunk, 3})); });
  const std::vector<tn::Tensor> state = model.get_states();

  const std::vector<float> truth(months.ppm.end() - kHeldOut, months.ppm.end());
  std::vector<float> naive;
  for (int i = 0; i < kHeldOut; ++i)
    naive.push_back(months.ppm[known - kYear + static_cast<std::size_t>(i % kYear)]);
  const std::vector<float> ours = forecast(model, months, known);
  std::cout << "five years it has never seen:\n"
            << nn::plot({{"seasonal naive", wide(naive)},
                         {"measured", wide(truth)},
                         {"forecast", wide(ours)}},
                        {.width = 60, .height = 12, .names = {}, .colour = kTerminal});
  std::printf("\nroot mean square error: forecast %.2f ppm, seasonal naive %.2f ppm\n\n",
              error(ours, truth), error(naive, truth));

  const bool moved_on = model.get_states()[0].to_vector<float>() != state[0].to_vector<float>();
  model.reset_states(state);
  const bool restored = forecast(model, months, known) == ours;
  std::printf("the state moved on while forecasting: %s; put back, it forecasts the same: %s\n",
              moved_on ? "yes" : "no", restored ? "yes" : "no");

  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("co2-" + std::to_string(getpid()) + ".safetensors");
  model.reset_states(state);
  model.save(path);
  const nn::Model loaded = nn::load_model(path);
  const bool same = forecast(loaded, months, known) == ours;
  std::printf("saved (%ju bytes) and loaded, it forecasts the same: %s\n\n",
              static_cast<std::uintmax_t>(std::filesystem::file_size(path)), same ? "yes" : "no");
  std::filesystem::remove(path);

  std::cout << "before dispose:\n" << tn::memory() << "\n";
  const nn::Disposal first = model.dispose(), second = loaded.dispose();
  for (tn::Tensor each : state) each.dispose();
  std::printf("disposed: %d and %d variables\n\nafter:\n", first.variables, second.variables);
  std::cout << tn::memory();
  const bool clean = tn::memory().live_bytes == 0;
  return moved_on && restored && same && clean && error(ours, truth) < error(naive, truth) ? 0 : 1;
}

}  // namespace

int main() { return run(); }
