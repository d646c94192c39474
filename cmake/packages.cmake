# The three Debian packages, made by cpack from an installed tree: muster (the command and its
# guardian), musterd, libmuster-dev. Dependencies on libraries are found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR "Muster")
set(CPACK_PACKAGE_CONTACT "The Muster authors <muster@localhost>")
set(CPACK_PACKAGE_HOMEPAGE_URL "")
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL muster musterd dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What they do when they are installed and removed.
foreach(package muster musterd)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/packaging/debian/${package}/*)
  string(TOUPPER ${package} component)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${scripts})
endforeach()

set(CPACK_DEBIAN_MUSTER_PACKAGE_NAME muster)
set(CPACK_DEBIAN_MUSTER_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_MUSTER_PACKAGE_SUGGESTS "musterd")
set(CPACK_COMPONENT_MUSTER_DESCRIPTION
  "run a command on one machine of many, and ask who leads
 A store that can compare and swap (a bucket, an etcd, a directory, musterd) judges
 who leads; the command is ended before its lease is.")

set(CPACK_DEBIAN_MUSTERD_PACKAGE_NAME musterd)
set(CPACK_DEBIAN_MUSTERD_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_MUSTERD_PACKAGE_DEPENDS "adduser")
# Only for the engine `managed`.
set(CPACK_DEBIAN_MUSTERD_PACKAGE_RECOMMENDS "etcd-server, muster")
set(CPACK_COMPONENT_MUSTERD_DESCRIPTION
  "replicated registry of nodes with failure detection
 Node registry, failure detection, topology with a hash ring, watch, and a versioned
 store, over gRPC with mutual TLS. Its state is a log in etcd, a bucket or a directory.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmuster-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libprotobuf-dev, \
libcurl4-openssl-dev, libnghttp2-dev, libssl-dev, nlohmann-json3-dev, libyaml-cpp-dev, prometheus-cpp-dev, \
muster (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "leader election, leader-only work and musterd's clients for C++ programs
 Headers, static libraries, a CMake package and a pkg-config file.")
include(CPack)
