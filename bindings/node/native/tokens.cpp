#include "tokens.h"

#include <utility>

#include "core/raise.h"

namespace tenure::node {

namespace {

bool is_empty(napi_env env, napi_ref reference) {
  napi_value value = nullptr;
  check(env, napi_get_reference_value(env, reference, &value));
  return value == nullptr;
}

// The handles that looking makes must not keep what is looked at.
class HandleScope {
 public:
  explicit HandleScope(napi_env env) : env_(env) {
    check(env, napi_open_handle_scope(env, &scope_));
  }
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;
  ~HandleScope() { napi_close_handle_scope(env_, scope_); }

 private:
  napi_env env_;
  napi_handle_scope scope_ = nullptr;
};

}  // namespace

void Tokens::watch(napi_env env, std::int32_t number, napi_value token) {
  const auto index = static_cast<std::size_t>(number);
  if (number < 0 || index > references_.size()) {
    raise<ValueError>("tfjs: no token is number {}: there are {}", number, references_.size());
  }
  if (index == references_.size()) references_.push_back(nullptr);
  if (references_[index] != nullptr) {
    raise<ValueError>("tfjs: number {} is another token's", number);
  }
  check(env, napi_create_reference(env, token, 0, &references_[index]));
}

bool Tokens::any_collection(napi_env env) {
  const HandleScope scope(env);
  return canary_ == nullptr || is_empty(env, canary_);
}

std::size_t Tokens::lost(napi_env env, std::span<std::int32_t> numbers) {
  std::size_t count = 0;
  for (std::size_t index = 0; index < references_.size() && count < numbers.size();) {
    constexpr std::size_t kHandles = 1024;
    const HandleScope scope(env);
    const std::size_t end = std::min(references_.size(), index + kHandles);
    for (; index < end && count < numbers.size(); ++index) {
      if (references_[index] == nullptr || !is_empty(env, references_[index])) continue;
      check(env, napi_delete_reference(env, std::exchange(references_[index], nullptr)));
      numbers[count++] = static_cast<std::int32_t>(index);
    }
  }
  const HandleScope scope(env);
  if (canary_ != nullptr) check(env, napi_delete_reference(env, std::exchange(canary_, nullptr)));
  napi_value canary = nullptr;
  check(env, napi_create_object(env, &canary));
  check(env, napi_create_reference(env, canary, 0, &canary_));
  return count;
}

}  // namespace tenure::node
