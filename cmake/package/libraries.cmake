# What an archive or an npm package runs with on systems that have none of the libraries we use: they
# come along. What C and C++ programs always need is left to the system: its C++ library may be newer
# than ours, and a program that uses us may need what is new in it.
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

# bring_libraries(<folder> <documents> <what> <file>...)
# Copies to <folder> the libraries that the files need, each of which then looks for the others beside
# itself; to <documents> their licences, and a list that says which they are. <what> is what they come
# with. Where the files themselves look is left to the caller.
function(bring_libraries folder documents what)
  set(CMAKE_GET_RUNTIME_DEPENDENCIES_PLATFORM linux+elf)
  file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${ARGN}
    RESOLVED_DEPENDENCIES_VAR dependencies PRE_EXCLUDE_REGEXES ${systems_own})

  file(MAKE_DIRECTORY "${folder}" "${documents}")
  set(list "Libraries that come with this ${what}, each as it is in a Debian package, whose source
Debian offers; only the place where it looks for the others was changed.\n\n")
  foreach(dependency IN LISTS dependencies)
    get_filename_component(name "${dependency}" NAME)
    file(COPY_FILE "${dependency}" "${folder}/${name}")
    run(patchelf --set-rpath "$ORIGIN" "${folder}/${name}")

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
endfunction()
