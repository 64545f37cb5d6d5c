// Steps that join, cut, number and keep elements, and those that work on several threads.
#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::Floats;
using testing::floats;
using testing::message_of;
using Rows = std::vector<Floats>;

// Examples 0, 1, ... count - 1.
Dataset numbers(int count) {
  Floats values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.f);
  return Dataset::from_tensors(tensor(values, {count}));
}
// The same as elements, not as numbers of examples.
Dataset elements(int count) {
  return numbers(count).map([](Batch batch) { return batch; });
}
Rows inputs_of(DatasetIterator pass) {
  Rows all;
  while (const std::optional<Batch> element = pass.next()) all.push_back(floats(element->x[0]));
  return all;
}
Rows inputs_of(const Dataset& data) { return inputs_of(data.iterate()); }
Floats flat_inputs(const Dataset& data) {
  Floats all;
  for (const Floats& each : inputs_of(data)) all.insert(all.end(), each.begin(), each.end());
  return all;
}

TEST(DatasetZip, goes_side_by_side_until_one_ends) {
  const Dataset data = Dataset::zip(numbers(5), numbers(9).skip(4));
  EXPECT_EQ(data.size(), 5);
  Floats x, y;
  for (const Batch& element : data) {
    x.push_back(element.x[0].item<float>());
    y.push_back(element.y[0].item<float>());
  }
  EXPECT_EQ(x, (Floats{0, 1, 2, 3, 4}));
  EXPECT_EQ(y, (Floats{4, 5, 6, 7, 8}));
  EXPECT_EQ(Dataset::zip(numbers(3), numbers(8)).size(), 3);
  EXPECT_EQ(inputs_of(Dataset::zip(numbers(3), numbers(8))).size(), 3u);
  EXPECT_EQ(Dataset::zip(numbers(3), numbers(1).repeat()).size(), 3);
}

TEST(DatasetZip, joins_inputs_and_keeps_targets_and_weights) {
  const Dataset weighted =
      Dataset::from_tensors(tensor({1.f, 2.f}), tensor({3.f, 4.f}), tensor({5.f, 6.f}));
  const Batch element =
      *Dataset::zip({numbers(2), weighted}, {numbers(2).skip(1)}).iterate().next();
  ASSERT_EQ(element.x.size(), 2u);
  ASSERT_EQ(element.y.size(), 2u);
  EXPECT_EQ(element.x[1].item<float>(), 1);
  EXPECT_EQ(element.y[0].item<float>(), 3);
  EXPECT_EQ(element.y[1].item<float>(), 1);
  EXPECT_EQ(element.weight.item<float>(), 5);
  EXPECT_EQ(message_of<ValueError>([&] { Dataset::zip({weighted, weighted}).iterate().next(); }),
            "zip: two of the datasets have weights");
  EXPECT_HAS(message_of<ValueError>([&] { Dataset::zip(numbers(1), weighted).iterate().next(); }),
             "a dataset of targets has targets of its own");
  EXPECT_HAS(message_of<ValueError>([] { Dataset::zip(std::vector<Dataset>()); }), "no inputs");
}

TEST(DatasetWindow, begins_every_shift_elements) {
  for (const Dataset& data : {numbers(6), elements(6)}) {
    EXPECT_EQ(inputs_of(data.window(4)), (Rows{{0, 1, 2, 3}, {4, 5}}));
    EXPECT_EQ(inputs_of(data.window(3, {.shift = 1})),
              (Rows{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5}, {5}}));
    EXPECT_EQ(inputs_of(data.window(3, {.shift = 1, .drop_remainder = true})),
              (Rows{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}}));
    EXPECT_EQ(inputs_of(data.window(2, {.shift = 1, .stride = 3})),
              (Rows{{0, 3}, {1, 4}, {2, 5}, {3}, {4}, {5}}));
    EXPECT_EQ(inputs_of(data.window(2, {.shift = 4})), (Rows{{0, 1}, {4, 5}}));
    EXPECT_EQ(inputs_of(data.window(2, {.shift = 5})), (Rows{{0, 1}, {5}}));
    EXPECT_EQ(inputs_of(data.window(9, {.drop_remainder = true})), Rows());
  }
}

