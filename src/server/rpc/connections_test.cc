#include "server/rpc/connections.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <vector>

#include "platform/unique_fd.h"
#include "sim/world.h"

namespace muster::rpc {
namespace connections_test {

/// One connection over loopback, and a clock that stands still unless it is told.
class ConnectionsTest : public ::testing::Test {
 protected:
  ConnectionsTest() {
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    client_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&name);
    socklen_t size = sizeof name;
    EXPECT_EQ(::bind(listener_.get(), address, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), address, &size), 0);
    EXPECT_EQ(::connect(client_.get(), address, size), 0);
    EXPECT_EQ(::getsockname(client_.get(), address, &size), 0);
    peer_ = "ipv4:127.0.0.1:" + std::to_string(ntohs(name.sin_port));
    server_ = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    connections_.accepted(server_.get());
  }
  [[nodiscard]] bool held() const {
    int on = 0;
    socklen_t size = sizeof on;
    EXPECT_EQ(::getsockopt(server_.get(), IPPROTO_TCP, TCP_CORK, &on, &size), 0);
    return on != 0;
  }
  void write() { connections_.writes(connections_.find(peer_)); }
  void fall_asleep() {
    for (const auto& task : std::exchange(before_sleep_, {})) task();
  }

  sim::World world_{1};
  sim::Process loop_{world_, 1.0, 0s};
  UniqueFd listener_, client_, server_;
  std::string peer_;
  std::vector<std::function<void()>> before_sleep_;
  Connections connections_{loop_,
                           [this](std::function<void()> task) { before_sleep_.push_back(task); }};
};

TEST_F(ConnectionsTest, AreFoundByTheNameThatGrpcGivesThem) {
  EXPECT_EQ(connections_.find(peer_), server_.get());
  EXPECT_EQ(connections_.find("ipv4:127.0.0.1:1"), Connections::kNone);
  connections_.writes(Connections::kNone);
}

TEST_F(ConnectionsTest, ThoseThatHaveEndedAreNotCounted) {
  EXPECT_EQ(connections_.open(), 1U);
  server_.reset();
  EXPECT_EQ(connections_.open(), 0U);
}

TEST_F(ConnectionsTest, ASingleMessageLeavesAtOnceAndThoseThatFollowCloselyLeaveTogether) {
  write();
  EXPECT_FALSE(held());
  world_.run(world_.now() + 1ms);
  write();
  EXPECT_FALSE(held()) << "the one before is long gone";
  write();
  EXPECT_TRUE(held());
  write();
  ASSERT_EQ(before_sleep_.size(), 1U);
  fall_asleep();
  EXPECT_FALSE(held());
}

TEST_F(ConnectionsTest, ANumberThatIsUsedAgainIsAnotherConnection) {
  const std::string old = peer_;
  const int fd = server_.get();
  const UniqueFd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::dup2(other.get(), fd), fd);
  connections_.accepted(fd);
  EXPECT_EQ(connections_.find(old), Connections::kNone);
}

}  // namespace connections_test
}  // namespace muster::rpc
