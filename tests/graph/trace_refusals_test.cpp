// What an operation refuses in eager code it refuses in a trace, there and then.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

Tensor pair_of(const Tensor& x) { return complex(x, x); }

TEST(TraceRefusals, a_dtype_without_a_kernel_is_refused_where_it_is_written) {
  const Tensor x = ones({2});
  std::uint_least32_t line = 0;
  const auto fn = [&](Tensor in) {
    const Tensor z = pair_of(in);
    line = here().line() + 1;
    return tanh(z);
  };
  Function f = function("step", fn);
  const std::string eager = whole_message_of<DtypeError>([&] { fn(x); });
  const std::string traced = whole_message_of<DtypeError>([&] { f(x); });
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  EXPECT_EQ(first_line(traced), first_line(eager));
  EXPECT_HAS(traced, "float32");
  EXPECT_HAS(traced, "input 0");
  EXPECT_HAS(traced, "trace_refusals_test.cpp:" + std::to_string(line));
}

TEST(TraceRefusals, nothing_is_accepted_because_it_leads_nowhere) {
  Variable count(zeros({}));
  Function f = function("step", [&](Tensor x) {
    count.assign(count + 1.f);
    const Tensor dead = tanh(pair_of(x));
    return x * 2.f;
  });
  EXPECT_THROW(f(ones({2})), DtypeError);
  EXPECT_EQ(count.read().item<float>(), 0);
}

TEST(TraceRefusals, a_refusal_can_be_caught_in_the_function) {
  Function f = function("step", [](Tensor x) {
    try {
      return tanh(pair_of(x));
    } catch (const DtypeError&) {
      return x * 3.f;
    }
  });
  EXPECT_EQ(floats(f(ones({2}))), (Floats{3, 3}));
}

TEST(TraceRefusals, bodies_of_control_flow_refuse_the_same) {
  Function f = function("step", [](Tensor x) {
    return cond(sum(x) > 0.f, [&] { return real(tanh(pair_of(x))); }, [&] { return x; });
  });
  EXPECT_HAS(message_of<DtypeError>([&] { f(ones({2})); }), "tanh: not defined for complex64");
}

}  // namespace
}  // namespace tenure::testing
