#include "planted_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace tenure::report {
namespace {

constexpr std::uint64_t kKiB = 1024;

class Builder {
 public:
  Builder() { text(""); }

  std::uint32_t text(const std::string& text) {
    const auto [at, added] = texts_.emplace(text, run.strings.size());
    if (added) run.strings.push_back(text);
    return static_cast<std::uint32_t>(at->second);
  }

  std::uint32_t site(const std::string& file, std::uint32_t line, const std::string& function) {
    const auto [at, added] = sites_.emplace(std::tuple(file, line), run.sites.size());
    if (added) run.sites.push_back({text(file), line, text(function)});
    return static_cast<std::uint32_t>(at->second);
  }

  // A number in [0, 1), the same in every run.
  double chance() {
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(seed_ >> 40) / static_cast<double>(1u << 24);
  }

  void pass(double microseconds) {
    run.length += static_cast<std::int64_t>(microseconds * 1000 * (0.8 + 0.4 * chance()));
  }

  std::uint32_t open(const std::string& kind, const std::string& name, std::uint32_t site,
                     std::uint32_t parent, std::uint32_t thread = 1) {
    run.spans.push_back({text(kind), text(name), site, parent, thread, run.length, kNever});
    run.events += 1;
    return static_cast<std::uint32_t>(run.spans.size() - 1);
  }
  void close(std::uint32_t span) {
    run.spans[span].end = run.length;
    run.events += 1;
  }

  std::uint32_t storage(std::uint64_t bytes, Category category, std::uint32_t site,
                        const std::string& op) {
    const std::uint64_t capacity = (bytes + bytes / 24 + 255) / 256 * 256;
    run.storages.push_back(
        {bytes, capacity, run.length, kNever, {{run.length, category}}, site, text(op)});
    live_ += capacity;
    run.events += 1;
    sample_pool();
    return static_cast<std::uint32_t>(run.storages.size() - 1);
  }
  void recategorise(std::uint32_t storage, Category category) {
    run.storages[storage].categories.push_back({run.length, category});
    run.events += 1;
  }
  void free(std::uint32_t storage) {
    run.storages[storage].freed = run.length;
    live_ -= run.storages[storage].capacity;
    run.events += 1;
  }

  std::uint32_t tensor(const std::string& name, const std::string& op, const std::string& shape,
                       std::uint32_t storage, std::uint32_t site, std::uint32_t scope,
                       const std::string& owner = "", std::uint32_t thread = 1) {
    TensorLife life;
    life.id = run.tensors.size() + 1;
    life.name = text(name);
    life.op = text(op);
    life.dtype = text("float32");
    life.shape = text(shape);
    life.owner = text(owner);
    life.birth_site = site;
    life.storage = storage;
    life.scope = scope;
    life.thread = thread;
    life.nbytes = run.storages[storage].nbytes;
    life.born = run.length;
    run.tensors.push_back(life);
    run.events += 1;
    return static_cast<std::uint32_t>(run.tensors.size() - 1);
  }
  void die(std::uint32_t tensor, const std::string& cause, const std::string& by,
           std::uint32_t site) {
    TensorLife& life = run.tensors[tensor];
    life.died = run.length;
    life.cause = text(cause);
    life.death_by = text(by);
    life.death_site = site;
    run.events += 1;
  }

  void op(const std::string& name, std::uint32_t site, std::uint32_t span, std::uint64_t bytes,
          double microseconds, std::uint32_t thread = 1) {
    const std::int64_t begin = run.length;
    pass(microseconds);
    run.ops.push_back({text(name), site, span, thread, begin, run.length - begin, bytes});
    run.events += 1;
    run.length += 200;
  }

  Run run;

 private:
  // The pool grows in large pieces and never shrinks here.
  void sample_pool() {
    if (live_ <= reserved_) return;
    reserved_ = (live_ / (4096 * kKiB) + 1) * 4096 * kKiB;
    run.pool.push_back({run.length, reserved_, reserved_ - live_});
    run.events += 1;
  }

