# Everything from Debian, found by name.
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
# Its headers alone: the library is loaded when a postgres:// address is opened.
pkg_check_modules(libpq REQUIRED libpq)
# What only the programs use.
if(PROJECT_IS_TOP_LEVEL)
  find_package(CLI11 REQUIRED)
endif()
if(MUSTER_TESTS)
  find_package(GTest REQUIRED)
  find_package(gRPC CONFIG REQUIRED)
  # What gRPC's targets hand on from RE2's on Debian 13: tests with and without gRPC share precompiled headers.
  if("-DNOMINMAX" IN_LIST RE2_CFLAGS_OTHER)
    target_compile_options(muster_test_options INTERFACE -DNOMINMAX)
  endif()
endif()
