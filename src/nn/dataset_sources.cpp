// Where the elements of a Dataset come from.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/raise.h"
#include "memory/text.h"
#include "nn/dataset_stream.h"
#include "nn/saved_batch.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/views.h"

namespace tenure::nn::dataset {
namespace {

using tenure::detail::Access;

struct InRows {
  Tensor operator()(Tensor tensor) const { return contiguous(std::move(tensor)); }
  Text operator()(Text text) const { return text; }
};

// Checks that all have one number of examples along axis 0.
class ExampleCount {
 public:
  ExampleCount(const char* op, std::source_location site) : op_(op), site_(site) {}
  void add(const std::string& name, const Tensor& tensor, std::uint32_t copies) {
    const tenure::detail::Pin pin(tensor, op_, site_, copies);
    const Shape& shape = pin->layout.shape;
    if (shape.rank() == 0) {
      raise<ShapeError>("{}: {} is a scalar: it has no axis of examples", op_, name);
    }
    add(fmt::format("{} {}", name, shape), shape[0]);
  }
  void add(const std::string& what, std::int64_t count) {
    if (!count_) {
      count_ = count;
      first_ = what;
    } else if (*count_ != count) {
      raise<ShapeError>("{}: different numbers of examples: {} and {}", op_, first_, what);
    }
  }
  std::int64_t value() const { return *count_; }

 private:
  const char* op_;
  std::source_location site_;
  std::optional<std::int64_t> count_;
  std::string first_;
};

void add_all(ExampleCount& count, const std::vector<Tensor>& x, const std::vector<Tensor>& y,
             const Tensor& weight) {
  const auto add_list = [&](const char* name, const std::vector<Tensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i];
      const auto copies = std::ranges::count(x, Access::header(tensor), Access::header) +
                          std::ranges::count(y, Access::header(tensor), Access::header);
      count.add(tensors.size() == 1 ? name : fmt::format("{}[{}]", name, i), tensor,
                static_cast<std::uint32_t>(copies));
    }
  };
  add_list("x", x);
  add_list("y", y);
  if (weight.defined()) count.add("weight", weight, 1);
}

// Row-major once, not for every batch that is gathered from them.
Batch in_rows(Batch whole) {
  const OwnWork own_work;
  change_each(whole, InRows());
  return whole;
}

class TensorSource final : public ExampleSource {
 public:
  TensorSource(SavedBatch tensors, std::int64_t size) : tensors_(std::move(tensors)), size_(size) {}

  std::int64_t size() const override { return size_; }
  Batch read(std::span<const std::int64_t> examples) const override {
    const Tensor indices = tensor(examples, Shape{static_cast<std::int64_t>(examples.size())});
    return tensors_.read([&](const Tensor& whole) { return gather(whole, indices); });
  }
  Batch read_range(std::int64_t first, std::int64_t count) const override {
    return tensors_.read([&](Tensor whole) {
      if (first == 0 && count == size_) return whole;
      Shape begin = whole.shape(), size = whole.shape();
      for (int axis = 0; axis < whole.rank(); ++axis) begin[axis] = 0;
      begin[0] = first;
      size[0] = count;
      return slice(std::move(whole), begin, size);
    });
  }

 private:
  SavedBatch tensors_;
  std::int64_t size_;
};

class TextSource final : public ExampleSource {
 public:
  TextSource(std::vector<std::string> text, TensorSource targets)
      : text_(std::move(text)), targets_(std::move(targets)) {}

  std::int64_t size() const override { return std::ssize(text_); }
  Batch read(std::span<const std::int64_t> examples) const override {
    Batch batch = targets_.read(examples);
    Text& text = batch.text.emplace_back();
    text.shape = {std::ssize(examples)};
    for (const std::int64_t i : examples)
      text.strings.push_back(text_[static_cast<std::size_t>(i)]);
    return batch;
  }

 private:
  std::vector<std::string> text_;
  TensorSource targets_;
};

