// What public functions refuse before any operation runs is told with the user's line, as errors
// about lives are.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "memory/sanitizer.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

class Refusals : public ::testing::Test {
 protected:
  void refuses(const char* code, int line, const std::function<void()>& run) {
    try {
      run();
    } catch (const Error& error) {
      const auto used = std::ranges::find(error.lines(), "used", &ErrorLine::label);
      ASSERT_NE(used, error.lines().end()) << code << " tells no line:\n" << error.what();
      EXPECT_EQ(used->place, "refusals_test.cpp:" + std::to_string(line)) << error.what();
      EXPECT_FALSE(used->what.empty()) << error.what();
      return;
    } catch (const std::exception& error) {
      ADD_FAILURE() << code << ": " << error.what();
      return;
    }
    ADD_FAILURE() << code << ": nothing was thrown";
  }

  Tensor x = ones({2, 3}), scalar = ones({}), vector = ones({3}), empty;
  Tensor whole = cast(ones({2}), DType::int32), truth = x > 0;
  Tensor images = ones({1, 4, 4, 3});
};

#define REFUSES(...) refuses(#__VA_ARGS__, __LINE__, [&] { (void)(__VA_ARGS__); })

TEST_F(Refusals, of_creation) {
  REFUSES(zeros({-1}));
  REFUSES(ones({1'000'000'000'000, 1'000'000'000'000}));
  REFUSES(full({2}, 1.5, DType::int32));
  REFUSES(zeros_like(empty));
  REFUSES(arange(0, 3, 0));
  REFUSES(linspace(0, 1, -2));
  REFUSES(eye(-3));
  REFUSES(tensor({1.f, 2.f}, {3}));
  REFUSES(from_buffer(nullptr, {3}, DType::float32, nullptr));
  REFUSES(random::normal({2}, {.deviation = -1}));
  REFUSES(random::truncated_normal({2}, {.deviation = -1}));
  REFUSES(random::uniform({2}, {.low = 2, .high = 1}));
  REFUSES(random::bernoulli({2}, 1.5));
  REFUSES(random::randint({2}, 3, 3));
  REFUSES(random::normal({-2}));
  REFUSES(random::shuffle(scalar));
  REFUSES(hann_window(-1));
}

TEST_F(Refusals, of_views_and_indices) {
  REFUSES(x[2]);
  REFUSES(x[-3]);
  REFUSES(scalar[0]);
  REFUSES(reshape(x, {4}));
  REFUSES(reshape(x, {-1, -1}));
  REFUSES(transpose(x, {0, 0}));
  REFUSES(transpose(x, {0}));
  REFUSES(expand_dims(x, 7));
  REFUSES(squeeze(x, {0}));
  REFUSES(slice(x, {0}, {1}));
  REFUSES(slice(x, {0, 9}, {1, 1}));
  REFUSES(strided_slice(x, {0}, {1, 1}, {1}));
  REFUSES(split(x, 2, 1));
  REFUSES(unstack(scalar));
  REFUSES(broadcast_to(x, {5}));
  REFUSES(concat({}));
  REFUSES(concat({x, vector}));
  REFUSES(concat({x, x}, 5));
  REFUSES(stack({}));
  REFUSES(stack({x, vector}));
  REFUSES(gather(x, vector));
  REFUSES(gather(x, whole, {.axis = 9}));
  REFUSES(gather(x, cast(full({1}, 9), DType::int32)));
  REFUSES(one_hot(whole, -1));
  REFUSES(boolean_mask(x, vector > 0));
  REFUSES(pad(x, {{1, 1}}));
  REFUSES(tile(x, {2}));
  REFUSES(reverse(x, {4}));
  REFUSES(roll(x, {1, 2}, {0}));
}

TEST_F(Refusals, of_mathematics) {
  REFUSES(sum(x, {2}));
  REFUSES(mean(x, {-5}));
  REFUSES(max(x, {0, 0}));
  REFUSES(arg_max(x, 9));
  REFUSES(cumsum(x, 4));
  REFUSES(x + ones({7}));
  REFUSES(matmul(x, x));
  REFUSES(dot(x, x));
  REFUSES(clip(x, 2, 1));
  REFUSES(add_n({}));
  REFUSES(add_n({x, vector}));
  REFUSES(where(x, x, x));
  REFUSES(logical_and(truth, x));
  REFUSES(whole + std::numeric_limits<std::int64_t>::max());
  REFUSES(softmax(x, 5));
  REFUSES(top_k(x, 9));
  REFUSES(sort(scalar));
  REFUSES(cholesky(x));
  REFUSES(einsum("ij,jk->ik", x, x));
  REFUSES(conv2d(x, x));
  REFUSES(max_pool(x, {2, 2}));
  REFUSES(image::resize_bilinear(x, {2, 2}));
  REFUSES(dropout(x, 1.5));
  REFUSES(empty + x);
  REFUSES(x + empty);
  REFUSES(exp(empty));
  REFUSES(sum(empty));
  REFUSES(matmul(x, empty));
}

