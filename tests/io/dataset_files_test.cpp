#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "io/files.h"
#include "tenure/nn/files.h"

namespace tenure::nn {
namespace {

using testing::floats;
using testing::Floats;
using testing::message_of;

// Row i is i, 2 i, i / 10, with a quoted field, a comment or a blank line here and there.
std::string table(int rows) {
  std::string text = "a,b,target\n";
  for (int i = 0; i < rows; ++i) {
    if (i % 7 == 3) text += "# a comment\n";
    if (i % 11 == 5) text += "\r\n";
    text +=
        std::to_string(i) + ",\"" + std::to_string(2 * i) + "\"," + std::to_string(i / 10.0) + "\n";
  }
  return text;
}

Floats firsts(const Dataset& data) {
  Floats all;
  for (const Batch& batch : data) {
    const Tensor x = batch.x[0];
    const Floats values = floats(x);
    const auto width = static_cast<std::size_t>(x.shape()[-1]);
    for (std::size_t i = 0; i < values.size(); i += width) {
      all.push_back(values[i]);
      EXPECT_EQ(values[i + 1], 2 * values[i]);
    }
    const Floats y = floats(batch.y[0]);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], values[i * width] / 10, 1e-5);
  }
  return all;
}

Floats counted(int rows) {
  Floats all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0.f);
  return all;
}

class CsvDataset : public testing::Folder {};
class NpyDataset : public testing::Folder {};

TEST_F(CsvDataset, gives_rows_in_order_in_batches) {
  const std::string path = file(table(100));
  const Dataset data = Dataset::from_csv(path, {.features = {"a", "b"}, .targets = {"target"}});
  EXPECT_EQ(data.size(), 100);
  EXPECT_EQ(firsts(data.batch(16)), counted(100));
  EXPECT_EQ(firsts(data.batch(16)), counted(100));  // again
  const auto one = data.iterate().next();
  EXPECT_EQ(one->x[0].shape(), Shape{2});
  EXPECT_EQ(one->y[0].shape(), Shape{1});
}

TEST_F(CsvDataset, shuffles_completely_without_losing_a_row) {
  const std::string path = file(table(1000));
  const Dataset data = Dataset::from_csv(path, {.targets = {"target"}});
  Floats seen = firsts(data.shuffle(Dataset::kAll, {.seed = 3}).batch(32).prefetch(2));
  EXPECT_NE(seen, counted(1000));
  std::ranges::sort(seen);
  EXPECT_EQ(seen, counted(1000));
  EXPECT_EQ(firsts(data.skip(990).take(5).batch(2)), (Floats{990, 991, 992, 993, 994}));
}

TEST_F(CsvDataset, several_threads_read_at_once) {
  const std::string path = file(table(500));
  const Dataset data = Dataset::from_csv(path, {.targets = {"target"}});
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      Floats seen = firsts(data.shuffle(Dataset::kAll, {.seed = seed}).batch(9).prefetch(2));
      std::ranges::sort(seen);
      EXPECT_EQ(seen, counted(500));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CsvDataset, takes_columns_by_position_and_weights_and_dtypes) {
  const std::string path = file("1;2;3;0.5\n4;5;6;0.25\n");
  const Dataset data = Dataset::from_csv(path, {.targets = {2},
                                                .weight = 3,
                                                .dtype = DType::float64,
                                                .target_dtype = DType::int32,
                                                .delimiter = ';'});
  const auto batch = data.batch(2).iterate().next();
  EXPECT_EQ(batch->x[0].to_vector<double>(), (std::vector<double>{1, 2, 4, 5}));
  EXPECT_EQ(batch->y[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 6}));
  EXPECT_EQ(floats(batch->weight), (Floats{0.5f, 0.25f}));
}

TEST_F(CsvDataset, rows_past_the_index_are_found) {
  // More rows than places are kept for: every other one is.
  constexpr int kRows = (1 << 19) + 1000;
  std::string text;
  for (int i = 0; i < kRows; ++i) text += std::to_string(i) + "," + std::to_string(2 * i) + "\n";
  const std::string path = file(text);
  const Dataset data = Dataset::from_csv(path, {});
  EXPECT_EQ(data.size(), kRows);
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    const auto row = static_cast<std::int64_t>(random() % kRows);
    const auto batch = data.skip(row).take(3).batch(3).iterate().next();
    EXPECT_EQ(floats(batch->x[0])[0], static_cast<float>(row));
    EXPECT_EQ(floats(batch->x[0])[1], 2 * static_cast<float>(row));
  }
}

