# What `cmake --install` puts where, in components: muster, musterd, lib, dev, and modules, which is in no package.
include(GNUInstallDirs)

install(TARGETS muster RUNTIME COMPONENT muster)
install(TARGETS muster-guardian RUNTIME
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/muster COMPONENT muster)
install(TARGETS musterd RUNTIME COMPONENT musterd)

# The library: include/muster, libmuster.so and libmuster.a. What is linked dynamically needs nothing else.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
install(TARGETS muster_shared EXPORT muster_shared
  LIBRARY COMPONENT lib NAMELINK_COMPONENT dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS muster_static EXPORT muster_static
  ARCHIVE COMPONENT dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# For tests of programs that bring a store of their own; it needs the shared library.
install(TARGETS muster_testing EXPORT muster_testing
  ARCHIVE COMPONENT dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/muster DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
foreach(kind shared static testing)
  install(EXPORT muster_${kind} NAMESPACE muster:: FILE ${kind}.cmake DESTINATION ${package_dir} COMPONENT dev)
endforeach()
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/muster-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/muster-config.cmake ${PROJECT_BINARY_DIR}/muster-config-version.cmake
  DESTINATION ${package_dir} COMPONENT dev)
# Found from where the file lies, so that the tree may be moved (lib/x86_64-linux-gnu has one step more).
string(REGEX REPLACE "[^/]+" ".." up "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(MUSTER_PC_PREFIX "\${pcfiledir}/${up}")
configure_file(cmake/muster.pc.in ${PROJECT_BINARY_DIR}/muster.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/muster.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT dev)
# The wire contract, for other languages.
install(DIRECTORY proto/muster DESTINATION ${CMAKE_INSTALL_DATADIR}/muster/proto COMPONENT dev)

# The modules that all is made of, with their internal headers, for programs that need what the library does not
# offer yet. In no package; names in it change without notice.
set(modules base core platform rpc store elector coordinator plugins candidate client sim)
list(TRANSFORM modules PREPEND muster_ OUTPUT_VARIABLE module_targets)
foreach(module ${modules})
  set_target_properties(muster_${module} PROPERTIES EXPORT_NAME ${module})
endforeach()
set_target_properties(muster_proto PROPERTIES EXPORT_NAME proto)
install(TARGETS ${module_targets} EXPORT muster_modules
  ARCHIVE COMPONENT modules
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/muster COMPONENT modules
  FILE_SET test_headers DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/muster COMPONENT own_tests
    EXCLUDE_FROM_ALL)
install(TARGETS muster_proto EXPORT muster_modules ARCHIVE COMPONENT modules)
install(EXPORT muster_modules NAMESPACE muster:: FILE modules.cmake
  DESTINATION ${package_dir} COMPONENT modules)
configure_file(cmake/muster-modules.pc.in ${PROJECT_BINARY_DIR}/muster-modules.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/muster-modules.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT modules)

# Prints musterd(8). Only for packing: it is not installed.
muster_program(musterd-page SOURCES packaging/manual/musterd_page.cc DEPS cli server)
add_custom_target(muster_packaged DEPENDS muster_shared muster_static muster_testing musterd-page)

set(package_lib libmuster${PROJECT_VERSION_MAJOR})
set(package_dev libmuster-dev)
foreach(component muster musterd lib dev)
  set(package ${component})
  if(DEFINED package_${component})
    set(package ${package_${component}})
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
# What the programs are made of, once `./dev package` has written it.
foreach(component muster musterd lib)
  set(package ${component})
  if(DEFINED package_${component})
    set(package ${package_${component}})
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/sbom.spdx.json OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/packaging/postgres/muster.sql RENAME postgres.sql
  DESTINATION ${CMAKE_INSTALL_DATADIR}/muster COMPONENT muster)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/muster-run@.service
  DESTINATION lib/systemd/system COMPONENT muster)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/musterd.service
  DESTINATION lib/systemd/system COMPONENT musterd)

# Manual pages and completions are printed from what --help is printed from, so that they cannot
# differ from it. Settings go to /etc when the prefix is /usr, as the file system standard has it.
set(MUSTER_PROGRAM $<TARGET_FILE:muster>)
set(MUSTERD_PAGE_PROGRAM $<TARGET_FILE:musterd-page>)
foreach(component muster musterd)
  configure_file(cmake/install_${component}.cmake.in ${PROJECT_BINARY_DIR}/install_${component}.in @ONLY)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/install_${component}.cmake
    INPUT ${PROJECT_BINARY_DIR}/install_${component}.in)
  install(SCRIPT ${PROJECT_BINARY_DIR}/install_${component}.cmake COMPONENT ${component})
endforeach()