  std::map<std::string, std::size_t> texts_;
  std::map<std::tuple<std::string, std::uint32_t>, std::size_t> sites_;
  std::uint64_t live_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t seed_ = 2026;
};

struct Weight {
  std::string name, shape;
  std::uint64_t bytes;
  std::uint32_t line;
};

const std::vector<Weight> kWeights = {
    {"embedding", "[6000, 192]", 4500 * kKiB, 18},
    {"lstm/kernel", "[192, 768]", 576 * kKiB, 21},
    {"lstm/recurrent_kernel", "[192, 768]", 576 * kKiB, 21},
    {"lstm/bias", "[768]", 3 * kKiB, 21},
    {"attention/query", "[192, 192]", 144 * kKiB, 24},
    {"attention/key", "[192, 192]", 144 * kKiB, 24},
    {"attention/value", "[192, 192]", 144 * kKiB, 24},
    {"head/kernel", "[192, 500]", 375 * kKiB, 29},
};

struct Layer {
  std::string op, shape;
  std::uint64_t bytes;
  std::uint32_t line;
  bool saved;
};

const std::vector<Layer> kForward = {
    {"gather", "[32, T, 192]", 1536 * kKiB, 34, true},
    {"matmul", "[32, T, 768]", 3072 * kKiB, 36, true},
    {"lstm", "[32, T, 192]", 1536 * kKiB, 37, true},
    {"tanh", "[32, T, 192]", 1536 * kKiB, 38, true},
    {"matmul", "[32, T, T]", 512 * kKiB, 41, true},
    {"softmax", "[32, T, T]", 512 * kKiB, 42, true},
    {"matmul", "[32, T, 192]", 1536 * kKiB, 43, false},
    {"add", "[32, T, 192]", 1536 * kKiB, 44, true},
    {"mean", "[32, 192]", 24 * kKiB, 45, true},
    {"matmul", "[32, 500]", 62 * kKiB, 47, true},
};

class Training {
 public:
  explicit Training(std::uint64_t events) : wanted_(events) {}

  Planted make() {
    Run& run = b_.run;
    run.program = "build/release/examples/sequence --epochs 4";
    run.version = "0.1.0";
    run.started = 1'790'000'000'000'000'000;
    b_.pass(300);
    make_weights();
    const std::uint32_t fit = b_.open("fit", "sequence", at("train.cpp", 44, "train"), kNone);
    const int steps = static_cast<int>(std::max<std::uint64_t>(8, wanted_ / 133));
    leak_every_ = std::max(2, steps / 60);
    const int epochs = 4;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const std::uint32_t span =
          b_.open("epoch", std::to_string(epoch + 1), at("train.cpp", 44, "train"), fit);
      for (int i = 0; i < steps / epochs; ++i) step(span);
      evaluate(span, epoch);
      b_.close(span);
    }
    b_.close(fit);
    b_.pass(400);
    std::stable_sort(run.tensors.begin(), run.tensors.end(),
                     [](const TensorLife& a, const TensorLife& b) { return a.born < b.born; });
    return {run, findings()};
  }

 private:
  std::uint32_t at(const std::string& file, std::uint32_t line, const std::string& function) {
    return b_.site("examples/sequence/" + file, line, function);
  }

  void make_weights() {
    for (const Weight& weight : kWeights) {
      const std::uint32_t site = at("model.cpp", weight.line, "build");
      const std::uint32_t storage =
          b_.storage(weight.bytes, Category::parameter, site, "random_normal");
      b_.op("random_normal", site, kNone, weight.bytes, static_cast<double>(weight.bytes) / 4000);
      b_.tensor(weight.name, "random_normal", weight.shape, storage, site, kNone,
                "variable \"" + weight.name + "\"");
    }
    const std::uint32_t site = at("model.cpp", 22, "build");
    const std::uint32_t state = b_.storage(24 * kKiB, Category::layer_state, site, "zeros");
    b_.tensor("lstm/state", "zeros", "[32, 192]", state, site, kNone, "layer \"lstm\"");
    // One row of a table, which keeps all of the table.
    const std::uint32_t table_site = at("data.cpp", 12, "load_vocabulary");
    const std::uint32_t table = b_.storage(2048 * kKiB, Category::other, table_site, "tensor");
    const std::uint32_t whole =
        b_.tensor("vocabulary", "tensor", "[8192, 64]", table, table_site, kNone);
    const std::uint32_t row_site = at("data.cpp", 15, "load_vocabulary");
    const std::uint32_t row = b_.tensor("padding", "slice", "[1, 64]", table, row_site, kNone);
    b_.run.tensors[row].nbytes = 256;
    b_.run.tensors[row].is_view = true;
    b_.pass(40);
    b_.die(whole, "last_handle", "", at("data.cpp", 16, "load_vocabulary"));
  }