TEST_F(Refusals, of_reads_and_variables) {
  REFUSES(x.item<float>());
  REFUSES(x.to_vector<int>());
  REFUSES(x.dim(4));
  REFUSES(empty.shape());
  REFUSES(empty.item<float>());
  REFUSES(empty.to_vector<float>());
  REFUSES(empty.clone());
  REFUSES(keep(empty));
  Variable w(vector, {.name = "w"}), none;
  REFUSES(w.assign(x));
  REFUSES(w.assign(1.5));
  REFUSES(none.read());
  REFUSES(none.assign(x));
  GradientTape tape;
  REFUSES(tape.watch(whole));
  REFUSES(tape.gradient(whole, x));
}

TEST_F(Refusals, of_control_flow_and_functions) {
  const auto one = [&] { return vector; };
  const auto same = [](const Tensor& t) { return t; };
  REFUSES(cond(x, one, one));
  REFUSES(cond(empty, one, one));
  REFUSES(switch_case(cast(scalar, DType::int32), std::vector<std::function<Tensor()>>{one}));
  REFUSES(switch_case(scalar, std::vector<std::function<Tensor()>>{one}));
  REFUSES(while_loop(same, same, x));
  REFUSES(while_loop([&](const Tensor&) { return sum(x) > 0; }, [&](const Tensor&) { return x; },
                     scalar));
  REFUSES(scan([](Tensor a, Tensor b) { return std::pair(a, b); }, x, scalar));
  auto f = function("f", [](Tensor a, Tensor b) { return matmul(a, b); });
  REFUSES(f(empty, x));
  auto branches = function("branches", [&](Tensor p) { return cond(p, one, [&] { return x; }); });
  EXPECT_THROW(branches(scalar > 0), ShapeError);
}

TEST_F(Refusals, of_layers_and_models) {
  const nn::Dense dense({.units = 2});
  REFUSES(nn::Dense({.units = 2})(scalar));
  (void)dense(x);
  REFUSES(dense(ones({2, 9})));
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {3}})});
  REFUSES(model.predict(ones({2, 9})));
  REFUSES(model.predict(scalar));
  REFUSES(model.fit(x, x));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  REFUSES(model.fit(x, ones({5, 1})));
  REFUSES(model.fit(x, ones({2, 1}), {.epochs = -1}));
  REFUSES(nn::Dataset::from_tensors(x, ones({5, 1})));
}

TEST_F(Refusals, of_datasets) {
  const nn::Dataset data = nn::Dataset::from_tensors(x);
  REFUSES(data.shuffle(0));
  REFUSES(data.batch(0));
  REFUSES(data.padded_batch(0));
  REFUSES(data.window(0));
  REFUSES(data.window(2, {.shift = 0}));
  REFUSES(data.window(2, {.stride = 0}));
  REFUSES(data.window(nn::Dataset::kAll, {.stride = 2}));
  REFUSES(data.repeat(-2));
  REFUSES(data.take(-1));
  REFUSES(data.skip(-1));
  REFUSES(data.prefetch(0));
  REFUSES(data.map([](nn::Batch batch) { return batch; }, {.num_parallel_calls = 0}));
  REFUSES(data.interleave([&](const nn::Batch&) { return data; }, {.cycle_length = 0}));
  REFUSES(nn::Dataset::from_source(nullptr));
  REFUSES(nn::Dataset::from_range(std::vector<Tensor>{x, vector}).batch(2).iterate().next());
  nn::DatasetIterator pass = data.iterate();
  const nn::DatasetIterator moved = std::move(pass);
  REFUSES(pass.next());
}

TEST_F(Refusals, of_names_that_are_not_there) {
  const nn::History history;
  REFUSES(history["loss"]);
  REFUSES(nn::value_of({{"loss", 1.0}}, "accuracy"));
  REFUSES(io::Archive{}["w"]);
  REFUSES(set_num_threads(0));
  REFUSES(nn::Hashing({.num_bins = 0}));
}

