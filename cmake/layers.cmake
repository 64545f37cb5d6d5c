# One object library per layer of src/, in the order of tools/layers.json, which tools/check_layers
# holds the includes against. A layer takes every source below its folder that is not a nested
# layer's own; one without sources yet is no target.
set(layers_file "${PROJECT_SOURCE_DIR}/tools/layers.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${layers_file}")
file(READ "${layers_file}" layers_json)
string(JSON layer_count LENGTH "${layers_json}" order)
math(EXPR last_layer "${layer_count} - 1")

set(layers "")
foreach(index RANGE ${last_layer})
  string(JSON layer GET "${layers_json}" order ${index})
  list(APPEND layers "${layer}")
endforeach()

include(precompiled)

set(tenure_objects "")
foreach(layer IN LISTS layers)
  set(folder "${PROJECT_SOURCE_DIR}/src/${layer}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  foreach(other IN LISTS layers)
    if(other MATCHES "^${layer}/")
      list(FILTER sources EXCLUDE REGEX "/src/${other}/")
    endif()
  endforeach()
  if(sources)
    string(REPLACE "/" "_" target "tenure_${layer}")
    add_library(${target} OBJECT ${sources})
    target_compile_definitions(${target} PRIVATE TENURE_BUILDING)
    target_link_libraries(${target} PRIVATE tenure_build)
    precompile_headers(${target})
    compile_in_batches(${target})
    list(APPEND tenure_objects "$<TARGET_OBJECTS:${target}>")
  endif()
endforeach()

# Each is compiled by itself for several instruction sets.
set_target_properties(tenure_backend_cpu PROPERTIES UNITY_BUILD OFF)
# Speaks of functions that the compiler knows, in types of its own.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/memory/first_use.cpp"
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# What libpng and libjpeg define as macros is for nobody else.
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/src/io/image_jpeg.cpp" "${PROJECT_SOURCE_DIR}/src/io/image_png.cpp"
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# Products and sums rounded one by one, as the ops it stands for do.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/backend/cpu/adam.cpp"
  PROPERTIES COMPILE_OPTIONS "-ffp-contract=off" SKIP_PRECOMPILE_HEADERS ON)

# Every vector a kernel holds is a variable on the stack to AddressSanitizer: guarding them takes
# GCC five times as long.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tenure_backend_cpu PRIVATE "SHELL:--param asan-stack=0")
endif()
