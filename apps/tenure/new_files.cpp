#include "new_files.h"

#include <array>

namespace tenure::app {
namespace {

constexpr std::string_view kBuild = R"(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_package(Tenure @VERSION@ REQUIRED)

add_library(@NAME@_model STATIC src/model.cpp)
target_include_directories(@NAME@_model PUBLIC src)
target_link_libraries(@NAME@_model PUBLIC tenure::tenure)

add_executable(@NAME@ src/main.cpp)
target_link_libraries(@NAME@ PRIVATE @NAME@_model)

include(CTest)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  add_executable(@NAME@_test tests/model_test.cpp)
  target_link_libraries(@NAME@_test PRIVATE @NAME@_model GTest::gtest_main)
  add_test(NAME @NAME@_test COMMAND @NAME@_test)
endif()
)";

constexpr std::string_view kHeader =
    R"(// The model and the data it learns from: which points lie within a circle.
#pragma once

#include <tenure/tenure.h>

#include <cstdint>

struct Examples {
  tenure::Tensor x;  // [count, 2]: points of the square from -1 to 1
  tenure::Tensor y;  // [count, 1]: 1 within the circle, else 0
};

Examples make_examples(std::int64_t count);

tenure::nn::Model make_model();  // compiled, and ready for fit
)";

constexpr std::string_view kModel = R"(#include "model.h"

namespace tn = tenure;
namespace nn = tenure::nn;

Examples make_examples(std::int64_t count) {
  const tn::Tensor x = tn::random::uniform({count, 2}, {.low = -1, .high = 1});
  const tn::Tensor distance = tn::sum(tn::square(x), {1}, {.keep_dims = true});
  return {x, tn::cast(distance < 0.5f, tn::DType::float32)};
}

nn::Model make_model() {
  nn::Sequential model({nn::Dense({.units = 32, .activation = "relu"}),
                        nn::Dense({.units = 32, .activation = "relu"}),
                        nn::Dense({.units = 1, .activation = "sigmoid"})});
  model.compile({.optimizer = nn::Adam({.learning_rate = 0.01}),
                 .loss = "binary_crossentropy",
                 .metrics = {"binary_accuracy"}});
  return model;
}
)";

constexpr std::string_view kMain = R"(// Trains the model, says how good it is, and saves it.
#include <iostream>

#include "model.h"

namespace tn = tenure;
namespace nn = tenure::nn;

int main() {
  const Examples train = make_examples(2000), test = make_examples(500);
  const nn::Model model = make_model();
  model.fit(train.x, train.y, {.epochs = 10});
  for (const auto& [name, value] : model.evaluate(test.x, test.y)) {
    std::cout << name << " " << value << "\n";
  }
  model.save("@NAME@.safetensors");
  std::cout << tn::memory() << "\n";
}
)";

constexpr std::string_view kTest = R"(#include "model.h"

#include <gtest/gtest.h>
#include <tenure/gtest.h>

namespace tn = tenure;
namespace nn = tenure::nn;

TEST(Model, learns) {
  const Examples examples = make_examples(1000);
  const nn::Model model = make_model();
  const double before = model.evaluate(examples.x, examples.y)[0].second;
  model.fit(examples.x, examples.y, {.epochs = 5, .verbose = nn::Verbose::silent});
  const double after = model.evaluate(examples.x, examples.y)[0].second;
  EXPECT_LT(after, before / 2);
}

TEST(Model, a_training_leaves_no_tensor_behind) {
  const tn::LeakCheck leaks;
  {
    const Examples examples = make_examples(200);
    const nn::Model model = make_model();
    model.fit(examples.x, examples.y, {.epochs = 2, .verbose = nn::Verbose::silent});
  }
  EXPECT_NO_LEAKS(leaks);
}

TEST(Model, a_prediction_that_is_dropped_leaves_no_tensor_behind) {
  const Examples examples = make_examples(200);
  const nn::Model model = make_model();
  model.predict(examples.x);  // the first one makes the weights
  const tn::LeakCheck leaks;
  for (int i = 0; i < 10; ++i) model.predict(examples.x);
  EXPECT_NO_LEAKS(leaks);
}
)";

constexpr std::string_view kReadme = R"(# @NAME@

A model that learns with Tenure, and tests that it forgets nothing.

```
cmake -S . -B build
cmake --build build
./build/@NAME@
ctest --test-dir build --output-on-failure
```

Where Tenure lies in a folder of its own, tell the first command: `-DCMAKE_PREFIX_PATH=<folder>`.

- `src/model.h`, `src/model.cpp`: the model and its data. Begin here.
- `src/main.cpp`: trains it, and saves it as `@NAME@.safetensors`.
- `tests/model_test.cpp`: it learns, and no tensor stays behind.

What the memory of a run is used for, and whether any of it leaks:

```
TENURE_TRACE=run.tenure ./build/@NAME@
tenure leaks --strict run.tenure
tenure report run.tenure -o run.html
```
)";

constexpr std::string_view kIgnored = R"(/build/
*.safetensors
*.tenure
run.html
)";

constexpr std::array<ProjectFile, 7> kFiles{{{"CMakeLists.txt", kBuild},
                                             {"README.md", kReadme},
                                             {".gitignore", kIgnored},
                                             {"src/model.h", kHeader},
                                             {"src/model.cpp", kModel},
                                             {"src/main.cpp", kMain},
                                             {"tests/model_test.cpp", kTest}}};

}  // namespace

std::span<const ProjectFile> project_files() { return kFiles; }

}  // namespace tenure::app
