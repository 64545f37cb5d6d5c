# npm_packages(<source> <folder> <out>)
# A rule that installs into <folder>/node_modules what the lockfile in <source> names; <out> is the
# file it makes, to depend on. The source folder is only read.
function(npm_packages source folder out)
  set(stamp "${folder}/node_modules/.installed")
  add_custom_command(
    OUTPUT "${stamp}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${source}/package.json" "${source}/package-lock.json"
      "${folder}"
    COMMAND "${NPM_PROGRAM}" ci --include=dev --include=optional --ignore-scripts
      --no-audit --no-fund --loglevel=error
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    WORKING_DIRECTORY "${folder}"
    DEPENDS "${source}/package.json" "${source}/package-lock.json"
    COMMENT "Installing npm packages for ${source}"
    VERBATIM)
  set(${out} "${stamp}" PARENT_SCOPE)
endfunction()
