// Tensors in files: weights that are written whole or not at all, a table of measurements, and what
// a broken file is told apart by.
#include <tenure/tenure.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace tn = tenure;
namespace io = tenure::io;

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tenure-files-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);

  const tn::Tensor w = tn::tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  const tn::Tensor b = tn::tensor({0.5f, -0.5f, 0.25f});
  io::save_safetensors("weights.safetensors", {{"w", w}, {"b", b}}, {{"step", "1000"}});

  const io::Archive weights = io::load_safetensors("weights.safetensors");
  std::cout << weights["b"] << "\nstep " << weights.metadata.at("step") << "\n\n";

  {
    const io::SafetensorsReader file("weights.safetensors");
    for (const io::TensorInfo& info : file.tensors()) {
      std::cout << info.name << " " << info.type << " " << info.shape << ", " << info.nbytes
                << " bytes\n";
    }
    const tn::Tensor mapped = file.map("w");  // the file's own pages
    std::cout << "sum of w: " << tn::sum(mapped).item<int>() << "\n\n";
  }

  std::ofstream("plants.csv") << "day,height,width\n"
                                 "Mon,1.5,2\n"
                                 "Tue,,2.5\n";
  const io::CsvTable plants = io::read_csv("plants.csv", {.columns = {"height", "width"}});
  std::cout << plants.values << "\n\n";

  io::CsvReader rows("plants.csv");
  while (rows.next()) std::cout << rows.field(0) << " " << rows.value<float>(2) << "\n";

  std::filesystem::resize_file("weights.safetensors", 200);
  try {
    io::load_safetensors("weights.safetensors");
  } catch (const tn::IoError& error) {
    std::cout << "\n" << error.what() << "\n";
  }
  std::filesystem::remove_all(folder);
}
