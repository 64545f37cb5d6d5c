// Findings of programs as users write them: what is found is exactly what they kept.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "report/findings.h"
#include "report/recorded.h"
#include "tenure/tenure.h"

namespace tenure::report {
namespace {

using testing::Recorded;

class FindingsRecorded : public Recorded {
 protected:
  // Tells the ids of what it keeps.
  using Program = std::function<void(std::vector<Tensor>& kept)>;

  // What the program keeps is let go before the recording ends, as main's locals are.
  void keep_in(const Program& program) {
    run_ = record([&] {
      std::vector<Tensor> kept;
      program(kept);
      for (const Tensor& each : kept) kept_.insert(each.id());
    });
    found_ = findings(run_);
  }

  std::set<std::uint64_t> ids(const Finding& finding) const {
    std::set<std::uint64_t> ids;
    for (const std::uint32_t i : finding.tensors) ids.insert(run_.tensors[i].id);
    return ids;
  }

  std::string titles() const {
    std::string text;
    for (const Finding& finding : found_) text += finding.title + "\n";
    return text;
  }

  void expect_all_kept(std::uint64_t bytes) {
    ASSERT_EQ(found_.size(), 1u) << titles();
    EXPECT_EQ(found_[0].problem, Problem::growth);
    EXPECT_EQ(found_[0].count, kept_.size()) << titles();
    EXPECT_EQ(ids(found_[0]), kept_);
    EXPECT_EQ(found_[0].bytes, bytes);
  }

  report::Run run_;
  std::set<std::uint64_t> kept_;
  std::vector<Finding> found_;
};

nn::Model small_model() {
  return nn::Sequential({nn::Dense({.units = 8, .activation = "relu"}), nn::Dense({.units = 3})});
}

class StoredPredictions : public FindingsRecorded,
                          public ::testing::WithParamInterface<std::int64_t> {};

// Rows of one batch, of some batches, of many, and of batches of which the last is smaller.
TEST_P(StoredPredictions, are_found_and_nothing_else_of_their_line) {
  const std::int64_t rows = GetParam();
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    const Tensor x = random::normal({rows, 4});
    for (int i = 0; i < 60; ++i) kept.push_back(model.predict(x));
  });
  expect_all_kept(static_cast<std::uint64_t>(60 * rows * 3 * 4));
}

TEST_P(StoredPredictions, that_are_dropped_are_none) {
  keep_in([&](std::vector<Tensor>&) {
    const nn::Model model = small_model();
    const Tensor x = random::normal({GetParam(), 4});
    for (int i = 0; i < 60; ++i) model.predict(x);
  });
  EXPECT_TRUE(found_.empty()) << titles();
}

TEST_P(StoredPredictions, of_two_outputs_in_a_map) {
  const std::int64_t rows = GetParam();
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Node in = nn::Input({.shape = {4}});
    const nn::Model model({in}, {nn::Dense({.units = 3})(in), nn::Dense({.units = 2})(in)});
    std::map<int, std::vector<Tensor>> answers;
    for (int i = 0; i < 40; ++i) {
      const Tensor x = random::normal({rows, 4});
      answers[i] = model.predict(std::vector{x});
    }
    for (const auto& [i, outputs] : answers)
      kept.insert(kept.end(), outputs.begin(), outputs.end());
  });
  expect_all_kept(static_cast<std::uint64_t>(40 * rows * 5 * 4));
}

TEST_P(StoredPredictions, that_are_put_together_in_the_end_were_collected) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    std::vector<Tensor> parts;
    for (int i = 0; i < 40; ++i) {
      const Tensor x = random::normal({GetParam(), 4});
      parts.push_back(model.predict(x));
    }
    kept.push_back(concat(parts));
  });
  EXPECT_TRUE(found_.empty()) << titles();
}

INSTANTIATE_TEST_SUITE_P(Rows, StoredPredictions, ::testing::Values(20, 1000, 2000, 2017),
                         [](const auto& rows) { return std::to_string(rows.param); });

TEST_F(FindingsRecorded, predictions_of_more_rows_each_time) {
  std::uint64_t bytes = 0;
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    for (int i = 0; i < 30; ++i) {
      const std::int64_t rows = 100 + 100 * i;
      const Tensor x = random::normal({rows, 4});
      kept.push_back(model.predict(x));
      bytes += static_cast<std::uint64_t>(rows * 3 * 4);
    }
  });
  expect_all_kept(bytes);
}

TEST_F(FindingsRecorded, every_third_step) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    for (int i = 0; i < 90; ++i) {
      const RecordedSpan step("step");
      const Tensor y = model.predict(random::normal({500, 4}));
      if (i % 3 == 0) kept.push_back(y);
    }
  });
  expect_all_kept(30 * 500 * 3 * 4);
  EXPECT_NE(titles().find("1 more with every step"), std::string::npos) << titles();
}

TEST_F(FindingsRecorded, growth_that_ends_before_the_program_does) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    for (int i = 0; i < 70; ++i) {
      const Tensor x = random::normal({1000, 4});
      const Tensor y = model.predict(x);
      if (i < 60) kept.push_back(y);
    }
  });
  expect_all_kept(60 * 1000 * 3 * 4);
}

