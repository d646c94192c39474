#include "platform/pki/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/pki/issue.h"

namespace muster::pki {
namespace tls_files_test {

using ::testing::HasSubstr;

/// Files with an authority, a certificate and its key, and a key that belongs to neither.
class TlsFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(dir_);
    const auto key = pki::PrivateKey::generate(pki::KeyType::kEcP256);
    const auto other = pki::PrivateKey::generate(pki::KeyType::kEcP256);
    ASSERT_TRUE(key && other);
    pki::CertificateOrder order;
    order.common_name = "op";
    order.use = pki::CertificateOrder::Use::kAuthority;
    order.not_before = wall_from_ms(1'700'000'000'000);
    order.not_after = wall_from_ms(2'000'000'000'000);
    const auto certificate = pki::issue_authority(order, *key);
    ASSERT_TRUE(certificate) << certificate.error().message;
    files_ = {write("ca", certificate->to_pem()), write("cert", certificate->to_pem()),
              write("key", key->to_pem())};
    other_key_ = write("other", other->to_pem());
    nonsense_ = write("nonsense", "no PEM at all");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }
  static void expect_refused(const TlsFiles& files, const std::string& named) {
    const auto texts = read_tls_files(files);
    ASSERT_TRUE(texts.is(Errc::kInvalid)) << named;
    EXPECT_THAT(texts.error().message, HasSubstr(named));
  }

  std::filesystem::path dir_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("muster-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  TlsFiles files_;
  std::string other_key_;
  std::string nonsense_;
};

TEST_F(TlsFilesTest, WhatFitsIsRead) {
  const auto texts = read_tls_files(files_);
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_THAT(texts->key, HasSubstr("PRIVATE KEY"));
  EXPECT_TRUE(read_tls_files({files_.ca, {}, {}}));
}

TEST_F(TlsFilesTest, HalfASetupIsRefusedAndTheFileNamed) {
  expect_refused({files_.ca, files_.cert, {}}, "belong together");
  expect_refused({files_.ca, {}, files_.key}, "belong together");
  expect_refused({"/nowhere/ca.crt", {}, {}}, "/nowhere/ca.crt");
  expect_refused({nonsense_, {}, {}}, nonsense_);
  expect_refused({files_.ca, nonsense_, files_.key}, nonsense_);
  expect_refused({files_.ca, files_.cert, nonsense_}, nonsense_);
  expect_refused({files_.ca, files_.key, files_.cert}, files_.key);
  expect_refused({files_.ca, files_.cert, other_key_}, "is not the key of");
}

}  // namespace tls_files_test
}  // namespace muster::pki
