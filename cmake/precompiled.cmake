# precompile_headers(<target>)
# Gives a target of the library's the headers of others that most of its files include, compiled
# once for all such targets. None of ours are among them: what a layer includes of ours is what it
# says, and an edit there compiles again only who includes it. <future> and <thread> are not either:
# in every file GCC instantiates again what the functions of a precompiled header call, for these two
# 0.12 s, and few files need them.
set(precompiled_headers
  <algorithm> <array> <atomic> <cmath> <coroutine> <cstdint> <cstring> <functional> <limits>
  <map> <memory> <mutex> <optional> <set> <source_location> <span> <string> <string_view>
  <unordered_map> <utility> <vector> <fmt/format.h>)

# -fpch-preprocess lets ccache see through them. GCC 12 warns of overruns in std::string that are
# not there, and keeps that to itself only in headers that it reads as text.
add_library(tenure_precompiled INTERFACE)
target_compile_options(tenure_precompiled INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)

function(precompile_headers target)
  get_property(first GLOBAL PROPERTY tenure_precompiled)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${precompiled_headers})
    set_property(GLOBAL PROPERTY tenure_precompiled ${target})
  endif()
  target_link_libraries(${target} PRIVATE tenure_precompiled)
endfunction()

# compile_in_batches(<target> [<size>])
# Several sources of a target become one for the compiler, which then reads what they include, and
# instantiates what they use, once. Names in anonymous namespaces must differ within a target; that
# classes have members of such types is no fault there, where GCC takes a source for a header.
option(TENURE_BATCHES "Compile sources in batches; OFF where one file is edited again and again" ON)
function(compile_in_batches target)
  set(size 8)
  if(ARGC GREATER 1)
    set(size ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${TENURE_BATCHES} UNITY_BUILD_BATCH_SIZE ${size})
  if(TENURE_BATCHES)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
