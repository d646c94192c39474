// Servers whose disks, small ones in memory, run full under a managed engine or a directory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/cli/http_get.h"
#include "tests/server/managed_scene.h"

namespace muster::testing {
namespace disk_full_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DiskFullTest : public ManagedScene {
 protected:
  /// etcd reserves 64 MB for its journal and 64 for the next, and again after a crash.
  static constexpr const char* kSize = "size=320m";

  void TearDown() override {
    servers_.clear();
    for (const std::string& each : mounted_) {
      EXPECT_EQ(::umount2(each.c_str(), MNT_DETACH), 0) << std::strerror(errno);
    }
  }
  void mount_disk(std::size_t i) {
    fs::create_directories(data(i));
    ASSERT_EQ(::mount("none", data(i).c_str(), "tmpfs", 0, kSize), 0) << std::strerror(errno);
    mounted_.push_back(data(i));
  }
  [[nodiscard]] std::string ballast(std::size_t i) const { return data(i) + "/ballast"; }
  void fill(std::size_t i) {
    std::ofstream file(ballast(i), std::ios::binary);
    const std::string block(1 << 16, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
    file.close();
    // To the last byte.
    std::ofstream rest(ballast(i), std::ios::binary | std::ios::app);
    while (rest.put('x').flush()) {
    }
  }
  void free(std::size_t i) { ASSERT_TRUE(fs::remove(ballast(i))); }
  /// So many writes of 200 KB, which no disk holds that has no room; keys of the acknowledged.
  std::vector<std::string> pour(Musterd& server, const std::string& name, int count) {
    std::vector<std::string> acknowledged;
    for (int i = 0; i < count; ++i) {
      const std::string key = name + "/" + std::to_string(i);
      last_ = put(server, key, value_, 3s);
      if (last_.ok()) acknowledged.push_back(key);
    }
    return acknowledged;
  }
  /// The operator is told what to do.
  bool says_full(std::size_t i) {
    return eventually(
        [&] { return servers_[i]->log().find("is full; free some space") != std::string::npos; });
  }
  void expect_poured(const std::vector<std::string>& keys) {
    for (Musterd* each : all()) {
      for (const std::string& key : keys) {
        ASSERT_EQ(get(*each, key).value_or("").size(), value_.size()) << key << each->id();
      }
    }
  }

  const std::string value_ = std::string(200'000, 'v');
  grpc::Status last_;
  std::vector<std::string> mounted_;
};

// Takes about 6 s: a disk of 320 MB is filled, 20 MB are written through the two members that are
// left, and the third etcd starts anew.
TEST_F(DiskFullTest, UnderOneMemberTheOthersGoOnAndItComesBackWhenThereIsRoom) {
  mount_disk(0);
  found(3);
  ASSERT_TRUE(writes(*servers_[1], "before"));
  fill(0);
  // 20 MB: more than etcd has reserved of its database.
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) {
    // Anyone who led on the full disk must first be replaced.
    std::vector<std::string> one;
    ASSERT_TRUE(eventually(
        [&] {
          one = pour(*servers_[1], "k" + std::to_string(i), 1);
          return !one.empty();
        },
        40s))
        << last_.error_message();
    keys.push_back(one[0]);
  }
  EXPECT_TRUE(says_full(0));
  free(0);
  ASSERT_TRUE(writes(*servers_[0], "after", 60s)) << servers_[0]->log();
  expect_poured(keys);
}

// Takes about 27 s: three disks of 320 MB are filled, up to 10 writes in a row wait for their limit
// of 3 s, and the etcd of each server starts anew when there is room.
TEST_F(DiskFullTest, UnderAllWritesAreRefusedClearlyAndReturnWhenThereIsRoom) {
  for (std::size_t i = 0; i < 3; ++i) mount_disk(i);
  found(3);
  ASSERT_TRUE(writes(*servers_[1], "before"));
  for (std::size_t i = 0; i < 3; ++i) fill(i);
  std::vector<std::string> keys;
  ASSERT_TRUE(eventually(
      [&] {
        const auto some = pour(*servers_[1], "k" + std::to_string(keys.size()), 10);
        keys.insert(keys.end(), some.begin(), some.end());
        return !last_.ok();
      },
      60s));
  EXPECT_TRUE(last_.error_code() == grpc::StatusCode::UNAVAILABLE ||
              last_.error_code() == grpc::StatusCode::UNKNOWN ||
              last_.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      << last_.error_message();
  EXPECT_TRUE(says_full(0) || says_full(1) || says_full(2));
  for (std::size_t i = 0; i < 3; ++i) free(i);
  for (Musterd* each : all()) ASSERT_TRUE(writes(*each, "after " + each->id(), 90s));
  expect_poured(keys);
  EXPECT_EQ(get(*servers_[2], "before"), "v");
}

// Takes about 10 s: what cannot be written is tried again until the append is given up.
TEST_F(DiskFullTest, UnderADirectoryTheCallerTheLogAndTheHealthSayThatNoSpaceIsLeft) {
  const std::string engine = data(0);
  fs::create_directories(engine);
  ASSERT_EQ(::mount("none", engine.c_str(), "tmpfs", 0, "size=4m"), 0) << std::strerror(errno);
  mounted_.push_back(engine);
  const int port = free_port();
  Musterd server("s1", "file://" + engine, dir_.path(),
                 {"--http-listen", "127.0.0.1:" + std::to_string(port)});
  ASSERT_TRUE(writes(server, "before"));
  fill(0);
  const grpc::Status refused = put(server, "k", value_, 30s);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(), HasSubstr("no space left"));
  EXPECT_THAT(server.log(), HasSubstr("no space left"));
  const nlohmann::json door{{"address", "127.0.0.1"}, {"port", port}};
  const auto says = [&](const std::string& path, const std::string& text) {
    return eventually([&] { return muster::get(door, path).body.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(says("/api/overview", "no space left")) << muster::get(door, "/api/overview").body;
  const std::string remedy = "no space left on the disk; free some space there";
  EXPECT_TRUE(says("/readyz", remedy)) << muster::get(door, "/readyz").body;
  EXPECT_EQ(muster::get(door, "/readyz").body.find(engine), std::string::npos);
  EXPECT_THAT(health(server).reason(), HasSubstr(remedy));
  free(0);
  EXPECT_TRUE(writes(server, "after"));
}

}  // namespace disk_full_test
}  // namespace muster::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Mounts of this process and its children only, which go with them.
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    std::cerr << "SKIPPED, nothing was tested: no mounts of its own: " << std::strerror(errno)
              << "\n";
    return 77;
  }
  return RUN_ALL_TESTS();
}
