// TensorBoard's event files, read by a reader that shares nothing with their writer.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "io/event_file.h"
#include "io/files.h"
#include "support/expect.h"

namespace tenure::nn {
namespace {

namespace fs = std::filesystem;

// ---- The reader. Formats: TFRecord, and the wire format of protocol buffers.

// Bit by bit: the remainder of the reflected polynomial.
std::uint32_t checksum(const std::string& bytes) {
  std::uint32_t rest = 0xFFFFFFFF;
  for (const char c : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool odd =
          ((rest ^ static_cast<std::uint32_t>(static_cast<unsigned char>(c) >> bit)) & 1) != 0;
      rest = rest / 2 ^ (odd ? 0x82F63B78 : 0);
    }
  }
  return rest ^ 0xFFFFFFFF;
}

template <class N>
N number_at(const std::string& bytes, std::size_t at) {
  N value{};
  if (at + sizeof value > bytes.size()) throw std::runtime_error("cut short");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void expect_checksum(const std::string& bytes, std::uint32_t stored) {
  const std::uint32_t rotated = stored - 0xA282EAD8;
  EXPECT_EQ((rotated >> 17) | (rotated << 15), checksum(bytes));
}

std::vector<std::string> records_of(const std::string& bytes) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    expect_checksum(bytes.substr(at, 8), number_at<std::uint32_t>(bytes, at + 8));
    records.push_back(bytes.substr(at + 12, length));
    expect_checksum(records.back(), number_at<std::uint32_t>(bytes, at + 12 + length));
    at += 16 + length;
  }
  return records;
}

// Fields of a message by number: the bytes of each, or of a varint its value.
using ProtoMessage = std::multimap<std::uint64_t, std::string>;

std::uint64_t varint_at(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

ProtoMessage parsed(const std::string& bytes) {
  ProtoMessage message;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t key = varint_at(bytes, at);
    std::size_t size = 0;
    switch (key & 7) {
      case 0:
        message.emplace(key >> 3, std::to_string(varint_at(bytes, at)));
        continue;
      case 1:
        size = 8;
        break;
      case 2:
        size = varint_at(bytes, at);
        break;
      case 5:
        size = 4;
        break;
      default:
        throw std::runtime_error("no such kind of field");
    }
    message.emplace(key >> 3, bytes.substr(at, size));
    at += size;
  }
  return message;
}

const std::string& part(const ProtoMessage& message, std::uint64_t number) {
  EXPECT_EQ(message.count(number), 1u) << number;
  return message.find(number)->second;
}

struct ScalarEvent {
  std::string tag;
  long step;
  float value;
};
struct HistogramEvent {
  std::string tag;
  long step;
  ProtoMessage message;
};
struct Events {
  std::vector<ScalarEvent> scalars;
  std::vector<HistogramEvent> histograms;
  std::vector<float> of(const std::string& tag) const {
    std::vector<float> values;
    for (const ScalarEvent& each : scalars) {
      if (each.tag == tag) values.push_back(each.value);
    }
    return values;
  }
  std::vector<long> steps(const std::string& tag) const {
    std::vector<long> found;
    for (const ScalarEvent& each : scalars) {
      if (each.tag == tag) found.push_back(each.step);
    }
    return found;
  }
};

Events events_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  Events events;
  for (const fs::path& path : files) {
    EXPECT_TRUE(path.filename().string().starts_with("events.out.tfevents.")) << path;
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    const std::vector<std::string> records = records_of(bytes);
    EXPECT_EQ(part(parsed(records.at(0)), 3), "brain.Event:2");
    double before = 1.6e9;  // 2020
    for (std::size_t i = 0; i < records.size(); ++i) {
      const ProtoMessage event = parsed(records[i]);
      const auto time = number_at<double>(part(event, 1), 0);
      EXPECT_GE(time, before);
      before = time;
      if (i == 0) continue;
      const long step = event.contains(2) ? static_cast<long>(std::stoull(part(event, 2))) : 0;
      const ProtoMessage value = parsed(part(parsed(part(event, 5)), 1));
      const std::string& tag = part(value, 1);
      if (value.contains(2)) {
        events.scalars.push_back({tag, step, number_at<float>(part(value, 2), 0)});
      } else {
        events.histograms.push_back({tag, step, parsed(part(value, 5))});
      }
    }
  }
  return events;
}

std::vector<double> doubles(const std::string& bytes) {
  std::vector<double> values(bytes.size() / 8);
  std::memcpy(values.data(), bytes.data(), 8 * values.size());
  return values;
}

// ---- The tests

class TensorBoards : public testing::Folder {
 protected:
  TensorBoards() {
    model_.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse", .metrics = {"mae"}});
  }
  // Of x = 2 and y = 0: a loss of 4; its validation's is 1.
  void fit(TensorBoardOptions options, int epochs, std::vector<Callback> before = {}) const {
    options.log_dir = folder_.string();
    before.push_back(TensorBoard(options));
    model_.fit(ones({3, 1}) * 2, zeros({3, 1}),
               {.batch_size = 1,
                .epochs = epochs,
                .verbose = Verbose::silent,
                .callbacks = std::move(before),
                .validation = Dataset::from_tensors(ones({1, 1}), zeros({1, 1}))});
  }
  Events train() const { return events_in(folder_ / "train"); }
  Events validation() const { return events_in(folder_ / "validation"); }

  const fs::path folder_ = at("logs");
  Sequential model_{{Dense({.units = 1,
                            .use_bias = false,
                            .kernel_initializer = "ones",
                            .name = "head",
                            .input_shape = {1}})}};
};

using Values = std::vector<float>;
using Steps = std::vector<long>;

