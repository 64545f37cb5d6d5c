// Control flow that depends on values: in eager code it runs as written, in a traced function it
// becomes part of the graph. States and results are tensors, or whatever tidy accepts.
//
//   y = tenure::cond(mean(x) > 0.f, [&] { return x; }, [&] { return -x; });
//   n = tenure::while_loop([](Tensor n) { return n < 100.f; }, [](Tensor n) { return n * 2; }, n);
//   s = tenure::for_loop(10, [&](Tensor i, Tensor s) { return s + x * i; }, s);
//   auto [last, all] = tenure::scan([](Tensor s, Tensor x) { return std::pair(s + x, s * x); },
//                                   zeros({4}), xs);   // over the first axis of xs
//
// In a traced function branches and bodies are traced once; all branches give tensors of the same
// shapes and dtypes, and a state keeps its own. Variables may be read and assigned inside.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/callable.h"
#include "tenure/create.h"
#include "tenure/export.h"
#include "tenure/scope.h"
#include "tenure/tensor.h"
#include "tenure/views.h"

namespace tenure {

struct LoopOptions {
  std::int64_t most_steps = -1;  // where the loop ends whatever the condition says; -1: no bound
};

namespace detail {

// A branch or a body: from the tensors it is given to those it gives.
using BodyFunction = std::function<std::vector<Tensor>(std::vector<Tensor>)>;

TENURE_API bool is_tracing();
// Each runs at once, or in a trace appends a node.
TENURE_API std::vector<Tensor> run_branch(const char* op, const Tensor& which,
                                          const std::vector<BodyFunction>& branches,
                                          std::source_location site);
TENURE_API std::vector<Tensor> run_loop(const BodyFunction& goes_on, const BodyFunction& body,
                                        std::vector<Tensor> state, const LoopOptions& options,
                                        std::source_location site);
// `sequences` are cut along their first axis, all of the same length `steps`; without any the body
// is given the number of the step. Gives the state, then what the body gives beside it, stacked.
TENURE_API std::vector<Tensor> run_scan(const char* op, const BodyFunction& body,
                                        std::vector<Tensor> state, std::vector<Tensor> sequences,
                                        std::int64_t steps, std::source_location site);
TENURE_API void check_count(const char* op, std::size_t given, std::size_t states,
                            std::source_location site);
// The length of the first axis of all of them.
TENURE_API std::int64_t common_length(const char* op, const std::vector<Tensor>& sequences,
                                      std::source_location site);

// Leaves the rest of the value, which can be filled again.
template <class T>
std::vector<Tensor> take_tensors(T& value) {
  std::vector<Tensor> tensors;
  walk(value, [&](Tensor& tensor) { tensors.push_back(std::exchange(tensor, {})); });
  return tensors;
}

// `like`, with these tensors in place of its own.
template <class T>
T refilled(T like, std::vector<Tensor> tensors) {
  std::size_t next = 0;
  walk(like, [&](Tensor& tensor) { tensor = std::move(tensors[next++]); });
  return like;
}

// fn(state), or fn(parts of the state...) for a tuple.
template <class F, class... Lead, class S>
decltype(auto) call_with_state(F& fn, S state, Lead... lead) {
  if constexpr (std::is_invocable_v<F&, Lead..., S>) {
    return fn(std::move(lead)..., std::move(state));
  } else {
    return std::apply(fn, std::tuple_cat(std::tuple(std::move(lead)...), std::move(state)));
  }
}

// What one of the branches gives.
template <class R>
R choose(const char* op, const Tensor& which, const std::vector<std::function<R()>>& branches,
         std::source_location site) {
  std::vector<BodyFunction> bodies;
  if constexpr (std::is_void_v<R>) {
    for (const auto& branch : branches) {
      bodies.push_back([&branch](const std::vector<Tensor>&) {
        branch();
        return std::vector<Tensor>();
      });
    }
    run_branch(op, which, bodies, site);
  } else {
    R like{};
    for (const auto& branch : branches) {
      bodies.push_back([&branch, &like](const std::vector<Tensor>&) {
        like = branch();
        return take_tensors(like);
      });
    }
    std::vector<Tensor> tensors = run_branch(op, which, bodies, site);
    return refilled(std::move(like), std::move(tensors));
  }
}

}  // namespace detail

// What `then` or `otherwise` gives, by a predicate: one bool.
template <class Then, class Else>
auto cond(const Tensor& predicate, Then then, Else otherwise,
          std::source_location site = std::source_location::current()) {
  using R = std::invoke_result_t<Then&>;
  static_assert(std::is_same_v<R, std::invoke_result_t<Else&>>,
                "cond: both branches must give the same type");
  detail::check_function("cond", then, site, "the branch for true");
  detail::check_function("cond", otherwise, site, "the branch for false");
  // Branch 0 is `otherwise`: a predicate is 0 or 1.
  return detail::choose<R>("cond", predicate, {std::ref(otherwise), std::ref(then)}, site);
}

// What the branch with that number gives.
template <class R>
R switch_case(const Tensor& index, const std::vector<std::function<R()>>& branches,
              std::source_location site = std::source_location::current()) {
  for (const auto& branch : branches) {
    detail::check_function("switch_case", branch, site, "a branch");
  }
  return detail::choose<R>("switch_case", index, branches, site);
}

// The state after `body` was applied to it for as long as `goes_on` gave true. Both take the state,
// or its parts where it is a tuple.
template <class Goes, class Body, class S>
S while_loop(Goes goes_on, Body body, S state, LoopOptions options = {},
             std::source_location site = std::source_location::current()) {
  static_assert(
      std::is_same_v<std::remove_cvref_t<decltype(detail::call_with_state(goes_on, state))>,
                     Tensor>,
      "while_loop: the condition must give a Tensor of one bool, not a bool");
  detail::check_function("while_loop", goes_on, site, "the condition");
  detail::check_function("while_loop", body, site, "the body");
  std::vector<Tensor> begin = detail::take_tensors(state);
  std::vector<Tensor> end = detail::run_loop(
      [&](std::vector<Tensor> now) {
        return std::vector<Tensor>{
            detail::call_with_state(goes_on, detail::refilled(state, std::move(now)))};
      },
      [&](std::vector<Tensor> now) {
        S next = detail::call_with_state(body, detail::refilled(state, std::move(now)));
        return detail::take_tensors(next);
      },
      std::move(begin), options, site);
  return detail::refilled(std::move(state), std::move(end));
}

// The last state, and what `fn` gave beside it, stacked: fn(state, slice) gives a pair of both.
// The slices are those of `sequences` along their first axis.
template <class F, class S, class X>
auto scan(F fn, S state, X sequences, std::source_location site = std::source_location::current()) {
  using Pair = std::invoke_result_t<F&, S, X>;
  using Y = typename Pair::second_type;
  detail::check_function("scan", fn, site);
  std::vector<Tensor> begin = detail::take_tensors(state), xs = detail::take_tensors(sequences);
  const std::size_t states = begin.size();
  const auto split = [states](std::vector<Tensor>& both) {
    const auto at = both.begin() + static_cast<std::ptrdiff_t>(states);
    std::vector<Tensor> rest(std::make_move_iterator(at), std::make_move_iterator(both.end()));
    both.erase(at, both.end());
    return rest;
  };
  const std::int64_t steps = detail::common_length("scan", xs, site);
  Y like{};
  const detail::BodyFunction body = [&](std::vector<Tensor> now) {
    std::vector<Tensor> slices = split(now);
    Pair next =
        fn(detail::refilled(state, std::move(now)), detail::refilled(sequences, std::move(slices)));
    S carried = std::move(next.first);
    std::vector<Tensor> tensors = detail::take_tensors(carried);
    detail::check_count("scan", tensors.size(), states, site);
    for (Tensor& tensor : detail::take_tensors(next.second)) tensors.push_back(std::move(tensor));
    like = std::move(next.second);
    return tensors;
  };
  std::vector<Tensor> end =
      detail::run_scan("scan", body, std::move(begin), std::move(xs), steps, site);
  std::vector<Tensor> stacks = split(end);
  return std::pair<S, Y>(detail::refilled(std::move(state), std::move(end)),
                         detail::refilled(std::move(like), std::move(stacks)));
}

// The state after body(i, state) was applied to it for i = 0, 1 ... steps - 1; i is an int32
// scalar.
template <class Body, class S>
S for_loop(std::int64_t steps, Body body, S state,
           std::source_location site = std::source_location::current()) {
  detail::check_function("for_loop", body, site, "the body");
  std::vector<Tensor> begin = detail::take_tensors(state);
  const detail::BodyFunction step = [&](std::vector<Tensor> now) {
    Tensor i = std::move(now.back());
    now.pop_back();
    S next = detail::call_with_state(body, detail::refilled(state, std::move(now)), std::move(i));
    return detail::take_tensors(next);
  };
  std::vector<Tensor> end = detail::run_scan("for_loop", step, std::move(begin), {}, steps, site);
  return detail::refilled(std::move(state), std::move(end));
}

}  // namespace tenure
