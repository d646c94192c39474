# Go's and Java's gRPC, from Debian's packages. What is missing of a language ends the configuration;
# tools/dev/packages.txt has the packages.

# golang-google-grpc-dev. protoc-gen-go of the old kind is the one that Debian 12 and 13 both have.
find_program(MUSTER_GO go REQUIRED)
find_program(MUSTER_GO_PLUGIN protoc-gen-go REQUIRED)

# libgrpc-java.
find_program(MUSTER_JAVAC javac REQUIRED)
find_program(MUSTER_JAVA_PLUGIN grpc_java_plugin REQUIRED)
set(MUSTER_JARS)
foreach(name grpc-api grpc-context grpc-core grpc-netty grpc-protobuf grpc-protobuf-lite grpc-stub guava
    netty-buffer netty-codec netty-codec-http netty-codec-http2 netty-common netty-handler netty-handler-proxy
    netty-resolver netty-transport netty-transport-native-epoll netty-transport-native-unix-common
    netty-tcnative perfmark-api perfmark-impl protobuf geronimo-annotation-1.3-spec)
  if(NOT EXISTS /usr/share/java/${name}.jar)
    message(FATAL_ERROR "/usr/share/java/${name}.jar is missing, which Java's gRPC needs: run ./dev setup")
  endif()
  list(APPEND MUSTER_JARS /usr/share/java/${name}.jar)
endforeach()
list(JOIN MUSTER_JARS ":" MUSTER_JARS)
