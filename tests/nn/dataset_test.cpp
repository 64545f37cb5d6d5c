#include "tenure/dataset.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::bytes_of;
using testing::Floats;
using testing::floats;

// Inputs [count, 2] of 10 i and 10 i + 1, targets [count] of i.
struct Table {
  explicit Table(std::int64_t count) {
    Floats values, targets;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(10 * i));
      values.push_back(static_cast<float>(10 * i + 1));
      targets.push_back(static_cast<float>(i));
    }
    x = tensor(values, {count, 2});
    y = tensor(targets);
  }
  Dataset data() const { return Dataset::from_tensors(x, y); }
  Tensor x, y;
};

// The targets of one pass, batch by batch; checks that the inputs are the same examples.
std::vector<Floats> targets_of(DatasetIterator pass) {
  std::vector<Floats> batches;
  while (std::optional<Batch> batch = pass.next()) {
    batches.push_back(floats(batch->y[0]));
    Floats expected;
    for (const float target : batches.back()) {
      expected.push_back(10 * target);
      expected.push_back(10 * target + 1);
    }
    EXPECT_EQ(floats(batch->x[0]), expected);
  }
  EXPECT_FALSE(pass.next()) << "the end stays the end";
  return batches;
}
std::vector<Floats> targets_of(const Dataset& data) { return targets_of(data.iterate()); }

