#include "rpc/message_reader.h"

#include <gtest/gtest.h>

namespace muster::rpc {
namespace message_reader_test {

std::string framed(const std::string& body) {
  const auto prefix = message_prefix(body.size());
  return std::string(prefix.begin(), prefix.end()) + body;
}

TEST(MessageReaderTest, FindsMessagesHoweverTheyAreCut) {
  const std::vector<std::string> sent = {"", "a", std::string(70'000, 'x'), "", "end"};
  std::string all;
  for (const std::string& each : sent) all += framed(each);
  for (const std::size_t piece : {1UL, 2UL, 3UL, 5UL, 7UL, 4096UL, all.size()}) {
    MessageReader reader(70'000);
    std::vector<std::string> found;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      ASSERT_TRUE(reader.feed(std::string_view(all).substr(at, piece), found));
    }
    EXPECT_EQ(found, sent) << piece;
    EXPECT_TRUE(reader.whole());
  }
}

TEST(MessageReaderTest, KnowsWhenOneIsNotComplete) {
  MessageReader reader(10);
  std::vector<std::string> found;
  ASSERT_TRUE(reader.feed(framed("whole") + framed("cut").substr(0, 7), found));
  EXPECT_EQ(found.size(), 1u);
  EXPECT_FALSE(reader.whole());
}

TEST(MessageReaderTest, RefusesWhatIsTooLongByItsLengthAlone) {
  MessageReader reader(10);
  std::vector<std::string> found;
  EXPECT_TRUE(reader.feed(framed("0123456789"), found));
  EXPECT_TRUE(reader.feed(std::string_view("\0\0\0\0\x0b", 5), found).is(Errc::kThrottled));
}

// R32: nothing is inflated, whatever its size.
TEST(MessageReaderTest, RefusesWhatIsCompressed) {
  MessageReader reader(10);
  std::vector<std::string> found;
  EXPECT_TRUE(reader.feed(std::string_view("\1\0\0\0\1x", 6), found).is(Errc::kUnsupported));
  EXPECT_TRUE(found.empty());
}

}  // namespace message_reader_test
}  // namespace muster::rpc