TEST_F(FindingsRecorded, two_of_one_operation_at_one_line_of_which_one_is_kept) {
  keep_in([&](std::vector<Tensor>& kept) {
    for (int i = 0; i < 70; ++i) {
      const Tensor x = random::normal({16});
      const Tensor first = tanh(x), second = tanh(first);
      kept.push_back(second);
    }
  });
  expect_all_kept(70 * 16 * 4);
}

TEST_F(FindingsRecorded, views_of_what_is_kept_are_its_bytes) {
  std::set<std::uint64_t> views;
  std::vector<Tensor> kept_views;
  keep_in([&](std::vector<Tensor>& kept) {
    for (int i = 0; i < 40; ++i) {
      const Tensor x = random::normal({4, 16});
      const Tensor y = exp(x);
      kept.push_back(y);
      kept_views.push_back(reshape(y, {64}));
      views.insert(kept_views.back().id());
    }
    kept_views.clear();
  });
  ASSERT_EQ(found_.size(), 2u) << titles();
  EXPECT_EQ(ids(found_[0]), kept_);
  EXPECT_EQ(ids(found_[1]), views);
  for (const Finding& each : found_) EXPECT_EQ(each.bytes, 40u * 64 * 4);
}

TEST_F(FindingsRecorded, slices_hold_all_of_what_nobody_else_holds) {
  keep_in([&](std::vector<Tensor>& kept) {
    const Tensor table = random::normal({100, 32});
    for (int i = 0; i < 40; ++i) {
      const Tensor ids = random::randint({64}, 0, 100);
      const Tensor found = gather(table, ids);
      kept.push_back(found[0]);
    }
  });
  expect_all_kept(40 * 64 * 32 * 4);
}

TEST_F(FindingsRecorded, rows_of_a_table_that_is_there_hold_what_they_see) {
  keep_in([&](std::vector<Tensor>& kept) {
    const Tensor table = random::normal({100, 32});
    for (int i = 0; i < 40; ++i) {
      const Tensor x = exp(table);
      const Tensor row = table[i];
      kept.push_back(row);
      const Tensor sum_of_it = sum(x * row);
    }
    for (const Tensor& row : kept) kept_.insert(row.id());
    kept.clear();  // before the table
  });
  expect_all_kept(40 * 32 * 4);
}

TEST_F(FindingsRecorded, layers_called_by_hand_in_a_loop_of_one_line) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    const Tensor x = random::normal({10, 4});
    for (int i = 0; i < 80; ++i) kept.push_back(model(x));
  });
  expect_all_kept(80 * 10 * 3 * 4);
}

TEST_F(FindingsRecorded, results_of_a_traced_function) {
  keep_in([&](std::vector<Tensor>& kept) {
    const Function twice = function("twice", [](Tensor x) { return tanh(x * 2.f); });
    for (int i = 0; i < 50; ++i) {
      const Tensor x = random::normal({32});
      kept.push_back(twice(x));
    }
  });
  expect_all_kept(50 * 32 * 4);
}

TEST_F(FindingsRecorded, the_first_row_of_a_prediction_holds_all_of_it) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    const Tensor x = random::normal({300, 4});
    for (int i = 0; i < 40; ++i) kept.push_back(model.predict(x)[0]);
  });
  expect_all_kept(40 * 300 * 3 * 4);
}

TEST_F(FindingsRecorded, predictions_between_trainings) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    model.compile({.optimizer = "adam", .loss = "mse"});
    const Tensor x = random::normal({200, 4}), y = random::normal({200, 3});
    for (int i = 0; i < 20; ++i) {
      model.fit(x, y, {.epochs = 2, .verbose = nn::Verbose::silent});
      kept.push_back(model.predict(x));
    }
  });
  expect_all_kept(20 * 200 * 3 * 4);
}

TEST_F(FindingsRecorded, two_threads_that_store_what_they_predict) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    const Tensor x = random::normal({500, 4});
    std::vector<Tensor> of_other;
    const auto work = [&](std::vector<Tensor>& store) {
      for (int i = 0; i < 40; ++i) store.push_back(model.predict(x));
    };
    work(kept);
    std::thread other([&] { work(of_other); });
    work(kept);
    other.join();
    kept.insert(kept.end(), of_other.begin(), of_other.end());
  });
  expect_all_kept(120 * 500 * 3 * 4);
}

TEST_F(FindingsRecorded, what_a_tidy_returns_and_a_list_keeps) {
  keep_in([&](std::vector<Tensor>& kept) {
    const Tensor w = random::normal({8, 8});
    Tensor state = zeros({1, 8});
    for (int i = 0; i < 60; ++i) {
      state = tidy("step", [&] {
        Tensor next = state;
        for (int k = 0; k < 5; ++k) next = tanh(matmul(next, w));
        return next;
      });
      kept.push_back(state);
    }
  });
  expect_all_kept(60 * 8 * 4);
}

TEST_F(FindingsRecorded, a_window_of_predictions_is_none) {
  keep_in([&](std::vector<Tensor>& kept) {
    const nn::Model model = small_model();
    const Tensor x = random::normal({1000, 4});
    for (int i = 0; i < 60; ++i) {
      kept.push_back(model.predict(x));
      if (kept.size() > 16) kept.erase(kept.begin());
    }
  });
  EXPECT_TRUE(found_.empty()) << titles();
}

}  // namespace
}  // namespace tenure::report
