# find_package(muster): muster::coordinator, muster::candidate, muster::client, muster::plugins, and
# muster::sim for tests.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(CURL)
find_dependency(OpenSSL)
find_dependency(Protobuf)
find_dependency(PkgConfig)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
find_dependency(nlohmann_json)
find_dependency(yaml-cpp)
find_dependency(prometheus-cpp CONFIG)
include(${CMAKE_CURRENT_LIST_DIR}/targets.cmake)
