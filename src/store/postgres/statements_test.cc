#include "store/postgres/statements.h"

#include <gmock/gmock.h>

namespace muster::postgres {
namespace statements_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Row kFrom{"7700", "0000000A", "16386", "42"};

Row row(std::vector<std::optional<std::string>> columns) {
  Row all = kFrom;
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

std::vector<std::string> texts_of(const Statement& statement) {
  std::vector<std::string> values;
  for (const Parameter& parameter : statement.parameters) {
    values.push_back(parameter.value.value_or("NULL"));
  }
  return values;
}

TEST(PostgresStatementsTest, EveryAnswerNamesItsOrigin) {
  const auto origin = Origin::read({kFrom});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->timeline, 10u);
  EXPECT_EQ(origin->revision, 42);
  for (std::size_t i = 0; i < kFrom.size(); ++i) {
    Row without = kFrom;
    without[i].reset();
    EXPECT_TRUE(Origin::read({without}).is(Errc::kCorrupt)) << i;
  }
  EXPECT_TRUE(Origin::read({}).is(Errc::kCorrupt));
  EXPECT_TRUE(Origin::read({{"7700", "0000000A", "16386"}}).is(Errc::kCorrupt));
}

TEST(PostgresStatementsTest, AnOriginChangesWithThePromotionTheTableAndTheSystem) {
  const auto origin = *Origin::read({kFrom});
  for (std::size_t i = 0; i < 3; ++i) {
    Row other = kFrom;
    other[i] = "0000000B";
    EXPECT_NE(Origin::read({other})->identity(), origin.identity()) << i;
  }
  Row later = kFrom;
  later[1] = "0000000B";
  EXPECT_TRUE(origin.is_outdated(*Origin::read({later})));
  EXPECT_FALSE(Origin::read({later})->is_outdated(origin));
  later[0] = "7701";
  EXPECT_FALSE(origin.is_outdated(*Origin::read({later}))) << "another system has timelines too";
}

TEST(PostgresStatementsTest, APrefixEndsWhereNoKeyCanBeginWithIt) {
  const Statements statements("app/");
  const auto bounds = [&](const std::string& prefix) {
    return texts_of(statements.list(prefix, "", 10));
  };
  EXPECT_THAT(bounds("a"), ElementsAre("app/a", "app/b"));
  EXPECT_THAT(bounds(""), ElementsAre("app/", "app0"));
  EXPECT_THAT(bounds("a\x7f"), ElementsAre("app/a\x7f", "app/a\xc2\x80"));
  EXPECT_THAT(bounds("\xc3\xbf"), ElementsAre("app/\xc3\xbf", "app/\xc4\x80"));
  EXPECT_THAT(bounds("\xed\x9f\xbf"), ElementsAre("app/\xed\x9f\xbf", "app/\xee\x80\x80"))
      << "there are no surrogates";
  EXPECT_THAT(bounds("\xef\xbf\xbf"), ElementsAre("app/\xef\xbf\xbf", "app/\xf0\x90\x80\x80"));
  EXPECT_THAT(bounds("b\xf4\x8f\xbf\xbf"), ElementsAre("app/b\xf4\x8f\xbf\xbf", "app/c"));
  EXPECT_THAT(texts_of(Statements("").list("", "", 10)), ElementsAre());
}

TEST(PostgresStatementsTest, APageKnowsWhetherThereIsAnother) {
  const Statements statements("app/");
  const Rows rows{row({"app/a", "1", "5"}), row({"app/b", "2", "5"}), row({"app/c", "3", "5"})};
  const ListPage page = statements.listed(rows, 2);
  ASSERT_EQ(page.objects.size(), 2u);
  EXPECT_EQ(page.objects[0].key, "a");
  EXPECT_EQ(page.next, "b");
  EXPECT_EQ(statements.listed(rows, 3).next, "");
  EXPECT_TRUE(
      statements.listed({row({std::nullopt, std::nullopt, std::nullopt})}, 2).objects.empty());
}

TEST(PostgresStatementsTest, ARevisionThatWasNeverIssuedMatchesNothing) {
  const Statements statements("");
  for (const char* revision : {"", "abc", "-1", "1; DROP", "99999999999999999999"}) {
    EXPECT_THAT(texts_of(statements.put("k", "b", Precondition::at(Revision(revision)), {})),
                Contains("0"));
    EXPECT_THAT(texts_of(statements.remove("k", Revision(revision))), Contains("0"));
  }
}

TEST(PostgresStatementsTest, AChangeIsToldToTheKeyAndToEveryFolderAboveIt) {
  const Statements statements("app/");
  const auto told = texts_of(statements.put("x/y", "b", {}, {})).at(2);
  for (const char* prefix : {"x/y", "x/", ""}) {
    EXPECT_THAT(told, HasSubstr(statements.channel(prefix))) << prefix;
  }
  EXPECT_THAT(told, HasSubstr(Statements("").channel("")));
  EXPECT_THAT(told, Not(HasSubstr(statements.channel("x/z"))));
  EXPECT_EQ(statements.strip("app/x/y"), "x/y");
  EXPECT_EQ(statements.strip("other/x"), std::nullopt);
}

TEST(PostgresStatementsTest, KeysAndBodiesThatCannotBeKeptAreRefused) {
  EXPECT_TRUE(Statements::check("k", 1000));
  EXPECT_TRUE(Statements::check("", 0).is(Errc::kInvalid));
  EXPECT_TRUE(Statements::check(std::string("a\0b", 3), 0).is(Errc::kInvalid));
  EXPECT_TRUE(Statements::check("a\xff", 0).is(Errc::kInvalid));
  EXPECT_TRUE(Statements::check("k", 1024 * 1024 * 1024).is(Errc::kInvalid));
}

}  // namespace statements_test
}  // namespace muster::postgres