Floats flat(const std::vector<Floats>& batches) {
  Floats all;
  for (const Floats& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}
Floats sorted(Floats values) {
  std::ranges::sort(values);
  return values;
}
Floats count_to(int n) {
  Floats values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

TEST(Datasets, batch_cuts_in_order_with_a_smaller_last_one) {
  const Dataset data = Table(7).data().batch(3);
  const std::vector<Floats> expected{{0, 1, 2}, {3, 4, 5}, {6}};
  EXPECT_EQ(targets_of(data), expected);
  EXPECT_EQ(targets_of(data), expected) << "again";
  EXPECT_EQ(data.size(), 3);
}

TEST(Datasets, batch_can_drop_the_remainder) {
  const Dataset data = Table(7).data().batch(3, {.drop_remainder = true});
  EXPECT_EQ(targets_of(data), (std::vector<Floats>{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(data.size(), 2);
}

TEST(Datasets, unbatched_elements_are_single_examples) {
  DatasetIterator pass = Table(2).data().iterate();
  const std::optional<Batch> first = pass.next();
  EXPECT_EQ(first->x[0].shape(), Shape({2}));
  EXPECT_EQ(first->y[0].shape(), Shape({}));
  EXPECT_EQ(first->y[0].item<float>(), 0.f);
  EXPECT_FALSE(first->weight.defined());
}

TEST(Datasets, several_inputs_targets_and_weights_stay_together) {
  const Tensor a = tensor({0.f, 1.f, 2.f}), b = tensor({0, 10, 20}), w = tensor({1.f, 2.f, 3.f});
  const Dataset data = Dataset::from_tensors({a, b}, {b, a}, w).shuffle(Dataset::kAll, {.seed = 3});
  for (Batch& batch : data.batch(2)) {
    const Floats first = floats(batch.x[0]);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(batch.x[1].to_vector<int>()[i], static_cast<int>(10 * first[i]));
      EXPECT_EQ(batch.y[0].to_vector<int>()[i], static_cast<int>(10 * first[i]));
      EXPECT_EQ(floats(batch.y[1])[i], first[i]);
      EXPECT_EQ(floats(batch.weight)[i], first[i] + 1);
    }
  }
}

TEST(Datasets, batches_in_order_copy_nothing) {
  const Table table(6);
  const std::size_t before = memory().live_bytes;
  const std::size_t row = 2 * sizeof(float);
  std::size_t at = 0;
  for (Batch& batch : table.data().batch(2)) {
    EXPECT_EQ(bytes_of(batch.x[0]), bytes_of(table.x)) << "a view of the storage";
    EXPECT_EQ(memory().live_bytes, before);
    at += 2 * row;
  }
  EXPECT_EQ(at, 6 * row);
  for (Batch& batch : table.data().skip(1).take(4).batch(2)) {
    EXPECT_EQ(bytes_of(batch.x[0]), bytes_of(table.x));
  }
}

TEST(Datasets, shuffle_gives_every_example_once_and_a_new_order_each_epoch) {
  const Dataset data = Table(50).data().shuffle(Dataset::kAll, {.seed = 7}).batch(8);
  const Floats first = flat(targets_of(data)), second = flat(targets_of(data));
  EXPECT_EQ(sorted(first), count_to(50));
  EXPECT_EQ(sorted(second), count_to(50));
  EXPECT_NE(first, count_to(50));
  EXPECT_NE(first, second);
}

TEST(Datasets, the_same_seed_gives_the_same_orders) {
  const auto make = [](std::uint64_t seed) {
    return Table(50).data().shuffle(Dataset::kAll, {.seed = seed}).batch(8);
  };
  const Dataset a = make(7), b = make(7), other = make(8);
  const std::vector<Floats> a0 = targets_of(a), a1 = targets_of(a);
  EXPECT_EQ(targets_of(b), a0);
  EXPECT_EQ(targets_of(b), a1);
  EXPECT_EQ(targets_of(b.iterate(0)), a0) << "an epoch can be asked for again";
  EXPECT_NE(targets_of(other), a0);
}

TEST(Datasets, set_seed_decides_where_no_seed_is_given) {
  const auto order = [] { return flat(targets_of(Table(30).data().shuffle().batch(30))); };
  set_seed(4);
  const Floats first = order(), second = order();
  set_seed(4);
  EXPECT_EQ(order(), first);
  EXPECT_EQ(order(), second);
  EXPECT_NE(first, second);
}

TEST(Datasets, one_order_for_all_epochs_where_asked) {
  const Dataset data =
      Table(20).data().shuffle(Dataset::kAll, {.seed = 1, .each_epoch = false}).batch(20);
  EXPECT_EQ(targets_of(data), targets_of(data));
}

TEST(Datasets, a_small_buffer_moves_an_example_forward_by_less_than_its_size) {
  const Floats order = flat(targets_of(Table(40).data().shuffle(5, {.seed = 2}).batch(40)));
  EXPECT_EQ(sorted(order), count_to(40));
  EXPECT_NE(order, count_to(40));
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_LT(order[i], static_cast<float>(i + 5));
}

TEST(Datasets, every_order_is_as_likely) {
  const Dataset data = Table(3).data().shuffle(Dataset::kAll, {.seed = 11}).batch(3);
  std::map<Floats, int> seen;
  for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) {
    seen[floats(data.iterate(epoch).next()->y[0])] += 1;
  }
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 150);  // five deviations
}

TEST(Datasets, take_skip_and_repeat_before_and_after_batch) {
  const Dataset data = Table(5).data();
  EXPECT_EQ(targets_of(data.take(3).batch(2)), (std::vector<Floats>{{0, 1}, {2}}));
  EXPECT_EQ(targets_of(data.skip(3).batch(2)), (std::vector<Floats>{{3, 4}}));
  EXPECT_EQ(targets_of(data.skip(9).batch(2)), std::vector<Floats>());
  EXPECT_EQ(targets_of(data.take(0).batch(2)), std::vector<Floats>());
  EXPECT_EQ(targets_of(data.batch(2).take(1)), (std::vector<Floats>{{0, 1}}));
  EXPECT_EQ(targets_of(data.batch(2).skip(2)), (std::vector<Floats>{{4}}));
  EXPECT_EQ(targets_of(data.take(2).repeat(2).batch(3)), (std::vector<Floats>{{0, 1, 0}, {1}}));
  EXPECT_EQ(targets_of(data.take(2).batch(2).repeat(2)), (std::vector<Floats>{{0, 1}, {0, 1}}));
  EXPECT_EQ(targets_of(data.repeat(0).batch(2)), std::vector<Floats>());
  EXPECT_EQ(targets_of(data.repeat().take(7).batch(7)),
            (std::vector<Floats>{{0, 1, 2, 3, 4, 0, 1}}));
  EXPECT_EQ(targets_of(data.take(0).repeat().batch(2)), std::vector<Floats>()) << "and ends";
}

TEST(Datasets, sizes_are_known_where_they_can_be) {
  const Dataset data = Table(10).data();
  EXPECT_EQ(data.size(), 10);
  EXPECT_EQ(data.take(4).size(), 4);
  EXPECT_EQ(data.take(40).size(), 10);
  EXPECT_EQ(data.skip(4).size(), 6);
  EXPECT_EQ(data.skip(40).size(), 0);
  EXPECT_EQ(data.repeat(3).size(), 30);
  EXPECT_EQ(data.repeat(3).batch(4).size(), 8);
  EXPECT_EQ(data.shuffle().batch(4).prefetch(2).map([](Batch b) { return b; }).size(), 3);
  EXPECT_EQ(data.repeat().size(), std::nullopt);
  EXPECT_EQ(data.repeat().batch(4).size(), std::nullopt);
}

// Repeated for ever: what is taken of it is known, whatever lies between.
TEST(Datasets, sizes_of_what_never_ends) {
  const Dataset endless = Table(10).data().repeat();
  EXPECT_EQ(endless.take(7).size(), 7);
  EXPECT_EQ(endless.skip(5).batch(4).prefetch(1).take(3).size(), 3);
  EXPECT_EQ(endless.skip(5).size(), std::nullopt);
  EXPECT_EQ(endless.repeat(3).size(), std::nullopt);
  EXPECT_EQ(endless.batch(4).unbatch().take(2).size(), 2);
  EXPECT_EQ(endless.concatenate(endless).take(9).size(), 9);
  EXPECT_EQ(Dataset::zip(endless, Table(6).data()).size(), 6);
  EXPECT_EQ(targets_of(endless.filter([](const Batch&) { return true; }).take(2).batch(2)),
            (std::vector<Floats>{{0, 1}}));
}

TEST(Datasets, what_reads_to_the_end_refuses_what_has_none) {
  const Dataset endless = Table(3).data().repeat();
  for (const Dataset& data : {endless, endless.batch(2), endless.skip(1), endless.enumerate(),
                              endless.filter([](const Batch&) { return true; })}) {
    EXPECT_HAS(testing::message_of<ValueError>([&] { data.shuffle(); }),
               "shuffle: the dataset never ends");
    EXPECT_HAS(testing::message_of<ValueError>([&] { data.cache(); }),
               "cache: the dataset never ends");
    EXPECT_HAS(testing::message_of<ValueError>([&] { data.cache("never_written"); }),
               "cache() before repeat()");
  }
  EXPECT_TRUE(endless.shuffle(2).iterate().next().has_value());
}

TEST(Datasets, a_generator_gives_as_many_as_its_size_says) {
  const auto counts = [](int given) {
    return [given]() -> Dataset::Generator {
      return [given, at = 0]() mutable -> std::optional<Batch> {
        if (at == given) return std::nullopt;
        return Batch{{tensor({static_cast<float>(at++)})}, {}, {}};
      };
    };
  };
  const auto read = [&](int given, std::int64_t size) {
    for (const Batch& batch : Dataset::from_generator(counts(given), size)) (void)batch;
  };
  EXPECT_NO_THROW(read(3, 3));
  EXPECT_NO_THROW(read(0, 0));
  EXPECT_HAS(testing::message_of<ValueError>([&] { read(2, 3); }),
             "from_generator: its size says 3 elements, the generator gave 2");
  EXPECT_HAS(testing::message_of<ValueError>([&] { read(4, 3); }), "the generator gave more");
  EXPECT_NO_THROW(Dataset::from_generator(counts(4), 5).take(3).iterate().next());
  const Dataset none = Dataset::from_generator([] { return Dataset::Generator(); });
  const std::string message = testing::whole_message_of<ValueError>([&] { none.iterate(); });
  EXPECT_HAS(message, "the function that `open` gave");
  EXPECT_HAS(message, "dataset_test.cpp:");
}

TEST(Datasets, enumerate_has_no_number_after_the_last) {
  DatasetIterator pass = Table(3).data().enumerate(Dataset::kAll - 1).iterate();
  EXPECT_EQ(pass.next()->x[0].item<std::int64_t>(), Dataset::kAll - 1);
  EXPECT_THROW(pass.next(), ValueError);
}

TEST(Datasets, each_repetition_has_an_order_of_its_own) {
  const Dataset data = Table(30).data().shuffle(Dataset::kAll, {.seed = 5}).repeat(2).batch(30);
  const std::vector<Floats> passes = targets_of(data);
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_EQ(targets_of(data.iterate(0)), passes);
}

TEST(Datasets, map_sees_examples_before_batch_and_batches_after) {
  const Dataset data = Table(4).data();
  const auto twice = [](Batch batch) {
    batch.y[0] = batch.y[0] * 2.f;
    return batch;
  };
  Floats shapes;
  const auto look = [&](Batch batch) {
    shapes.push_back(static_cast<float>(batch.y[0].rank()));
    return batch;
  };
  DatasetIterator pass = data.map(look).map(twice).batch(2).map(look).iterate();
  EXPECT_EQ(floats(pass.next()->y[0]), (Floats{0, 2}));
  EXPECT_EQ(floats(pass.next()->y[0]), (Floats{4, 6}));
  EXPECT_FALSE(pass.next());
  EXPECT_EQ(shapes, (Floats{0, 0, 1, 0, 0, 1}));
}

TEST(Datasets, filter_keeps_what_it_is_told_to) {
  const Dataset data = Table(6).data();
  const auto odd = [](const Batch& b) { return static_cast<int>(b.y[0].item<float>()) % 2 == 1; };
  EXPECT_EQ(targets_of(data.filter(odd).batch(2)), (std::vector<Floats>{{1, 3}, {5}}));
  EXPECT_EQ(data.filter(odd).size(), std::nullopt);
  EXPECT_THROW(data.filter(nullptr), ValueError);
}

TEST(Datasets, concatenate_goes_on_with_the_other) {
  const Dataset data = Table(3).data();
  const Dataset both = data.skip(1).concatenate(data.take(2));
  EXPECT_EQ(targets_of(both.batch(3)), (std::vector<Floats>{{1, 2, 0}, {1}}));
  EXPECT_EQ(both.size(), 4);
  EXPECT_EQ(data.concatenate(data.repeat()).size(), std::nullopt);
}

TEST(Datasets, unbatch_undoes_batch) {
  const Dataset data = Table(5).data().batch(3).unbatch();
  EXPECT_EQ(data.iterate().next()->x[0].shape(), Shape({2}));
  EXPECT_EQ(targets_of(data.batch(4)), (std::vector<Floats>{{0, 1, 2, 3}, {4}}));
  const std::vector<Batch> uneven{{{ones({2})}, {ones({3})}, {}}};
  EXPECT_EQ(testing::message_of<ShapeError>(
                [&] { Dataset::from_range(uneven).unbatch().iterate().next(); }),
            "unbatch: different numbers of examples: 2 and 3");
  EXPECT_THROW(Table(2).data().unbatch().iterate().next(), ShapeError);
}

TEST(Datasets, a_generator_is_opened_for_every_pass) {
  int opened = 0;
  const Dataset data = Dataset::from_generator([&opened]() -> Dataset::Generator {
    ++opened;
    return [i = 0]() mutable -> std::optional<Batch> {
      if (i == 3) return std::nullopt;
      const float value = static_cast<float>(i++);
      return Batch{{tensor({10 * value, 10 * value + 1})}, {tensor(value)}, {}};
    };
  });
  EXPECT_EQ(opened, 0);
  EXPECT_EQ(data.size(), std::nullopt);
  EXPECT_EQ(targets_of(data.batch(2)), (std::vector<Floats>{{0, 1}, {2}}));
  EXPECT_EQ(sorted(flat(targets_of(data.shuffle(2, {.seed = 1})))), count_to(3));
  EXPECT_EQ(opened, 2);
}

TEST(Datasets, ranges_of_pairs_batches_and_tensors) {
  std::vector<std::pair<Tensor, Tensor>> pairs;
  for (int i = 0; i < 3; ++i) {
    const auto value = static_cast<float>(i);
    pairs.emplace_back(tensor({10 * value, 10 * value + 1}), tensor(value));
  }
  const Dataset data = Dataset::from_range(pairs);
  for (auto& [x, y] : pairs) x.dispose();
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(targets_of(data.batch(2)), (std::vector<Floats>{{0, 1}, {2}}));
  const std::vector<Batch> batches{{{ones({2, 2})}, {zeros({2})}, {}}};
  EXPECT_EQ(Dataset::from_range(batches).iterate().next()->x[0].shape(), Shape({2, 2}));
  EXPECT_TRUE(Dataset::from_range(std::vector{ones({2})}).iterate().next()->y.empty());
}

// Every other example of a table, made when it is read.
struct Squares : ExampleSource {
  std::int64_t size() const override { return 6; }
  Batch read(std::span<const std::int64_t> examples) const override {
    Floats values;
    for (const std::int64_t i : examples) values.push_back(static_cast<float>(i * i));
    ++reads;
    return {{tensor(values)}, {}, {}};
  }
  mutable std::atomic<int> reads{0};
};

TEST(Datasets, a_source_is_read_once_per_batch) {
  const auto source = std::make_shared<Squares>();
  const Dataset data = Dataset::from_source(source);
  DatasetIterator pass = data.batch(4).iterate();
  EXPECT_EQ(floats(pass.next()->x[0]), (Floats{0, 1, 4, 9}));
  EXPECT_EQ(floats(pass.next()->x[0]), (Floats{16, 25}));
  EXPECT_EQ(source->reads, 2);
  pass = data.shuffle(Dataset::kAll, {.seed = 1}).batch(6).prefetch(1).iterate();
  EXPECT_EQ(sorted(floats(pass.next()->x[0])), (Floats{0, 1, 4, 9, 16, 25}));
  EXPECT_EQ(source->reads, 3);
}

TEST(Datasets, a_tensor_with_any_strides_is_read_right) {
  const Tensor x = transpose(tensor({0.f, 10.f, 20.f, 1.f, 11.f, 21.f}, {2, 3}));
  const Dataset data = Dataset::from_tensors(x, tensor({0.f, 1.f, 2.f}));
  EXPECT_EQ(targets_of(data.batch(2)), (std::vector<Floats>{{0, 1}, {2}}));
  EXPECT_EQ(sorted(flat(targets_of(data.shuffle().batch(2)))), count_to(3));
}

TEST(Contract, L5_disposing_the_tensors_of_a_dataset_harms_nothing) {
  Table table(4);
  const Dataset data = table.data().shuffle().batch(2).prefetch(1);
  DatasetIterator running = data.iterate();
  table.x.dispose();
  table.y.dispose();
  EXPECT_EQ(sorted(flat(targets_of(std::move(running)))), count_to(4));
  EXPECT_EQ(sorted(flat(targets_of(data))), count_to(4));
}

TEST(Contract, L9_batches_join_no_tidy) {
  std::optional<Dataset> data;
  std::optional<DatasetIterator> pass;
  std::vector<Batch> batches;
  tidy([&] {
    data = Table(6).data().shuffle(4).batch(2);  // its tensors are the tidy's
    pass = data->iterate();
    batches.push_back(*pass->next());
  });
  tidy([&] { batches.push_back(*pass->next()); });
  batches.push_back(*pass->next());
  EXPECT_FALSE(pass->next());
  for (const Batch& batch : batches) EXPECT_FALSE(batch.x[0].is_disposed());
  EXPECT_EQ(sorted(flat(targets_of(*data))), count_to(6));
}

TEST(Contract, L9_buffered_elements_outlive_the_tidy_they_were_read_in) {
  const Dataset data = Dataset::from_range(std::vector{tensor({0.f}), tensor({1.f}), tensor({2.f})})
                           .map([](Batch batch) {
                             batch.x[0] = batch.x[0] + 1.f;
                             return batch;
                           })
                           .shuffle(3);
  DatasetIterator pass = data.iterate();
  Floats seen;
  for (int i = 0; i < 3; ++i) tidy([&] { seen.push_back(pass.next()->x[0].item<float>()); });
  EXPECT_EQ(sorted(seen), (Floats{1, 2, 3}));
}

TEST(Contract, L33_why_alive_names_the_dataset) {
  Table table(4);
  const Dataset data = table.data();
  const std::vector<Holder> holders = why_alive(table.x);
  EXPECT_TRUE(std::ranges::any_of(
      holders, [](const Holder& h) { return h.owner.find("dataset") != std::string::npos; }));
}

TEST(Datasets, a_batch_is_born_where_it_was_asked_for) {
  DatasetIterator pass = Table(4).data().batch(2).iterate();
  const std::uint32_t line = testing::here().line() + 1;
  const auto batch = pass.next();
  EXPECT_EQ(batch->x[0].story().birth.site.line(), line);
  EXPECT_HAS(batch->x[0].story().birth.site.file_name(), "dataset_test.cpp");
}

TEST(Datasets, a_tape_does_not_record_what_a_dataset_does) {
  Table table(4);
  GradientTape tape;
  tape.watch(table.x);
  DatasetIterator pass = table.data().shuffle().batch(2).iterate();
  const Batch batch = *pass.next();
  EXPECT_EQ(tape.saved_bytes(), 0u);
}

TEST(Datasets, hold_nothing_once_they_are_dropped) {
  const std::size_t before = memory().live_bytes;
  {
    Dataset data = Table(100).data().shuffle().batch(8).prefetch(3);
    DatasetIterator pass = data.iterate();
    const Dataset copy = data;
    data = copy.take(2);
    pass.next();
    EXPECT_GT(memory().live_bytes, before);
  }
  EXPECT_EQ(memory().live_bytes, before);
}

TEST(Datasets, prefetch_gives_the_same_elements) {
  const Dataset plain = Table(23).data().shuffle(Dataset::kAll, {.seed = 9}).batch(4);
  for (const std::int64_t ahead : {1, 2, 100}) {
    EXPECT_EQ(targets_of(plain.prefetch(ahead).iterate(0)), targets_of(plain.iterate(0)));
  }
  const auto same = [](Batch batch) { return batch; };
  EXPECT_EQ(targets_of(plain.prefetch(2).map(same).prefetch(2).iterate(0)),
            targets_of(plain.iterate(0)));
}

// Counts what it makes.
Dataset counted(std::atomic<int>& made) {
  return Dataset::from_generator([&made]() -> Dataset::Generator {
    return [&made]() -> std::optional<Batch> {
      ++made;
      return Batch{{ones({4})}, {}, {}};
    };
  });
}

TEST(Datasets, prefetch_makes_so_many_ahead_and_no_more) {
  std::atomic<int> made{0};
  const Dataset data = counted(made).prefetch(3);
  DatasetIterator pass = data.iterate();
  for (int taken = 0; taken < 20; ++taken) {
    while (made < taken + 3) std::this_thread::yield();
    EXPECT_LE(made, taken + 3);
    ASSERT_TRUE(pass.next());
  }
}

TEST(Datasets, a_prefetching_pass_may_be_dropped_at_any_moment) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> made{0};
    DatasetIterator pass = counted(made).prefetch(1 + round % 4).iterate();
    for (int i = 0; i < round % 7; ++i) ASSERT_TRUE(pass.next());
  }
}

