// predict: batches go in, their outputs come out as one.
#include <span>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/text.h"
#include "nn/callbacks/passes.h"
#include "nn/eager_scope.h"
#include "nn/fit_data.h"
#include "nn/model_state.h"
#include "nn/progress.h"
#include "tenure/job.h"
#include "tenure/views.h"

namespace tenure::nn {

using detail::CallbackList;
using detail::check_defined;
using detail::TensorVector;
using tenure::detail::events::Span;

namespace {

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t count, std::source_location site) {
  Shape begin = Shape::filled(x.rank(), 0), size = Shape::filled(x.rank(), -1);
  begin[0] = first;
  size[0] = count;
  return slice(Arg(x, site), begin, size);
}

// The outputs of batches, until they are put together where the user's scope sees them.
class Parts {
 public:
  void add(TensorVector outputs) {
    outputs_.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs_[i].push_back(std::move(outputs[i]));
  }
  TensorVector whole(std::source_location site) const {
    TensorVector whole;
    for (const TensorVector& each : outputs_) whole.push_back(concat(each, 0, site));
    return whole;
  }

 private:
  std::vector<TensorVector> outputs_;
};

// A predict, and who looks on.
class Predicted {
 public:
  Predicted(const Model& model, const PredictOptions& options, std::int64_t batches,
            std::source_location site)
      : callbacks_(options.callbacks), pass_(model), progress_(options.verbose), site_(site) {
    detail::PassAccess::begin(pass_, batches, site);
    progress_.begin("Predict", batches);
    callbacks_.each([&](CallbackBase& callback) { callback.on_predict_begin(pass_); });
  }
  TensorVector batch(const TensorVector& x) {
    constexpr auto kBatches = &detail::BatchHooks::predict;
    callbacks_.each(kBatches, [&](CallbackBase& c) { c.on_predict_batch_begin(pass_); });
    TensorVector outputs = detail::predict_step(pass_.model(), x, site_);
    callbacks_.each(kBatches, [&](CallbackBase& c) { c.on_predict_batch_end(pass_, outputs); });
    detail::PassAccess::set_batch(pass_, pass_.batch() + 1);
    progress_.show(pass_.batch(), {});
    return outputs;
  }
  bool goes_on() const { return pass_.stopped().empty(); }
  TensorVector end(TensorVector outputs) {
    callbacks_.each([&](CallbackBase& callback) { callback.on_predict_end(pass_); });
    progress_.end(pass_.batch(), {});
    return outputs;
  }

 private:
  CallbackList callbacks_;
  Pass pass_;
  Progress progress_;
  std::source_location site_;
};

TensorVector predict_batches(Predicted& predicted, const TensorVector& x, std::int64_t batch_size,
                             std::int64_t examples, std::source_location site) {
  if (x.front().dim(0) <= batch_size) return predicted.batch(x);
  Parts parts;
  {
    const tenure::detail::NoScope no_scope(tenure::detail::context());
    for (std::int64_t first = 0; first < examples && predicted.goes_on(); first += batch_size) {
      TensorVector batch;
      for (const Tensor& each : x) {
        batch.push_back(rows(each, first, std::min(batch_size, examples - first), site));
      }
      parts.add(predicted.batch(batch));
    }
  }
  return parts.whole(site);
}

TensorVector predict_dataset(Predicted& predicted, const Dataset& batches,
                             std::source_location site) {
  Parts parts;
  bool any = false;
  {
    const tenure::detail::NoScope no_scope(tenure::detail::context());
    DatasetIterator iterator = batches.iterate(site);
    while (predicted.goes_on()) {
      const std::optional<Batch> batch = iterator.next(site);
      if (!batch) break;
      parts.add(predicted.batch(batch->x));
      any = true;
    }
  }
  if (!any && predicted.goes_on()) raise<ValueError>("predict: there are no examples");
  return parts.whole(site);
}

// `held` are tensors of the job's own, whatever becomes of the user's.
template <class Result>
Job<Result> start_predict(const Model& model, TensorVector held, const PredictOptions& options,
                          Result (*result)(const Model&, TensorVector), std::source_location site) {
  auto session = std::make_shared<tenure::detail::SessionStay>(tenure::detail::context().session,
                                                               tenure::detail::in_background());
  return start_job<Result>(
      [model, held = std::move(held), options, session, result, site](JobControl&) mutable {
        const detail::SessionScope in_session(*session);
        return result(model, model.predict(std::exchange(held, {}), options, site));
      },
      site);
}

TensorVector clones(std::span<const Tensor> x, std::source_location site) {
  const tenure::detail::NoScope no_scope(tenure::detail::context());
  TensorVector held;
  for (const Tensor& each : x) held.push_back(each.clone(site));
  return held;
}

}  // namespace

