// Functions of datasets, of text and of rows, and sources of examples.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "throwing.h"

namespace tenure::testing {
namespace {

using nn::Batch;
using nn::Dataset;

// The inputs of one pass.
Floats pass_over(const Dataset& data) {
  Floats all;
  for (const Batch& batch : data) {
    for (const float value : floats(cast(batch.x[0], DType::float32))) all.push_back(value);
  }
  return all;
}

Dataset rows() { return Dataset::from_tensors(column(), target()); }

struct FusedSource : nn::ExampleSource {
  FusedSource(Fused of, bool reads_ranges) : fuse(std::move(of)), ranges(reads_ranges) {}
  std::int64_t size() const override {
    (*fuse)();
    return 4;
  }
  Batch read(std::span<const std::int64_t> examples) const override {
    (*fuse)();
    const Tensor at = tensor(std::vector<std::int64_t>(examples.begin(), examples.end()));
    Batch batch{{gather(column(), at)}, {gather(target(), at)}, {}};
    (*fuse)();
    return batch;
  }
  Batch read_range(std::int64_t first, std::int64_t count) const override {
    if (!ranges) return ExampleSource::read_range(first, count);
    (*fuse)();
    return {
        {slice(column(), {first, 0}, {count, 1})}, {slice(target(), {first, 0}, {count, 1})}, {}};
  }
  Fused fuse;
  bool ranges;
};

Call source(const Fused& fuse, bool ranges) {
  return [fuse, ranges] {
    const Dataset data = Dataset::from_source(std::make_shared<FusedSource>(fuse, ranges));
    Floats all = pass_over(data.batch(2));
    for (const float value : pass_over(data.shuffle(4, {.seed = 1}).batch(3).prefetch(1))) {
      all.push_back(value);
    }
    return all;
  };
}

std::function<Dataset(Batch)> doubled_rows(const Fused& fuse) {
  return [fuse](Batch batch) {
    (*fuse)();
    return Dataset::from_range(std::vector<Tensor>{batch.x[0], batch.x[0] * 2.0})
        .map([fuse](Batch each) {
          (*fuse)();
          return each;
        });
  };
}

nn::TextVectorizationOptions fused_text(const Fused& fuse) {
  return {.standardize =
              [fuse](std::string_view text) {
                (*fuse)();
                return std::string(text);
              },
          .split =
              [fuse](std::string_view text) {
                (*fuse)();
                return std::vector<std::string>{std::string(text.substr(0, 1)),
                                                std::string(text.substr(1))};
              },
          .output_sequence_length = 2};
}

const Place kDataPlaces[] = {
    {"flat_map",
     [](Fused fuse) -> Call {
       return [data = rows().flat_map(doubled_rows(fuse))] { return pass_over(data); };
     }},
    {"interleave",
     [](Fused fuse) -> Call {
       return [data = rows().interleave(doubled_rows(fuse), {.cycle_length = 3})] {
         return pass_over(data.prefetch(1));
       };
     }},
    {"map_on_several_threads",
     [](Fused fuse) -> Call {
       const auto halved = [fuse](Batch batch) {
         batch.x[0] = batch.x[0] * 0.5;
         (*fuse)();
         return batch;
       };
       return [data = rows().map(halved, {.num_parallel_calls = 3}).batch(2)] {
         return pass_over(data);
       };
     }},
    {"map_on_several_threads_in_any_order",
     [](Fused fuse) -> Call {
       const auto ones_each = [fuse](Batch batch) {
         batch.x[0] = ones({1});
         (*fuse)();
         return batch;
       };
       return [data = rows().repeat(3).map(ones_each,
                                           {.num_parallel_calls = 3, .deterministic = false})] {
         return pass_over(data.prefetch(2));
       };
     }},
    {"cached_map",
     [](Fused fuse) -> Call {
       return [fuse] {
         const Dataset data = rows()
                                  .map([fuse](Batch batch) {
                                    (*fuse)();
                                    return batch;
                                  })
                                  .cache();
         Floats all = pass_over(data);
         for (const float value : pass_over(data)) all.push_back(value);
         return all;
       };
     }},
    {"source_of_examples", [](Fused fuse) { return source(fuse, false); }},
    {"source_of_examples_side_by_side", [](Fused fuse) { return source(fuse, true); }},
    {"text_that_is_looked_up",
     [](Fused fuse) -> Call {
       return [fuse] {
         const std::vector<std::string> lines{"ab", "ac", "bc"};
         nn::TextVectorization words(fused_text(fuse));
         words.adapt(lines);
         Floats all = pass_over(Dataset::from_text(lines).map(words.to_inputs()).batch(2));
         for (const std::string& word : words.get_vocabulary()) {
           all.push_back(static_cast<float>(word.size()));
         }
         return all;
       };
     }},
    {"text_that_is_counted_again",  // the vocabulary that was there stays
     [](Fused fuse) -> Call {
       return [fuse] {
         nn::TextVectorization words(fused_text(fuse));
         words.adapt({"ab"});
         const std::vector<std::string> before = words.get_vocabulary();
         try {
           words.adapt({"xb", "xb"});
         } catch (const Mine&) {
           EXPECT_EQ(words.get_vocabulary(), before);
           throw;
         }
         EXPECT_NE(words.get_vocabulary(), before);
         return Floats{static_cast<float>(words.get_vocabulary().size())};
       };
     }},
    {"bad_rows",
     [](Fused fuse) -> Call {
       return [fuse] {
         namespace fs = std::filesystem;
         const fs::path path =
             fs::temp_directory_path() / fmt::format("tenure-throwing-{}.csv", getpid());
         std::ofstream(path) << "a,b\n1,2\n3,no\n5,6\nno,8\n9,10\n";
         const std::shared_ptr<void> removed(nullptr, [path](void*) { fs::remove(path); });
         set_warning_sink([](std::string_view) {});
         const std::shared_ptr<void> told(nullptr, [](void*) { set_warning_sink(nullptr); });
         return pass_over(
             Dataset::from_csv(path.string(),
                               {.features = {"a"},
                                .targets = {"b"},
                                .bad_rows = nn::BadRows::skip,
                                .on_bad_row = [fuse](const nn::CsvBadRow&) { (*fuse)(); }})
                 .batch(2));
       };
     }},
};

struct ThrowingData : Throwing {};

TEST_P(ThrowingData, arrives_as_it_is_and_leaves_nothing) {
  expect_arrives_and_leaves_nothing(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Places, ThrowingData, ::testing::ValuesIn(kDataPlaces),
                         [](const auto& place) { return std::string(place.param.name); });

}  // namespace
}  // namespace tenure::testing