TEST(Datasets, an_error_comes_out_where_its_element_would_have_been) {
  const Dataset data = Dataset::from_generator([]() -> Dataset::Generator {
    return [i = 0]() mutable -> std::optional<Batch> {
      if (i == 2) throw std::runtime_error("cannot read example 2");
      return Batch{{full({2}, static_cast<float>(i++))}, {}, {}};
    };
  });
  for (const Dataset& each :
       {data, data.prefetch(4), data.prefetch(1).map([](Batch b) { return b; })}) {
    DatasetIterator pass = each.iterate();
    EXPECT_EQ(floats(pass.next()->x[0]), (Floats{0, 0}));
    EXPECT_EQ(floats(pass.next()->x[0]), (Floats{1, 1}));
    EXPECT_EQ(testing::message_of<std::runtime_error>([&] { pass.next(); }),
              "cannot read example 2");
    EXPECT_FALSE(pass.next());
  }
}

TEST(Datasets, a_prefetching_thread_works_in_the_session_of_the_pass) {
  Session session({.name = "training"});
  session.run([] {
    const Dataset data = Table(6).data().shuffle().batch(2).prefetch(2);
    EXPECT_EQ(sorted(flat(targets_of(data))), count_to(6));
  });
  const Dataset foreign = session.run([] { return Table(2).data().batch(1); });
  EXPECT_THROW(foreign.iterate().next(), InaccessibleTensorError);
  EXPECT_THROW(foreign.prefetch(1).iterate().next(), InaccessibleTensorError);
}

