# One library of every message under proto/, generated at build time, and one of the services' stubs,
# which only tests and benchmarks use. Their code is not ours, so our warnings do not apply to it, and who
# includes it sees system headers.
file(GLOB_RECURSE protos CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/proto
  ${PROJECT_SOURCE_DIR}/proto/*.proto)
set(generated_dir ${PROJECT_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${generated_dir})
set(messages)
set(stubs)
foreach(proto ${protos})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/proto/${proto})
  string(REGEX REPLACE "\\.proto$" "" stem ${generated_dir}/${proto})
  set(protoc protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/proto)
  add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h
    COMMAND ${protoc} --cpp_out=${generated_dir} ${proto}
    DEPENDS ${PROJECT_SOURCE_DIR}/proto/${proto}
    COMMENT "Generating messages of ${proto}" VERBATIM)
  list(APPEND messages ${stem}.pb.cc ${stem}.pb.h)
  file(STRINGS ${PROJECT_SOURCE_DIR}/proto/${proto} services REGEX "^service ")
  if(MUSTER_TESTS AND services AND proto MATCHES "^muster/")
    add_custom_command(OUTPUT ${stem}.grpc.pb.cc ${stem}.grpc.pb.h
      COMMAND ${protoc} --grpc_out=${generated_dir}
        --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${proto}
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${proto}
      COMMENT "Generating stubs of ${proto}" VERBATIM)
    list(APPEND stubs ${stem}.grpc.pb.cc ${stem}.grpc.pb.h)
  endif()
endforeach()
add_library(muster_proto STATIC ${messages})
target_include_directories(muster_proto SYSTEM PUBLIC $<BUILD_INTERFACE:${generated_dir}>)
target_link_libraries(muster_proto PUBLIC protobuf::libprotobuf)
if(MUSTER_TESTS)
  add_library(muster_stubs STATIC ${stubs})
  target_link_libraries(muster_stubs PUBLIC muster_proto gRPC::grpc++)
  target_precompile_headers(muster_stubs PRIVATE <grpcpp/grpcpp.h>)
  set_target_properties(muster_stubs PROPERTIES MUSTER_WRITES_HEADERS ON)
endif()
