#include <fmt/format.h>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/text.h"
#include "nn/containers.h"
#include "nn/eager_scope.h"
#include "nn/weight_paths.h"

namespace tenure::nn {

using detail::LayerAccess;
using detail::ModelAccess;

Model clone_model(const Model& model, std::source_location site) {
  ModelBase& base = ModelAccess::base(model);
  detail::check_alive(base, site, "clone_model");
  const detail::EagerScope eager;
  const tenure::detail::CallScope call("clone_model", site);
  const auto refuse = [&](const std::string& problem, const char* remedy) {
    throw UnsupportedError(describe("clone_model: {}", problem)
                               .told({line_of("born", *LayerAccess::state(base).label.get()),
                                      tenure::detail::used_line(site, "clone_model")},
                                     remedy));
  };
  if (model.as<detail::Container>() == nullptr) {
    refuse(detail::layer_text(base) + " is made by a class of your own",
           "make another one with make_model.");
  }
  if (const LayerBase* shared = detail::layer_in_two_places(base)) {
    refuse(fmt::format("{} stands in two of the models within {}", detail::layer_text(*shared),
                       detail::layer_text(base)),
           "clone the models in it one by one, and put them together as this one was.");
  }
  try {
    return Model(std::static_pointer_cast<ModelBase>(LayerAccess::shared(detail::copy_of(model))));
  } catch (UnsupportedError& error) {
    error.within(detail::layer_text(base));
    error.within("clone_model");
    throw;
  }
}

}  // namespace tenure::nn
