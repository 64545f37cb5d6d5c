find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(dlpack REQUIRED)
find_package(kissfft REQUIRED COMPONENTS SHARED float)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
# LAPACK, in the build that shares OpenMP with us.
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-openmp REQUIRED)
# Its own CMake package asks for programs that are packaged apart.
find_library(LIBZIP_LIBRARY zip REQUIRED)
mark_as_advanced(OPENBLAS_LIBRARY LIBZIP_LIBRARY)

target_link_libraries(tenure_build INTERFACE
  Threads::Threads OpenMP::OpenMP_CXX fmt::fmt hwy::hwy dlpack::dlpack
  kissfft::kissfft-float nlohmann_json::nlohmann_json ZLIB::ZLIB
  "${OPENBLAS_LIBRARY}" "${LIBZIP_LIBRARY}")
