# What `cmake --install` puts where, in three components: muster, musterd, dev.
include(GNUInstallDirs)

install(TARGETS muster RUNTIME COMPONENT muster)
install(TARGETS muster-guardian RUNTIME
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/muster COMPONENT muster)
install(TARGETS musterd RUNTIME COMPONENT musterd)
foreach(component muster musterd dev)
  set(package ${component})
  if(component STREQUAL dev)
    set(package libmuster-dev)
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/packaging/systemd/muster-run@.service
  DESTINATION lib/systemd/system COMPONENT muster)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/systemd/musterd.service
  DESTINATION lib/systemd/system COMPONENT musterd)

# Manual pages and completions are printed by the programs themselves, so that they cannot differ
# from --help. Settings go to /etc when the prefix is /usr, as the file system standard has it.
set(MUSTER_PROGRAM $<TARGET_FILE:muster>)
set(MUSTERD_PROGRAM $<TARGET_FILE:musterd>)
foreach(component muster musterd)
  configure_file(cmake/install_${component}.cmake.in ${CMAKE_BINARY_DIR}/install_${component}.in @ONLY)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/install_${component}.cmake
    INPUT ${CMAKE_BINARY_DIR}/install_${component}.in)
  install(SCRIPT ${CMAKE_BINARY_DIR}/install_${component}.cmake COMPONENT ${component})
endforeach()
