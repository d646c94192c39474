# What `cmake --install` puts where, in three components: muster, musterd, dev.
include(GNUInstallDirs)

install(TARGETS muster RUNTIME COMPONENT muster)
install(TARGETS muster-guardian RUNTIME
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/muster COMPONENT muster)
install(TARGETS musterd RUNTIME COMPONENT musterd)

# The library: what programs link is muster::client, muster::coordinator, muster::candidate and so on.
set(libraries base core platform rpc store coordinator plugins candidate client sim)
list(TRANSFORM libraries PREPEND muster_ OUTPUT_VARIABLE library_targets)
foreach(library ${libraries})
  set_target_properties(muster_${library} PROPERTIES EXPORT_NAME ${library})
endforeach()
set_target_properties(muster_proto PROPERTIES EXPORT_NAME proto)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
install(TARGETS ${library_targets} EXPORT muster_targets
  ARCHIVE COMPONENT dev
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/muster COMPONENT dev
  FILE_SET test_headers DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/muster COMPONENT own_tests
    EXCLUDE_FROM_ALL)
install(TARGETS muster_proto EXPORT muster_targets ARCHIVE COMPONENT dev)
install(EXPORT muster_targets NAMESPACE muster:: FILE targets.cmake
  DESTINATION ${package_dir} COMPONENT dev)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/muster-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/muster-config.cmake ${CMAKE_BINARY_DIR}/muster-config-version.cmake
  DESTINATION ${package_dir} COMPONENT dev)
# Found from where the file lies, so that the tree may be moved (lib/x86_64-linux-gnu has one step more).
string(REGEX REPLACE "[^/]+" ".." up "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(MUSTER_PC_PREFIX "\${pcfiledir}/${up}")
configure_file(cmake/muster.pc.in ${CMAKE_BINARY_DIR}/muster.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/muster.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT dev)
# The wire contract, for other languages.
install(DIRECTORY proto/muster DESTINATION ${CMAKE_INSTALL_DATADIR}/muster/proto COMPONENT dev)

# Prints musterd(8). Only for packing: it is not installed.
muster_program(musterd-page SOURCES packaging/manual/musterd_page.cc DEPS cli server)
add_custom_target(muster_packaged DEPENDS ${library_targets} muster_proto musterd-page)

foreach(component muster musterd dev)
  set(package ${component})
  if(component STREQUAL dev)
    set(package libmuster-dev)
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
# What the programs are made of, once `./dev package` has written it.
foreach(component muster musterd)
  install(FILES ${CMAKE_BINARY_DIR}/sbom.spdx.json OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component})
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/packaging/systemd/muster-run@.service
  DESTINATION lib/systemd/system COMPONENT muster)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/systemd/musterd.service
  DESTINATION lib/systemd/system COMPONENT musterd)

# Manual pages and completions are printed from what --help is printed from, so that they cannot
# differ from it. Settings go to /etc when the prefix is /usr, as the file system standard has it.
set(MUSTER_PROGRAM $<TARGET_FILE:muster>)
set(MUSTERD_PAGE_PROGRAM $<TARGET_FILE:musterd-page>)
foreach(component muster musterd)
  configure_file(cmake/install_${component}.cmake.in ${CMAKE_BINARY_DIR}/install_${component}.in @ONLY)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/install_${component}.cmake
    INPUT ${CMAKE_BINARY_DIR}/install_${component}.in)
  install(SCRIPT ${CMAKE_BINARY_DIR}/install_${component}.cmake COMPONENT ${component})
endforeach()
