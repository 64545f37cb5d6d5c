// The files of the project that `tenure new` makes.
#pragma once

#include <span>
#include <string_view>

namespace tenure::app {

struct ProjectFile {
  std::string_view path;
  std::string_view text;  // @NAME@ stands for the project, @VERSION@ for the least Tenure it needs
};

std::span<const ProjectFile> project_files();

}  // namespace tenure::app
