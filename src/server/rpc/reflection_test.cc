#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "muster/v1/admin.pb.h"
#include "server/rpc/testing_call.h"

namespace muster::rpc {
namespace reflection_test {

using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

ServerReflectionResponse ask(const ServerReflectionRequest& request) {
  const auto call = std::make_shared<TestingCall>(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  call->requests.push_back(request.SerializeAsString());
  EXPECT_TRUE(answer_reflection(call, {"muster.v1.AdminService"}));
  ServerReflectionResponse response;
  EXPECT_TRUE(response.ParseFromString(*call->written.at(0)));
  call->take();
  EXPECT_TRUE(call->finished && call->finished->ok()) << "the client has asked all it wanted";
  return response;
}

TEST(ReflectionTest, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_list_services("*");
  const auto response = ask(request);
  ASSERT_EQ(response.list_services_response().service_size(), 1);
  EXPECT_EQ(response.list_services_response().service(0).name(), "muster.v1.AdminService");
}

TEST(ReflectionTest, DescribesASymbolWithEverythingThatItsFileImports) {
  // Links the file into this program.
  ASSERT_EQ(v1::MoveRequest::descriptor()->file()->name(), "muster/v1/admin.proto");
  ServerReflectionRequest request;
  request.set_file_containing_symbol("muster.v1.AdminService");
  std::vector<std::string> names;
  const auto response = ask(request);
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"muster/v1/admin.proto", "muster/v1/coordinator.proto"}));
}

TEST(ReflectionTest, SaysWhatItDoesNotKnow) {
  ServerReflectionRequest request;
  request.set_file_by_filename("no/such.proto");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.set_all_extension_numbers_of_type("no.Such");
  EXPECT_EQ(ask(request).error_response().error_code(), 5);
  request.clear_message_request();
  EXPECT_EQ(ask(request).error_response().error_code(), 3);
}

TEST(ReflectionTest, OtherCallsAreNotItsOwn) {
  EXPECT_FALSE(answer_reflection(std::make_shared<TestingCall>("/other.Service/Info"), {}));
}

}  // namespace reflection_test
}  // namespace muster::rpc
