# Run by CPack when a package's files are in place, before they are packed.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")

if(CPACK_GENERATOR STREQUAL "DEB")
  # For dpkg-shlibdeps, to whom any build of OpenBLAS is as good as the one we are linked with.
  foreach(component library program)
    file(WRITE "${root}/${component}/debian/shlibs.local" "libopenblas 0 libopenblas0-openmp\n")
  endforeach()
  return()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/libraries.cmake")

# The archive's libraries are in a folder of our own, where no other program meets them even when it
# is unpacked over /usr/local.
file(GLOB_RECURSE library "${root}/libtenure.so.${CPACK_PACKAGE_VERSION}")
set(program "${root}/bin/tenure")
get_filename_component(folder "${library}" DIRECTORY)
set(documents "${root}/share/doc/tenure")
bring_libraries("${folder}/tenure" "${documents}" archive "${library}" "${program}")
file(COPY_FILE "${CPACK_TENURE_LICENSE}" "${documents}/LICENSE")

run(patchelf --set-rpath "$ORIGIN/tenure" "${library}")
file(RELATIVE_PATH from_program "${root}/bin" "${folder}/tenure")
run(patchelf --set-rpath "$ORIGIN/${from_program}" "${program}")
