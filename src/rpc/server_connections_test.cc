// How many connections clients may have open.
#include <gmock/gmock.h>

#include "rpc/server_test_scene.h"

namespace muster::rpc {
namespace server_test {

using ::testing::HasSubstr;

class ConnectionsTest : public ServerTest {
 protected:
  void start_with(ConnectionBudget::Options limits) {
    ServerOptions options{.connections = limits};
    options.cut = [this](Breach breach, const std::string& remote, std::string_view,
                         const std::string& why) {
      EXPECT_EQ(breach, Breach::kConnections);
      named.push_back(remote + ": " + why);
    };
    start(std::move(options));
  }
  /// Everything that the server says to one more client, until it hangs up.
  std::string said_to_one_more() {
    BareClient client(port, loop.now());
    EXPECT_TRUE(client.write());
    std::string all;
    bool ended = false;
    EXPECT_TRUE(until([&] {
      const auto in = client.read();
      ended = !in;
      all += in.value_or("");
      return ended;
    }));
    return all;
  }

  std::vector<std::string> named;
};

// R48
TEST_F(ConnectionsTest, AClientWithItsShareIsToldSoAndNamed) {
  start_with({.each_max = 2});
  EXPECT_EQ(ask("a").messages.size(), 1u);
  const auto first = std::exchange(channel, connect());
  EXPECT_EQ(ask("b").messages.size(), 1u);
  const std::string why = "this client has as many connections open as one client may";
  EXPECT_THAT(said_to_one_more(), HasSubstr(why));
  EXPECT_THAT(named, ::testing::ElementsAre("127.0.0.1: " + why));
  EXPECT_EQ(ask("c").messages.size(), 1u) << "those that are open go on";
  channel.reset();
  EXPECT_TRUE(until([&] { return server->connections() == 1; }));
  channel = connect();
  EXPECT_EQ(ask("d").messages.size(), 1u);
}

// R48
TEST_F(ConnectionsTest, WhenAllClientsHaveTheTotalOneMoreIsToldSo) {
  start_with({.all_max = 1});
  EXPECT_EQ(ask("a").messages.size(), 1u);
  EXPECT_THAT(said_to_one_more(),
              HasSubstr("the clients have as many connections open as the server accepts"));
  server->limit_connections({.all_max = 2}, 0);
  channel = connect();
  EXPECT_EQ(ask("b").messages.size(), 1u);
}

TEST(NetworkTest, AHostOfIPv6CountsByItsFirst64Bits) {
  EXPECT_EQ(network_of("10.0.0.7"), "10.0.0.7");
  EXPECT_EQ(network_of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("2001:db8:1:2::9"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of(""), "");
}

}  // namespace server_test
}  // namespace muster::rpc
