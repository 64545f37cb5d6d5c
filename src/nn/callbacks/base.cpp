// What all callbacks are made of.
#include "core/raise.h"
#include "memory/context.h"
#include "nn/callbacks/passes.h"
#include "tenure/nn/callbacks.h"

namespace tenure::nn {

CallbackBase::~CallbackBase() = default;

Frequency::Frequency(const char* name, std::source_location site) {
  const std::string_view which = name == nullptr ? "" : name;
  if (which == "batch") batches_ = 1;
  if (which != "batch" && which != "epoch") {
    const tenure::detail::UserLine line(site);
    raise<ValueError>("frequency: \"epoch\", \"batch\" or a number of batches, not \"{}\"", which);
  }
}

Frequency::Frequency(std::int64_t batches, std::source_location site, int) : batches_(batches) {
  if (batches >= 1) return;
  const tenure::detail::UserLine line(site);
  raise<ValueError>("frequency: a number of batches must be at least 1: {}", batches);
}

namespace {

class FunctionsCallback final : public CallbackBase {
 public:
  explicit FunctionsCallback(LambdaCallbackOptions functions) : functions_(std::move(functions)) {}
  void on_train_begin(Training& t) override { call(functions_.on_train_begin, t); }
  void on_train_end(Training& t) override { call(functions_.on_train_end, t); }
  void on_epoch_begin(Training& t) override { call(functions_.on_epoch_begin, t); }
  void on_epoch_end(Training& t, const Logs& logs) override {
    call(functions_.on_epoch_end, t, logs);
  }
  void on_train_batch_begin(Training& t) override { call(functions_.on_train_batch_begin, t); }
  void on_train_batch_end(Training& t, const Logs& logs) override {
    call(functions_.on_train_batch_end, t, logs);
  }
  void on_test_begin(Pass& pass) override { call(functions_.on_test_begin, pass); }
  void on_test_end(Pass& pass, const Logs& logs) override {
    call(functions_.on_test_end, pass, logs);
  }
  void on_test_batch_begin(Pass& pass) override { call(functions_.on_test_batch_begin, pass); }
  void on_test_batch_end(Pass& pass, const Logs& logs) override {
    call(functions_.on_test_batch_end, pass, logs);
  }
  void on_predict_begin(Pass& pass) override { call(functions_.on_predict_begin, pass); }
  void on_predict_end(Pass& pass) override { call(functions_.on_predict_end, pass); }
  void on_predict_batch_begin(Pass& pass) override {
    call(functions_.on_predict_batch_begin, pass);
  }
  void on_predict_batch_end(Pass& pass, const std::vector<Tensor>& outputs) override {
    call(functions_.on_predict_batch_end, pass, outputs);
  }

 private:
  template <class F, class... Args>
  static void call(const F& fn, Args&... args) {
    if (fn) fn(args...);
  }
  LambdaCallbackOptions functions_;
};

}  // namespace

Callback LambdaCallback(LambdaCallbackOptions functions) {
  const detail::BatchHooks hears{
      functions.on_train_batch_begin || functions.on_train_batch_end,
      functions.on_test_batch_begin || functions.on_test_batch_end,
      functions.on_predict_batch_begin || functions.on_predict_batch_end};
  return Callback(std::make_shared<FunctionsCallback>(std::move(functions)), hears);
}

}  // namespace tenure::nn
