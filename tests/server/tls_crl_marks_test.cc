#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace tls_crl_marks_test {

using ::testing::HasSubstr;

/// "261231235959Z", as openssl's index and options have it.
std::string stamp(WallTime time) {
  const std::time_t seconds = to_ms(time) / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%y%m%d%H%M%SZ", &parts)};
}

/// An authority whose lists `openssl ca` makes.
class TlsCrlMarksTest : public TlsScene {
 protected:
  TlsCrlMarksTest() { write_file("ca.crt", ca_.pem() + other_.pem()); }

  /// A list of `ca`, made `age` ago, that names `serials`.
  [[nodiscard]] std::string list(const server::TestAuthority& ca, Duration age,
                                 const std::vector<std::string>& serials) const {
    const WallTime made = now_ + 1h - std::chrono::floor<std::chrono::seconds>(age);
    write_file("issuer.crt", ca.pem());
    write_file("issuer.key", ca.key_pem());
    std::ostringstream index;
    for (std::string serial : serials) {
      if (serial.size() % 2 == 1) serial.insert(0, "0");
      for (char& digit : serial) digit = static_cast<char>(std::toupper(digit));
      index << "R\t" << stamp(now_ + 24h) << '\t' << stamp(made) << '\t' << serial
            << "\tunknown\t/CN=x\n";
    }
    write_file("index.txt", index.str());
    write_file("openssl.cnf", "[ca]\ndefault_ca=own\n[own]\ndatabase=" + file("index.txt") +
                                  "\ndefault_md=sha256\n");
    EXPECT_EQ(
        run_program({"openssl", "ca", "-gencrl", "-config", file("openssl.cnf"), "-cert",
                     file("issuer.crt"), "-keyfile", file("issuer.key"), "-crl_lastupdate",
                     stamp(made), "-crl_nextupdate", stamp(now_ + 24h), "-out", file("made.pem")}),
        0);
    std::ostringstream bytes;
    bytes << std::ifstream(file("made.pem")).rdbuf();
    return bytes.str();
  }
  /// Puts it into the file that the server reads, and waits until the server has looked at it.
  void publish(Musterd& server, const std::string& bytes, const std::string& sign) {
    const std::size_t before = server.log().size();
    write_file("crl", bytes);
    server.reload();
    EXPECT_TRUE(eventually([&] { return server.log().find(sign, before) != std::string::npos; }))
        << sign;
  }

  const server::TestAuthority other_{now_, "Other CA"};
};

// A revoked admin, an old list that does not name it yet, and a list of someone else in between.
TEST_F(TlsCrlMarksTest, ADetourOverAnotherIssuersListAndARestartBringNobodyBack) {
  const Pair gone = client("admin", "gone");
  const std::string old = list(ca_, 30min, {});
  const std::string newest = list(ca_, 10min, {gone.serial});
  const std::string others = list(other_, 20min, {});
  write_file("crl", newest);
  const auto server = start("s1", {"--crl-file", file("crl")});
  ASSERT_TRUE(lets_in(*server, admin_));
  ASSERT_FALSE(lets_in(*server, gone));

  write_file("crl", others);
  server->reload();
  ASSERT_TRUE(eventually([&] { return !lets_in(*server, admin_); })) << "its issuer has no list";
  publish(*server, old, "is older than one accepted before");
  EXPECT_FALSE(lets_in(*server, gone));

  server->kill();
  server->start_soon();
  EXPECT_TRUE(eventually([&] {
    const std::string log = server->log();
    return log.find("every certificate is refused") != std::string::npos;
  }));
  EXPECT_FALSE(lets_in(*server, gone));
  EXPECT_FALSE(lets_in(*server, admin_)) << "no list is in force";

  write_file("crl", newest + others);
  server->reload();
  EXPECT_TRUE(eventually([&] { return lets_in(*server, admin_); }));
  EXPECT_FALSE(lets_in(*server, gone));
}

TEST_F(TlsCrlMarksTest, ADamagedMemoryOfListsEndsTheStartWithItsName) {
  std::filesystem::create_directories(file("data-s1"));
  write_file("data-s1/crl-marks.json", "[{");
  const auto server = start("s1", {"--crl-file", file("crl")}, false);
  EXPECT_EQ(server->wait(), 70);
  EXPECT_THAT(server->log(), HasSubstr("crl-marks.json is damaged"));
}

}  // namespace tls_crl_marks_test
}  // namespace muster::testing
