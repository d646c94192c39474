# Everything from Debian, found by name.
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(nlohmann_json REQUIRED)
if(MUSTER_TESTS)
  find_package(GTest REQUIRED)
endif()