class SeriesSource final : public ExampleSource {
 public:
  SeriesSource(const Tensor& data, const Tensor& targets, const TimeseriesOptions& options,
               std::source_location site)
      : options_(options) {
    const std::int64_t steps = steps_of("data", data, site);
    const bool has_targets = targets.defined();
    const std::int64_t reach = has_targets ? steps_of("targets", targets, site) : steps;
    check(steps);
    const std::int64_t end = options.end_index.value_or(steps);
    const std::int64_t begins =
        std::min(end - options.start_index - span() + 1, reach - options.start_index);
    size_ = begins < 1 ? 0 : (begins - 1) / options.sequence_stride + 1;
    const auto saved = [site](const Tensor& tensor) {
      return SavedBatch(in_rows({{tensor}, {}, {}}), "from_timeseries", site);
    };
    data_ = saved(data);
    if (has_targets) targets_ = saved(targets);
  }

  std::int64_t size() const override { return size_; }
  Batch read(std::span<const std::int64_t> examples) const override {
    const std::int64_t length = options_.sequence_length;
    std::vector<std::int64_t> steps, firsts;
    for (const std::int64_t example : examples) {
      firsts.push_back(options_.start_index + example * options_.sequence_stride);
      for (std::int64_t k = 0; k < length; ++k) {
        steps.push_back(firsts.back() + k * options_.sampling_rate);
      }
    }
    const Tensor at = tensor(steps, Shape{std::ssize(examples), length});
    Batch batch = data_.read([&](const Tensor& whole) { return gather(whole, at); });
    if (targets_) {
      const Tensor first = tensor(firsts);
      batch.y = targets_->read([&](const Tensor& whole) { return gather(whole, first); }).x;
    }
    return batch;
  }

 private:
  static std::int64_t steps_of(const char* name, const Tensor& tensor, std::source_location site) {
    const tenure::detail::Pin pin(tensor, "from_timeseries", site);
    const Shape& shape = pin->layout.shape;
    if (shape.rank() == 0) {
      raise<ShapeError>("from_timeseries: {} is a scalar: it has no axis of time", name);
    }
    return shape[0];
  }
  // From the first step of an example to its last.
  std::int64_t span() const { return (options_.sequence_length - 1) * options_.sampling_rate + 1; }

  void check(std::int64_t steps) const {
    const auto within = [&](const char* what, std::int64_t value) {
      if (value >= 1 && value <= std::max<std::int64_t>(steps, 1)) return;
      raise<ValueError>("from_timeseries: {} must be between 1 and the {} steps there are: {}",
                        what, steps, value);
    };
    within("sequence_length", options_.sequence_length);
    within("sequence_stride", options_.sequence_stride);
    within("sampling_rate", options_.sampling_rate);
    const std::int64_t end = options_.end_index.value_or(steps);
    if (options_.start_index < 0 || options_.start_index > end || end > steps) {
      raise<ValueError>("from_timeseries: steps {} to {} of a series of {}", options_.start_index,
                        end, steps);
    }
  }

  TimeseriesOptions options_;
  SavedBatch data_;
  std::optional<SavedBatch> targets_;
  std::int64_t size_ = 0;
};

class AllExamples final : public Recipe<Example> {
 public:
  explicit AllExamples(std::int64_t size) : size_(size) {}
  StreamPtr<Example> open(std::uint64_t) const override { return std::make_unique<Pass>(size_); }
  std::optional<std::int64_t> size() const override { return size_; }

 private:
  struct Pass final : Stream<Example> {
    explicit Pass(std::int64_t count) : size(count) {}
    std::optional<Example> next() override {
      if (at == size) return std::nullopt;
      return at++;
    }
    std::int64_t size;
    std::int64_t at = 0;
  };
  std::int64_t size_;
};

