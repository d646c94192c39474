# The libraries that programs outside link: libmuster.so and libmuster.a, with include/muster and nothing else, and
# libmuster_testing.a for their tests.

# Programs have messages of their own, perhaps of the same .proto files, and protobuf's full runtime knows each
# file of a process once. So what the library sends is compiled for the lite runtime, which keeps no such table:
# messages, and the three folders that use them.
set(lite_dir ${PROJECT_BINARY_DIR}/proto_lite)
file(MAKE_DIRECTORY ${lite_dir})
set(lite_messages)
foreach(proto ${protos})
  if(proto MATCHES "^(muster|etcd)/")
    string(REGEX REPLACE "\\.proto$" "" stem ${lite_dir}/${proto})
    add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h
      COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=lite:${lite_dir} ${proto}
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${proto}
      COMMENT "Generating lite messages of ${proto}" VERBATIM)
    list(APPEND lite_messages ${stem}.pb.cc ${stem}.pb.h)
  endif()
endforeach()
add_library(muster_proto_lite OBJECT ${lite_messages})
target_include_directories(muster_proto_lite SYSTEM PUBLIC ${lite_dir})
target_link_libraries(muster_proto_lite PUBLIC protobuf::libprotobuf-lite)
set(lite_folders src/client src/store/etcd src/store/muster)
set(lite_sources)
foreach(folder ${lite_folders})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|_fuzz\\.cc$")
  list(APPEND lite_sources ${sources})
endforeach()
muster_batches(batches muster_lite ${lite_sources})
add_library(muster_lite OBJECT ${batches})
target_include_directories(muster_lite PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(muster_lite PRIVATE muster_options muster_proto_lite OpenSSL::SSL PkgConfig::nghttp2
  nlohmann_json::nlohmann_json)
muster_precompiled(muster_lite library)

# The modules as one archive. Of `store`, what the lite runtime replaces is left out; `client` is replaced whole.
# The reader of YAML is for the programs: left in, a linker may take it for one of its string functions (g++ 14).
set(library_modules api plugins candidate coordinator elector sim store rpc platform core base)
set(library_objects $<TARGET_OBJECTS:muster_lite> $<TARGET_OBJECTS:muster_proto_lite>)
foreach(module ${library_modules})
  list(APPEND library_objects
    "$<FILTER:$<TARGET_OBJECTS:muster_${module}>,EXCLUDE,/(src_store_|src/store/)(etcd|muster)[_/]|/settings_file[.]cc>")
endforeach()
set(library_needs protobuf::libprotobuf-lite OpenSSL::SSL OpenSSL::Crypto PkgConfig::nghttp2 Threads::Threads)
add_library(muster_static STATIC ${library_objects})
set_target_properties(muster_static PROPERTIES OUTPUT_NAME muster LINKER_LANGUAGE CXX EXPORT_NAME static)
target_link_libraries(muster_static PUBLIC ${library_needs})

# The shared library. Everything it holds is position-independent already.
add_library(muster_shared SHARED $<TARGET_OBJECTS:muster_api>)
set(muster_symbols ${PROJECT_SOURCE_DIR}/src/api/libmuster.map)
set_target_properties(muster_shared PROPERTIES OUTPUT_NAME muster VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${muster_symbols} LINKER_LANGUAGE CXX EXPORT_NAME muster)
target_link_libraries(muster_shared PRIVATE muster_static)
target_link_options(muster_shared PRIVATE -Wl,--version-script=${muster_symbols} -Wl,--no-undefined
  -Wl,--as-needed -Wl,-z,nodelete)

add_library(muster::muster ALIAS muster_shared)
add_library(muster::static ALIAS muster_static)

# The checks for stores of programs (muster/testing/store_conformance.h). It uses public headers only, so it is linked
# as a program is.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/testing/*.cc)
add_library(muster_testing STATIC ${sources})
set_target_properties(muster_testing PROPERTIES EXPORT_NAME testing)
target_include_directories(muster_testing PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(muster_testing PUBLIC muster_shared Threads::Threads PRIVATE $<BUILD_INTERFACE:muster_options>)
add_library(muster::testing ALIAS muster_testing)

foreach(library muster_static muster_shared)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_compile_features(${library} PUBLIC cxx_std_20)
endforeach()
