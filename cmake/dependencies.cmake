# Everything from Debian, found by name.
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
# Its flags matter: the shape of its types depends on them.
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
if(MUSTER_TESTS)
  find_package(GTest REQUIRED)
  # What gRPC's targets hand on from RE2's on Debian 13: tests with and without gRPC share precompiled headers.
  if("-DNOMINMAX" IN_LIST RE2_CFLAGS_OTHER)
    target_compile_options(muster_test_options INTERFACE -DNOMINMAX)
  endif()
endif()
