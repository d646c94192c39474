#include "store/file/journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "platform/files.h"
#include "store/file/test_client.h"

namespace muster::file {
namespace journal_test {

// A cursor one change before the records began anew misses that change: it must be told so.
TEST(JournalTest, OnlyACursorFromBeforeTheRecordsBeganAnewIsTooOld) {
  TempDir dir;
  Journal journal(files::open_at(AT_FDCWD, dir.path() + "/journal", O_RDWR | O_CREAT).value());
  ASSERT_TRUE(journal.restart(100, 7).ok());
  const Key key(1000, 'k');
  const auto change = [&] {
    ASSERT_TRUE(journal.begin(key, InFlight::kPut).ok());
    journal.settle();
  };
  std::uint64_t last_of_old = 100;
  do {
    last_of_old = journal.state().sequence;
    change();
  } while (journal.state().base == 100);
  const std::uint64_t first_of_new = last_of_old + 1;
  ASSERT_EQ(journal.state().sequence, first_of_new);

  const auto missing = journal.after({7, last_of_old - 1});
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE(missing->has_value()) << "the record of " << last_of_old << " is gone";

  const auto all = journal.after({7, last_of_old});
  ASSERT_TRUE(all.ok());
  ASSERT_TRUE(all->has_value()) << "nothing is missing";
  ASSERT_EQ((*all)->size(), 1u);
  EXPECT_EQ((*all)->front().sequence, first_of_new);

  change();
  EXPECT_EQ(journal.after({7, last_of_old}).value().value().size(), 2u);
  EXPECT_FALSE(journal.after({7, last_of_old - 1}).value().has_value());
  EXPECT_TRUE(journal.after({7, first_of_new + 1}).value().value().empty());
  EXPECT_FALSE(journal.after({7, first_of_new + 2}).value().has_value()) << "from the future";
}

// R24: the checksum holds for whatever was written; a length that no memory holds would end anyone
// who reads as many bytes.
TEST(JournalTest, RecordsLongerThanAnyJournalAreDamage) {
  TempDir dir;
  auto file = files::open_at(AT_FDCWD, dir.path() + "/journal", O_RDWR | O_CREAT).value();
  JournalState state{.boot_id = files::boot_id(), .generation = 7};
  state.record_bytes = std::uint64_t{1} << 62;
  ASSERT_TRUE(files::write_at(file.get(), 0, encode_state(state)).ok());
  Journal journal(std::move(file));
  EXPECT_TRUE(journal.load().is(Errc::kCorrupt));
  ASSERT_TRUE(journal.restart(1, 8).ok());
  EXPECT_TRUE(journal.load().ok());
}

}  // namespace journal_test
}  // namespace muster::file
