#include <filesystem>
#include <fstream>
#include <string>

#include "target.h"
#include "tenure/nn/files.h"

namespace tenure::fuzz {
namespace {

// In memory, and gone with the program.
struct Folder {
  Folder() : path("/dev/shm/tenure-fuzz-tfjs-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(path);
    std::ofstream(path + "/weights.bin", std::ios::binary) << std::string(256, '\0');
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

}  // namespace
}  // namespace tenure::fuzz

// The input is a model.json; beside it lies weights.bin, of 256 bytes.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure;
  using namespace tenure::fuzz;
  static const Folder folder;
  const std::string path = folder.path + "/model.json";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  expect_value_or_error([&] { nn::load_tfjs_model(path).summary(); });
  return 0;
}
