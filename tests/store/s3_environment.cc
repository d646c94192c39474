// The environment of the programs that talk to radosgw: its credentials, and nobody else's.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/radosgw.h"

namespace muster {
namespace {

class Credentials : public ::testing::Environment {
 public:
  void SetUp() override {
    ::setenv("AWS_ACCESS_KEY_ID", RadosGateway::kAccessKey, 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", RadosGateway::kSecretKey, 1);
    for (const char* name : {"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_ENDPOINT_URL",
                             "AWS_ENDPOINT_URL_S3", "HTTP_PROXY", "http_proxy"})
      ::unsetenv(name);
  }
};

[[maybe_unused]] const auto* const kCredentials =
    ::testing::AddGlobalTestEnvironment(new Credentials);

}  // namespace
}  // namespace muster