TEST_F(Refusals, of_files) {
  REFUSES(io::inspect_npy("/none"));
  REFUSES(io::SafetensorsReader("/none"));
  REFUSES(io::NpzReader("/none"));
  REFUSES(io::CsvReader("/none"));
  REFUSES(io::load_npz("/none"));
  REFUSES(io::read_image("/none"));
  REFUSES(nn::load_model("/none"));
  REFUSES(nn::load_tfjs_model("/none"));
  REFUSES(nn::Dataset::from_csv("/none", {}));
  REFUSES(nn::Dataset::from_npy("/none"));
  REFUSES(nn::Dataset::from_text_lines("/none"));
}

TEST_F(Refusals, of_the_librarys_callbacks_tell_the_line_of_fit) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {3}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor y = ones({2, 1});
  const auto fit = [&](nn::Callback callback,
                       std::source_location site = std::source_location::current()) {
    model.fit(x, y, {.verbose = nn::Verbose::silent, .callbacks = {std::move(callback)}}, site);
  };
  REFUSES(fit(nn::CSVLogger({"/dev/null/log.csv"})));
  REFUSES(fit(nn::ModelCheckpoint({.filepath = "/dev/null/x"})));
  REFUSES(fit(nn::BackupAndRestore({.backup_dir = "/dev/null/x"})));
  REFUSES(fit(nn::TensorBoard({.log_dir = "/dev/null/x"})));
  REFUSES(fit(nn::EarlyStopping({.monitor = "nope"})));
  REFUSES(fit(nn::ReduceLROnPlateau({.monitor = "nope"})));
}

TEST_F(Refusals, of_a_callback_of_the_users_own_tell_its_line) {
  struct Adds : nn::CallbackBase {
    explicit Adds(std::source_location* at) : line(at) {}
    void on_epoch_end(nn::Training&, const nn::Logs&) override {
      *line = std::source_location::current();
      (void)(ones({2}) + ones({3}));
    }
    std::source_location* line;
  };
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {3}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  std::source_location line;
  try {
    model.fit(x, ones({2, 1}),
              {.verbose = nn::Verbose::silent, .callbacks = {nn::make_callback<Adds>(&line)}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& error) {
    ASSERT_FALSE(error.lines().empty());
    EXPECT_EQ(error.lines().back().place, "refusals_test.cpp:" + std::to_string(line.line() + 1))
        << error.what();
  }
}

TEST_F(Refusals, a_read_of_more_than_the_host_has_tells_its_size_and_line) {
#if defined(TENURE_ASAN)
  GTEST_SKIP() << "where std::vector finds no memory, AddressSanitizer ends the program";
#endif
  const Tensor huge = broadcast_to(scalar, {std::int64_t{1} << 50});
  try {
    (void)huge.to_vector<float>();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const OutOfMemoryError& error) {
    EXPECT_EQ(error.requested(), std::size_t{1} << 52);
    ASSERT_EQ(error.lines().size(), 1u);
    EXPECT_EQ(error.lines()[0].what, "to_vector");
  }
  REFUSES(huge.to_vector<float>());
}

TEST_F(Refusals, name_what_they_are_about) {
  try {
    (void)sum(x, {5});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.op(), "sum");
    EXPECT_EQ(error.shapes(), (std::vector<Shape>{{2, 3}}));
    ASSERT_EQ(error.values().size(), 1u);
    EXPECT_EQ(error.values()[0].name, "axis");
    EXPECT_EQ(error.values()[0].value, 5);
  }
  try {
    (void)gather(x, cast(full({1}, 9), DType::int32));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.op(), "gather");
    ASSERT_GE(error.values().size(), 1u);
    EXPECT_EQ(error.values()[0].name, "index");
    EXPECT_EQ(error.values()[0].value, 9);
  }
  try {
    (void)matmul(x, x);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.shapes(), (std::vector<Shape>{{2, 3}, {2, 3}}));
  }
}

TEST_F(Refusals, an_error_holds_no_memory) {
  const std::size_t before = memory().live_bytes;
  std::exception_ptr kept;
  {
    const Tensor large = ones({1000, 1000});
    try {
      (void)reshape(large, {7});
    } catch (...) {
      kept = std::current_exception();
    }
  }
  EXPECT_EQ(memory().live_bytes, before);
}

}  // namespace
}  // namespace tenure
