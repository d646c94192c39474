#include "platform/listener.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/testing/loopback.h"

namespace muster {
namespace listener_test {

using testing::dial_loopback;

class ListenerTest : public ::testing::Test {
 protected:
  std::uint16_t start(ListenerOptions options) {
    listener_.emplace(loop_, std::move(options),
                      [this](UniqueFd fd) { accepted_.push_back(std::move(fd)); });
    const auto port = listener_->start();
    EXPECT_TRUE(port);
    return port ? *port : 0;
  }
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop_.now() + 30s;
    while (!holds() && loop_.now() < end) loop_.run_until(loop_.now() + 2ms);
    return holds();
  }
  /// The other side has closed it.
  static bool closed(const UniqueFd& fd) {
    pollfd look{fd.get(), POLLIN, 0};
    char byte = 0;
    return ::poll(&look, 1, 0) == 1 && ::recv(fd.get(), &byte, 1, 0) <= 0;
  }

  EventLoop loop_;
  std::vector<UniqueFd> accepted_;
  std::optional<Listener> listener_;
};

TEST_F(ListenerTest, HandsOverWhatConnects) {
  const auto port = start({});
  const UniqueFd first = dial_loopback(port), second = dial_loopback(port);
  EXPECT_TRUE(until([this] { return accepted_.size() == 2; }));
}

TEST_F(ListenerTest, ANameMayStandForSeveralAddressesWithOnePort) {
  const auto port = start({.host = "localhost"});
  const UniqueFd fd = dial_loopback(port);
  EXPECT_TRUE(until([this] { return accepted_.size() == 1; }));
  listener_.reset();
  EXPECT_NE(start({.host = ""}), 0) << "every interface, of both protocols";
}

TEST_F(ListenerTest, EveryInterfaceIsReachedOverBothProtocols) {
  for (const char* host : {"", "0.0.0.0", "::"}) {
    accepted_.clear();
    const auto port = start({.host = host});
    const UniqueFd four = dial_loopback(port), six = testing::dial_loopback6(port);
    EXPECT_TRUE(until([this] { return accepted_.size() == 2; })) << host;
  }
}

TEST_F(ListenerTest, APortThatIsTakenAndANameThatIsNoneAreToldApart) {
  const auto port = start({});
  Listener second(loop_, {.port = port}, [](UniqueFd) {});
  const auto taken = second.start();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::kUnavailable);
  EXPECT_NE(taken.error().message.find("in use"), std::string::npos);
  Listener nowhere(loop_, {.host = "no such name"}, [](UniqueFd) {});
  const auto unknown = nowhere.start();
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::kUnavailable) << "a name may be known later";
  EXPECT_EQ(unknown.error().message.find("in use"), std::string::npos);
}

TEST_F(ListenerTest, OthersWaitWhileThereIsNoRoom) {
  bool room = false;
  const auto port = start({.room = [&] { return room; }});
  const UniqueFd fd = dial_loopback(port);
  loop_.run_until(loop_.now() + 10ms);
  EXPECT_TRUE(accepted_.empty());
  EXPECT_FALSE(closed(fd));
  room = true;
  EXPECT_TRUE(until([this] { return accepted_.size() == 1; }));
}

TEST_F(ListenerTest, AboveTheLimitTheyAreClosedAtOnceAndBelowItTakenAgain) {
  int refused = 0;
  const auto port = start({.refused = [&](int) { ++refused; }});
  std::vector<UniqueFd> clients;
  clients.push_back(dial_loopback(port));
  ASSERT_TRUE(until([this] { return accepted_.size() == 1; }));
  // The next descriptor is that of the next client, so what comes of it lies above.
  listener_->set_descriptors_max(accepted_.back().get() + 1);
  clients.push_back(dial_loopback(port));
  ASSERT_TRUE(until([&] { return refused == 1; }));
  EXPECT_TRUE(until([&] { return closed(clients.back()); }));
  EXPECT_EQ(accepted_.size(), 1u);
  listener_->set_descriptors_max(1'000'000);
  clients.push_back(dial_loopback(port));
  EXPECT_TRUE(until([this] { return accepted_.size() == 2; }));
}

}  // namespace listener_test
}  // namespace muster
