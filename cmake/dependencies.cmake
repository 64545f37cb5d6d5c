find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(dlpack REQUIRED)
find_package(kissfft REQUIRED COMPONENTS SHARED float)

target_link_libraries(tenure_build INTERFACE
  Threads::Threads OpenMP::OpenMP_CXX fmt::fmt hwy::hwy dlpack::dlpack
  kissfft::kissfft-float)
