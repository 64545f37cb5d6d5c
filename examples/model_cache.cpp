// Models in a cache. By weak reference, the cache keeps nothing alive: what is disposed or dropped
// elsewhere is gone, and the cache sees that. By strong reference, every byte stays until the cache
// lets go.
#include <cstddef>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <tenure/tenure.h>

namespace tn = tenure;
namespace nn = tenure::nn;

using MakeModel = std::function<nn::Model()>;

class WeakCache {
 public:
  nn::Model get(const std::string& key, const MakeModel& make) {
    if (std::optional<nn::Model> found = models_[key].lock()) return *found;
    nn::Model made = make();
    models_[key] = made.weak();
    return made;
  }
  bool has(const std::string& key) const {
    const auto found = models_.find(key);
    return found != models_.end() && !found->second.expired();
  }

 private:
  std::map<std::string, nn::WeakModel> models_;
};

class StrongCache {
 public:
  nn::Model get(const std::string& key, const MakeModel& make) {
    const auto found = models_.find(key);
    // Whoever has a model can dispose it, so a cache that holds models asks.
    if (found != models_.end() && !found->second.is_disposed()) return found->second;
    nn::Model made = make();
    models_.insert_or_assign(key, made);
    return made;
  }
  void clear() { models_.clear(); }

 private:
  std::map<std::string, nn::Model> models_;
};

static int made = 0;

// 64 * 32 + 32 and 32 * 1 + 1 parameters: 8,452 bytes.
static nn::Model make_model() {
  ++made;
  return nn::Sequential({nn::Dense({.units = 32, .activation = "tanh", .input_shape = {64}}),
                         nn::Dense({.units = 1})},
                        {.name = "scorer"});
}

static void train_a_little(const nn::Model& model) {
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(tn::random::normal({32, 64}), tn::zeros({32, 1}), {.verbose = nn::Verbose::silent});
}

static void show(const std::string& when) {
  const tn::MemoryInfo now = tn::memory();
  std::cout << "  " << std::left << std::setw(44) << when << std::right << std::setw(7)
            << now.parameter_bytes << std::setw(11) << now.optimizer_bytes << std::setw(9)
            << now.live_bytes << "\n";
}

static void heading(const std::string& text) {
  std::cout << "\n" << text << "\n" << std::setw(53) << "weights" << std::setw(11) << "optimizer";
  std::cout << std::setw(9) << "all" << "\n";
}

static const char* yes(bool answer) { return answer ? "yes" : "no"; }

static void by_weak_reference() {
  heading("A cache by weak reference");
  made = 0;
  WeakCache cache;
  {
    const nn::Model model = cache.get("scorer", make_model);
    const nn::Model same = cache.get("scorer", make_model);
    train_a_little(model);
    show("asked for twice, made " + std::to_string(made) + " time, trained");
  }
  show("both users dropped it");
  std::cout << "  still in the cache? " << yes(cache.has("scorer")) << "\n\n";

  const nn::Model user = cache.get("scorer", make_model);
  show("asked for again: a new one, untrained");
  nn::Model other = cache.get("scorer", make_model);
  const nn::Disposal disposal = other.dispose();
  show("one user disposed it: " + std::to_string(disposal.variables) + " variables freed");
  std::cout << "  still in the cache? " << yes(cache.has("scorer")) << "\n";
  try {
    user.predict(tn::zeros({1, 64}));
  } catch (const tn::DisposedError& error) {
    std::cout << "  the other user is told so:\n  " << error.what() << "\n";
  }
}

static void a_locked_model_is_whole() {
  heading("What lock() gives is a model like any other");
  std::optional<nn::Model> model = make_model();
  const nn::WeakModel weak = model->weak();
  {
    const std::optional<nn::Model> locked = weak.lock();
    model.reset();
    show("the owner dropped it while it was in use");
    std::cout << "  it answers: " << locked->predict(tn::zeros({2, 64})).shape() << "\n";
  }
  show("the use ended");
  std::cout << "  expired? " << yes(weak.expired()) << "\n";
}

static void by_strong_reference() {
  heading("A cache by strong reference");
  made = 0;
  StrongCache cache;
  {
    const nn::Model model = cache.get("scorer", make_model);
    train_a_little(model);
    show("made and trained");
  }
  show("its user dropped it: all of it stays");
  cache.get("scorer", make_model).dispose();
  show("a user disposed it: nothing stays");
  const std::size_t before = tn::memory().live_bytes;
  {
    const nn::Model model = cache.get("scorer", make_model);
    std::cout << "  made " << made << " times: the cache does not give out what is disposed\n";
    show("asked for again, and held by the cache");
  }
  cache.clear();
  show("the cache was cleared");
  if (tn::memory().live_bytes != before) std::cout << "  the cache leaks\n";
}

static void layers_shared_by_cached_models() {
  heading("Two models that share a layer");
  const nn::Dense body({.units = 32, .input_shape = {64}});
  StrongCache cache;
  const auto with_head = [&](std::int64_t units) {
    return [&body, units] { return nn::Sequential({body, nn::Dense({.units = units})}); };
  };
  nn::Model one = cache.get("one", with_head(1)), two = cache.get("two", with_head(2));
  show("both made");
  std::cout << "  disposing the first frees " << one.dispose().variables << " variables";
  std::cout << ", the second " << two.dispose().variables << "\n";
  show("both disposed");
}

int main() {
  tn::set_seed(1);
  by_weak_reference();
  a_locked_model_is_whole();
  by_strong_reference();
  layers_shared_by_cached_models();
  const bool clean = tn::memory().live_bytes == 0 && tn::memory().tensors == 0;
  std::cout << "\n" << (clean ? "nothing is left" : "something is left") << "\n";
  return clean ? 0 : 1;
}
