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
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

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
TENURE_API bool is_symbolic(const char* op, const Tensor& tensor, std::source_location site);
TENURE_API std::vector<Tensor> trace_branch(const char* op, const Tensor& which,
                                            const std::vector<BodyFunction>& branches,
                                            std::source_location site);
TENURE_API std::vector<Tensor> trace_loop(const BodyFunction& goes_on, const BodyFunction& body,
                                          std::vector<Tensor> state, const LoopOptions& options,
                                          std::source_location site);
// `sequences` are cut along their first axis, all of the same length `steps`. Gives the state, then
// what the body gives beside it, stacked.
TENURE_API std::vector<Tensor> trace_scan(const char* op, const BodyFunction& body,
                                          std::vector<Tensor> state, std::vector<Tensor> sequences,
                                          std::int64_t steps, std::source_location site);
TENURE_API bool read_predicate(const char* op, const Tensor& predicate, std::source_location site);
TENURE_API std::size_t read_branch(const Tensor& index, std::size_t branches,
                                   std::source_location site);
TENURE_API void check_state(const char* op, const std::vector<Tensor>& before,
                            const std::vector<Tensor>& after, std::source_location site);
// The length of the first axis of all of them.
TENURE_API std::int64_t common_length(const char* op, const std::vector<Tensor>& sequences,
                                      std::source_location site);

template <class T>
std::vector<Tensor> tensors_of(T value) {
  std::vector<Tensor> tensors;
  walk(value, [&](Tensor& tensor) { tensors.push_back(std::move(tensor)); });
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

}  // namespace detail

// What `then` or `otherwise` gives, by a predicate: one bool.
template <class Then, class Else>
auto cond(const Tensor& predicate, Then then, Else otherwise,
          std::source_location site = std::source_location::current()) {
  using R = std::invoke_result_t<Then&>;
  static_assert(std::is_same_v<R, std::invoke_result_t<Else&>>,
                "cond: both branches must give the same type");
  if (!detail::is_symbolic("cond", predicate, site)) {
    return detail::read_predicate("cond", predicate, site) ? then() : otherwise();
  }
  // Branch 0 is `otherwise`: a predicate is 0 or 1.
  if constexpr (std::is_void_v<R>) {
    const auto branch = [](auto& fn) {
      return [&fn](const std::vector<Tensor>&) {
        fn();
        return std::vector<Tensor>();
      };
    };
    detail::trace_branch("cond", predicate, {branch(otherwise), branch(then)}, site);
  } else {
    R like{};
    const auto branch = [&like](auto& fn) {
      return [&fn, &like](const std::vector<Tensor>&) {
        R result = fn();
        std::vector<Tensor> tensors = detail::tensors_of(result);
        like = detail::refilled(std::move(result), std::vector<Tensor>(tensors.size()));
        return tensors;
      };
    };
    std::vector<Tensor> made =
        detail::trace_branch("cond", predicate, {branch(otherwise), branch(then)}, site);
    return detail::refilled(std::move(like), std::move(made));
  }
}

// What the branch with that number gives.
template <class R>
R switch_case(const Tensor& index, const std::vector<std::function<R()>>& branches,
              std::source_location site = std::source_location::current()) {
  if (!detail::is_symbolic("switch_case", index, site)) {
    return branches[detail::read_branch(index, branches.size(), site)]();
  }
  std::vector<detail::BodyFunction> bodies;
  if constexpr (std::is_void_v<R>) {
    for (const auto& branch : branches) {
      bodies.push_back([&branch](const std::vector<Tensor>&) {
        branch();
        return std::vector<Tensor>();
      });
    }
    detail::trace_branch("switch_case", index, bodies, site);
  } else {
    R like{};
    for (const auto& branch : branches) {
      bodies.push_back([&branch, &like](const std::vector<Tensor>&) {
        R result = branch();
        std::vector<Tensor> tensors = detail::tensors_of(result);
        like = detail::refilled(std::move(result), std::vector<Tensor>(tensors.size()));
        return tensors;
      });
    }
    std::vector<Tensor> made = detail::trace_branch("switch_case", index, bodies, site);
    return detail::refilled(std::move(like), std::move(made));
  }
}

