#include "cli/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "platform/pki/crl.h"
#include "platform/whole_file.h"

namespace muster::cli {
namespace authority_test {

using security::Role;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kNoon = wall_from_ms(1'800'000'000'000);

class AuthorityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-ca-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    dir_ = pattern + "/pki";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Authority make() { return Authority::create(dir_, 3650, kNoon).value(); }
  static IssueOrder node(const std::string& id) { return {Role::kNode, id, {"h1"}, {}}; }
  [[nodiscard]] std::string content(const std::string& name) const {
    return files::read_whole(dir_ + "/" + name).value();
  }
  [[nodiscard]] pki::Certificate certificate(const std::string& id) const {
    return pki::Certificate::from_pem(content(id + ".crt")).value();
  }
  [[nodiscard]] pki::RevocationList list() const {
    const auto ca = pki::Certificate::all_from_pem(content("ca.crt")).value();
    return pki::read_revocation_lists(content("crl.pem"), ca)->at(0);
  }
  static std::string problem(const IssueOrder& order, Authority& authority) {
    const auto issued = authority.issue(order, kNoon);
    EXPECT_TRUE(issued.is(Errc::kInvalid));
    return issued.ok() ? "" : issued.error().message;
  }

  std::string root_;
  std::string dir_;
};

TEST_F(AuthorityTest, IsMadeOnceAndNeverReplaced) {
  std::string key;
  {
    const Authority authority = make();
    key = content("ca.key");
    EXPECT_EQ(authority.facts().subject, authority.facts().issuer);
  }
  const auto again = Authority::create(dir_, 3650, kNoon);
  EXPECT_TRUE(again.is(Errc::kInvalid));
  EXPECT_THAT(again.error().message, HasSubstr("already exists"));
  EXPECT_EQ(content("ca.key"), key);
}

TEST_F(AuthorityTest, AKeyWithoutItsCertificateIsLeftAlone) {
  std::filesystem::create_directory(dir_);
  std::ofstream(dir_ + "/ca.key") << "someone's";
  EXPECT_TRUE(Authority::create(dir_, 3650, kNoon).is(Errc::kInvalid));
  EXPECT_EQ(content("ca.key"), "someone's");
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/ca.crt"));
}

TEST_F(AuthorityTest, OneAtATimeIsAtWork) {
  const Authority authority = make();
  const auto second = Authority::open(dir_);
  EXPECT_TRUE(second.is(Errc::kUnavailable));
  EXPECT_THAT(second.error().message, HasSubstr("is running in"));
}

TEST_F(AuthorityTest, OpeningWhatIsNotThereSaysHowToMakeIt) {
  const auto absent = Authority::open(dir_);
  EXPECT_TRUE(absent.is(Errc::kInvalid));
  EXPECT_THAT(absent.error().message, HasSubstr("muster certs init"));
  EXPECT_FALSE(std::filesystem::exists(dir_));
}

TEST_F(AuthorityTest, AForeignKeyIsNoticed) {
  make();
  std::filesystem::remove(dir_ + "/ca.key");
  std::ofstream(dir_ + "/ca.key") << pki::PrivateKey::generate(pki::KeyType::kEcP256)->to_pem();
  EXPECT_TRUE(Authority::open(dir_).is(Errc::kCorrupt));
}

TEST_F(AuthorityTest, ACertificateSaysWhoSpeaksAndWhereFrom) {
  Authority authority = make();
  const IssueOrder order{
      Role::kAgent, "a1", {"h1", "10.0.0.1", "::1", "spiffe://x/y"}, {"n1", "rack7-*"}};
  ASSERT_TRUE(authority.issue(order, kNoon).ok());
  const pki::CertificateFacts facts = certificate("a1").facts();
  EXPECT_THAT(facts.common_names, ElementsAre("a1"));
  EXPECT_THAT(facts.dns_names, ElementsAre("h1"));
  EXPECT_THAT(facts.ip_addresses, ElementsAre("10.0.0.1", "::1"));
  EXPECT_THAT(facts.uris, ElementsAre("muster:role:agent", "muster:carries:n1",
                                      "muster:carries:rack7-*", "spiffe://x/y"));
  EXPECT_EQ(facts.not_after, kNoon + std::chrono::days(365));
  EXPECT_TRUE(certificate("a1").belongs_to(pki::PrivateKey::from_pem(content("a1.key")).value()));
  struct stat info {};
  ASSERT_EQ(::stat((dir_ + "/a1.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600u);
}

TEST_F(AuthorityTest, AnExistingCertificateIsReplacedOnlyWhenAskedTo) {
  Authority authority = make();
  const std::string first = authority.issue(node("n1"), kNoon)->serial;
  EXPECT_THAT(problem(node("n1"), authority), HasSubstr("give --replace"));
  EXPECT_EQ(certificate("n1").facts().serial, first);
  IssueOrder again = node("n1");
  again.replace = true;
  const std::string second = authority.issue(again, kNoon)->serial;
  EXPECT_EQ(certificate("n1").facts().serial, second);
  EXPECT_NE(first, second);
}

TEST_F(AuthorityTest, OrdersThatMakeNoSenseAreRefusedWithTheOptionToChange) {
  Authority authority = make();
  EXPECT_THAT(problem({Role::kNode, "n1", {}, {}}, authority), HasSubstr("--san HOST,IP"));
  EXPECT_THAT(problem({Role::kServer, "s1", {}, {}}, authority), HasSubstr("--san HOST,IP"));
  EXPECT_THAT(problem({Role::kAgent, "a1", {"h1"}, {}}, authority), HasSubstr("--carry"));
  EXPECT_THAT(problem({Role::kNode, "n1", {"h1"}, {"n2"}}, authority), HasSubstr("--carry"));
  EXPECT_THAT(problem({Role::kNode, "n1", {"h1:9000"}, {}}, authority),
              HasSubstr("without a port"));
  EXPECT_THAT(problem({Role::kNode, "n1", {"h1", "Muster:role:admin"}, {}}, authority),
              HasSubstr("--role"));
  EXPECT_THAT(problem({Role::kNode, "ca", {"h1"}, {}}, authority), HasSubstr("choose another"));
  EXPECT_THAT(problem({Role::kNode, "../x", {"h1"}, {}}, authority), HasSubstr("id"));
  EXPECT_THAT(problem({Role::kNode, "", {"h1"}, {}}, authority), HasSubstr("--id"));
  EXPECT_THAT(problem({Role::kNode, "n1", {"h1"}, {}, 3651}, authority), HasSubstr("--days 3650"));
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/n1.crt"));
}

TEST_F(AuthorityTest, RevokingAnIdNamesAllItsCertificatesOnEveryListFromThenOn) {
  std::string first;
  std::string second;
  {
    Authority authority = make();
    first = authority.issue(node("n1"), kNoon)->serial;
    IssueOrder again = node("n1");
    again.replace = true;
    second = authority.issue(again, kNoon)->serial;
    ASSERT_TRUE(authority.issue(node("n2"), kNoon).ok());
    EXPECT_THAT(authority.revoke("n1", 30, kNoon + 1h)->serials, ElementsAre(first, second));
  }
  EXPECT_EQ(list().serials, (std::unordered_set{first, second}));
  EXPECT_EQ(list().next_update, kNoon + 1h + std::chrono::days(30));
  Authority authority = Authority::open(dir_).value();
  EXPECT_THAT(authority.revoke("n1", 30, kNoon + 2h)->serials, IsEmpty());
  const std::string other = authority.revoke("n2", 30, kNoon + 3h)->serials.at(0);
  EXPECT_EQ(list().serials, (std::unordered_set{first, second, other}));
  EXPECT_TRUE(authority.revoke("n3", 30, kNoon).is(Errc::kInvalid));
}

TEST_F(AuthorityTest, ACrashBetweenIndexAndListLosesNothing) {
  std::string serial;
  {
    Authority authority = make();
    serial = authority.issue(node("n1"), kNoon)->serial;
    ASSERT_TRUE(authority.revoke("n1", 30, kNoon).ok());
  }
  std::filesystem::remove(dir_ + "/crl.pem");
  ASSERT_TRUE(Authority::open(dir_)->write_list(30, kNoon + 1h).ok());
  EXPECT_EQ(list().serials, (std::unordered_set{serial}));
}

// A crash, or a full disk, between the two writes: no certificate is at large that nobody can
// revoke.
TEST_F(AuthorityTest, TheIndexKnowsACertificateBeforeAnybodyCanHaveIt) {
  Authority authority = make();
  // A directory stands where the file would be drafted: it cannot be written.
  const std::string no_index = dir_ + "/.index.json.draft";
  std::filesystem::create_directory(no_index);
  EXPECT_FALSE(authority.issue(node("n1"), kNoon).ok());
  for (const char* name : {"n1.crt", "n1.key"}) {
    EXPECT_FALSE(std::filesystem::exists(dir_ + "/" + name)) << name;
  }
  std::filesystem::remove(no_index);

  std::filesystem::create_directory(dir_ + "/.n2.crt.draft");
  EXPECT_FALSE(authority.issue(node("n2"), kNoon).ok());
  EXPECT_TRUE(CertificateIndex::from_json(content("index.json"))->knows("n2"));
}

TEST_F(AuthorityTest, ARevocationListDoesNotOutliveItsCa) {
  Authority authority = make();
  ASSERT_TRUE(authority.issue(node("n1"), kNoon).ok());
  EXPECT_TRUE(authority.write_list(3650, kNoon).ok());
  const std::string before = content("crl.pem");
  EXPECT_THAT(authority.write_list(4000, kNoon).error().message,
              HasSubstr("the CA certificate expires before that; give --days 3650 or fewer"));
  EXPECT_TRUE(authority.revoke("n1", 4000, kNoon).is(Errc::kInvalid));
  EXPECT_EQ(content("crl.pem"), before);
}

// A list that the index does not know would be followed by another with the same number.
TEST_F(AuthorityTest, TheIndexKnowsARevocationBeforeTheListNamesIt) {
  Authority authority = make();
  ASSERT_TRUE(authority.issue(node("n1"), kNoon).ok());
  ASSERT_TRUE(authority.write_list(30, kNoon).ok());
  const std::string before = content("crl.pem");
  std::filesystem::create_directory(dir_ + "/.index.json.draft");
  EXPECT_FALSE(authority.revoke("n1", 30, kNoon).ok());
  EXPECT_EQ(content("crl.pem"), before);
}

}  // namespace authority_test
}  // namespace muster::cli
