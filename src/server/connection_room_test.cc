#include "server/connection_room.h"

#include <gtest/gtest.h>

namespace muster::server {
namespace connection_room_test {

TEST(ConnectionRoomTest, WhereTheSystemAllowsItAllIsAsConfigured) {
  const ConnectionRoom room = divide_descriptors({}, 65'536);
  EXPECT_EQ(room.clients.all_max, 20'000u);
  EXPECT_EQ(room.clients.each_max, 1'000u);
  EXPECT_EQ(room.anteroom.all_max, 512u);
  EXPECT_EQ(room.anteroom.waiting_max, 4'096u);
  EXPECT_EQ(room.descriptors_max, 20'000 + 4'608 + 256 + 512);
}

// R48
TEST(ConnectionRoomTest, NoClientHasMoreThanAQuarter) {
  ServerConfig config;
  config.connections = 100;
  EXPECT_EQ(divide_descriptors(config, 65'536).clients.each_max, 25u);
  config.client_connections = 5;
  EXPECT_EQ(divide_descriptors(config, 65'536).clients.each_max, 5u);
}

// R48
TEST(ConnectionRoomTest, FewDescriptorsLeaveRoomForHandshakesAndOperators) {
  for (const int allowed : {256, 1'024, 4'096, 16'384}) {
    const ConnectionRoom room = divide_descriptors({}, allowed);
    EXPECT_LT(room.descriptors_max, allowed);
    EXPECT_GT(room.clients.all_max, 0u);
    EXPECT_GT(room.anteroom.all_max, 0u);
    EXPECT_LT(room.clients.all_max + room.anteroom.all_max + room.anteroom.waiting_max,
              static_cast<std::size_t>(room.descriptors_max));
  }
}

TEST(ConnectionRoomTest, WithoutLimitsOnlyTheSystemSetsOne) {
  ServerConfig config;
  config.limited = false;
  const ConnectionRoom room = divide_descriptors(config, 65'536);
  EXPECT_GT(room.clients.each_max, 65'536u);
  EXPECT_GT(room.clients.all_max, 65'536u);
  EXPECT_EQ(room.descriptors_max, 65'024);
}

}  // namespace connection_room_test
}  // namespace muster::server