// The state after `body` was applied to it for as long as `goes_on` gave true. Both take the state,
// or its parts where it is a tuple.
template <class Goes, class Body, class S>
S while_loop(Goes goes_on, Body body, S state, LoopOptions options = {},
             std::source_location site = std::source_location::current()) {
  if (!detail::is_tracing()) {
    for (std::int64_t step = 0; step != options.most_steps; ++step) {
      const Tensor answer = detail::call_with_state(goes_on, state);
      if (!detail::read_predicate("while_loop", answer, site)) break;
      S next = detail::call_with_state(body, state);
      detail::check_state("while_loop", detail::tensors_of(state), detail::tensors_of(next), site);
      state = std::move(next);
    }
    return state;
  }
  std::vector<Tensor> made = detail::trace_loop(
      [&](std::vector<Tensor> at) {
        return std::vector<Tensor>{
            detail::call_with_state(goes_on, detail::refilled(state, std::move(at)))};
      },
      [&](std::vector<Tensor> at) {
        return detail::tensors_of<S>(
            detail::call_with_state(body, detail::refilled(state, std::move(at))));
      },
      detail::tensors_of(state), options, site);
  return detail::refilled(std::move(state), std::move(made));
}

// The last state, and what `fn` gave beside it, stacked: fn(state, slice) gives a pair of both.
// The slices are those of `sequences` along their first axis.
template <class F, class S, class X>
auto scan(F fn, S state, X sequences, std::source_location site = std::source_location::current()) {
  using Pair = std::invoke_result_t<F&, S, X>;
  using Y = typename Pair::second_type;
  const std::vector<Tensor> xs = detail::tensors_of(sequences);
  const std::int64_t steps = detail::common_length("scan", xs, site);
  Y like{};
  const detail::BodyFunction body = [&](std::vector<Tensor> at) {
    const auto split = at.begin() + static_cast<std::ptrdiff_t>(at.size() - xs.size());
    std::vector<Tensor> slices(split, at.end());
    at.erase(split, at.end());
    auto [next, given] =
        fn(detail::refilled(state, std::move(at)), detail::refilled(sequences, std::move(slices)));
    std::vector<Tensor> tensors = detail::tensors_of<S>(std::move(next));
    std::vector<Tensor> made = detail::tensors_of(given);
    like = detail::refilled<Y>(std::move(given), std::vector<Tensor>(made.size()));
    tensors.insert(tensors.end(), made.begin(), made.end());
    return tensors;
  };
  std::vector<Tensor> made =
      detail::trace_scan("scan", body, detail::tensors_of(state), xs, steps, site);
  const std::size_t states = detail::tensors_of(state).size();
  const auto split = made.begin() + static_cast<std::ptrdiff_t>(states);
  std::vector<Tensor> stacks(split, made.end());
  made.erase(split, made.end());
  return std::pair<S, Y>(detail::refilled(std::move(state), std::move(made)),
                         detail::refilled(std::move(like), std::move(stacks)));
}

// The state after body(i, state) was applied to it for i = 0, 1 ... steps - 1; i is an int32
// scalar.
template <class Body, class S>
S for_loop(std::int64_t steps, Body body, S state,
           std::source_location site = std::source_location::current()) {
  const detail::BodyFunction step = [&](std::vector<Tensor> at) {
    Tensor i = std::move(at.back());
    at.pop_back();
    return detail::tensors_of<S>(
        detail::call_with_state(body, detail::refilled(state, std::move(at)), std::move(i)));
  };
  std::vector<Tensor> made =
      detail::trace_scan("for_loop", step, detail::tensors_of(state), {}, steps, site);
  return detail::refilled(std::move(state), std::move(made));
}

}  // namespace tenure
