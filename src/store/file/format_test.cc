#include "store/file/format.h"

#include <gtest/gtest.h>

namespace muster::file {
namespace format_test {

TEST(ObjectFormatTest, TheBytesOfVersionOneStayAsTheyAre) {
  const std::string file = encode_object(7, 0x0123456789ABCDEF, "hello");
  ASSERT_EQ(file.size(), kObjectHeaderBytes + 5);
  EXPECT_EQ(file.substr(0, 40), std::string("muster-o\1\0\0\0\0\0\0\0"
                                            "\7\0\0\0\0\0\0\0\xEF\xCD\xAB\x89\x67\x45\x23\x01"
                                            "\5\0\0\0\0\0\0\0",
                                            40));
  EXPECT_EQ(file.substr(56), "hello");
  EXPECT_EQ(decode_object(file)->revision().value(), "7-0123456789abcdef");
}

TEST(ObjectFormatTest, AFlippedBitOrAMissingByteAnywhereIsFound) {
  const std::string file = encode_object(7, 9, "some body");
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_FALSE(decode_object(flipped).ok()) << at;
    EXPECT_FALSE(decode_object(file.substr(0, at)).ok()) << at;
  }
  EXPECT_TRUE(decode_object(file + "x").is(Errc::kCorrupt));
}

TEST(ObjectFormatTest, DamageIsNamedByItsBytesAndTheirTime) {
  const WallTime then = wall_from_ms(1'700'000'000'000);
  const Revision empty = damaged_revision("", then);
  EXPECT_EQ(empty.value(), "damaged-183f71fa65768ccf");
  EXPECT_EQ(damaged_revision("", then), empty);
  EXPECT_NE(damaged_revision("x", then), empty);
  EXPECT_NE(damaged_revision("", then + 1ms), empty);
  EXPECT_TRUE(names_damage(empty));
  EXPECT_FALSE(names_damage(ObjectHeader{7, 9, 0}.revision()));
}

TEST(ObjectFormatTest, ANewerVersionIsNotCalledCorrupt) {
  std::string file = encode_object(1, 2, "x");
  file[8] = 2;
  EXPECT_TRUE(decode_object(file).is(Errc::kUnsupported));
}

TEST(JournalFormatTest, StateAndRecordsComeBackAsTheyWent) {
  const JournalState state{"0b1c-boot", 11, 22, 3, 44, InFlight::kRemoval};
  std::string bytes = encode_state(state);
  ASSERT_EQ(bytes.size(), kJournalStateBytes);
  const auto again = decode_state(bytes);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->boot_id, "0b1c-boot");
  EXPECT_EQ(again->generation, 11u);
  EXPECT_EQ(again->sequence, 22u);
  EXPECT_EQ(again->base, 3u);
  EXPECT_EQ(again->record_bytes, 44u);
  EXPECT_EQ(again->in_flight, InFlight::kRemoval);
  EXPECT_EQ(again->settled(), 21u);
  bytes[20] = 'x';
  EXPECT_TRUE(decode_state(bytes).is(Errc::kCorrupt));

  const std::string two = encode_record({5, "a/b"}) + encode_record({6, "c"});
  const auto records = decode_records(two);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[1].sequence, 6u);
  EXPECT_EQ((*records)[0].key, "a/b");
  EXPECT_TRUE(decode_records(two.substr(0, two.size() - 1)).is(Errc::kCorrupt));
}

}  // namespace format_test
}  // namespace muster::file
