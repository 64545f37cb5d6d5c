# Run by CPack when a package's files are in place, before they are packed.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")

if(CPACK_GENERATOR STREQUAL "DEB")
  # For dpkg-shlibdeps, to whom any build of OpenBLAS is as good as the one we are linked with.
  foreach(component library program)
    file(WRITE "${root}/${component}/debian/shlibs.local" "libopenblas 0 libopenblas0-openmp\n")
  endforeach()
  return()
endif()

# The archive runs on systems that have none of the libraries we use: they come along, in a folder
# of our own, where no other program meets them even when the archive is unpacked over /usr/local.
# What C and C++ programs always need is left to the system: its C++ library may be newer than ours,
# and a program that uses us may need what is new in it.
set(systems_own "^ld-linux" "^lib(c|m|stdc\\+\\+|gcc_s)\\.so")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The Debian package of a file, which it may have under either name that a merged /usr gives it.
function(package_of file out)
  string(REGEX REPLACE "^/usr/" "/" file "${file}")
  foreach(name "${file}" "/usr${file}")
    execute_process(COMMAND dpkg-query --search "${name}"
      RESULT_VARIABLE unknown OUTPUT_VARIABLE output ERROR_QUIET)
    if(NOT unknown AND output MATCHES "^([^ ]+): ")
      set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${file} would be shipped, and no Debian package tells its licence")
endfunction()

file(GLOB_RECURSE library "${root}/libtenure.so.${CPACK_PACKAGE_VERSION}")
set(program "${root}/bin/tenure")
set(CMAKE_GET_RUNTIME_DEPENDENCIES_PLATFORM linux+elf)
file(GET_RUNTIME_DEPENDENCIES LIBRARIES "${library}" EXECUTABLES "${program}"
  RESOLVED_DEPENDENCIES_VAR dependencies PRE_EXCLUDE_REGEXES ${systems_own})

get_filename_component(folder "${library}" DIRECTORY)
set(documents "${root}/share/doc/tenure")
set(list "Libraries that come with this archive, each as it is in a Debian package, whose source
Debian offers; only the place where it looks for the others was changed.\n\n")
foreach(dependency IN LISTS dependencies)
  get_filename_component(name "${dependency}" NAME)
  file(MAKE_DIRECTORY "${folder}/tenure")
  file(COPY_FILE "${dependency}" "${folder}/tenure/${name}")
  run(patchelf --set-rpath "$ORIGIN" "${folder}/tenure/${name}")

  get_filename_component(real "${dependency}" REALPATH)
  package_of("${real}" package)
  run(dpkg-query
    "--showformat=\${Package} \${Version}, source \${source:Package} \${source:Version}"
    --show "${package}")
  string(REGEX REPLACE ":.*" "" package "${package}")
  file(COPY_FILE "/usr/share/doc/${package}/copyright" "${documents}/${package}.copyright")
  string(APPEND list "${name}: ${output}\n")
endforeach()
file(WRITE "${documents}/libraries.txt" "${list}")
file(COPY_FILE "${CPACK_TENURE_LICENSE}" "${documents}/LICENSE")

run(patchelf --set-rpath "$ORIGIN/tenure" "${library}")
file(RELATIVE_PATH from_program "${root}/bin" "${folder}/tenure")
run(patchelf --set-rpath "$ORIGIN/${from_program}" "${program}")
