// Runs a fuzz target without a fuzzer: every file of the corpus, then mutations of them that are
// the same in every run. Fails for a leak and for memory out of proportion to the input; a crash is
// its own message, with the input in crash.bin.
//
//   fuzz_npy CORPUS [MUTATIONS]      replay, then mutate
//   fuzz_npy FILE                    replay one input
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "target.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

// Inputs are small; what they make a reader allocate must be, too.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

const Bytes* g_current = nullptr;

void save_current(int signal) {
  if (std::FILE* file = std::fopen("crash.bin", "wb")) {
    std::fwrite(g_current->data(), 1, g_current->size(), file);
    std::fclose(file);
  }
  std::fprintf(stderr, "signal %d; the input is in crash.bin\n", signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

bool run(const Bytes& input) {
  g_current = &input;
  tenure::reset_peak();
  const std::size_t before = tenure::memory().live_bytes;
  try {
    LLVMFuzzerTestOneInput(input.data(), input.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "an exception that is no Error: %s\n", error.what());
    return false;
  }
  const tenure::MemoryInfo memory = tenure::memory();
  if (memory.live_bytes == before && memory.external_bytes == 0 &&
      memory.peak_bytes <= before + kMostBytes) {
    return true;
  }
  std::fprintf(stderr, "%zu bytes were live, %zu are, %zu at the peak; %zu are mapped\n", before,
               memory.live_bytes, memory.peak_bytes, memory.external_bytes);
  return false;
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Bytes>& corpus) : corpus_(corpus) {}

  Bytes next() {
    Bytes bytes = corpus_[below(corpus_.size())];
    for (std::size_t i = 0; i <= below(4); ++i) change(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }

  void change(Bytes& bytes) {
    const std::size_t at = below(bytes.size());
    const std::size_t count = std::min(below(16), bytes.size() - at);
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(7)) {
      case 0:  // one bit
        if (!bytes.empty()) bytes[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:  // one byte, of those that mean something
        if (!bytes.empty()) bytes[at] = kBytes[below(std::size(kBytes))];
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(from, from + static_cast<std::ptrdiff_t>(count));
        break;
      case 4: {
        const Bytes piece(from, from + static_cast<std::ptrdiff_t>(count));
        bytes.insert(from, piece.begin(), piece.end());
        break;
      }
      case 5: {  // a piece of another
        const Bytes& other = corpus_[below(corpus_.size())];
        const std::size_t begin = below(other.size());
        const std::size_t end = begin + std::min(below(64), other.size() - begin);
        bytes.insert(from, other.begin() + static_cast<std::ptrdiff_t>(begin),
                     other.begin() + static_cast<std::ptrdiff_t>(end));
        break;
      }
      default:  // a number at the edge of its range
        for (std::size_t i = at; i < std::min(at + 4, bytes.size()); ++i) {
          bytes[i] = below(2) == 0 ? 0xff : 0;
        }
    }
  }

  static constexpr std::uint8_t kBytes[] = {0,   1,   0x7f, 0x80, 0xff, '0', '9', '-', ',',
                                            '.', '"', '\'', '{',  '}',  '[', ']', '(', ')',
                                            '#', ':', '\n', '\r', ' ',  'e', 'L', '<', '>'};
  const std::vector<Bytes>& corpus_;
  std::mt19937_64 random_{20240229};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(argv[1])) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
      paths.push_back(entry.path());
    }
  } else {
    paths.emplace_back(argv[1]);
  }
  std::sort(paths.begin(), paths.end());
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(signal, save_current);
  tenure::zeros({});
  std::vector<Bytes> corpus;
  for (const std::filesystem::path& path : paths) {
    corpus.push_back(read_file(path));
    if (!run(corpus.back())) {
      std::fprintf(stderr, "with %s\n", path.c_str());
      return 1;
    }
  }
  if (corpus.empty()) return 2;
  const long mutations = argc > 2 ? std::atol(argv[2]) : 0;
  Mutator mutator(corpus);
  for (long i = 0; i < mutations; ++i) {
    const Bytes input = mutator.next();
    if (!run(input)) {
      std::ofstream("crash.bin", std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()),
                 static_cast<std::streamsize>(input.size()));
      std::fprintf(stderr, "with mutation %ld, which is in crash.bin\n", i);
      return 1;
    }
  }
  std::printf("%zu files, %ld mutations\n", corpus.size(), mutations);
}
