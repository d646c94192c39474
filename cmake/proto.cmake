# One library of every message and service under proto/, generated at build time. Its code is not
# ours, so our warnings do not apply to it, and who includes it sees system headers.
file(GLOB_RECURSE protos CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/proto
  ${CMAKE_SOURCE_DIR}/proto/*.proto)
set(generated_dir ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${generated_dir})
set(generated)
foreach(proto ${protos})
  string(REGEX REPLACE "\\.proto$" "" stem ${proto})
  set(outputs ${generated_dir}/${stem}.pb.cc ${generated_dir}/${stem}.pb.h)
  set(arguments --proto_path=${CMAKE_SOURCE_DIR}/proto --cpp_out=${generated_dir})
  file(STRINGS ${CMAKE_SOURCE_DIR}/proto/${proto} services REGEX "^service ")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/proto/${proto})
  if(services)
    list(APPEND outputs ${generated_dir}/${stem}.grpc.pb.cc ${generated_dir}/${stem}.grpc.pb.h)
    list(APPEND arguments --grpc_out=${generated_dir}
      --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
  endif()
  add_custom_command(OUTPUT ${outputs}
    COMMAND protobuf::protoc ${arguments} ${proto}
    DEPENDS ${CMAKE_SOURCE_DIR}/proto/${proto}
    COMMENT "Generating ${stem}.pb" VERBATIM)
  list(APPEND generated ${outputs})
endforeach()
add_library(muster_proto STATIC ${generated})
target_include_directories(muster_proto SYSTEM PUBLIC $<BUILD_INTERFACE:${generated_dir}>)
target_link_libraries(muster_proto PUBLIC gRPC::grpc++ protobuf::libprotobuf)
