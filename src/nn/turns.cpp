#include "nn/turns.h"

#include "nn/model_state.h"

namespace tenure::nn::detail {

void Turns::take() noexcept {
  const tenure::detail::Worker me = tenure::detail::this_thread();
  if (holder_.load(std::memory_order_relaxed) == me) {
    ++depth_;
    return;
  }
  const std::lock_guard next(next_);
  now_.lock();
  holder_.store(me, std::memory_order_relaxed);
  depth_ = 1;
}

void Turns::end() noexcept {
  if (--depth_ != 0) return;
  holder_.store(tenure::detail::Worker::none, std::memory_order_relaxed);
  now_.unlock();
}

Turn::Turn(const LayerBase& base) : turns_(nullptr) {
  const auto* model = dynamic_cast<const ModelBase*>(&base);
  if (model == nullptr) return;
  turns_ = &ModelAccess::state(*model).turns;
  turns_->take();
}

}  // namespace tenure::nn::detail