TEST(Datasets, errors_name_what_is_wrong) {
  using testing::message_of;
  const Tensor x = ones({10, 3}), y = ones({9});
  EXPECT_EQ(message_of<ShapeError>([&] { Dataset::from_tensors(x, y); }),
            "from_tensors: different numbers of examples: x [10, 3] and y [9]");
  EXPECT_EQ(message_of<ShapeError>([&] { Dataset::from_tensors({x, x}, {x, y}); }),
            "from_tensors: different numbers of examples: x[0] [10, 3] and y[1] [9]");
  EXPECT_EQ(message_of<ShapeError>([&] { Dataset::from_tensors(x, x, y); }),
            "from_tensors: different numbers of examples: x [10, 3] and weight [9]");
  EXPECT_HAS(message_of<ShapeError>([&] { Dataset::from_tensors(tensor(1.f)); }), "x is a scalar");
  EXPECT_HAS(message_of<ValueError>([&] { Dataset::from_tensors(std::vector<Tensor>()); }),
             "no inputs");
  EXPECT_HAS(message_of<ValueError>([&] { Dataset::from_tensors(Tensor()); }), "empty handle");
  Tensor gone = ones({2});
  gone.dispose();
  EXPECT_THROW(Dataset::from_tensors(gone), DisposedError);
  const Dataset data = Dataset::from_tensors(x);
  EXPECT_EQ(message_of<ValueError>([&] { data.batch(0); }), "batch: size: at least 1, not 0");
  EXPECT_EQ(message_of<ValueError>([&] { data.shuffle(0); }), "shuffle: buffer: at least 1, not 0");
  EXPECT_EQ(message_of<ValueError>([&] { data.take(-1); }), "take: count: at least 0, not -1");
  EXPECT_EQ(message_of<ValueError>([&] { data.skip(-2); }), "skip: count: at least 0, not -2");
  EXPECT_EQ(message_of<ValueError>([&] { data.repeat(-2); }), "repeat: times: at least 0, not -2");
  EXPECT_EQ(message_of<ValueError>([&] { data.prefetch(0); }),
            "prefetch: count: at least 1, not 0");
  EXPECT_THROW(data.map(nullptr), ValueError);
  EXPECT_THROW(Dataset::from_generator(nullptr), ValueError);
  EXPECT_THROW(Dataset::from_source(nullptr), ValueError);
  const std::vector<Batch> unlike{{{ones({2})}, {}, {}}, {{ones({2})}, {ones({2})}, {}}};
  EXPECT_EQ(
      message_of<ValueError>([&] { Dataset::from_range(unlike).batch(2).iterate().next(); }),
      "batch: elements differ: 1 inputs, 0 targets, no weight; 1 inputs, 1 targets, no weight");
  DatasetIterator pass = data.iterate();
  const DatasetIterator taken = std::move(pass);
  EXPECT_THROW(pass.next(), ValueError);
}

TEST(Datasets, batches_and_datasets_can_be_returned_from_a_tidy) {
  const Batch batch = tidy([] { return Batch{{ones({2})}, {zeros({2})}, {}}; });
  EXPECT_FALSE(batch.x[0].is_disposed());
  const Dataset data = tidy([] { return Table(2).data().batch(2); });
  DatasetIterator pass = tidy([&] { return data.iterate(); });
  EXPECT_EQ(floats(pass.next()->y[0]), (Floats{0, 1}));
}

}  // namespace
}  // namespace tenure::nn