TEST(DatasetWindow, knows_how_many_there_are) {
  for (int count = 0; count < 9; ++count) {
    for (const std::int64_t size : {1, 2, 3}) {
      for (const std::int64_t shift : {1, 2, 5}) {
        for (const std::int64_t stride : {1, 3}) {
          for (const bool drop : {false, true}) {
            const Dataset data = numbers(count).window(
                size, {.shift = shift, .stride = stride, .drop_remainder = drop});
            EXPECT_EQ(data.size(), std::ssize(inputs_of(data)))
                << count << " " << size << " " << shift << " " << stride << " " << drop;
          }
        }
      }
    }
  }
}

TEST(DatasetWindow, refuses_what_is_no_window) {
  EXPECT_EQ(message_of<ValueError>([] { numbers(3).window(0); }),
            "window: size: at least 1, not 0");
  EXPECT_EQ(message_of<ValueError>([] { numbers(3).window(2, {.shift = 0}); }),
            "window: shift: at least 1, not 0");
  EXPECT_EQ(message_of<ValueError>([] { numbers(3).window(2, {.stride = 0}); }),
            "window: stride: at least 1, not 0");
  EXPECT_THROW(numbers(3).window(Dataset::kAll, {.stride = 2}), ValueError);
}

// Targets of 1, 2, ... elements.
Dataset growing(int count) {
  return numbers(count).map([](Batch element) {
    const auto length = static_cast<std::int64_t>(element.x[0].item<float>()) + 1;
    return Batch{{full({length, 2}, 7.f)}, {full({length}, 3)}, {}};
  });
}

TEST(DatasetPaddedBatch, fills_up_to_the_longest) {
  DatasetIterator pass = growing(3).padded_batch(2).iterate();
  const Batch first = *pass.next();
  EXPECT_EQ(first.x[0].shape(), Shape({2, 2, 2}));
  EXPECT_EQ(floats(first.x[0]), (Floats{7, 7, 0, 0, 7, 7, 7, 7}));
  EXPECT_EQ(first.y[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 0, 3, 3}));
  EXPECT_EQ(pass.next()->x[0].shape(), Shape({1, 3, 2}));
  EXPECT_FALSE(pass.next());
  EXPECT_EQ(growing(3).padded_batch(2).size(), 2);
  EXPECT_EQ(growing(3).padded_batch(2, {.drop_remainder = true}).size(), 1);
}

TEST(DatasetPaddedBatch, takes_shapes_and_values) {
  const Batch batch =
      *growing(2)
           .padded_batch(
               2, {.x_shapes = {{-1, 3}}, .y_shapes = {{4}}, .x_values = {0.5}, .y_values = {-1}})
           .iterate()
           .next();
  EXPECT_EQ(batch.x[0].shape(), Shape({2, 2, 3}));
  EXPECT_EQ(floats(batch.x[0]), (Floats{7, 7, 0.5, 0.5, 0.5, 0.5, 7, 7, 0.5, 7, 7, 0.5}));
  EXPECT_EQ(batch.y[0].to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{3, -1, -1, -1, 3, 3, -1, -1}));
}

TEST(DatasetPaddedBatch, tells_what_does_not_fit) {
  const auto refused = [](const PaddedBatchOptions& options) {
    return message_of<Error>([&] { growing(3).padded_batch(3, options).iterate().next(); });
  };
  EXPECT_EQ(refused({.y_shapes = {{2}}}),
            "padded_batch: y[0] of [3] is longer than the [2] it is to be filled up to");
  EXPECT_EQ(refused({.x_shapes = {{2}}}),
            "padded_batch: x[0] is to be filled up to [2], and is [3, 2]");
  EXPECT_EQ(refused({.x_shapes = {{-1, 2}, {-1}}}),
            "padded_batch: 2 x_shapes for 1: one each, or none");
  EXPECT_EQ(refused({.x_shapes = {{-2, 2}}}),
            "padded_batch: x_shapes: sizes are 0 and more, or -1 for the longest: [-2, 2]");
  const Dataset unlike = Dataset::from_range(std::vector{ones({2}), ones({2, 1})});
  EXPECT_EQ(message_of<ShapeError>([&] { unlike.padded_batch(2).iterate().next(); }),
            "padded_batch: elements differ in the rank of x[0]: [2] and [2, 1]");
  EXPECT_THROW(numbers(1).padded_batch(0), ValueError);
}