  void make_optimizer_state() {
    for (const Weight& weight : kWeights) {
      for (const char* moment : {"/m", "/v"}) {
        const std::uint32_t site = at("train.cpp", 40, "train");
        const std::uint32_t storage =
            b_.storage(weight.bytes, Category::optimizer_state, site, "zeros");
        b_.tensor(weight.name + moment, "zeros", weight.shape, storage, site, kNone,
                  "optimizer \"adam\"");
      }
    }
  }

  void batch(std::uint32_t step_span, double length) {
    const std::uint32_t site = at("data.cpp", 31, "next_batch");
    const auto bytes = static_cast<std::uint64_t>(64 * kKiB * length);
    const std::uint32_t storage = b_.storage(bytes, Category::other, site, "stack");
    b_.op("stack", site, step_span, bytes, 60, 2);
    scratch_.push_back(b_.tensor("batch", "stack", "[32, T]", storage, site, step_span, "", 2));
  }

  void step(std::uint32_t epoch) {
    const std::uint32_t here = at("train.cpp", 46, "train");
    const std::uint32_t span = b_.open("step", std::to_string(++steps_), here, epoch);
    const std::uint32_t tidy = b_.open("tidy", "step", here, span);
    const double length = 0.55 + 0.45 * b_.chance() + (steps_ % 9 == 0 ? 0.5 : 0);
    batch(tidy, length);
    const std::uint32_t tape = b_.open("tape", "", at("train.cpp", 47, "train"), tidy);
    std::vector<std::uint32_t> saved;
    forward(tape, length, saved);
    if (steps_ == 1) make_optimizer_state();
    backward(tape, length, saved);
    b_.close(tape);
    update(tidy);
    leak(tidy);
    finish(here);
    b_.close(tidy);
    b_.close(span);
    const double progress = static_cast<double>(b_.run.events) / static_cast<double>(wanted_);
    const double noise = 0.12 * (b_.chance() - 0.5);
    value("loss", 0.4 + 5.6 * std::exp(-3.2 * progress) * (1 + noise));
    value("accuracy", 0.93 - 0.85 * std::exp(-2.8 * progress) * (1 + noise));
    if (steps_ == static_cast<int>(wanted_ / 133 / 3) + 2) misuse();
    b_.pass(25);
  }

  void forward(std::uint32_t tape, double length, std::vector<std::uint32_t>& saved) {
    for (const Layer& layer : kForward) {
      const std::uint32_t site = at("model.cpp", layer.line, "forward");
      const auto bytes =
          static_cast<std::uint64_t>(static_cast<double>(layer.bytes) * length) / 64 * 64;
      const std::uint32_t storage = b_.storage(bytes, Category::other, site, layer.op);
      b_.op(layer.op, site, tape, bytes, 40 + static_cast<double>(bytes) / 9000);
      scratch_.push_back(b_.tensor("", layer.op, layer.shape, storage, site, tape));
      if (!layer.saved) continue;
      b_.recategorise(storage, Category::saved_for_backward);
      saved.push_back(b_.tensor("", layer.op, layer.shape, storage, site, tape, "tape \"step\""));
    }
  }

  void backward(std::uint32_t tape, double length, std::vector<std::uint32_t>& saved) {
    const std::uint32_t site = at("train.cpp", 49, "train");
    for (std::size_t i = kWeights.size(); i-- > 0;) {
      const Weight& weight = kWeights[i];
      const std::uint32_t work = b_.storage(static_cast<std::uint64_t>(700 * kKiB * length),
                                            Category::workspace, site, "matmul");
      const std::uint32_t storage = b_.storage(weight.bytes, Category::gradient, site, "matmul");
      b_.op("matmul", site, tape, weight.bytes, 60 + static_cast<double>(weight.bytes) / 7000);
      b_.free(work);
      gradients_.push_back(
          b_.tensor("grad/" + weight.name, "matmul", weight.shape, storage, site, tape));
      if (!saved.empty()) {
        b_.die(saved.back(), "last_handle", "tape \"step\" read it last", site);
        saved.pop_back();
      }
    }
    for (const std::uint32_t value : saved) b_.die(value, "last_handle", "tape ended", site);
  }

