#include "server/rpc/health.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "grpc/health/v1/health.pb.h"
#include "server/rpc/testing_call.h"

namespace muster::rpc {
namespace health_test {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

std::shared_ptr<TestingCall> ask(Health& health, const std::string& method,
                                 const std::string& service) {
  auto call = std::make_shared<TestingCall>("/grpc.health.v1.Health/" + method);
  HealthCheckRequest request;
  request.set_service(service);
  call->requests.push_back(request.SerializeAsString());
  EXPECT_TRUE(health.answers(call));
  return call;
}

HealthCheckResponse::ServingStatus told(const TestingCall& call, std::size_t which) {
  HealthCheckResponse response;
  EXPECT_TRUE(response.ParseFromString(*call.written.at(which)));
  return response.status();
}

TEST(HealthTest, SaysWhetherTheServerAndItsServicesServe) {
  Health health({"a.Service"});
  EXPECT_EQ(told(*ask(health, "Check", ""), 0), HealthCheckResponse::NOT_SERVING);
  health.set_serving(true);
  EXPECT_EQ(told(*ask(health, "Check", ""), 0), HealthCheckResponse::SERVING);
  EXPECT_EQ(told(*ask(health, "Check", "a.Service"), 0), HealthCheckResponse::SERVING);
  EXPECT_EQ(ask(health, "Check", "b.Service")->finished->code, Code::kNotFound);
}

TEST(HealthTest, AWatcherHearsEachChangeOnceItHasTakenTheLast) {
  Health health({});
  const auto call = ask(health, "Watch", "");
  EXPECT_EQ(told(*call, 0), HealthCheckResponse::NOT_SERVING);
  health.set_serving(true);
  EXPECT_EQ(call->written.size(), 1U) << "one message at a time";
  call->take();
  EXPECT_EQ(told(*call, 1), HealthCheckResponse::SERVING);
  call->take();
  health.set_serving(true);
  EXPECT_EQ(call->written.size(), 2U) << "nothing has changed";
  call->end();
  health.set_serving(false);
  EXPECT_EQ(call->written.size(), 2U);
}

TEST(HealthTest, OtherCallsAreNotItsOwn) {
  Health health({});
  EXPECT_FALSE(health.answers(std::make_shared<TestingCall>("/other.Service/Check")));
}

}  // namespace health_test
}  // namespace muster::rpc