TEST(Datasets, batches_of_unlike_shapes_are_told_of_padding) {
  const std::string text = message_of<ShapeError>([] { growing(2).batch(2).iterate().next(); });
  EXPECT_HAS(text, "batch: elements differ in x[0]: [1, 2] and [2, 2]");
  EXPECT_HAS(text, "padded_batch()");
}

TEST(DatasetEnumerate, numbers_the_elements) {
  const Dataset data = numbers(3).skip(1).enumerate(5);
  EXPECT_EQ(data.size(), 2);
  DatasetIterator pass = data.iterate();
  const Batch first = *pass.next();
  EXPECT_EQ(first.x[0].item<std::int64_t>(), 5);
  EXPECT_EQ(first.x[1].item<float>(), 1);
  EXPECT_EQ(pass.next()->x[0].item<std::int64_t>(), 6);
}

// The element, `times` times.
Dataset copies(const Batch& element, int times) {
  return Dataset::from_range(std::vector(static_cast<std::size_t>(times), element.x[0]));
}

TEST(DatasetFlatMap, goes_through_one_after_the_other) {
  const Dataset data = numbers(4).flat_map(
      [](const Batch& e) { return copies(e, static_cast<int>(e.x[0].item<float>())); });
  EXPECT_EQ(flat_inputs(data), (Floats{1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(data.size(), std::nullopt);
  EXPECT_EQ(flat_inputs(numbers(5).window(2).flat_map(
                [](const Batch& e) { return Dataset::from_tensors(e.x[0]); })),
            (Floats{0, 1, 2, 3, 4}));
  EXPECT_THROW(numbers(1).flat_map(nullptr), ValueError);
}

TEST(DatasetInterleave, takes_turns_as_tensorflow_does) {
  // The example of tf.data.Dataset.interleave's documentation.
  const Dataset data = numbers(6).skip(1).interleave([](const Batch& e) { return copies(e, 6); },
                                                     {.cycle_length = 2, .block_length = 4});
  EXPECT_EQ(flat_inputs(data), (Floats{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3,
                                       3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5}));
  const Dataset uneven = numbers(4).interleave(
      [](const Batch& e) { return copies(e, static_cast<int>(e.x[0].item<float>())); },
      {.cycle_length = 9});
  EXPECT_EQ(flat_inputs(uneven), (Floats{1, 2, 3, 2, 3, 3}));
  const auto nothing = [](const Batch& e) { return copies(e, 1).take(0); };
  EXPECT_EQ(flat_inputs(numbers(4).interleave(nothing)), Floats());
  EXPECT_THROW(numbers(1).interleave(nothing, {.cycle_length = 0}), ValueError);
  EXPECT_THROW(numbers(1).interleave(nothing, {.block_length = 0}), ValueError);
}

Batch doubled(Batch element) {
  element.x[0] = element.x[0] * 2.f;
  return element;
}

TEST(DatasetParallelMap, keeps_the_order) {
  const Dataset data = numbers(200).map(
      [](Batch element) {
        if (static_cast<int>(element.x[0].item<float>()) % 3 == 0) std::this_thread::yield();
        return doubled(std::move(element));
      },
      {.num_parallel_calls = 4});
  Floats expected;
  for (int i = 0; i < 200; ++i) expected.push_back(static_cast<float>(2 * i));
  EXPECT_EQ(flat_inputs(data), expected);
  EXPECT_EQ(flat_inputs(data.prefetch(2)), expected);
  EXPECT_EQ(data.size(), 200);
}

TEST(DatasetParallelMap, works_on_several_elements_at_once) {
  constexpr int kCalls = 3;
  std::atomic<int> inside{0};
  const Dataset data = numbers(kCalls).map(
      [&](Batch element) {
        ++inside;
        while (inside < kCalls) std::this_thread::yield();  // until all of them are here
        return element;
      },
      {.num_parallel_calls = kCalls});
  EXPECT_EQ(flat_inputs(data).size(), 3u);
}

TEST(DatasetParallelMap, may_give_elements_as_they_are_ready) {
  std::atomic<bool> first_may_end{false};
  const Dataset data = numbers(3).map(
      [&](Batch element) {
        while (element.x[0].item<float>() == 0 && !first_may_end) std::this_thread::yield();
        return element;
      },
      {.num_parallel_calls = 2, .deterministic = false});
  DatasetIterator pass = data.iterate();
  std::multiset<float> seen{pass.next()->x[0].item<float>(), pass.next()->x[0].item<float>()};
  EXPECT_EQ(seen, (std::multiset<float>{1, 2}));
  first_may_end = true;
  EXPECT_EQ(pass.next()->x[0].item<float>(), 0);
  EXPECT_FALSE(pass.next());
}

TEST(DatasetParallelMap, makes_no_more_than_its_calls_ahead) {
  std::atomic<int> made{0};
  const Dataset data = numbers(100).map(
      [&](Batch element) {
        ++made;
        return element;
      },
      {.num_parallel_calls = 3});
  DatasetIterator pass = data.iterate();
  for (int taken = 0; taken < 90; ++taken) {
    EXPECT_LE(made, taken + 3);
    ASSERT_TRUE(pass.next());
  }
}

TEST(DatasetParallelMap, draws_the_same_numbers_whichever_thread_draws_them) {
  const auto noise = [](Batch element) {
    element.x[0] = element.x[0] + random::normal({2});
    return element;
  };
  const auto draw = [&](int calls) {
    set_seed(11);
    return flat_inputs(numbers(40).map(noise, {.num_parallel_calls = calls}));
  };
  const Floats once = draw(4);
  EXPECT_EQ(draw(4), once);
  EXPECT_EQ(draw(2), once);
  EXPECT_EQ(std::set<float>(once.begin(), once.end()).size(), 80u);
}

TEST(DatasetParallelMap, tells_an_error_where_its_element_would_have_been) {
  for (const int calls : {1, 4}) {
    const auto line = testing::here().line() + 1;
    const Dataset data = numbers(50).map(
        [](Batch element) {
          if (element.x[0].item<float>() == 7) element.x[0] = reshape(element.x[0], {2});
          return element;
        },
        {.num_parallel_calls = calls});
    DatasetIterator pass = data.iterate();
    for (int i = 0; i < 7; ++i) ASSERT_EQ(pass.next()->x[0].item<float>(), static_cast<float>(i));
    const std::string text = testing::whole_message_of<ShapeError>([&] { pass.next(); });
    EXPECT_HAS(text, "reshape");
    EXPECT_HAS(text, "mapped    dataset_steps_test.cpp:" + std::to_string(line));
    EXPECT_FALSE(pass.next());
  }
  DatasetIterator pass = numbers(9)
                             .map([](const Batch&) -> Batch { throw std::runtime_error("mine"); },
                                  {.num_parallel_calls = 4})
                             .iterate();
  EXPECT_EQ(message_of<std::runtime_error>([&] { pass.next(); }), "mine");
}

TEST(DatasetParallelMap, may_be_dropped_at_any_moment) {
  for (int round = 0; round < 40; ++round) {
    DatasetIterator pass =
        numbers(1000).repeat().map(doubled, {.num_parallel_calls = 1 + round % 5}).iterate();
    for (int i = 0; i < round % 7; ++i) ASSERT_TRUE(pass.next());
  }
}

TEST(DatasetParallelMap, refuses_numbers_of_threads) {
  EXPECT_HAS(message_of<ValueError>([] { numbers(1).map(doubled, {.num_parallel_calls = 0}); }),
             "map: num_parallel_calls must be between 1 and 1024: 0");
  EXPECT_THROW(numbers(1).map(doubled, {.num_parallel_calls = 2000}), ValueError);
}

TEST(DatasetCache, reads_once_and_keeps_the_order) {
  int opened = 0;
  const Dataset data = Dataset::from_generator([&opened]() -> Dataset::Generator {
                         ++opened;
                         return [i = 0]() mutable -> std::optional<Batch> {
                           if (i == 3) return std::nullopt;
                           return Batch{{tensor(static_cast<float>(i++))}, {}, {}};
                         };
                       }).cache();
  EXPECT_EQ(data.size(), std::nullopt);
  EXPECT_EQ(flat_inputs(data), (Floats{0, 1, 2}));
  EXPECT_EQ(flat_inputs(data), (Floats{0, 1, 2}));
  EXPECT_EQ(flat_inputs(data.batch(2)), (Floats{0, 1, 2}));
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(data.size(), 3);
}

TEST(DatasetCache, keeps_nothing_of_a_pass_that_was_dropped) {
  int made = 0;
  const Dataset data = numbers(4)
                           .map([&](Batch element) {
                             ++made;
                             return doubled(std::move(element));
                           })
                           .cache();
  {
    DatasetIterator pass = data.iterate();
    pass.next();
    pass.next();
  }
  EXPECT_EQ(made, 2);
  EXPECT_EQ(flat_inputs(data), (Floats{0, 2, 4, 6}));
  EXPECT_EQ(flat_inputs(data), (Floats{0, 2, 4, 6}));
  EXPECT_EQ(made, 6);
}

TEST(DatasetCache, is_counted_and_given_back) {
  const std::size_t before = memory().live_bytes;
  {
    const Dataset data =
        numbers(4).map([](const Batch&) { return Batch{{zeros({1000})}, {}, {}}; }).cache();
    for (const Batch& element : data) EXPECT_EQ(element.x[0].numel(), 1000);
    EXPECT_GE(memory().live_bytes, before + 4 * 4000);
    const Batch kept = *data.iterate().next();
    const std::vector<Holder> holders = why_alive(kept.x[0]);
    EXPECT_TRUE(std::ranges::any_of(
        holders, [](const Holder& h) { return h.owner.find("dataset") != std::string::npos; }));
  }
  EXPECT_EQ(memory().live_bytes, before);
}

TEST(DatasetCache, is_not_harmed_by_what_becomes_of_its_elements) {
  const Dataset data = numbers(2).map(doubled).cache();
  for (Batch& element : data) element.x[0].dispose();
  for (Batch& element : data) element.x[0].dispose();
  EXPECT_EQ(flat_inputs(data), (Floats{0, 2}));
}

TEST(Datasets, what_a_pass_buffers_is_counted_and_given_back) {
  const std::size_t before = memory().live_bytes;
  const Dataset large = Dataset::from_generator([]() -> Dataset::Generator {
    return []() -> std::optional<Batch> { return Batch{{zeros({1000})}, {}, {}}; };
  });
  const auto same = [](Batch element) { return element; };
  const std::vector<std::pair<Dataset, std::size_t>> buffering{
      {large.shuffle(5), 4},
      {large.window(4, {.shift = 1}), 3},
      {large.take(9).cache(), 2},
      {large.batch(3).unbatch(), 3},
      {large.interleave([&](const Batch&) { return large.shuffle(3); }, {.cycle_length = 2}), 4},
      {Dataset::zip(large.shuffle(3), large.shuffle(4)), 5},
      {large.padded_batch(2).shuffle(2), 2},
      {large.map(same, {.num_parallel_calls = 3}), 0},
      {large.prefetch(3), 0},
  };
  for (const auto& [data, elements_held] : buffering) {
    {
      DatasetIterator pass = data.iterate();
      pass.next();
      pass.next();
      EXPECT_GE(memory().live_bytes, before + elements_held * 4000);
    }
    EXPECT_EQ(memory().live_bytes, before);
  }
}

TEST(DatasetTimeseries, cuts_stretches_as_keras_does) {
  // keras.utils.timeseries_dataset_from_array's first example.
  Floats values(100);
  std::iota(values.begin(), values.end(), 0.f);
  const Dataset data = Dataset::from_timeseries(
      tensor(values), {}, {.sequence_length = 20, .sequence_stride = 3, .sampling_rate = 2});
  const Rows all = inputs_of(data);
  ASSERT_EQ(data.size(), std::ssize(all));
  ASSERT_EQ(all.size(), 21u);  // 0 to 60 by 3: an example spans 39 steps
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < 20; ++k) {
      EXPECT_EQ(all[i][k], static_cast<float>(3 * i + 2 * k));
    }
  }
}

TEST(DatasetTimeseries, gives_the_target_of_the_first_step) {
  // Its second: the next value after ten.
  Floats values(15);
  std::iota(values.begin(), values.end(), 0.f);
  const Tensor data = tensor(values);
  const Dataset series = Dataset::from_timeseries(slice(data, {0}, {-1}), slice(data, {10}, {-1}),
                                                  {.sequence_length = 10});
  EXPECT_EQ(series.size(), 5);
  const Batch batch = *series.batch(5).iterate().next();
  EXPECT_EQ(batch.x[0].shape(), Shape({5, 10}));
  EXPECT_EQ(floats(batch.y[0]), (Floats{10, 11, 12, 13, 14}));
  EXPECT_EQ(floats(batch.x[0])[11], 2);
}

TEST(DatasetTimeseries, shuffles_and_takes_a_part) {
  const Tensor data = reshape(arange(20), {10, 2});
  const Dataset part =
      Dataset::from_timeseries(data, {}, {.sequence_length = 2, .start_index = 3, .end_index = 6});
  EXPECT_EQ(part.size(), 2);
  DatasetIterator pass = part.iterate();
  EXPECT_EQ(pass.next()->x[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{6, 7, 8, 9}));
  EXPECT_EQ(pass.next()->x[0].to_vector<std::int32_t>(), (std::vector<std::int32_t>{8, 9, 10, 11}));
  EXPECT_FALSE(pass.next());
  const Batch all = *Dataset::from_timeseries(data, {}, {.sequence_length = 3})
                         .shuffle()
                         .batch(8)
                         .iterate()
                         .next();
  EXPECT_EQ(all.x[0].shape(), Shape({8, 3, 2}));
  EXPECT_EQ(Dataset::from_timeseries(ones({3}), ones({1}), {.sequence_length = 2}).size(), 1);
  EXPECT_EQ(
      Dataset::from_timeseries(ones({3}), {}, {.sequence_length = 2, .sampling_rate = 3}).size(),
      0);
}

TEST(DatasetTimeseries, refuses_what_does_not_fit) {
  const auto refused = [](TimeseriesOptions options) {
    return message_of<ValueError>([&] { Dataset::from_timeseries(ones({9}), {}, options); });
  };
  EXPECT_EQ(refused({}),
            "from_timeseries: sequence_length must be between 1 and the 9 steps there are: 0");
  EXPECT_HAS(refused({.sequence_length = 10}), "sequence_length");
  EXPECT_HAS(refused({.sequence_length = 1, .sampling_rate = 0}), "sampling_rate");
  EXPECT_EQ(refused({.sequence_length = 1, .end_index = 10}),
            "from_timeseries: steps 0 to 10 of a series of 9");
  EXPECT_HAS(message_of<ShapeError>(
                 [] { Dataset::from_timeseries(tensor(1.f), {}, {.sequence_length = 1}); }),
             "data is a scalar");
}

TEST(DatasetText, goes_through_every_step) {
  const Dataset data = Dataset::from_text({"a", "b", "c"}, tensor({0.f, 1.f, 2.f}));
  EXPECT_EQ(data.size(), 3);
  const Batch one = *data.iterate().next();
  EXPECT_EQ(one.text[0].strings, std::vector<std::string>{"a"});
  EXPECT_EQ(one.text[0].shape, Shape{});
  const Batch batch = *data.skip(1).batch(2).iterate().next();
  EXPECT_EQ(batch.text[0].strings, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(batch.text[0].shape, Shape{2});
  EXPECT_EQ(floats(batch.y[0]), (Floats{1, 2}));
  const auto same = [](Batch element) { return element; };
  for (const Dataset& each :
       {data.map(same).batch(3), data.batch(2).unbatch().batch(3), data.map(same).cache().batch(3),
        data.padded_batch(3), data.window(3), data.map(same, {.num_parallel_calls = 2}).batch(3),
        Dataset::zip({data}).batch(3), data.prefetch(1).batch(3),
        data.take(1).concatenate(data.skip(1)).batch(3)}) {
    EXPECT_EQ(each.iterate().next()->text[0].strings, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(each.iterate().next()->text[0].shape, Shape{3});
  }
  EXPECT_EQ(data.window(2).batch(1).iterate().next()->text[0].shape, Shape({1, 2}));
  std::set<std::string> seen;
  for (const Batch& element : data.shuffle()) seen.insert(element.text[0].strings[0]);
  EXPECT_EQ(seen, (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(message_of<ShapeError>([] { Dataset::from_text({"a"}, ones({2})); }),
            "from_text: different numbers of examples: 1 texts and y [2]");
}

}  // namespace
}  // namespace tenure::nn
