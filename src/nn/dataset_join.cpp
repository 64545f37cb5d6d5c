// Elements of several datasets: side by side, or in turns.
#include <utility>
#include <vector>

#include "core/raise.h"
#include "memory/text.h"
#include "nn/dataset_stream.h"
#include "tenure/create.h"

namespace tenure::nn::dataset {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  for (T& each : from) to.push_back(std::move(each));
}

void add_input(Batch& to, Batch from) {
  append(to.x, std::move(from.x));
  append(to.y, std::move(from.y));
  append(to.text, std::move(from.text));
  if (!from.weight.defined()) return;
  if (to.weight.defined()) raise<ValueError>("zip: two of the datasets have weights");
  to.weight = std::move(from.weight);
}

void add_target(Batch& to, Batch from) {
  if (!from.y.empty() || from.weight.defined()) {
    raise<ValueError>(
        "zip: a dataset of targets has {} of its own: its inputs alone are the targets",
        from.y.empty() ? "weights" : "targets");
  }
  append(to.y, std::move(from.x));
  append(to.text, std::move(from.text));
}

class Zipped final : public Recipe<Batch> {
 public:
  Zipped(std::vector<RecipePtr<Batch>> x, std::vector<RecipePtr<Batch>> y)
      : x_(std::move(x)), y_(std::move(y)) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    auto pass = std::make_unique<Pass>();
    for (const RecipePtr<Batch>& each : x_) pass->x.push_back(each->open(epoch));
    for (const RecipePtr<Batch>& each : y_) pass->y.push_back(each->open(epoch));
    return pass;
  }
  std::optional<std::int64_t> size() const override {
    std::int64_t shortest = Dataset::kAll;
    for (const auto* side : {&x_, &y_}) {
      for (const RecipePtr<Batch>& each : *side) {
        const auto size = each->size();
        if (!size) return std::nullopt;
        shortest = std::min(shortest, *size);
      }
    }
    return shortest;
  }

 private:
  struct Pass final : Stream<Batch> {
    std::optional<Batch> next() override {
      Batch whole;
      for (const StreamPtr<Batch>& each : x) {
        std::optional<Batch> element = each->next();
        if (!element) return std::nullopt;
        add_input(whole, std::move(*element));
      }
      for (const StreamPtr<Batch>& each : y) {
        std::optional<Batch> element = each->next();
        if (!element) return std::nullopt;
        add_target(whole, std::move(*element));
      }
      return whole;
    }
    std::vector<StreamPtr<Batch>> x, y;
  };
  std::vector<RecipePtr<Batch>> x_, y_;
};

class Enumerated final : public Recipe<Batch> {
 public:
  Enumerated(RecipePtr<Batch> from, std::int64_t start) : from_(std::move(from)), start_(start) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(from_->open(epoch), start_);
  }
  std::optional<std::int64_t> size() const override { return from_->size(); }

 private:
  struct Pass final : Stream<Batch> {
    Pass(StreamPtr<Batch> stream, std::int64_t start) : from(std::move(stream)), number(start) {}
    std::optional<Batch> next() override {
      std::optional<Batch> element = from->next();
      if (!element) return element;
      if (number == Dataset::kAll)
        raise<ValueError>("enumerate: there is no int64 after {}", number);
      element->x.insert(element->x.begin(), tensor(number++));
      return element;
    }
    StreamPtr<Batch> from;
    std::int64_t number;
  };
  RecipePtr<Batch> from_;
  std::int64_t start_;
};

// In turns: `cycle_length` datasets are open. Where one has ended, another takes its place when it
// is that place's turn again.
class Interleaved final : public Recipe<Batch> {
 public:
  Interleaved(const char* op, RecipePtr<Batch> from, std::function<Dataset(Batch)> fn,
              InterleaveOptions options, std::source_location site)
      : op_(op), from_(std::move(from)), fn_(std::move(fn)), options_(options), site_(site) {}
  StreamPtr<Batch> open(std::uint64_t epoch) const override {
    return std::make_unique<Pass>(*this, from_->open(epoch), epoch);
  }
  std::optional<std::int64_t> size() const override { return unknown_size(*from_); }

 private:
  // The dataset of an element; empty before and after.
  struct Open {
    void close() {
      stream = nullptr;
      recipe = nullptr;
    }
    RecipePtr<Batch> recipe;  // outlives its passes
    StreamPtr<Batch> stream;
  };

  struct Pass final : Stream<Batch> {
    Pass(const Interleaved& of, StreamPtr<Batch> stream, std::uint64_t number)
        : recipe(of), from(std::move(stream)), epoch(number) {}
    std::optional<Batch> next() override {
      while (from != nullptr || open > 0) {
        if (at == places.size()) {
          const bool grows = from != nullptr && std::ssize(places) < recipe.options_.cycle_length;
          if (grows) {
            places.emplace_back();
          } else {
            at = 0;
          }
        }
        Open& place = places[at];
        if (place.stream != nullptr) {
          if (std::optional<Batch> element = place.stream->next()) {
            if (++taken == recipe.options_.block_length) move_on();
            return element;
          }
          place.close();
          --open;
          move_on();
        } else if (from == nullptr) {
          move_on();
        } else if (recipe.open_next(*this, place)) {
          ++open;
        }
      }
      return std::nullopt;
    }
    void move_on() {
      taken = 0;
      ++at;
    }
    const Interleaved& recipe;  // outlives its passes
    StreamPtr<Batch> from;      // null once it has ended
    std::uint64_t epoch;
    std::vector<Open> places;
    std::size_t open = 0;
    std::size_t at = 0;
    std::int64_t taken = 0;
  };

  bool open_next(Pass& pass, Open& place) const {
    std::optional<Batch> element = pass.from->next();
    if (!element) {
      pass.from = nullptr;
      return false;
    }
    place.recipe = DatasetAccess::elements(call(std::move(*element)));
    place.stream = place.recipe->open(pass.epoch);
    return true;
  }
  Dataset call(Batch element) const {
    const tenure::detail::CallbackScope users;
    try {
      return fn_(std::move(element));
    } catch (Error& error) {
      error.add({"mapped", tenure::detail::site_text(site_), op_});
      throw;
    }
  }

  const char* op_;
  RecipePtr<Batch> from_;
  std::function<Dataset(Batch)> fn_;
  InterleaveOptions options_;
  std::source_location site_;
};

}  // namespace

RecipePtr<Batch> zip_of(std::vector<RecipePtr<Batch>> x, std::vector<RecipePtr<Batch>> y) {
  return std::make_shared<Zipped>(std::move(x), std::move(y));
}

RecipePtr<Batch> enumerated_of(RecipePtr<Batch> from, std::int64_t start) {
  return std::make_shared<Enumerated>(std::move(from), start);
}

RecipePtr<Batch> interleaved_of(const char* op, RecipePtr<Batch> from,
                                std::function<Dataset(Batch)> fn, InterleaveOptions options,
                                std::source_location site) {
  return std::make_shared<Interleaved>(op, std::move(from), std::move(fn), options, site);
}

}  // namespace tenure::nn::dataset