Tensor Model::predict(const Tensor& x, PredictOptions options, std::source_location site) const {
  check_defined("predict", {&x, 1}, site);
  return detail::first_of(*base_, predict(TensorVector{x}, options, site));
}

TensorVector Model::predict(const TensorVector& x, PredictOptions options,
                            std::source_location site) const {
  const tenure::detail::UserLine line(site, "predict");
  detail::check_alive(*base_, site, "predict");
  check_defined("predict", x, site);
  const Span span("predict", name(), site);
  const std::int64_t batch_size = detail::predicted_batch(*this, x, options, site);
  std::int64_t examples = x.front().dim(0);
  if (options.steps > 0) examples = std::min(examples, options.steps * batch_size);
  Predicted predicted(*this, options, (examples + batch_size - 1) / batch_size, site);
  return predicted.end(predict_batches(predicted, x, batch_size, examples, site));
}

Tensor Model::predict(const Dataset& batches, PredictOptions options,
                      std::source_location site) const {
  TensorVector outputs = predict_all(batches, std::move(options), site);
  if (outputs.size() > 1) {
    raise<ValueError>("predict: {} has {} outputs: use predict_all", detail::layer_text(*base_),
                      outputs.size());
  }
  return detail::first_of(*base_, std::move(outputs));
}

TensorVector Model::predict_all(const Dataset& batches, PredictOptions options,
                                std::source_location site) const {
  const tenure::detail::UserLine line(site, "predict");
  detail::check_alive(*base_, site, "predict");
  const Span span("predict", name(), site);
  const Dataset data = detail::predicted_data(*this, batches, options);
  Predicted predicted(*this, options, data.size().value_or(0), site);
  return predicted.end(predict_dataset(predicted, data, site));
}

Tensor Model::predict_on_batch(const Tensor& x, std::source_location site) const {
  check_defined("predict_on_batch", {&x, 1}, site);
  return detail::first_of(*base_, predict_on_batch(TensorVector{x}, site));
}

TensorVector Model::predict_on_batch(const TensorVector& x, std::source_location site) const {
  const tenure::detail::UserLine line(site, "predict_on_batch");
  detail::check_alive(*base_, site, "predict_on_batch");
  check_defined("predict_on_batch", x, site);
  return detail::predict_step(*this, x, site);
}

Job<Tensor> Model::predict_async(const Tensor& x, PredictOptions options,
                                 std::source_location site) const {
  detail::check_alive(*base_, site, "predict_async");
  check_defined("predict_async", {&x, 1}, site);
  return start_predict<Tensor>(
      *this, clones({&x, 1}, site), options,
      [](const Model& model, TensorVector outputs) {
        return detail::first_of(detail::ModelAccess::base(model), std::move(outputs));
      },
      site);
}

Job<TensorVector> Model::predict_async(const TensorVector& x, PredictOptions options,
                                       std::source_location site) const {
  detail::check_alive(*base_, site, "predict_async");
  check_defined("predict_async", x, site);
  return start_predict<TensorVector>(
      *this, clones(x, site), options, [](const Model&, TensorVector outputs) { return outputs; },
      site);
}

}  // namespace tenure::nn
