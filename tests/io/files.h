// Files for tests: a folder of their own, and bytes in and out.
#pragma once

#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/expect.h"
#include "tenure/io.h"

namespace tenure::testing {

inline std::string fixture(const std::string& name) {
  return std::string(TENURE_SOURCE_DIR) + "/tests/data/io/" + name;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Removed with all that is in it at the end of the test.
class Folder : public ::testing::Test {
 protected:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenure-io-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() override { std::filesystem::remove_all(path_); }

  std::string at(const std::string& name) const { return path_ + "/" + name; }
  // A file of these bytes.
  std::string file(const std::string& bytes, const std::string& name = "file") const {
    write_bytes(at(name), bytes);
    return at(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

 private:
  std::string path_;
};

// One small tensor of each dtype, with values that only it can hold.
inline io::NamedTensors one_of_each() {
  return {
      {"float32", tensor({1.5f, -2.f, 3e38f, 1e-45f}, {2, 2})},
      {"float64", tensor(std::vector<double>{0.1, -2e300, 3})},
      {"int32", tensor(std::vector<std::int32_t>{1, -2147483647 - 1})},
      {"int64", tensor(std::vector<std::int64_t>{1ll << 40, -5, 7})},
      {"uint8", tensor(std::vector<std::uint8_t>{0, 200, 255})},
      {"int8", tensor(std::vector<std::int8_t>{-128, 127, 3})},
      {"boolean", tensor(std::vector<bool>{true, false, true})},
      {"float16", tensor(std::vector<Float16>{Float16(0.5f), Float16(-65504.f)})},
      {"bfloat16", tensor(std::vector<BFloat16>{BFloat16(1.5f), BFloat16(1e30f), BFloat16(3.f)})},
      {"complex64", tensor(std::vector<std::complex<float>>{{1, 2}, {-3.5f, 4}})},
      {"scalar", tensor(2.5f)},
      {"empty", zeros({0, 3})},
      {"empty ints", zeros({2, 0, 4}, DType::int64)},
  };
}

// The same dtype, shape and bits.
inline void expect_same(const Tensor& a, const Tensor& b, const std::string& name) {
  EXPECT_EQ(a.dtype(), b.dtype()) << name;
  ASSERT_EQ(a.shape(), b.shape()) << name;
  const auto bits = [](const Tensor& x) {
    std::string bytes(x.nbytes(), '\0');
    const detail::Pin pin(x, "test", std::source_location::current());
    EXPECT_TRUE(pin->layout.contiguous);
    const auto offset = static_cast<std::size_t>(pin->layout.offset) * size_of(x.dtype());
    if (!bytes.empty()) std::memcpy(bytes.data(), pin->storage->data + offset, bytes.size());
    return bytes;
  };
  EXPECT_EQ(bits(a), bits(b)) << name;
}

}  // namespace tenure::testing
