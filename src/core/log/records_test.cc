#include <gtest/gtest.h>

#include "core/log/codec.h"
#include "core/log/entry.h"
#include "core/log/log_clock.h"
#include "core/log/manifest.h"

namespace muster::rlog {
namespace records_test {

EntryHeader header_after(const Position& position, std::uint64_t epoch, const std::string& run) {
  EntryHeader header;
  header.index = next(position.index);
  header.epoch = Epoch(epoch);
  header.incarnation = Incarnation(run);
  header.nonce = Nonce("n");
  header.time = log_time_from_ms(1000);
  header.wall = wall_from_ms(5000);
  header.previous = position.chain;
  return header;
}

SnapshotRef ref_at(std::uint64_t index) {
  SnapshotRef ref;
  ref.position.index = Index(index);
  ref.nonce = Nonce("n" + std::to_string(index));
  return ref;
}

Manifest manifest() {
  Manifest made;
  made.log_id = "id";
  made.origin = "origin";
  return made;
}

// L8: however a wall clock jumps, log time goes on by the boot clock.
TEST(LogClockTest, GoesOnFromTheLastEntryByTheBootClockOfWhoLeads) {
  const LogClock first(LogTime{}, MonoTime(1000h));
  EXPECT_EQ(first.read(MonoTime(1000h)), log_time_from_ms(1));
  EXPECT_EQ(first.read(MonoTime(1000h) + 90s), log_time_from_ms(90'001));
  // Another machine, whose boot clock shows less, an hour after the last entry.
  const LogClock second(log_time_from_ms(90'001), MonoTime(3h));
  EXPECT_EQ(second.read(MonoTime(3h)), log_time_from_ms(90'002));
  EXPECT_EQ(second.read(MonoTime(3h) + 1500ms), log_time_from_ms(91'502));
}

TEST(EntryTest, OneOfTheFirstReleaseIsLabelledWithItsLogTime) {
  EntryHeader header = header_after(beginning("log"), 3, "run");
  header.wall = wall_from_ms(1000);
  const auto entry = decode_entry(encode_entry(header, {}));
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->header.wall, wall_from_ms(1000));
}

TEST(EntryTest, ReturnsAsItWasWritten) {
  const std::vector<std::string> commands{"one", "", std::string(1000, 'x')};
  const std::string body = encode_entry(header_after(beginning("log"), 3, "run"), commands);
  const auto entry = decode_entry(body);
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->header.epoch, Epoch(3));
  EXPECT_EQ(entry->header.time, log_time_from_ms(1000));
  EXPECT_EQ(entry->header.wall, wall_from_ms(5000));
  ASSERT_EQ(entry->commands.size(), 3U);
  EXPECT_EQ(entry->commands[2], commands[2]);
}

TEST(EntryTest, RefusesEveryFlippedBit) {
  const std::vector<std::string> commands{"one", "two"};
  const std::string body = encode_entry(header_after(beginning("log"), 3, "run"), commands);
  for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
    std::string flipped = body;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(decode_entry(flipped).is(Errc::kCorrupt)) << "bit " << bit;
  }
}

TEST(EntryTest, RefusesANewerVersionAsUnsupported) {
  WireWriter writer;
  writer.number(1, kFormatVersion + 1);
  writer.number(2, 1);
  std::string body = std::move(writer).take();
  seal_with_digest(body);
  EXPECT_TRUE(decode_entry(body).is(Errc::kUnsupported));
}

TEST(EntryTest, FieldsOfLaterVersionsDoNoHarm) {
  WireWriter writer;
  writer.number(1, kFormatVersion);
  writer.number(2, 1);
  writer.text(99, "later");
  std::string body = std::move(writer).take();
  seal_with_digest(body);
  EXPECT_TRUE(decode_entry(body).ok());
}

TEST(JudgeTest, VoidsALowerEpochAndAnotherRunOfTheSameOne) {
  Position position = beginning("log");
  const auto see = [&](std::uint64_t epoch, const std::string& run) {
    const std::string body = encode_entry(header_after(position, epoch, run), {});
    const auto entry = decode_entry(body);
    const auto verdict = judge(position, *entry);
    advance(position, *entry, *verdict);
    return *verdict;
  };
  EXPECT_EQ(see(2, "a"), Verdict::kAccepted);
  EXPECT_EQ(see(1, "b"), Verdict::kVoid);
  EXPECT_EQ(see(2, "b"), Verdict::kVoid);
  EXPECT_EQ(see(2, "a"), Verdict::kAccepted);
  EXPECT_EQ(see(3, "b"), Verdict::kAccepted);
  EXPECT_EQ(position.index, Index(5));
}

TEST(JudgeTest, NamesABrokenChain) {
  Position position = beginning("log");
  const std::string body = encode_entry(header_after(beginning("another log"), 1, "a"), {});
  EXPECT_TRUE(judge(position, *decode_entry(body)).is(Errc::kCorrupt));
}

TEST(JudgeTest, EverythingAfterASealIsVoid) {
  Position position = beginning("log");
  EntryHeader header = header_after(position, 1, "a");
  header.kind = EntryKind::kSeal;
  const std::string seal = encode_entry(header, {}, Seal{"move", "elsewhere"});
  advance(position, *decode_entry(seal), Verdict::kAccepted);
  EXPECT_FALSE(may_write(position, Epoch(9), Incarnation("b")));
  const std::string late = encode_entry(header_after(position, 9, "b"), {});
  EXPECT_EQ(*judge(position, *decode_entry(late)), Verdict::kVoid);

  Manifest target = manifest();
  target.opened_by = {"move"};
  lift_own_seal(position, target);
  EXPECT_TRUE(may_write(position, Epoch(9), Incarnation("b")));
}

TEST(ManifestTest, KeepsFieldsOfLaterVersions) {
  Manifest before = manifest();
  before.latest = ref_at(9);
  before.previous = ref_at(5);
  before.floor = Index(5);
  before.opened_by = {"a", "b"};
  WireWriter later;
  later.text(77, "from the future");
  before.unknown = later.bytes();
  before.latest->unknown = later.bytes();
  const auto after = decode_manifest(encode_manifest(before));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(*after, before);
}

TEST(ManifestTest, RefusesAFloorAboveTheOlderSnapshot) {
  Manifest wrong = manifest();
  wrong.latest = ref_at(9);
  wrong.floor = Index(9);
  EXPECT_TRUE(decode_manifest(encode_manifest(wrong)).is(Errc::kCorrupt));
}

// P24: a stalled compactor cannot swap the manifest back.
TEST(ManifestTest, SnapshotsOnlyRise) {
  Manifest now = *with_snapshot(manifest(), ref_at(5));
  EXPECT_TRUE(with_snapshot(now, ref_at(5)).is(Errc::kConflict));
  EXPECT_TRUE(with_snapshot(now, ref_at(4)).is(Errc::kConflict));
  EXPECT_FALSE(with_raised_floor(now).has_value());
  now = *with_snapshot(now, ref_at(8));
  ASSERT_TRUE(with_raised_floor(now).has_value());
  EXPECT_EQ(with_raised_floor(now)->floor, Index(5));
}

TEST(ManifestTest, OnlyOldUnnamedPartsAreGarbage) {
  const Manifest now = *with_snapshot(manifest(), ref_at(5));
  EXPECT_TRUE(is_garbage(now, Index(5), false));
  EXPECT_FALSE(is_garbage(now, Index(5), true));
  EXPECT_FALSE(is_garbage(now, Index(6), false));
  EXPECT_FALSE(is_garbage(manifest(), Index(1), false));
}

TEST(ManifestTest, NoticesAnotherLogAndOneThatWentBack) {
  const Manifest before = *with_snapshot(manifest(), ref_at(5));
  Manifest other = before;
  other.log_id = "another";
  EXPECT_TRUE(check_follows(before, other).is(Errc::kConflict));
  EXPECT_TRUE(check_follows(before, manifest()).is(Errc::kConflict));
  EXPECT_TRUE(check_follows(before, before).ok());
}

TEST(SnapshotHeadTest, ReturnsAsItWasWritten) {
  SnapshotHead head;
  head.position = ref_at(5).position;
  head.position.seal = Seal{"move", "there"};
  head.parts = {{10, sha256("a")}, {20, sha256("b")}};
  const auto again = decode_snapshot_head(encode_snapshot_head(head));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, head);
}

}  // namespace records_test
}  // namespace muster::rlog
