#include "server/security/credential_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/log.h"
#include "server/security/tls_test_authority.h"
#include "sim/world.h"

namespace muster::server {
namespace credential_watcher_test {

using ::testing::HasSubstr;

class CredentialWatcherTest : public ::testing::Test {
 protected:
  CredentialWatcherTest() {
    set_log_sink([this](const LogLine& line) { logged_.push_back(line.level); });
    watcher_.on_adopted([this](const security::Credentials& credentials, std::uint64_t) {
      adopted_.push_back(credentials.certificate);
    });
    watcher_.on_crl_changed([this] { ++crl_changes_; });
    dir_.write("ca.crt", ca_.pem());
    write(first_);
  }
  ~CredentialWatcherTest() override { set_log_sink({}); }

  void write(const TestPair& pair) const {
    dir_.write("s1.crt", pair.certificate);
    dir_.write("s1.key", pair.key);
  }
  /// And a moment more: simulated timers never ring early, but a little late.
  void run(Duration time) { world_.run(world_.now() + time + 1ms); }

  std::vector<LogLevel> logged_;
  sim::World world_{1};
  sim::Process process_{world_, 1.0, 1'800'000'000s};
  const TestAuthority ca_{process_.wall_now()};
  const TestPair first_ = ca_.issue("s1");
  const TestPair second_ = ca_.issue("s1");
  const TestDirectory dir_;
  CredentialWatcher watcher_{
      process_,
      {dir_.file("s1.crt"), dir_.file("s1.key"), dir_.file("ca.crt"), dir_.file("crl.pem")},
      {}};
  std::vector<std::string> adopted_;
  int crl_changes_ = 0;
};

TEST_F(CredentialWatcherTest, StartsWithWhatIsThere) {
  ASSERT_TRUE(watcher_.start().ok());
  EXPECT_EQ(watcher_.generation(), 1u);
  EXPECT_EQ(watcher_.current().certificate, first_.certificate);
  run(1h);
  EXPECT_EQ(watcher_.generation(), 1u);
  EXPECT_TRUE(adopted_.empty());
  EXPECT_TRUE(logged_.empty());
}

TEST_F(CredentialWatcherTest, DoesNotStartWithWhatCannotBeUsed) {
  dir_.write("s1.key", second_.key);
  const Status status = watcher_.start();
  EXPECT_TRUE(status.is(Errc::kInvalid));
  EXPECT_THAT(status.error().message, HasSubstr("is not the key of the certificate"));
  std::filesystem::remove(dir_.file("s1.key"));
  EXPECT_TRUE(watcher_.start().is(Errc::kNotFound));
  EXPECT_THAT(watcher_.trouble()->message, HasSubstr("s1.key"));
}

// P11: certificate, key and authorities are reloaded while it runs.
TEST_F(CredentialWatcherTest, ANewPairIsAdoptedWithinTenSeconds) {
  ASSERT_TRUE(watcher_.start().ok());
  write(second_);
  run(10s);
  EXPECT_THAT(adopted_, ::testing::ElementsAre(second_.certificate));
  EXPECT_EQ(watcher_.generation(), 2u);
  dir_.write("ca.crt", ca_.pem() + TestAuthority(process_.wall_now(), "Other").pem());
  run(10s);
  EXPECT_EQ(watcher_.generation(), 3u);
}

TEST_F(CredentialWatcherTest, AskedToReloadItLooksAtOnce) {
  ASSERT_TRUE(watcher_.start().ok());
  write(second_);
  watcher_.reload();
  EXPECT_EQ(watcher_.generation(), 2u);
}

TEST_F(CredentialWatcherTest, AHalfWrittenPairLeavesTheOldOneInForceAndIsTold) {
  ASSERT_TRUE(watcher_.start().ok());
  dir_.write("s1.crt", second_.certificate);
  run(30s);
  EXPECT_EQ(watcher_.generation(), 1u);
  EXPECT_EQ(watcher_.current().certificate, first_.certificate);
  EXPECT_EQ(watcher_.refusals(), 3u);
  // Told once for one trouble, and again for another.
  EXPECT_EQ(logged_, (std::vector{LogLevel::kWarn}));
  dir_.write("s1.key", second_.key.substr(0, 40));
  run(20s);
  EXPECT_EQ(logged_, (std::vector{LogLevel::kWarn, LogLevel::kWarn}));
  dir_.write("s1.key", second_.key);
  run(10s);
  EXPECT_EQ(watcher_.generation(), 2u);
  EXPECT_FALSE(watcher_.trouble().has_value());
}

TEST_F(CredentialWatcherTest, WhatItsUserDoesNotWantIsNeverInForce) {
  CredentialWatcher picky{process_,
                          {dir_.file("s1.crt"), dir_.file("s1.key"), dir_.file("ca.crt"), {}},
                          {.check = [this](const security::Credentials& found) -> Status {
                            if (found.certificate == first_.certificate) return Done{};
                            return {Errc::kInvalid, "of another server"};
                          }}};
  ASSERT_TRUE(picky.start().ok());
  write(second_);
  picky.reload();
  EXPECT_EQ(picky.current().certificate, first_.certificate);
  EXPECT_EQ(picky.generation(), 1u);
  EXPECT_THAT(picky.trouble()->message, HasSubstr("of another server"));
}

TEST_F(CredentialWatcherTest, NoAuthorityAndACertificateThatIsOverAreRefused) {
  ASSERT_TRUE(watcher_.start().ok());
  dir_.write("ca.crt", "");
  run(10s);
  EXPECT_THAT(watcher_.trouble()->message, HasSubstr("CA file"));
  dir_.write("ca.crt", ca_.pem());
  write(ca_.issue("s1", {}, 15s));
  run(10s);
  EXPECT_THAT(watcher_.trouble()->message, HasSubstr("has expired"));
  EXPECT_EQ(watcher_.generation(), 1u);
}

TEST_F(CredentialWatcherTest, AListOfRevokedCertificatesIsWatchedToo) {
  ASSERT_TRUE(watcher_.start().ok());
  run(10s);
  EXPECT_EQ(crl_changes_, 0);
  dir_.write("crl.pem", ca_.list({"ab"}));
  run(10s);
  EXPECT_EQ(crl_changes_, 1);
  run(1min);
  EXPECT_EQ(crl_changes_, 1);
  std::filesystem::remove(dir_.file("crl.pem"));
  run(10s);
  EXPECT_EQ(crl_changes_, 1);
}

}  // namespace credential_watcher_test
}  // namespace muster::server
