# The Debian packages, made by cpack from an installed tree: muster (the command and its guardian), musterd,
# libmuster0, libmuster-dev. Dependencies on libraries are found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR "Muster")
set(CPACK_PACKAGE_CONTACT "The Muster authors <muster@localhost>")
set(CPACK_PACKAGE_HOMEPAGE_URL "")
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL muster musterd lib dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What they do when they are installed and removed.
foreach(package muster musterd)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/debian/${package}/*)
  string(TOUPPER ${package} component)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${scripts})
endforeach()

set(CPACK_DEBIAN_MUSTER_PACKAGE_NAME muster)
set(CPACK_DEBIAN_MUSTER_PACKAGE_SECTION admin)
# libpq5 is loaded for postgres:// addresses only.
set(CPACK_DEBIAN_MUSTER_PACKAGE_SUGGESTS "musterd, libpq5")
set(CPACK_COMPONENT_MUSTER_DESCRIPTION
  "run a command on one of many machines, and show the leader
 A store with compare-and-swap (a bucket, an etcd, a directory, musterd) decides the
 election; the command is ended before its lease expires.")

set(CPACK_DEBIAN_MUSTERD_PACKAGE_NAME musterd)
set(CPACK_DEBIAN_MUSTERD_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_MUSTERD_PACKAGE_DEPENDS "adduser")
# Only for the engine `managed`.
set(CPACK_DEBIAN_MUSTERD_PACKAGE_RECOMMENDS "etcd-server, muster")
set(CPACK_COMPONENT_MUSTERD_DESCRIPTION
  "replicated registry of nodes with failure detection
 Node registry, failure detection, topology with a hash ring, watch, and a versioned
 store, over gRPC with mutual TLS. Its state is a log in etcd, a bucket or a directory.")

set(CPACK_DEBIAN_LIB_PACKAGE_NAME libmuster0)
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_SUGGESTS "libpq5")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_LIB_DESCRIPTION
  "leader election and leader-only work, the shared library
 For programs that lead, or that need to know the leader.")

# What libmuster.a needs is for those who link it.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmuster-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libmuster0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS
  "libprotobuf-dev, libnghttp2-dev, libssl-dev, pkg-config")
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "leader election and leader-only work for C++ programs
 Headers, a static library, checks for stores of your own, a CMake package and a
 pkg-config file.")
include(CPack)
