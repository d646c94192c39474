// What a store makes of this host's wall clock, which people step forward and back.
#include <gtest/gtest.h>

#include <future>

#include "base/log.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "platform/testing/scripted_http_server.h"
#include "store/s3/s3_store.h"
#include "store/s3/timestamps.h"

namespace muster {
namespace s3_clock_test {

using Server = ScriptedHttpServer;

const std::string kDate = "Fri, 24 May 2013 00:00:00 GMT";

/// A clock that shows the time of day that it is told. Loop thread only.
class SteppedClock final : public Clock {
 public:
  [[nodiscard]] MonoTime now() const override { return boot_now(); }
  [[nodiscard]] WallTime wall_now() const override { return *s3::parse_http_date(kDate) + ahead; }

  std::chrono::milliseconds ahead{0};
};

// R46: an offset that was added to the last one, instead of set, was right only once.
TEST(S3ClockTest, AHostWhoseClockIsSteppedForwardAndBackRecoversEachTime) {
  set_log_sink({});
  // As a store does whose clock shows kDate: it takes what was signed at that time.
  Server server([](const Server::Request& request) -> Server::Reply {
    if (request.header("x-amz-date").starts_with("20130524T0000")) {
      return {200, "body", {{"ETag", "\"e\""}}};
    }
    return {403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", {{"Date", kDate}}};
  });
  LoopThread thread;
  SteppedClock clock;
  std::unique_ptr<S3Store> store;
  thread.run([&] {
    const auto url = Url::parse("s3://bucket?endpoint=" + server.url());
    const s3::Environment environment = [](const char* name) -> std::string {
      const std::string_view variable(name);
      const bool key = variable == "AWS_ACCESS_KEY_ID" || variable == "AWS_SECRET_ACCESS_KEY";
      return key ? "key" : "";
    };
    auto opened = S3Store::open(*url, thread.loop(), environment, {}, &clock);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store = std::move(*opened);
  });
  ASSERT_NE(store, nullptr);
  std::uint64_t settings = 0;
  for (const auto ahead : {0h, 1h, 0h, -2h, 0h, 3h}) {
    std::promise<Result<Object>> answered;
    thread.loop().post([&] {
      clock.ahead = ahead;
      store->get("k", {}, clock.now() + 10s,
                 [&](Result<Object> object) { answered.set_value(std::move(object)); });
    });
    const Result<Object> got = answered.get_future().get();
    EXPECT_TRUE(got.ok()) << ahead.count() << " h: " << got.error().message;
    thread.run([&] { EXPECT_EQ(store->stats().clock_settings, settings++) << ahead.count(); });
  }
  thread.run([&] { store.reset(); });
}

}  // namespace s3_clock_test
}  // namespace muster