  void update(std::uint32_t tidy) {
    const std::uint32_t site = at("train.cpp", 50, "train");
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const std::uint64_t bytes = kWeights[kWeights.size() - 1 - i].bytes;
      b_.op("adam", site, tidy, bytes, 10 + static_cast<double>(bytes) / 12000);
      b_.die(gradients_[i], "last_handle", "", site);
      b_.free(b_.run.tensors[gradients_[i]].storage);
    }
    gradients_.clear();
  }

  // The mistake: what is kept here nobody ever disposes.
  void leak(std::uint32_t tidy) {
    if (steps_ % leak_every_ != 0) return;
    const std::uint32_t site = at("train.cpp", 52, "train");
    const std::uint32_t storage = b_.storage(192 * kKiB, Category::other, site, "clone");
    b_.op("clone", site, tidy, 192 * kKiB, 30);
    leaked_.push_back(b_.tensor("h", "clone", "[32, 8, 192]", storage, site, tidy));
  }

  void finish(std::uint32_t here) {
    for (const std::uint32_t tensor : scratch_) {
      b_.die(tensor, "scope_exit", "tidy \"step\" ended", here);
      b_.free(b_.run.tensors[tensor].storage);
    }
    scratch_.clear();
  }

  void evaluate(std::uint32_t epoch, int index) {
    const std::uint32_t here = at("train.cpp", 61, "evaluate");
    const std::uint32_t span = b_.open("predict", "validation", here, epoch);
    const std::uint32_t tidy = b_.open("tidy", "validation", here, span);
    for (int i = 0; i < 3; ++i) {
      batch(tidy, 1);
      for (const Layer& layer : kForward) {
        const std::uint32_t site = at("model.cpp", layer.line, "forward");
        const std::uint32_t storage = b_.storage(layer.bytes / 2, Category::other, site, layer.op);
        b_.op(layer.op, site, tidy, layer.bytes / 2, 30 + static_cast<double>(layer.bytes) / 16000);
        scratch_.push_back(b_.tensor("", layer.op, layer.shape, storage, site, tidy));
      }
      finish(here);
    }
    b_.close(tidy);
    b_.close(span);
    value("val_loss", 0.6 + 4.0 * std::exp(-0.9 * (index + 1)));
    value("val_accuracy", 0.88 - 0.6 * std::exp(-0.9 * (index + 1)));
  }

  void value(const std::string& name, double value) {
    b_.run.values.push_back(
        {b_.text(name), b_.run.length, static_cast<std::uint64_t>(steps_), value});
    b_.run.events += 1;
  }

  void misuse() {
    const std::uint32_t tensor = static_cast<std::uint32_t>(b_.run.tensors.size() - 2);
    const std::uint64_t id = b_.run.tensors[tensor].id;
    const std::string problem =
        "input 1 was disposed: float32 [32, T, 192] (#" + std::to_string(id) + ")";
    const std::string remedy = "return it from the tidy, or keep it before the tidy ends.";
    b_.run.raised.push_back(
        {.time = b_.run.length,
         .type = b_.text("DisposedError"),
         .op = b_.text("add"),
         .problem = b_.text(problem),
         .remedy = b_.text(remedy),
         .text = b_.text("DisposedError: add: " + problem +
                         "\n\n  born      model.cpp:44    add              in tidy \"step\" "
                         "(opened train.cpp:46)\n  died      train.cpp:46    scope_exit       tidy "
                         "\"step\" ended\n  used      train.cpp:57    add, input 1\n\n  " +
                         remedy),
         .site = at("train.cpp", 57, "train"),
         .tensor = id});
    b_.run.events += 1;
  }

  std::vector<Finding> findings() const {
    const Run& run = b_.run;
    std::vector<Finding> out;
    Finding growth;
    growth.problem = Problem::growth;
    growth.count = leaked_.size();
    growth.bytes = leaked_.size() * 192 * kKiB;
    growth.title = std::to_string(leaked_.size()) +
                   " tensors from train.cpp:52 still alive, 1 more with every " +
                   std::to_string(leak_every_) + " steps";
    growth.remedy =
        "keep() at train.cpp:52 takes them out of tidy \"step\"; dispose each when it "
        "is no longer needed, or keep the numbers with item() or to_vector().";
    Finding pinned;
    pinned.problem = Problem::pinned;
    pinned.count = 1;
    pinned.bytes = 2048 * kKiB;
    pinned.title = "\"padding\", a view of 256 bytes, alone holds 2 MiB from data.cpp:12";
    pinned.remedy = "copy it with padding.copy(), and the table goes back to the pool.";
    Finding misused;
    misused.problem = Problem::misused;
    misused.count = 1;
    misused.title = "a tensor was used at train.cpp:57 after tidy \"step\" had ended";
    misused.remedy = "return it from the tidy, or keep it before the tidy ends.";
    for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
      const TensorLife& life = run.tensors[i];
      const Site* site = life.birth_site == kNone ? nullptr : &run.sites[life.birth_site];
      if (run.strings[life.name] == "h") {
        growth.site = life.birth_site;
        growth.tensors.push_back(i);
      }
      if (run.strings[life.name] == "padding") {
        pinned.site = life.birth_site;
        pinned.tensors.push_back(i);
      }
      if (site != nullptr && !run.raised.empty() && life.id == run.raised[0].tensor) {
        misused.tensors.push_back(i);
      }
    }
    out.push_back(growth);
    if (!run.raised.empty()) {
      misused.site = run.raised[0].site;
      out.push_back(misused);
    }
    out.push_back(pinned);
    return out;
  }

  Builder b_;
  std::uint64_t wanted_;
  int steps_ = 0;
  int leak_every_ = 1;
  std::vector<std::uint32_t> scratch_, gradients_, leaked_;
};

}  // namespace

