#include "rpc/status.h"

#include <gtest/gtest.h>

#include "server/rpc/router.h"
#include "server/rpc/testing_call.h"

namespace muster::rpc {
namespace status_test {

TEST(RpcStatusTest, ErrorsSurviveTheWayToAnotherServerAndBack) {
  for (const Errc code :
       {Errc::kNotFound, Errc::kConflict, Errc::kThrottled, Errc::kUnavailable, Errc::kDenied,
        Errc::kUnsupported, Errc::kInvalid, Errc::kCorrupt, Errc::kAmbiguous}) {
    const Error back = to_error(to_status({code, "why"}));
    EXPECT_EQ(back.code, code) << to_string(code);
    EXPECT_EQ(back.message, "why");
  }
  EXPECT_EQ(to_error({Code::kDeadlineExceeded, "", {}}).code, Errc::kAmbiguous)
      << "what was sent may have been done";
}

TEST(RouterTest, AMethodNobodyAnswersIsUnimplemented) {
  Router router;
  int answered = 0;
  router.add("/a.B/C", [&](const CallPtr& call) {
    ++answered;
    call->finish({});
  });
  auto known = std::make_shared<TestingCall>("/a.B/C");
  router.dispatch(known);
  EXPECT_EQ(answered, 1);
  auto unknown = std::make_shared<TestingCall>("/a.B/D");
  router.dispatch(unknown);
  EXPECT_EQ(unknown->finished->code, Code::kUnimplemented);
}

}  // namespace status_test
}  // namespace muster::rpc
