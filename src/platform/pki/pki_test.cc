#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <openssl/pem.h>

#include <set>

#include "platform/pki/certificate.h"
#include "platform/pki/crl.h"
#include "platform/pki/issue.h"
#include "platform/pki/key.h"
#include "platform/pki/openssl.h"

namespace muster::pki {
namespace pki_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Use = CertificateOrder::Use;

constexpr WallTime kNoon = wall_from_ms(1'800'000'000'000);

struct Pair {
  PrivateKey key;
  Certificate certificate;
};

Pair authority(const std::string& name = "Test CA") {
  PrivateKey key = PrivateKey::generate(KeyType::kEcP256).value();
  Certificate certificate =
      issue_authority({name, {}, {}, {}, Use::kAuthority, kNoon, kNoon + 100h}, key).value();
  return {std::move(key), std::move(certificate)};
}

Pair leaf(const Pair& ca, CertificateOrder order, KeyType type = KeyType::kEcP256) {
  order.not_before = kNoon;
  order.not_after = kNoon + 1h;
  PrivateKey key = PrivateKey::generate(type).value();
  Certificate certificate = issue(order, key, ca.certificate, ca.key).value();
  return {std::move(key), std::move(certificate)};
}

std::vector<Certificate> bundle(const Pair& ca) {
  return Certificate::all_from_pem(ca.certificate.to_pem()).value();
}

std::string list_of(const Pair& ca, std::vector<std::string> serials) {
  RevocationOrder order{7, kNoon, kNoon + 24h, {}};
  for (auto& serial : serials) order.revoked.push_back({std::move(serial), kNoon});
  return make_revocation_list(order, ca.certificate, ca.key).value();
}

OwnedCrl parsed(const std::string& pem) {
  return OwnedCrl(PEM_read_bio_X509_CRL(reader(pem).get(), nullptr, nullptr, nullptr));
}

std::string to_der(const std::string& pem) {
  const OwnedBio bio = writer();
  EXPECT_EQ(i2d_X509_CRL_bio(bio.get(), parsed(pem).get()), 1);
  return written(bio.get());
}

TEST(PrivateKeyTest, IsReadBackFromPem) {
  for (const KeyType type : {KeyType::kRsa2048, KeyType::kEcP256}) {
    const PrivateKey key = PrivateKey::generate(type).value();
    EXPECT_EQ(PrivateKey::from_pem(key.to_pem())->to_pem(), key.to_pem());
  }
  EXPECT_TRUE(PrivateKey::from_pem("").is(Errc::kInvalid));
  EXPECT_TRUE(PrivateKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n").is(Errc::kInvalid));
}

TEST(PrivateKeyTest, OneWithAPasswordIsRefusedAndNobodyIsAsked) {
  const PrivateKey key = PrivateKey::generate(KeyType::kEcP256).value();
  const OwnedBio bio = writer();
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_256_cbc(), "secret", 6,
                                          nullptr, nullptr),
            1);
  EXPECT_TRUE(PrivateKey::from_pem(written(bio.get())).is(Errc::kInvalid));
}

TEST(PrivateKeyTest, PasswordsDiffer) {
  EXPECT_EQ(random_password().size(), 20u);
  EXPECT_NE(random_password(), random_password());
}

TEST(CertificateTest, SaysWhatWasOrdered) {
  const Pair ca = authority();
  const Pair made =
      leaf(ca, {"n1", {"h1", "h2"}, {"10.0.0.1", "2001:db8::1"}, {"muster:x"}, {}, {}, {}});
  const CertificateFacts facts = Certificate::from_pem(made.certificate.to_pem())->facts();
  EXPECT_EQ(facts.subject, "CN=n1");
  EXPECT_EQ(facts.issuer, "CN=Test CA");
  EXPECT_THAT(facts.common_names, ElementsAre("n1"));
  EXPECT_THAT(facts.dns_names, ElementsAre("h1", "h2"));
  EXPECT_THAT(facts.ip_addresses, ElementsAre("10.0.0.1", "2001:db8::1"));
  EXPECT_THAT(facts.uris, ElementsAre("muster:x"));
  EXPECT_EQ(facts.not_before, kNoon);
  EXPECT_EQ(facts.not_after, kNoon + 1h);
  EXPECT_EQ(X509_verify(made.certificate.get(), ca.key.get()), 1);
}

