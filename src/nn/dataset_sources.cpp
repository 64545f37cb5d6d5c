// Where the elements of a Dataset come from.
#include <algorithm>

#include "core/raise.h"
#include "memory/header.h"
#include "memory/ledger.h"
#include "nn/dataset_stream.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/views.h"

namespace tenure::nn::dataset {
namespace {

using tenure::detail::Access;
using tenure::detail::Header;
using tenure::detail::Saved;

// Tensors as saved values: theirs may be disposed, and no scope owns these.
class SavedBatch {
 public:
  SavedBatch(const std::vector<Tensor>& x, const std::vector<Tensor>& y, const Tensor& weight,
             const char* op, std::source_location site) {
    const tenure::detail::LabelRef owner = tenure::detail::LabelRef::make("dataset", "", site);
    const auto save = [&](const Tensor& tensor) {
      const tenure::detail::Pin pin(tensor, op, site);
      return Saved(new_saved(*pin, Category::other, owner));
    };
    for (const Tensor& tensor : x) x_.push_back(save(tensor));
    for (const Tensor& tensor : y) y_.push_back(save(tensor));
    if (weight.defined()) weight_ = save(weight);
  }

  // Every tensor, as `part` makes it of the whole.
  template <class Part>
  Batch read(const Part& part) const {
    Batch batch;
    batch.x.reserve(x_.size());
    batch.y.reserve(y_.size());
    for (const Saved& saved : x_) batch.x.push_back(part(whole(saved)));
    for (const Saved& saved : y_) batch.y.push_back(part(whole(saved)));
    if (weight_) batch.weight = part(whole(weight_));
    return batch;
  }

 private:
  static Tensor whole(const Saved& saved) {
    Header& header = *saved.get();
    const std::source_location site = tenure::detail::context().call.site;
    if (!try_pin(header)) raise_disposed(header, {.op = "next", .site = site});
    const tenure::detail::Pinned pinned{header};
    const tenure::detail::SessionState* current = tenure::detail::context().session;
    if (!lends_to(header.session.load(std::memory_order_relaxed), current)) {
      raise_wrong_session(header, {.op = "next", .site = site}, current);
    }
    return materialise(header, "next", site);
  }

  std::vector<Saved> x_, y_;
  Saved weight_;
};

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
  Generated(std::function<Dataset::Generator()> open, std::optional<std::int64_t> size)
      : open_(std::move(open)), size_(size) {}
  StreamPtr<Batch> open(std::uint64_t) const override {
    const tenure::detail::CallbackScope users;
    Dataset::Generator generator = open_();
    if (!generator) raise<ValueError>("from_generator: open gave an empty function");
    return std::make_unique<Pass>(std::move(generator));
  }
  std::optional<std::int64_t> size() const override { return size_; }

 private:
  struct Pass final : Stream<Batch> {
    explicit Pass(Dataset::Generator opened) : generator(std::move(opened)) {}
    std::optional<Batch> next() override {
      if (!generator) return std::nullopt;
      const tenure::detail::CallbackScope users;
      std::optional<Batch> element = generator();
      if (!element) generator = nullptr;  // it is not asked again
      return element;
    }
    Dataset::Generator generator;
  };
  std::function<Dataset::Generator()> open_;
  std::optional<std::int64_t> size_;
};

class SavedElements final : public Recipe<Batch> {
 public:
  SavedElements(const std::vector<Batch>& elements, std::source_location site) {
    elements_.reserve(elements.size());
    for (const Batch& element : elements) {
      elements_.emplace_back(element.x, element.y, element.weight, "from_range", site);
    }
  }
  StreamPtr<Batch> open(std::uint64_t) const override { return std::make_unique<Pass>(elements_); }
  std::optional<std::int64_t> size() const override {
    return static_cast<std::int64_t>(elements_.size());
  }

 private:
  struct Pass final : Stream<Batch> {
    explicit Pass(const std::vector<SavedBatch>& all) : elements(all) {}
    std::optional<Batch> next() override {
      if (at == elements.size()) return std::nullopt;
      return elements[at++].read([](Tensor whole) { return whole; });
    }
    const std::vector<SavedBatch>& elements;  // the recipe outlives its passes
    std::size_t at = 0;
  };
  std::vector<SavedBatch> elements_;
};

}  // namespace

std::shared_ptr<const ExampleSource> tensor_source(const Tensors& x, const Tensors& y,
                                                   const Tensor& weight,
                                                   std::source_location site) {
  if (x.list().empty()) raise<ValueError>("from_tensors: no inputs");
  std::optional<std::int64_t> size;
  std::string first;
  const auto check = [&](const Tensor& tensor, const std::string& name) {
    const auto copies = std::ranges::count(x.list(), Access::header(tensor), Access::header) +
                        std::ranges::count(y.list(), Access::header(tensor), Access::header);
    const tenure::detail::Pin pin(tensor, "from_tensors", site, static_cast<std::uint32_t>(copies));
    const Shape& shape = pin->layout.shape;
    if (shape.rank() == 0) {
      raise<ShapeError>("from_tensors: {} is a scalar: it has no axis of examples", name);
    }
    if (!size) {
      size = shape[0];
      first = fmt::format("{} {}", name, shape);
    } else if (*size != shape[0]) {
      raise<ShapeError>("from_tensors: different numbers of examples: {} and {} {}", first, name,
                        shape);
    }
  };
  const auto check_all = [&](const char* name, const std::vector<Tensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      check(tensors[i], tensors.size() == 1 ? name : fmt::format("{}[{}]", name, i));
    }
  };
  check_all("x", x.list());
  check_all("y", y.list());
  if (weight.defined()) check(weight, "weight");
  // Row-major once, not for every batch that is gathered from them.
  const OwnWork own_work;
  const auto rows = [](std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) tensor = contiguous(std::move(tensor));
    return tensors;
  };
  SavedBatch saved(rows(x.list()), rows(y.list()), weight.defined() ? contiguous(weight) : weight,
                   "from_tensors", site);
  return std::make_shared<TensorSource>(std::move(saved), *size);
}

RecipePtr<Example> all_examples(const ExampleSource& source) {
  return std::make_shared<AllExamples>(source.size());
}

RecipePtr<Batch> generator_of(std::function<Dataset::Generator()> open,
                              std::optional<std::int64_t> size) {
  return std::make_shared<Generated>(std::move(open), size);
}

RecipePtr<Batch> saved_elements(const std::vector<Batch>& elements, std::source_location site) {
  return std::make_shared<SavedElements>(elements, site);
}

}  // namespace tenure::nn::dataset
