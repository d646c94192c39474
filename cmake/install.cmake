# What `cmake --install` puts where: the libraries with their headers, a CMake package and a
# pkg-config file (component devel), and the programs (component programs).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed_modules base core platform store sim client coordinator plugins candidate)
set(installed_targets muster_options muster_proto)
foreach(module ${installed_modules})
  list(APPEND installed_targets muster_${module})
  # The tests' own headers stay here.
  install(DIRECTORY src/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/muster COMPONENT devel
    FILES_MATCHING PATTERN "*.h" PATTERN "*test*" EXCLUDE)
endforeach()
foreach(target ${installed_targets})
  string(REPLACE muster_ "" exported ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
endforeach()
install(DIRECTORY ${CMAKE_BINARY_DIR}/proto/muster DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT devel FILES_MATCHING PATTERN "*.h")
install(DIRECTORY proto/muster DESTINATION ${CMAKE_INSTALL_DATADIR}/muster/proto COMPONENT devel)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
install(TARGETS ${installed_targets} EXPORT muster
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT devel)
install(EXPORT muster NAMESPACE muster:: FILE musterTargets.cmake DESTINATION ${package_dir}
  COMPONENT devel)
configure_package_config_file(cmake/musterConfig.cmake.in ${CMAKE_BINARY_DIR}/musterConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/musterConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/musterConfig.cmake ${CMAKE_BINARY_DIR}/musterConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT devel)

# The order of static libraries is the linker's business, so they are one group.
set(pc_libraries)
foreach(library ${installed_modules} proto)
  string(APPEND pc_libraries " -lmuster_${library}")
endforeach()
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/muster.pc.in ${CMAKE_BINARY_DIR}/muster.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/muster.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT devel)

install(TARGETS muster musterd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(TARGETS muster-guardian RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/muster
  COMPONENT programs)