TEST(CertificateTest, NamesKeepTheirBytes) {
  const Pair ca = authority();
  const std::string evil("h1\0.evil,DNS:h2", 15);
  const Pair made = leaf(ca, {"n1", {evil}, {}, {}, {}, {}, {}});
  EXPECT_THAT(made.certificate.facts().dns_names, ElementsAre(evil));
}

TEST(CertificateTest, AnAddressThatIsNoneIsRefused) {
  const Pair ca = authority();
  const CertificateOrder order{"n1", {}, {"10.0.0"}, {}, Use::kClient, kNoon, kNoon + 1h};
  EXPECT_TRUE(issue(order, ca.key, ca.certificate, ca.key).is(Errc::kInvalid));
}

TEST(CertificateTest, SerialsAreRandomNumbersOf128Bits) {
  const Pair ca = authority();
  std::set<std::string> serials;
  std::size_t digits = 0;
  for (int i = 0; i < 32; ++i) {
    const Certificate made =
        issue({"n1", {}, {}, {}, Use::kClient, kNoon, kNoon + 1h}, ca.key, ca.certificate, ca.key)
            .value();
    serials.insert(made.facts().serial);
    digits = std::max(digits, made.facts().serial.size());
    EXPECT_LE(made.facts().serial.size(), 32u);
  }
  EXPECT_EQ(serials.size(), 32u);
  EXPECT_EQ(digits, 32u);
}

TEST(CertificateTest, KnowsItsKey) {
  const Pair ca = authority();
  const Pair rsa = leaf(ca, {"s1", {}, {}, {}, Use::kServerAndClient, {}, {}}, KeyType::kRsa2048);
  EXPECT_TRUE(rsa.certificate.belongs_to(rsa.key));
  EXPECT_FALSE(rsa.certificate.belongs_to(ca.key));
  EXPECT_EQ(X509_get_extended_key_usage(rsa.certificate.get()),
            static_cast<std::uint32_t>(XKU_SSL_SERVER | XKU_SSL_CLIENT));
  const Pair client = leaf(ca, {"n1", {}, {}, {}, Use::kClient, {}, {}});
  EXPECT_EQ(X509_get_extended_key_usage(client.certificate.get()),
            static_cast<std::uint32_t>(XKU_SSL_CLIENT));
}

TEST(CertificateTest, ABundleIsReadWholeOrNotAtAll) {
  const std::string one = authority("A").certificate.to_pem();
  const std::string two = authority("B").certificate.to_pem();
  EXPECT_EQ(Certificate::all_from_pem(one + "some text\n" + two)->size(), 2u);
  EXPECT_TRUE(Certificate::all_from_pem("").is(Errc::kInvalid));
  EXPECT_TRUE(Certificate::all_from_pem(one + two.substr(0, two.size() / 2)).is(Errc::kInvalid));
  std::string damaged = two;
  damaged[damaged.size() / 2] = '!';
  EXPECT_TRUE(Certificate::all_from_pem(one + damaged).is(Errc::kInvalid));
}

// T22: a real PEM revokes, and DER does, too.
TEST(RevocationListTest, IsReadFromPemAndFromDer) {
  const Pair ca = authority();
  const std::string pem = list_of(ca, {"ab", "10000000000000000000000000000001"});
  for (const std::string& bytes : {pem, to_der(pem)}) {
    const auto lists = read_revocation_lists(bytes, bundle(ca));
    ASSERT_TRUE(lists.ok()) << lists.error().message;
    ASSERT_EQ(lists->size(), 1u);
    EXPECT_EQ(lists->front().issuer, "CN=Test CA");
    EXPECT_EQ(lists->front().this_update, kNoon);
    EXPECT_EQ(lists->front().next_update, kNoon + 24h);
    EXPECT_EQ(lists->front().serials.size(), 2u);
    EXPECT_TRUE(lists->front().serials.contains("ab"));
    EXPECT_TRUE(lists->front().serials.contains("10000000000000000000000000000001"));
  }
}

TEST(RevocationListTest, NamesTheSerialOfTheCertificateItRevokes) {
  const Pair ca = authority();
  const Pair made = leaf(ca, {"n1", {}, {}, {}, {}, {}, {}});
  const auto lists =
      read_revocation_lists(list_of(ca, {made.certificate.facts().serial}), bundle(ca));
  EXPECT_TRUE(lists->front().serials.contains(made.certificate.facts().serial));
  EXPECT_EQ(lists->front().issuer, made.certificate.facts().issuer);
}