class Generated final : public Recipe<Batch> {
 public:
  Generated(std::function<Dataset::Generator()> open, std::optional<std::int64_t> size,
            std::source_location site)
      : open_(std::move(open)), size_(size), site_(site) {}
  StreamPtr<Batch> open(std::uint64_t) const override {
    Dataset::Generator generator;
    {
      const tenure::detail::CallbackScope users;
      generator = open_();
    }
    tenure::detail::check_function("from_generator", generator, site_,
                                   "the function that `open` gave");
    return std::make_unique<Pass>(*this, std::move(generator));
  }
  std::optional<std::int64_t> size() const override { return size_; }

 private:
  struct Pass final : Stream<Batch> {
    Pass(const Generated& of, Dataset::Generator opened)
        : recipe(of), generator(std::move(opened)) {}
    std::optional<Batch> next() override {
      if (!generator) return std::nullopt;
      std::optional<Batch> element = ask();
      if (element) ++count;
      if (recipe.size_) check(*recipe.size_, !element);
      if (!element) generator = nullptr;  // it is not asked again
      return element;
    }
    std::optional<Batch> ask() {
      const tenure::detail::CallbackScope users;
      return generator();
    }
    void check(std::int64_t said, bool ended) const {
      if (ended ? count == said : count <= said) return;
      throw ValueError(describe("from_generator: its size says {} elements, the generator gave {}",
                                said, ended ? std::to_string(count) : "more")
                           .told({{"given", tenure::detail::site_text(recipe.site_), "size"}},
                                 "leave the size out where it is not known, or take() so many."));
    }
    const Generated& recipe;  // outlives its passes
    Dataset::Generator generator;
    std::int64_t count = 0;
  };
  std::function<Dataset::Generator()> open_;
  std::optional<std::int64_t> size_;
  std::source_location site_;
};

class SavedElements final : public Recipe<Batch> {
 public:
  SavedElements(const std::vector<Batch>& elements, std::source_location site) {
    auto saved = std::make_shared<SavedBatches>();
    saved->reserve(elements.size());
    for (const Batch& element : elements) saved->emplace_back(element, "from_range", site);
    elements_ = std::move(saved);
  }
  StreamPtr<Batch> open(std::uint64_t) const override { return saved_pass(elements_); }
  std::optional<std::int64_t> size() const override { return std::ssize(*elements_); }

 private:
  std::shared_ptr<const SavedBatches> elements_;
};

}  // namespace

std::shared_ptr<const ExampleSource> tensor_source(const Tensors& x, const Tensors& y,
                                                   const Tensor& weight,
                                                   std::source_location site) {
  if (x.list().empty()) raise<ValueError>("from_tensors: no inputs");
  ExampleCount count("from_tensors", site);
  add_all(count, x.list(), y.list(), weight);
  SavedBatch saved(in_rows({x.list(), y.list(), weight}), "from_tensors", site);
  return std::make_shared<TensorSource>(std::move(saved), count.value());
}

std::shared_ptr<const ExampleSource> text_source(std::vector<std::string> text, const Tensors& y,
                                                 const Tensor& weight, std::source_location site) {
  ExampleCount count("from_text", site);
  count.add(fmt::format("{} texts", text.size()), std::ssize(text));
  add_all(count, {}, y.list(), weight);
  SavedBatch saved(in_rows({{}, y.list(), weight}), "from_text", site);
  return std::make_shared<TextSource>(std::move(text),
                                      TensorSource(std::move(saved), count.value()));
}

std::shared_ptr<const ExampleSource> series_source(const Tensor& data, const Tensor& targets,
                                                   const TimeseriesOptions& options,
                                                   std::source_location site) {
  return std::make_shared<SeriesSource>(data, targets, options, site);
}

RecipePtr<Example> all_examples(const ExampleSource& source) {
  return std::make_shared<AllExamples>(source.size());
}

RecipePtr<Batch> generator_of(std::function<Dataset::Generator()> open,
                              std::optional<std::int64_t> size, std::source_location site) {
  return std::make_shared<Generated>(std::move(open), size, site);
}

RecipePtr<Batch> saved_elements(const std::vector<Batch>& elements, std::source_location site) {
  return std::make_shared<SavedElements>(elements, site);
}

}  // namespace tenure::nn::dataset