TEST_F(CsvDataset, tells_what_is_wrong_with_a_row_where_it_stands) {
  const std::string path = file("a,b\n1,2\n3,x\n");
  const Dataset data = Dataset::from_csv(path, {.features = {"a"}, .targets = {"b"}});
  EXPECT_EQ(data.size(), 2);
  const auto batches = data.shuffle().batch(2);
  EXPECT_HAS(message_of<IoError>([&] {
               for (const Batch& batch : batches) floats(batch.x[0]);
             }),
             "line 3: column \"b\"");
  EXPECT_HAS(message_of<IoError>([&] { Dataset::from_csv(path, {.targets = {"c"}}); }), "\"c\"");
  EXPECT_HAS(message_of<ValueError>([&] { Dataset::from_csv(path, {.targets = {"a", "b"}}); }),
             "no inputs");
  EXPECT_HAS(message_of<DtypeError>([&] { Dataset::from_csv(path, {.dtype = DType::boolean}); }),
             "bool");
  const std::string ragged = file("1,2\n3\n", "ragged");
  EXPECT_HAS(message_of<IoError>([&] { Dataset::from_csv(ragged, {}); }), "line 2");
}

TEST_F(CsvDataset, a_file_that_became_shorter_is_an_error) {
  const std::string path = file("1,2\n3,4\n5,6\n");
  const Dataset data = Dataset::from_csv(path, {});
  testing::write_bytes(path, "1,2\n");
  EXPECT_HAS(message_of<IoError>([&] {
               for (const Batch& batch : data.batch(3)) floats(batch.x[0]);
             }),
             "it was changed");
}

TEST_F(NpyDataset, reads_rows_of_mapped_files_in_any_order) {
  Floats values(300 * 2), targets(300);
  for (std::size_t i = 0; i < 300; ++i) {
    values[2 * i] = static_cast<float>(i);
    values[2 * i + 1] = static_cast<float>(2 * i);
    targets[i] = static_cast<float>(i) / 10;
  }
  io::save_npy(at("x.npy"), tensor(values, {300, 2}));
  io::save_npy(at("y.npy"), tensor(targets, {300, 1}));
  const std::size_t before = memory().live_bytes;
  const Dataset data = Dataset::from_npy(at("x.npy"), at("y.npy"));
  EXPECT_EQ(memory().live_bytes, before);  // the files' own pages
  EXPECT_EQ(data.size(), 300);
  EXPECT_EQ(firsts(data.batch(7)), counted(300));
  Floats seen = firsts(data.shuffle().batch(7).prefetch(3));
  EXPECT_NE(seen, counted(300));
  std::ranges::sort(seen);
  EXPECT_EQ(seen, counted(300));
}

TEST_F(NpyDataset, may_have_inputs_alone_and_must_agree) {
  io::save_npy(at("x.npy"), ones({3, 2}));
  io::save_npy(at("y.npy"), ones({4}));
  EXPECT_TRUE(Dataset::from_npy(at("x.npy")).batch(3).iterate().next()->y.empty());
  EXPECT_HAS(message_of<ShapeError>([&] { Dataset::from_npy(at("x.npy"), at("y.npy")); }),
             "different numbers of examples");
  EXPECT_HAS(message_of<IoError>([&] { Dataset::from_npy(at("none.npy")); }), "none.npy");
}

TEST_F(NpyDataset, in_fortran_order_gives_the_same_rows) {
  const Dataset data = Dataset::from_npy(testing::fixture("fortran.npy"));
  const Tensor whole = io::load_npy(testing::fixture("fortran.npy"));
  const auto batch = data.batch(whole.dim(0)).iterate().next();
  EXPECT_EQ(batch->x[0].shape(), whole.shape());
}

}  // namespace
}  // namespace tenure::nn
