// Which JavaScript objects V8 has collected. A tensor that is dropped instead of disposed of is
// known by the token that it holds: when that is gone, nobody can use the tensor again.
//
// Tokens are asked for by weak references. What V8 would call when it collects them (finalizers, a
// FinalizationRegistry) waits for the event loop, which a program that computes in a loop, or
// awaits one result after another, may not reach for a long time; a WeakRef of JavaScript keeps
// what it refers to until the job has ended. A weak reference of Node-API is empty from the moment
// of the collection.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "napi.h"

namespace tenure::node {

class Tokens {
 public:
  // Watches an object under a number that is not in use.
  void watch(napi_env env, std::int32_t number, napi_value token);
  // Whether V8 has collected anything since lost() was last called.
  bool any_collection(napi_env env);
  // Writes the numbers of tokens that are gone, which are then free for others: as many as there
  // is room for. How many it wrote.
  std::size_t lost(napi_env env, std::span<std::int32_t> numbers);

 private:
  std::vector<napi_ref> references_;  // by number
  napi_ref canary_ = nullptr;         // to an object that nobody holds
};

}  // namespace tenure::node
