# Install rules and the package files behind find_package(fovea).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)

install(TARGETS fovea EXPORT fovea-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fovea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT fovea-targets NAMESPACE fovea:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/fovea-config.cmake.in
                              ${PROJECT_BINARY_DIR}/fovea-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fovea-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fovea-config.cmake ${PROJECT_BINARY_DIR}/fovea-config-version.cmake
        DESTINATION ${package_dir})
