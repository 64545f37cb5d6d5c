include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Tenure")

# A folder that a library was linked from is where it is found: Debian keeps several builds of
# OpenBLAS side by side, and which one has the plain name is another program's choice.
set_target_properties(tenure PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS tenure EXPORT TenureTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT headers)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tenure"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT headers FILES_MATCHING PATTERN "*.h")
install(EXPORT TenureTargets
  NAMESPACE tenure:: DESTINATION "${package_dir}" COMPONENT headers)
if(TENURE_PROGRAM)
  set_target_properties(tenure_program PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS tenure_program RUNTIME COMPONENT program)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/TenureConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/TenureConfig.cmake" INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break what uses the one before it.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TenureConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/TenureConfig.cmake" "${PROJECT_BINARY_DIR}/TenureConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT headers)

# Relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tenure.pc.in" "${PROJECT_BINARY_DIR}/tenure.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tenure.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT headers)
