#include "io/atomic_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "io/files.h"

namespace tenure::io {
namespace {

using testing::message_of;
using testing::read_bytes;

constexpr WriteStep kSteps[] = {WriteStep::open, WriteStep::write, WriteStep::sync,
                                WriteStep::rename, WriteStep::sync_folder};

using Writer = std::function<void(const std::string& path, float value)>;
const std::pair<const char*, Writer> kWriters[] = {
    {"safetensors", [](const std::string& path,
                       float value) { save_safetensors(path, {{"x", full({1000}, value)}}); }},
    {"npy", [](const std::string& path, float value) { save_npy(path, full({1000}, value)); }},
    {"npz",
     [](const std::string& path, float value) { save_npz(path, {{"x", full({1000}, value)}}); }},
    {"npz, packed",
     [](const std::string& path, float value) {
       save_npz(path, {{"x", full({1000}, value)}, {"y", full({10}, value)}}, {.compress = true});
     }},
};

class AtomicWrites : public testing::Folder {
 protected:
  ~AtomicWrites() override { set_write_hook(nullptr); }
};

TEST_F(AtomicWrites, a_failure_at_any_step_leaves_the_old_file_or_the_new_one_and_nothing_else) {
  for (const auto& [name, write] : kWriters) {
    write(at("x"), 1);
    const std::string old_file = read_bytes(at("x"));
    write(at("x"), 2);
    const std::string new_file = read_bytes(at("x"));
    for (const WriteStep step : kSteps) {
      for (int nth = 1;; ++nth) {
        write(at("x"), 1);
        int count = 0;
        set_write_hook([&](WriteStep now) { return now == step && ++count == nth ? ENOSPC : 0; });
        bool failed = false;
        try {
          write(at("x"), 2);
        } catch (const IoError& error) {
          failed = true;
          EXPECT_HAS(error.what(), at("x") + ": cannot be ");
          EXPECT_HAS(error.what(), "No space left on device");
        }
        set_write_hook(nullptr);
        EXPECT_EQ(names(), std::vector<std::string>{"x"}) << name;
        if (!failed) break;
        EXPECT_EQ(read_bytes(at("x")), step == WriteStep::sync_folder ? new_file : old_file)
            << name << ", step " << static_cast<int>(step) << ", call " << nth;
      }
      EXPECT_EQ(read_bytes(at("x")), new_file) << name;
    }
  }
}

TEST_F(AtomicWrites, a_process_killed_at_any_step_leaves_the_old_file_or_the_new_one) {
  for (const auto& [name, write] : kWriters) {
    for (const WriteStep step : kSteps) {
      write(at("x"), 2);
      const std::string new_file = read_bytes(at("x"));
      write(at("x"), 1);
      const std::string old_file = read_bytes(at("x"));
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        set_write_hook([&](WriteStep now) {
          if (now == step) ::kill(::getpid(), SIGKILL);
          return 0;
        });
        write(at("x"), 2);
        ::_exit(0);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFSIGNALED(status)) << name;
      EXPECT_EQ(read_bytes(at("x")), step == WriteStep::sync_folder ? new_file : old_file) << name;
    }
  }
}

TEST_F(AtomicWrites, a_full_disk_leaves_the_old_file) {
  for (const auto& [name, write] : kWriters) {
    const bool packs = std::string(name) == "npz, packed";
    write(at("x"), 1);
    const std::string old_file = read_bytes(at("x"));
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto before = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{packs ? 100u : 2000u, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    std::string text;
    try {
      write(at("x"), 2);
    } catch (const IoError& error) {
      text = error.what();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    ::signal(SIGXFSZ, before);
    EXPECT_HAS(text, "cannot be written: File too large");
    EXPECT_EQ(read_bytes(at("x")), old_file) << name;
    EXPECT_EQ(names(), std::vector<std::string>{"x"}) << name;
  }
}

TEST_F(AtomicWrites, a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own) {
  const auto mode_of = [](const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  testing::write_bytes(at("usual"), "");
  save_npy(at("x"), tensor(1.f));
  EXPECT_EQ(mode_of(at("x")), mode_of(at("usual")));
  ASSERT_EQ(::chmod(at("x").c_str(), 0640), 0);
  save_npy(at("x"), tensor(2.f));
  EXPECT_EQ(mode_of(at("x")), 0640u);
}

TEST_F(AtomicWrites, a_symbolic_link_stays_one) {
  save_npy(at("x"), tensor(1.f));
  std::filesystem::create_symlink("x", at("link"));
  save_npy(at("link"), tensor(2.f));
  EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
  EXPECT_EQ(load_npy(at("x")).item<float>(), 2.f);
}

TEST_F(AtomicWrites, what_is_no_file_is_not_replaced) {
  EXPECT_HAS(message_of<IoError>([&] { save_npy("/dev/full", tensor(1.f)); }),
             "save_npy: /dev/full: cannot be written: is not a regular file");
  EXPECT_THROW(save_npy(at(""), tensor(1.f)), IoError);
  EXPECT_HAS(message_of<IoError>([&] { save_npy(at("none/x"), tensor(1.f)); }),
             "cannot be written: No such file or directory");
}

TEST_F(AtomicWrites, a_mapped_tensor_can_replace_the_file_it_lies_in) {
  save_npy(at("x"), full({1000}, 1.f));
  const Tensor x = map_npy(at("x"));
  save_npy(at("x"), x + 1.f);
  EXPECT_EQ(x[999].item<float>(), 1.f) << "it keeps the old file's pages";
  EXPECT_EQ(load_npy(at("x"))[999].item<float>(), 2.f);
}

}  // namespace
}  // namespace tenure::io
