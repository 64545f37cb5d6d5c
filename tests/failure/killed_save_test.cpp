// A process that is killed while it saves a model leaves the whole old file or the whole new one.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "io/atomic_file.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

nn::Sequential model_of(double value) {
  nn::Sequential model(
      {nn::Dense(
           {.units = 3, .kernel_initializer = nn::Constant({.value = value}), .input_shape = {2}}),
       nn::Dense({.units = 1})},
      {.name = "saved"});
  model.compile({.optimizer = nn::Adam(), .loss = "mse"});
  model.build({nn::kAny, 2});
  return model;
}

class KilledSaves : public ::testing::Test {
 protected:
  KilledSaves() { fs::create_directories(folder_); }
  ~KilledSaves() override {
    io::set_write_hook(nullptr);
    fs::remove_all(folder_);
  }

  // Runs `save` in a child that is killed before its kth write, sync or rename; whether it was.
  static bool killed_at(int k, const std::function<void()>& save) {
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
      int steps = 0;
      io::set_write_hook([&](io::WriteStep) {
        if (++steps == k) ::kill(::getpid(), SIGKILL);
        return 0;
      });
      save();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << k;
    return WIFSIGNALED(status);
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("tenure-killed-{}", getpid());
};

TEST_F(KilledSaves, the_file_of_a_model_is_the_old_one_or_the_new_one) {
  const nn::Sequential old_model = model_of(1), new_model = model_of(2);
  const std::string path = (folder_ / "m.safetensors").string();
  new_model.save(path);
  const std::string new_file = bytes_of_file(path);
  old_model.save(path);
  const std::string old_file = bytes_of_file(path);
  ASSERT_NE(old_file, new_file);
  int k = 1;
  for (bool killed = true; killed; ++k) {
    old_model.save(path);
    killed = killed_at(k, [&] { new_model.save(path); });
    const std::string now = bytes_of_file(path);
    EXPECT_TRUE(now == new_file || (killed && now == old_file)) << "killed at step " << k;
    const nn::Model loaded = nn::load_model(path);
    EXPECT_EQ(loaded.count_params(), old_model.count_params());
  }
  EXPECT_GT(k, 4);
}

// Each of the two files is whole, and they fit each other while the layers stay the same.
TEST_F(KilledSaves, a_model_for_tensorflow_js_can_be_loaded_after_each_step) {
  const nn::Sequential old_model = model_of(1), new_model = model_of(2);
  const std::string path = (folder_ / "tfjs").string();
  int k = 1;
  for (bool killed = true; killed; ++k) {
    nn::save_tfjs_model(old_model, path);
    killed = killed_at(k, [&] { nn::save_tfjs_model(new_model, path); });
    const nn::Model loaded = nn::load_tfjs_model(path + "/model.json");
    const float first = loaded.get_weights()[0].to_vector<float>()[0];
    EXPECT_TRUE(first == 2.F || (killed && first == 1.F)) << first << " after step " << k;
  }
  EXPECT_GT(k, 6);
}

TEST_F(KilledSaves, a_save_that_fails_at_any_step_leaves_the_old_file_alone) {
  const nn::Sequential old_model = model_of(1), new_model = model_of(2);
  const std::string path = (folder_ / "m.safetensors").string();
  old_model.save(path);
  const std::string old_file = bytes_of_file(path);
  int k = 1;
  for (bool failed = true; failed; ++k) {
    old_model.save(path);
    int steps = 0;
    bool replaced = false;
    io::set_write_hook([&](io::WriteStep step) {
      if (++steps != k) return 0;
      replaced = step == io::WriteStep::sync_folder;
      return ENOSPC;
    });
    try {
      new_model.save(path);
      failed = false;
    } catch (const IoError&) {
    }
    io::set_write_hook(nullptr);
    EXPECT_EQ(bytes_of_file(path) == old_file, failed && !replaced) << "failed at step " << k;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  }
  EXPECT_GT(k, 4);
}

}  // namespace
}  // namespace tenure::testing