Planted training_run(std::uint64_t events) { return Training(events).make(); }

Planted known_run() {
  constexpr std::int64_t kMs = 1'000'000;
  constexpr std::uint64_t kMiB = 1024 * kKiB;
  Builder b;
  Run& run = b.run;
  const std::uint32_t build = b.site("src/a.cpp", 10, "void net::build(int)");
  const std::uint32_t step = b.site("src/a.cpp", 20, "net::step(const Data&)::<lambda(int)>");
  const std::uint32_t other = b.site("src/b.cpp", 5, "int main()");
  run.program = "known";
  run.events = 12;
  run.storages = {{3 * kMiB, 3 * kMiB, 1 * kMs, kNever, {{1 * kMs, Category::parameter}}, build, 0},
                  {2 * kMiB,
                   2 * kMiB + 512 * kKiB,
                   2 * kMs,
                   4 * kMs,
                   {{2 * kMs, Category::other}, {3 * kMs, Category::saved_for_backward}},
                   step,
                   0},
                  {1 * kMiB, 1 * kMiB, 5 * kMs, kNever, {{5 * kMs, Category::gradient}}, other, 0}};
  const auto tensor = [&](const std::string& name, std::uint32_t storage, std::uint32_t site) {
    run.length = run.storages[storage].born;
    return b.tensor(name, "zeros", "[4]", storage, site, kNone);
  };
  tensor("w", 0, build);
  const std::uint32_t x = tensor("x", 1, step);
  tensor("g", 2, other);
  run.tensors[x].died = 4 * kMs;
  run.tensors[x].cause = b.text("disposed");
  run.ops = {{b.text("zeros"), build, kNone, 0, 1 * kMs, kMs / 2, 3 * kMiB},
             {b.text("mul"), step, kNone, 0, 2 * kMs, kMs / 4, 2 * kMiB},
             {b.text("mul"), step, kNone, 0, 5 * kMs, kMs / 4, 1 * kMiB}};
  run.pool = {{1 * kMs, 8 * kMiB, 8 * kMiB}};
  run.length = 10 * kMs;
  return {run, {}};
}

Planted hostile_run() {
  const std::string evil = "</script><img src=x onerror=\"document.title='owned'\"><!--";
  Builder b;
  b.run.program = evil;
  b.run.version = evil;
  const std::uint32_t site = b.site(evil + ".cpp", 7, evil);
  const std::uint32_t span = b.open(evil, evil, site, kNone);
  const std::uint32_t storage = b.storage(4096, Category::other, site, evil);
  const std::uint32_t tensor = b.tensor(evil, evil, evil, storage, site, span);
  b.run.tensors[tensor].dtype = b.text(evil);
  b.tensor(evil, evil, evil, storage, site, span, evil);
  // More than the table shows at first.
  for (int i = 0; i < 20; ++i) b.op(evil + std::to_string(i), site, span, 4096, 10);
  b.pass(5);
  b.die(tensor, evil, evil, site);
  b.run.values.push_back({b.text(evil), b.run.length, 1, 1.5});
  b.run.values.push_back({b.text(evil), b.run.length, 2, 0.5});
  b.run.raised.push_back({.time = b.run.length,
                          .type = b.text(evil),
                          .op = b.text(evil),
                          .problem = b.text(evil),
                          .remedy = b.text(evil),
                          .text = b.text(evil),
                          .site = site,
                          .tensor = 1});
  b.close(span);
  Finding finding;
  finding.title = evil;
  finding.remedy = evil;
  finding.site = site;
  finding.count = 1;
  finding.tensors = {tensor};
  return {b.run, {finding}};
}

Planted empty_run() {
  Planted planted;
  planted.first.strings = {""};
  return planted;
}

}  // namespace tenure::report
