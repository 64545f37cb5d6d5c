# What `make package` makes, with CPack: Debian packages of the library, of what a program that uses
# it is built with, and of the tenure program; and an archive that runs where it is unpacked.
set(abi "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME tenure)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "Tenure maintainers <maintainers@tenure.invalid>" CACHE STRING
  "Who is asked about the packages")
string(TOLOWER "tenure-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}"
  CPACK_PACKAGE_FILE_NAME)
# Each package has its own; this would stand before it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package/complete.cmake")
set(CPACK_TENURE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")

set(CPACK_COMPONENTS_ALL library headers program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE tenure)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# A program needs the version it was built with or a later one of the same ABI.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_HEADERS_DEPENDS library)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libtenure${abi}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/package/triggers")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
"tensor runtime in which the lifetime of every tensor is known
Eager tensors, gradients, traced functions, layers and models on the CPU,
with errors that tell the life of the tensor they are about.
.
This package holds the shared library.")

set(CPACK_DEBIAN_HEADERS_PACKAGE_NAME libtenure-dev)
set(CPACK_DEBIAN_HEADERS_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_HEADERS_PACKAGE_SUGGESTS libgtest-dev)
set(CPACK_DEBIAN_HEADERS_DESCRIPTION
"tensor runtime in which lifetimes are known (development files)
Eager tensors, gradients, traced functions, layers and models on the CPU,
with errors that tell the life of the tensor they are about.
.
This package holds the headers, and what CMake and pkg-config ask for.
Programs are built with C++20.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tenure)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
"memory of a tensor program: leaks, peaks, reports
Reads what a program that uses Tenure recorded of its tensors: which line
leaks, who held the bytes, what changed between two runs, and all of it as
one page for a browser. Also looks inside files of tensors, plans memory,
and checks whether Tenure works on this machine.")

# Of each package, where Debian expects it.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/package/copyright"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}"
    COMPONENT ${component})
endforeach()

include(CPack)
