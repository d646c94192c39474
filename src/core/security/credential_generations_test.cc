#include "core/security/credential_generations.h"

#include <gtest/gtest.h>

namespace muster::security {
namespace credential_generations_test {

using Outcome = CredentialGenerations::Outcome;

/// A key fits the certificate of the same name.
Status same_name(const Credentials& credentials) {
  if (credentials.certificate == credentials.key) return Done{};
  return {Errc::kInvalid, "the key is another's"};
}

TEST(CredentialGenerationsTest, NewFilesThatFitAreTheNextGeneration) {
  CredentialGenerations generations(same_name);
  EXPECT_EQ(generations.generation(), 0u);
  EXPECT_EQ(generations.offer(Credentials{"a", "a", "ca"}), Outcome::kAdopted);
  EXPECT_EQ(generations.offer(Credentials{"a", "a", "ca"}), Outcome::kUnchanged);
  EXPECT_EQ(generations.generation(), 1u);
  // P11: new authorities alone are a new generation, too.
  EXPECT_EQ(generations.offer(Credentials{"a", "a", "ca2"}), Outcome::kAdopted);
  EXPECT_EQ(generations.generation(), 2u);
  EXPECT_EQ(generations.current().authorities, "ca2");
}

TEST(CredentialGenerationsTest, AHalfWrittenPairLeavesTheOldOneInForce) {
  CredentialGenerations generations(same_name);
  ASSERT_EQ(generations.offer(Credentials{"a", "a", "ca"}), Outcome::kAdopted);
  EXPECT_EQ(generations.offer(Credentials{"b", "a", "ca"}), Outcome::kRefused);
  EXPECT_EQ(generations.trouble()->message, "the key is another's");
  EXPECT_EQ(generations.current().certificate, "a");
  EXPECT_EQ(generations.generation(), 1u);
  EXPECT_EQ(generations.offer(Error{Errc::kNotFound, "no key"}), Outcome::kRefused);
  EXPECT_EQ(generations.refusals(), 2u);
  EXPECT_EQ(generations.offer(Credentials{"b", "b", "ca"}), Outcome::kAdopted);
  EXPECT_FALSE(generations.trouble().has_value());
  EXPECT_EQ(generations.current().key, "b");
}

TEST(CredentialGenerationsTest, GoingBackToWhatIsInForceEndsTheTrouble) {
  CredentialGenerations generations(same_name);
  ASSERT_EQ(generations.offer(Credentials{"a", "a", "ca"}), Outcome::kAdopted);
  ASSERT_EQ(generations.offer(Credentials{"b", "a", "ca"}), Outcome::kRefused);
  EXPECT_EQ(generations.offer(Credentials{"a", "a", "ca"}), Outcome::kUnchanged);
  EXPECT_FALSE(generations.trouble().has_value());
}

}  // namespace credential_generations_test
}  // namespace muster::security
