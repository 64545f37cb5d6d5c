// The language, layers and what layers are made of.
#include "throwing.h"

namespace tenure::testing {
namespace {

using nn::Batch;
using nn::Dataset;

struct FusedLayer : nn::LayerBase {
  explicit FusedLayer(std::shared_ptr<Fuse> given) : fuse(std::move(given)) {}
  void build(const Shape& shape) override {
    (*fuse)();
    w = add_weight("w", {shape[-1], 1}, {.initializer = "ones"});
    (*fuse)();
  }
  Tensor call(const Tensor& x, const nn::Call&) override {
    (*fuse)();
    Tensor y = matmul(x, *w);
    (*fuse)();
    return y;
  }
  std::shared_ptr<Fuse> fuse;
  std::optional<Variable> w;
};

struct FusedCallback : nn::CallbackBase {
  explicit FusedCallback(std::shared_ptr<Fuse> given) : fuse(std::move(given)) {}
  void on_train_begin(nn::Training&) override { (*fuse)(); }
  void on_train_end(nn::Training&) override { (*fuse)(); }
  void on_epoch_begin(nn::Training&) override { (*fuse)(); }
  void on_epoch_end(nn::Training&, const nn::Logs&) override { (*fuse)(); }
  void on_train_batch_begin(nn::Training&) override { (*fuse)(); }
  void on_train_batch_end(nn::Training&, const nn::Logs&) override { (*fuse)(); }
  std::shared_ptr<Fuse> fuse;
};

Dataset generated(const std::shared_ptr<Fuse>& fuse) {
  return Dataset::from_generator([fuse] {
    (*fuse)();
    return [fuse, left = 2]() mutable -> std::optional<Batch> {
      (*fuse)();
      if (left-- == 0) return std::nullopt;
      return Batch{{column()}, {target()}, {}};
    };
  });
}

// The gradient of a sum.
Floats gradient_of(const std::function<Tensor(Tensor)>& fn) {
  const Tensor x = column();
  GradientTape tape;
  tape.watch(x);
  return floats(tape.gradient(sum(fn(x)), x));
}

Tensor branches_and_loops(Fuse& fuse, Tensor x) {
  x = cond(
      greater(sum(x), 0),
      [&] {
        fuse();
        return x * 2.0;
      },
      [&] {
        fuse();
        return x - 1.0;
      });
  auto [i, y] = while_loop(
      [&](Tensor count, Tensor) {
        fuse();
        return less(count, 2);
      },
      [&](Tensor count, Tensor v) {
        fuse();
        return std::pair(count + 1, v * 1.5);
      },
      std::pair(tensor(0), x));
  auto [last, all] = scan(
      [&](Tensor s, Tensor row) {
        fuse();
        return std::pair(s + row, s * row);
      },
      zeros({1}), y);
  return last + sum(all);
}

Tensor doubled(const std::shared_ptr<Fuse>& fuse, const Tensor& x) {
  return custom_gradient(
      [fuse](const std::vector<Tensor>& in) {
        (*fuse)();
        return CustomResult{in[0] * 2.0, [fuse](Tensor dy) {
                              (*fuse)();
                              return std::vector<Tensor>{dy * 2.0};
                            }};
      },
      {x});
}

const Place kPlaces[] = {
    {"tidy",
     [](auto fuse) -> Call {
       return [fuse] {
         return floats(tidy("outer", [&] {
           const Tensor x = column();
           const Tensor y = tidy("inner", [&] {
             const Tensor z = x * 2.0;
             (*fuse)();
             return z + 1.0;
           });
           (*fuse)();
           return y * x;
         }));
       };
     }},
    {"session",
     [](auto fuse) -> Call {
       return [fuse] {
         Session session;
         return session.run([&] {
           const Tensor x = column();
           (*fuse)();
           return floats(x);
         });
       };
     }},
    {"function",
     [](auto fuse) -> Call {
       auto f = function("f", [fuse](Tensor x) {
         const Tensor y = tanh(x);
         (*fuse)();
         return y * 2.0;
       });
       return [f] { return floats(f(column())); };
     }},
    {"function_with_a_tape",
     [](auto fuse) -> Call {
       auto w = std::make_shared<Variable>(tensor({3.F}));
       auto f = function("f", [fuse, w](Tensor x) {
         GradientTape tape;
         const Tensor y = sum(x * *w);
         (*fuse)();
         const Tensor g = tape.gradient(y, *w);
         (*fuse)();
         w->assign(*w + g * 0.0);
         (*fuse)();
         return g;
       });
       return [f, w] { return floats(f(column())); };
     }},
    {"checkpoint",
     [](auto fuse) -> Call {
       auto part = checkpoint("part", [fuse](Tensor x) {
         (*fuse)();
         return tanh(x) * 2.0;
       });
       return [part] { return gradient_of([&](Tensor x) { return part(part(x)); }); };
     }},
    {"custom_gradient",
     [](auto fuse) -> Call {
       return [fuse] { return gradient_of([&](Tensor x) { return doubled(fuse, x); }); };
     }},
    {"custom_gradient_in_a_function",
     [](auto fuse) -> Call {
       auto f = function("f", [fuse](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         return tape.gradient(sum(doubled(fuse, x)), x);
       });
       return [f] { return floats(f(column())); };
     }},
    {"control_flow",
     [](auto fuse) -> Call {
       return
           [fuse] { return gradient_of([&](Tensor x) { return branches_and_loops(*fuse, x); }); };
     }},
    {"control_flow_in_a_function",
     [](auto fuse) -> Call {
       auto f = function("f", [fuse](Tensor x) {
         GradientTape tape;
         tape.watch(x);
         return tape.gradient(sum(branches_and_loops(*fuse, x)), x);
       });
       return [f] { return floats(f(column())); };
     }},
    {"value_and_grad",
     [](auto fuse) -> Call {
       return [fuse] {
         auto [y, g] = value_and_grad([&](Tensor x) {
           const Tensor squared = square(x);
           (*fuse)();
           return sum(squared);
         })(column());
         return floats(g);
       };
     }},
    {"profile",
     [](auto fuse) -> Call {
       return [fuse] {
         auto [y, told] = profile([&] {
           const Tensor x = tanh(column());
           (*fuse)();
           return x + 1.0;
         });
         return floats(y);
       };
     }},
    {"layer", [](auto fuse) { return fitting({.layer = nn::make_layer<FusedLayer>(fuse)}); }, true,
     true},
    {"loss",
     [](auto fuse) {
       Parts parts;
       parts.compile.loss = nn::Loss([fuse](Tensor y, Tensor p) {
         (*fuse)();
         return mean(square(y - p), {-1});
       });
       return fitting(parts);
     },
     true, true},
    {"metric",
     [](auto fuse) {
       Parts parts;
       parts.compile.metrics = {nn::Metric(
           [fuse](Tensor y, Tensor p) {
             (*fuse)();
             return mean(square(y - p), {-1});
           },
           "mine")};
       return fitting(parts);
     },
     true, true},
    {"initializer",
     [](auto fuse) {
       Parts parts;
       parts.dense.kernel_initializer = nn::Initializer([fuse](const Shape& shape, DType dtype) {
         (*fuse)();
         return ones(shape, dtype);
       });
       parts.dense.bias_initializer = parts.dense.kernel_initializer;
       return fitting(parts);
     },
     true, true},
    {"regularizer",
     [](auto fuse) {
       Parts parts;
       parts.dense.kernel_regularizer = nn::Regularizer([fuse](Tensor w) {
         (*fuse)();
         return sum(square(w)) * 0.01;
       });
       return fitting(parts);
     },
     true, true},
    {"constraint",
     [](auto fuse) {
       Parts parts;
       parts.dense.kernel_constraint = nn::Constraint([fuse](Tensor w) {
         (*fuse)();
         return relu(w);
       });
       return fitting(parts);
     },
     true, true},
    {"activation",
     [](auto fuse) {
       Parts parts;
       parts.dense.activation = nn::ActivationFn([fuse](Tensor x) {
         (*fuse)();
         return x * 1.5;
       });
       return fitting(parts);
     },
     true, true},
    {"schedule",
     [](auto fuse) {
       Parts parts;
       parts.compile.optimizer = nn::SGD({.learning_rate = nn::Schedule([fuse](Tensor step) {
                                            (*fuse)();
                                            return 0.01 / (step + 1.0);
                                          })});
       return fitting(parts);
     },
     true, true},
    {"learning_rate_scheduler",
     [](auto fuse) {
       Parts parts;
       parts.fit.callbacks = {nn::LearningRateScheduler([fuse](int, double rate) {
         (*fuse)();
         return rate * 0.5;
       })};
       return fitting(parts);
     },
     true, true},
    {"callback",
     [](auto fuse) {
       Parts parts;
       parts.fit.callbacks = {nn::make_callback<FusedCallback>(fuse)};
       return fitting(parts);
     },
     true, true},
    {"generator",
     [](auto fuse) {
       Parts parts;
       parts.data = generated(fuse);
       return fitting(parts);
     },
     true, true},
    {"prefetched_generator",
     [](auto fuse) {
       Parts parts;
       parts.data = generated(fuse).prefetch(2);
       return fitting(parts);
     },
     true, true},
    {"dataset_map_and_filter",
     [](auto fuse) {
       Parts parts;
       parts.data = Dataset::from_tensors(column(), target())
                        .map([fuse](Batch batch) {
                          (*fuse)();
                          return batch;
                        })
                        .filter([fuse](const Batch&) {
                          (*fuse)();
                          return true;
                        })
                        .batch(2);
       return fitting(parts);
     },
     true, true},
};

TEST_P(Throwing, arrives_as_it_is_and_leaves_nothing) {
  expect_arrives_and_leaves_nothing(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Places, Throwing, ::testing::ValuesIn(kPlaces),
                         [](const auto& place) { return std::string(place.param.name); });

TEST(ThrowingJobs, what_a_fit_in_the_background_threw_arrives_with_its_result) {
  const auto fuse = std::make_shared<Fuse>(4);
  nn::Sequential model({nn::Dense({.units = 1})});
  model.compile({.loss = "mse"});
  Job<nn::History> job = model.fit_async(
      column(), target(), {.epochs = 3, .callbacks = {nn::make_callback<FusedCallback>(fuse)}});
  EXPECT_THROW(job.get(), Mine);
  EXPECT_EQ(model.fit(column(), target(), {.verbose = nn::Verbose::silent})["loss"].size(), 1U);
}

}  // namespace
}  // namespace tenure::testing
