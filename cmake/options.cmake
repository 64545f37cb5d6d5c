set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(TENURE_CCACHE ccache)
mark_as_advanced(TENURE_CCACHE)
if(TENURE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/tools/compile_cached")
endif()

add_library(tenure_warnings INTERFACE)
target_compile_options(tenure_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)

# What every file that sees src/ is compiled with.
add_library(tenure_build INTERFACE)
target_include_directories(tenure_build INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
# initial-exec makes the read of the thread-local context one load instead of a call. Of OpenMP only
# the marks on loops are used.
target_compile_options(tenure_build INTERFACE
  -fno-math-errno -fno-semantic-interposition -ftls-model=initial-exec -fopenmp-simd)
target_compile_definitions(tenure_build INTERFACE TENURE_VERSION="${PROJECT_VERSION}")
target_link_libraries(tenure_build INTERFACE tenure_warnings)

if(NOT TENURE_LIFETIMES)
  add_compile_definitions(TENURE_NO_LIFETIMES=1)
endif()