TEST_F(TensorBoards, have_the_scalars_of_epochs_as_Keras_names_them) {
  fit({}, 2);
  const Events events = train(), validated = validation();
  EXPECT_EQ(events.of("epoch_loss"), (Values{4, 4}));
  EXPECT_EQ(events.steps("epoch_loss"), (Steps{0, 1}));
  EXPECT_EQ(events.of("epoch_mae"), (Values{2, 2}));
  EXPECT_EQ(events.of("epoch_learning_rate"), (Values{0, 0}));
  EXPECT_EQ(events.scalars.size(), 6u);
  EXPECT_EQ(validated.of("epoch_loss"), (Values{1, 1}));
  EXPECT_EQ(validated.of("epoch_mae"), (Values{1, 1}));
  EXPECT_EQ(validated.of("evaluation_loss_vs_iterations"), (Values{1, 1}));
  EXPECT_EQ(validated.steps("evaluation_loss_vs_iterations"), (Steps{3, 6}));
  EXPECT_EQ(validated.scalars.size(), 8u);
}

TEST_F(TensorBoards, have_the_scalars_of_every_so_many_batches) {
  fit({.write_steps_per_second = true, .update_freq = 2}, 2);
  const Events events = train();
  EXPECT_EQ(events.of("batch_loss"), (Values{4, 4, 4}));
  EXPECT_EQ(events.steps("batch_loss"), (Steps{2, 4, 6}));
  EXPECT_EQ(events.steps("batch_steps_per_second"), (Steps{2, 4, 6}));
  for (const float rate : events.of("epoch_steps_per_second")) EXPECT_GT(rate, 0);
}

TEST_F(TensorBoards, log_a_learning_rate_once) {
  model_.optimizer().set_learning_rate(0.5);
  fit({}, 1, {LearningRateScheduler([](int, double) { return 0.25; })});
  EXPECT_EQ(train().of("epoch_learning_rate"), (Values{0.25}));
}

TEST_F(TensorBoards, keep_the_runs_before) {
  fit({}, 1);
  fit({}, 1);
  EXPECT_EQ(train().of("epoch_loss"), (Values{4, 4}));
}

TEST_F(TensorBoards, see_an_evaluate) {
  const std::vector<Callback> board{TensorBoard({.log_dir = folder_.string()})};
  model_.evaluate(ones({1, 1}), zeros({1, 1}), {.callbacks = board});
  EXPECT_EQ(validation().of("evaluation_loss_vs_iterations"), (Values{1}));
  EXPECT_FALSE(fs::exists(folder_ / "train"));
}

TEST_F(TensorBoards, have_histograms_of_the_weights) {
  fit({.histogram_freq = 2}, 3);
  const Events events = train();
  ASSERT_EQ(events.histograms.size(), 2u);
  EXPECT_EQ(events.histograms[0].tag, "head/kernel/histogram");
  EXPECT_EQ(events.histograms[1].step, 2);
}

using EventFiles = testing::Folder;

TEST_F(EventFiles, count_values_in_buckets) {
  const fs::path folder = at("histogram");
  std::vector<double> values;
  for (int i = 0; i <= 60; ++i) values.push_back(i / 10.0);
  values.push_back(NAN);
  {
    io::EventFile file(folder.string());
    file.histogram("h", -1, values);
    file.scalar("not a number", 1, NAN);
    file.flush();
  }
  const Events events = events_in(folder);
  const ProtoMessage& histogram = events.histograms.at(0).message;
  double sum = 0, squares = 0;
  for (int i = 0; i <= 60; ++i) {
    sum += i / 10.0;
    squares += i / 10.0 * (i / 10.0);
  }
  EXPECT_EQ(number_at<double>(part(histogram, 1), 0), 0);
  EXPECT_EQ(number_at<double>(part(histogram, 2), 0), 6);
  EXPECT_EQ(number_at<double>(part(histogram, 3), 0), 61);
  EXPECT_NEAR(number_at<double>(part(histogram, 4), 0), sum, 1e-9);
  EXPECT_NEAR(number_at<double>(part(histogram, 5), 0), squares, 1e-9);
  const std::vector<double> limits = doubles(part(histogram, 6));
  const std::vector<double> buckets = doubles(part(histogram, 7));
  ASSERT_EQ(limits.size(), buckets.size());
  EXPECT_TRUE(std::ranges::is_sorted(limits));
  EXPECT_NEAR(limits.back(), 6, 1e-9);
  double total = 0;
  for (const double count : buckets) {
    EXPECT_GE(count, 1);
    EXPECT_LE(count, 3);
    total += count;
  }
  EXPECT_EQ(total, 61);
  EXPECT_TRUE(std::isnan(events.of("not a number").at(0)));
}

TEST_F(EventFiles, have_checksums_that_others_know) {
  EXPECT_EQ(io::crc32c("123456789"), 0xE3069283U);            // RFC 3720's check value
  EXPECT_EQ(io::crc32c(std::string(32, '\0')), 0x8A9136AAU);  // and one of its examples
  EXPECT_EQ(checksum("123456789"), 0xE3069283U);
}

TEST_F(EventFiles, that_cannot_be_written_name_their_folder) {
  const Sequential model({Dense({.units = 1, .input_shape = {1}})});
  model.compile({.loss = "mse"});
  EXPECT_HAS(testing::message_of<IoError>([&] {
               model.fit(ones({1, 1}), ones({1, 1}),
                         {.verbose = Verbose::silent,
                          .callbacks = {TensorBoard({.log_dir = "/dev/null/logs"})}});
             }),
             "TensorBoard: /dev/null/logs/train: cannot be made");
}

}  // namespace
}  // namespace tenure::nn
