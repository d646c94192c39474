#include "platform/http/dialer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <future>
#include <iterator>

#include "platform/testing/full_host.h"
#include "platform/testing/raw_server.h"

namespace muster::http {
namespace dialer_test {

using ::muster::testing::FullHost;
using ::muster::testing::RawPeer;
using ::muster::testing::RawServer;

void hang_up(RawPeer&, std::size_t) {}

SocketAddress address_of(int port) {
  SocketAddress address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.bytes);
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  four.sin_port = htons(static_cast<in_port_t>(port));
  address.size = sizeof four;
  return address;
}

class DialerTest : public ::testing::Test {
 protected:
  /// The port that was connected to; 0 when none could be.
  int dial(const std::vector<SocketAddress>& addresses) {
    std::promise<int> port;
    thread_.run([&] {
      dialer_ = std::make_unique<Dialer>(thread_.loop());
      dialer_->dial(addresses, [&](Result<UniqueFd> fd) {
        sockaddr_in to{};
        socklen_t size = sizeof to;
        if (fd) ::getpeername(fd->get(), reinterpret_cast<sockaddr*>(&to), &size);
        if (!fd) why_ = fd.error().message;
        dialer_.reset();
        port.set_value(ntohs(to.sin_port));
      });
    });
    return port.get_future().get();
  }
  LoopThread thread_;
  std::unique_ptr<Dialer> dialer_;
  std::string why_;
};

TEST_F(DialerTest, ASilentAddressIsNotWaitedForAndARefusingOneNotAtAll) {
  const FullHost silent;
  int refusing = 0;
  {
    RawServer gone(hang_up);
    refusing = gone.port();
  }
  RawServer server(hang_up);
  const MonoTime start = thread_.loop().now();
  EXPECT_EQ(dial({address_of(refusing), address_of(server.port())}), server.port());
  const MonoTime refused = thread_.loop().now();
  EXPECT_LT(refused - start, 200ms) << "not after the head start of others";
  EXPECT_EQ(dial({silent.address(), address_of(server.port())}), server.port());
  EXPECT_GE(thread_.loop().now() - refused, 250ms);
  EXPECT_LT(thread_.loop().now() - refused, 10s);
}

TEST_F(DialerTest, WhenAllRefuseTheReasonIsTold) {
  int refusing = 0;
  {
    RawServer gone(hang_up);
    refusing = gone.port();
  }
  EXPECT_EQ(dial({address_of(refusing), address_of(refusing)}), 0);
  EXPECT_EQ(why_, "Connection refused");
  EXPECT_EQ(dial({}), 0);
}

TEST(NamesTest, ANameIsLookedUpByOneThreadHoweverManyAsk) {
  LoopThread thread;
  std::unique_ptr<Names> names;
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  std::promise<void> answered;
  int answers = 0;
  thread.run([&] {
    names = std::make_unique<Names>(thread.loop());
    const auto before = threads();
    for (int i = 0; i < 500; ++i) {
      names->resolve("localhost", 80, [&](const auto& found) {
        EXPECT_TRUE(found.ok());
        if (++answers == 500) answered.set_value();
      });
    }
    EXPECT_LE(threads(), before + 1);
  });
  answered.get_future().wait();
  thread.run([&] { names.reset(); });
}

}  // namespace dialer_test
}  // namespace muster::http
