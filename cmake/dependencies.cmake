find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(dlpack REQUIRED)
find_package(kissfft REQUIRED COMPONENTS SHARED float)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
# LAPACK, in the build whose threads are OpenMP's: it can be told to use one. (Called from several
# threads at once, the build without threads gives wrong results.)
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-openmp REQUIRED)
# Its own CMake package asks for programs that are packaged apart.
find_library(LIBZIP_LIBRARY zip REQUIRED)
mark_as_advanced(OPENBLAS_LIBRARY LIBZIP_LIBRARY)

# Lines of call stacks; comes with some compilers. Without it, stacks have names and no lines.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES backtrace)
check_cxx_source_compiles("
  #include <backtrace.h>
  int main() { return backtrace_create_state(nullptr, 1, nullptr, nullptr) == nullptr; }"
  TENURE_HAS_LIBBACKTRACE)
unset(CMAKE_REQUIRED_LIBRARIES)
if(TENURE_HAS_LIBBACKTRACE)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/memory/stacks.cpp"
    PROPERTIES COMPILE_DEFINITIONS TENURE_LIBBACKTRACE=1)
  target_link_libraries(tenure_build INTERFACE backtrace)
endif()

target_link_libraries(tenure_build INTERFACE
  Threads::Threads fmt::fmt hwy::hwy dlpack::dlpack
  kissfft::kissfft-float nlohmann_json::nlohmann_json ZLIB::ZLIB PNG::PNG JPEG::JPEG
  "${OPENBLAS_LIBRARY}" gomp "${LIBZIP_LIBRARY}")