// T22: the signature is checked.
TEST(RevocationListTest, OneOfAnotherAuthorityIsRefusedEvenUnderTheSameName) {
  const Pair ca = authority();
  const Pair other = authority();
  const auto forged = read_revocation_lists(list_of(other, {}), bundle(ca));
  EXPECT_TRUE(forged.is(Errc::kCorrupt));
  EXPECT_THAT(forged.error().message, HasSubstr("is not signed by a CA in use"));
  EXPECT_TRUE(read_revocation_lists(list_of(authority("B"), {}), bundle(ca)).is(Errc::kCorrupt));
  EXPECT_TRUE(read_revocation_lists(list_of(ca, {}), {}).is(Errc::kCorrupt));
}

TEST(RevocationListTest, ABundleOfSeveralAuthoritiesHoldsTogether) {
  const Pair a = authority("A");
  const Pair b = authority("B");
  const auto both =
      Certificate::all_from_pem(a.certificate.to_pem() + b.certificate.to_pem()).value();
  EXPECT_EQ(read_revocation_lists(list_of(a, {"1"}) + list_of(b, {"2"}), both)->size(), 2u);
  EXPECT_TRUE(
      read_revocation_lists(list_of(a, {"1"}) + list_of(b, {"2"}), bundle(a)).is(Errc::kCorrupt));
}

TEST(RevocationListTest, DamagedBytesAreRefused) {
  const Pair ca = authority();
  const std::string pem = list_of(ca, {"ab"});
  const std::string der = to_der(pem);
  EXPECT_TRUE(read_revocation_lists("", bundle(ca)).is(Errc::kCorrupt));
  EXPECT_TRUE(read_revocation_lists("not a list\n", bundle(ca)).is(Errc::kCorrupt));
  EXPECT_TRUE(
      read_revocation_lists(pem + pem.substr(0, pem.size() / 2), bundle(ca)).is(Errc::kCorrupt));
  EXPECT_TRUE(read_revocation_lists(der + "x", bundle(ca)).is(Errc::kCorrupt));
  for (std::size_t i = 0; i < der.size(); ++i) {
    std::string damaged = der;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(read_revocation_lists(damaged, bundle(ca)).ok()) << "byte " << i;
  }
}

/// The list with one more thing in it, signed anew.
template <typename Change>
std::string changed(const Pair& ca, Change change) {
  const OwnedCrl list = parsed(list_of(ca, {}));
  change(list.get());
  EXPECT_NE(X509_CRL_sign(list.get(), ca.key.get(), EVP_sha256()), 0);
  const OwnedBio bio = writer();
  EXPECT_EQ(PEM_write_bio_X509_CRL(bio.get(), list.get()), 1);
  return written(bio.get());
}

TEST(RevocationListTest, ADeltaIsNoCompleteListAndIsRefused) {
  const Pair ca = authority();
  const std::string delta = changed(ca, [](X509_CRL* list) {
    const OwnedInteger base(ASN1_INTEGER_new());
    EXPECT_EQ(X509_CRL_add1_ext_i2d(list, NID_delta_crl, base.get(), 1, 0), 1);
  });
  const auto read = read_revocation_lists(delta, bundle(ca));
  EXPECT_TRUE(read.is(Errc::kCorrupt));
  EXPECT_THAT(read.error().message, HasSubstr("is not complete"));
}

TEST(P12Test, IsOpenedWithItsPasswordOnly) {
  const Pair ca = authority();
  const Pair made = leaf(ca, {"op", {}, {}, {}, {}, {}, {}});
  const std::string bytes =
      bundle_p12("op", "secret", made.certificate, made.key, ca.certificate).value();
  const Owned<PKCS12, PKCS12_free> p12(d2i_PKCS12_bio(reader(bytes).get(), nullptr));
  ASSERT_NE(p12, nullptr);
  EXPECT_EQ(PKCS12_verify_mac(p12.get(), "secret", -1), 1);
  EXPECT_EQ(PKCS12_verify_mac(p12.get(), "other", -1), 0);
}

}  // namespace pki_test
}  // namespace muster::pki
