#include <unistd.h>

#include <string>

#include "target.h"
#include "tenure/nn/files.h"

// The input is the metadata of a model's file: the architecture, and after a line of its own "---",
// how it was compiled. The tensors are the same in every run, and room for small models.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenure;
  using namespace tenure::fuzz;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find("\n---\n");
  io::Metadata metadata{{"tenure.format", "1"}, {"tenure.model", text.substr(0, cut)}};
  if (cut != text.npos) metadata["tenure.compile"] = text.substr(cut + 5);
  expect_value_or_error([&] {
    const std::string path = "/dev/shm/tenure-fuzz-model-" + std::to_string(::getpid());
    struct Remove {
      const std::string& path;
      ~Remove() { ::unlink(path.c_str()); }
    } const remove{path};
    io::save_safetensors(path,
                         {{"a/kernel", zeros({3, 2})},
                          {"a/bias", zeros({2})},
                          {"b/kernel", zeros({2, 1})},
                          {"b/bias", zeros({1})}},
                         metadata);
    nn::load_model(path).summary();
  });
  return 0;
}
