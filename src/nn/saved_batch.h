// Elements as a dataset holds them.
#pragma once

#include <memory>
#include <source_location>
#include <vector>

#include "memory/context.h"
#include "memory/header.h"
#include "memory/ledger.h"
#include "nn/dataset_stream.h"
#include "tensor/access.h"

namespace tenure::nn::dataset {

// Tensors as saved values: theirs may be disposed, and no scope owns these.
class SavedBatch {
 public:
  SavedBatch() = default;
  SavedBatch(const Batch& batch, const char* op, std::source_location site) : text_(batch.text) {
    const tenure::detail::LabelRef owner = tenure::detail::LabelRef::make("dataset", "", site);
    const auto save = [&](const Tensor& tensor) {
      const tenure::detail::Pin pin(tensor, op, site);
      return tenure::detail::Saved(new_saved(*pin, Category::other, owner));
    };
    for (const Tensor& tensor : batch.x) x_.push_back(save(tensor));
    for (const Tensor& tensor : batch.y) y_.push_back(save(tensor));
    if (batch.weight.defined()) weight_ = save(batch.weight);
  }

  // Every tensor, as `part` makes it of the whole.
  template <class Part>
  Batch read(const Part& part) const {
    Batch batch;
    batch.x.reserve(x_.size());
    batch.y.reserve(y_.size());
    for (const tenure::detail::Saved& saved : x_) batch.x.push_back(part(whole(saved)));
    for (const tenure::detail::Saved& saved : y_) batch.y.push_back(part(whole(saved)));
    if (weight_) batch.weight = part(whole(weight_));
    batch.text = text_;
    return batch;
  }

 private:
  static Tensor whole(const tenure::detail::Saved& saved) {
    tenure::detail::Header& header = *saved.get();
    const std::source_location site = tenure::detail::context().call.site;
    if (!try_pin(header)) raise_disposed(header, {.op = "next", .site = site});
    const tenure::detail::Pinned pinned{header};
    const tenure::detail::SessionState* current = tenure::detail::context().session;
    if (!lends_to(header.session.load(std::memory_order_relaxed), current)) {
      raise_wrong_session(header, {.op = "next", .site = site}, current);
    }
    return materialise(header, "next", site);
  }

  std::vector<tenure::detail::Saved> x_, y_;
  tenure::detail::Saved weight_;
  std::vector<Text> text_;
};

using SavedBatches = std::vector<SavedBatch>;
StreamPtr<Batch> saved_pass(std::shared_ptr<const SavedBatches> elements);

}  // namespace tenure::nn::dataset
