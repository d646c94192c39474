#include "store/file/file_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "platform/system_clock.h"
#include "store/file/test_client.h"

namespace muster::file {
namespace file_store_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

std::vector<Key> keys_of(const ListPage& page) {
  std::vector<Key> keys;
  for (const ListedObject& object : page.objects) keys.push_back(object.key);
  return keys;
}

std::string error_of_opening(const std::string& address) {
  EventLoop loop;
  const auto store = open_file_store(Url::parse(address).value(), loop);
  return store ? "opened" : store.error().message;
}

TEST(FileStoreTest, WhatOneOpeningWroteAnotherReads) {
  TempDir dir;
  Revision revision;
  {
    TestClient writer(dir.path() + "/store", "");
    revision = writer.put("a/b", "body", Precondition::absent()).value();
    EXPECT_GE(writer.store().stats().syncs, 3u);  // File, its directory, the new directory's own.
  }
  TestClient reader(dir.path() + "/store");
  const Object object = reader.get("a/b").value();
  EXPECT_EQ(object.body, "body");
  EXPECT_EQ(object.revision, revision);
  EXPECT_TRUE(object.age.has_value());
  EXPECT_TRUE(reader.get("a/b", revision).is(Errc::kUnchanged));
  EXPECT_TRUE(reader.get("a").is(Errc::kNotFound));
}

TEST(FileStoreTest, AnAcknowledgedReplacementCostsTwoSyncsAndNoneWithoutSync) {
  TempDir dir;
  TestClient durable(dir.path(), "");
  ASSERT_TRUE(durable.put("k", "1").ok());
  const auto before = durable.store().stats().syncs;
  ASSERT_TRUE(durable.put("k", "2").ok());
  ASSERT_TRUE(durable.get("k").ok());
  EXPECT_EQ(durable.store().stats().syncs, before + 2);
  TestClient fast(dir.path());
  ASSERT_TRUE(fast.put("k", "3").ok());
  EXPECT_EQ(fast.store().stats().syncs, 0u);
}

TEST(FileStoreTest, ConditionsAreDecidedByTheStore) {
  TempDir dir;
  TestClient one(dir.path()), two(dir.path());
  const Revision first = one.put("k", "1", Precondition::absent()).value();
  EXPECT_TRUE(two.put("k", "x", Precondition::absent()).is(Errc::kConflict));
  const Revision second = two.put("k", "2", Precondition::at(first)).value();
  EXPECT_TRUE(one.put("k", "x", Precondition::at(first)).is(Errc::kConflict));
  EXPECT_TRUE(one.put("absent", "x", Precondition::at(first)).is(Errc::kConflict));
  // S17: the look and the removal are one step.
  EXPECT_TRUE(one.remove("k", first).is(Errc::kConflict));
  EXPECT_TRUE(one.guarded_put("g", "x", {}, {"k", Precondition::at(first)}).is(Errc::kConflict));
  EXPECT_TRUE(one.get("g").is(Errc::kNotFound));
  EXPECT_TRUE(one.guarded_put("g", "y", {}, {"k", Precondition::at(second)}).ok());
  EXPECT_TRUE(one.remove("k", second).ok());
  EXPECT_TRUE(one.remove("k").is(Errc::kNotFound));
  EXPECT_EQ(two.get("g").value().body, "y");
}

TEST(FileStoreTest, ARevisionIsNeverUsedAgainEvenWhenTheSequenceIsLost) {
  TempDir dir;
  Revision before;
  {
    TestClient client(dir.path());
    before = client.put("k", "same").value();
    ASSERT_TRUE(client.remove("k").ok());
  }
  // What a power loss may do to a file that is never synced.
  fs::resize_file(dir.path() + "/journal", 0);
  TestClient client(dir.path());
  const Revision after = client.put("k", "same").value();
  EXPECT_NE(after, before);
  EXPECT_EQ(after.value().substr(0, 2), before.value().substr(0, 2)) << "the case is not tested";
}

TEST(FileStoreTest, AfterALostJournalTheSequenceGoesOnAboveEveryObject) {
  TempDir dir;
  {
    TestClient client(dir.path());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.put("k", "x").ok());
  }
  std::ofstream(dir.path() + "/journal") << "not a journal";
  TestClient client(dir.path());
  EXPECT_EQ(client.put("other", "y").value().value().substr(0, 2), "6-");
}

TEST(FileStoreTest, ListsAreInByteOrderOfKeysAndPaginated) {
  TempDir dir;
  TestClient client(dir.path(), "?sync=off&page=3");
  // '-' and ' ' come before '/', '0' after it; in file names the order is another.
  const std::string chunk(128, 'x');
  std::vector<Key> keys{"a",   "a b",       "a-b",        "a/b",        "a/b/c", "a0", "A",
                        "é/x", chunk + "/", chunk + "-1", chunk + "01", chunk,   "b/."};
  keys[8] += "y";
  for (const Key& key : keys) ASSERT_TRUE(client.put(key, "x").ok()) << key;
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys_of(client.list_all("").value()), keys);
  const ListPage first = client.list("a").value();
  EXPECT_THAT(keys_of(first), ElementsAre("a", "a b", "a-b"));
  EXPECT_FALSE(first.next.empty());
  const ListPage second = client.list("a", first.next).value();
  EXPECT_THAT(keys_of(second), ElementsAre("a/b", "a/b/c", "a0"));
  EXPECT_TRUE(second.next.empty());
  EXPECT_THAT(keys_of(client.list_all("a/b").value()), ElementsAre("a/b", "a/b/c"));
  EXPECT_THAT(keys_of(client.list("no/such/").value()), ElementsAre());
  EXPECT_THAT(keys_of(client.list("/").value()), ElementsAre());
  EXPECT_EQ(first.objects[0].revision, client.get("a").value().revision);
}

TEST(FileStoreTest, S14TwoAndAHalfThousandKeysAreListed) {
  TempDir dir;
  TestClient client(dir.path());
  for (int i = 0; i < 2500; ++i) ASSERT_TRUE(client.put("w/" + std::to_string(i), "x").ok());
  EXPECT_EQ(client.list("w/").value().objects.size(), 1000u);
  EXPECT_EQ(client.list_all("w/").value().objects.size(), 2500u);
}

TEST(FileStoreTest, RemovalLeavesNoEmptyDirectories) {
  TempDir dir;
  TestClient client(dir.path());
  ASSERT_TRUE(client.put("a/b/c", "x").ok());
  ASSERT_TRUE(client.put("a/d", "x").ok());
  ASSERT_TRUE(client.remove("a/b/c").ok());
  EXPECT_FALSE(fs::exists(dir.path() + "/objects/a+/b+"));
  EXPECT_EQ(client.get("a/d").value().body, "x");
}

// S18: what was damaged is there all the same, and can be replaced by anyone who has looked at it.
TEST(FileStoreTest, ADamagedObjectIsReadAsItIsNamedAndReplaced) {
  TempDir dir;
  TestClient client(dir.path());
  const Revision revision = client.put("bad", "body").value();
  ASSERT_TRUE(client.put("good", "body").ok());
  const std::string file = dir.path() + "/objects/bad";
  fs::resize_file(file, fs::file_size(file) - 1);
  const Object damaged = client.get("bad").value();
  EXPECT_THAT(damaged.damage, HasSubstr(file + " is not as long as its header says"));
  EXPECT_EQ(damaged.body.size(), fs::file_size(file)) << "the file as it is, its header with it";
  EXPECT_THAT(damaged.revision.value(), StartsWith("damaged-"));
  EXPECT_TRUE(damaged.age.has_value());
  const ListPage page = client.list("").value();
  EXPECT_THAT(keys_of(page), ElementsAre("bad", "good"));
  EXPECT_EQ(page.objects[0].revision, damaged.revision);
  EXPECT_TRUE(client.put("bad", "x", Precondition::at(revision)).is(Errc::kConflict));
  EXPECT_TRUE(client.put("bad", "x", Precondition::absent()).is(Errc::kConflict));
  EXPECT_TRUE(client.remove("bad", revision).is(Errc::kConflict));
  EXPECT_TRUE(client.put("bad", "new", Precondition::at(damaged.revision)).ok());
  EXPECT_EQ(client.get("bad").value().body, "new");
  EXPECT_TRUE(client.put("bad", "x", Precondition::at(damaged.revision)).is(Errc::kConflict));
  EXPECT_EQ(client.get("good").value().damage, "");
}

TEST(FileStoreTest, TheSameDamageAtAnotherTimeIsAnotherRevision) {
  TempDir dir;
  TestClient client(dir.path());
  const std::string file = dir.path() + "/objects/k";
  ASSERT_TRUE(client.put("k", "1").ok());
  fs::resize_file(file, 0);
  const Revision first = client.get("k").value().revision;
  ASSERT_TRUE(client.put("k", "2", Precondition::at(first)).ok());
  fs::resize_file(file, 0);
  // A file system may count time in steps that a test is too fast for.
  fs::last_write_time(file, fs::last_write_time(file) + 10ms);
  EXPECT_NE(client.get("k").value().revision, first);
  EXPECT_TRUE(client.put("k", "3", Precondition::at(first)).is(Errc::kConflict));
}

TEST(FileStoreTest, WhoeverKnowsTheRevisionOfWhatWasDamagedMayStillReplaceIt) {
  TempDir dir;
  TestClient client(dir.path());
  const Revision revision = client.put("k", "body").value();
  std::fstream(dir.path() + "/objects/k", std::ios::in | std::ios::out)
      .seekp(-1, std::ios::end)
      .put('!');
  EXPECT_THAT(client.get("k", revision).value().damage, HasSubstr("does not match its checksum"));
  EXPECT_TRUE(client.put("k", "next", Precondition::at(revision)).ok());
  EXPECT_EQ(client.get("k").value().body, "next");
}

TEST(FileStoreTest, ALargeDamagedObjectIsListedToo) {
  TempDir dir;
  TestClient client(dir.path());
  ASSERT_TRUE(client.put("k", std::string(1 << 20, 'x')).ok());
  const std::string file = dir.path() + "/objects/k";
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(client.list("").value().objects.at(0).revision, client.get("k").value().revision);
}

// What a newer release wrote is whole, and not for this one to replace.
TEST(FileStoreTest, AnObjectOfANewerFormatStaysAnError) {
  TempDir dir;
  TestClient client(dir.path());
  const Revision revision = client.put("k", "body").value();
  const std::string file = dir.path() + "/objects/k";
  std::fstream(file, std::ios::in | std::ios::out).seekp(8).put('\2');
  const auto got = client.get("k");
  ASSERT_TRUE(got.is(Errc::kUnsupported));
  EXPECT_THAT(got.error().message, HasSubstr(file + " has format version 2"));
  EXPECT_EQ(client.list("").value().objects.at(0).revision, Revision("unreadable"));
  EXPECT_TRUE(client.put("k", "x", Precondition::at(revision)).is(Errc::kUnsupported));
  EXPECT_TRUE(client.put("k", "x", Precondition::absent()).is(Errc::kConflict));
  EXPECT_TRUE(client.remove("k", revision).is(Errc::kUnsupported));
}

TEST(FileStoreTest, FilesOfOthersAreLeftAlone) {
  TempDir dir;
  TestClient client(dir.path());
  ASSERT_TRUE(client.put("k", "x").ok());
  fs::create_directories(dir.path() + "/objects/lost+found");
  std::ofstream(dir.path() + "/objects/.k.swp") << "x";
  EXPECT_THAT(keys_of(client.list("").value()), ElementsAre("k"));
}

TEST(FileStoreTest, AnOddAddressIsRefusedWithASentence) {
  TempDir dir;
  const std::string file = dir.path() + "/file";
  std::ofstream(file) << "x";
  EXPECT_THAT(error_of_opening("file://host/dir"), HasSubstr("three slashes"));
  EXPECT_THAT(error_of_opening("file://"), HasSubstr("three slashes"));
  EXPECT_THAT(error_of_opening("file://" + dir.path() + "?snyc=off"),
              HasSubstr("did you mean \"sync\"?"));
  EXPECT_THAT(error_of_opening("file://" + dir.path() + "?sync=maybe"), HasSubstr("on or off"));
  EXPECT_THAT(error_of_opening("file://" + dir.path() + "?page=0"), HasSubstr("1 to 100000"));
  EXPECT_THAT(error_of_opening("file://" + dir.path() + "/a/b"),
              HasSubstr("its parent directory does not exist"));
  EXPECT_THAT(error_of_opening("file://" + file), HasSubstr("is a file, not a directory"));
  EXPECT_THAT(error_of_opening("file://" + file + "/x"), HasSubstr("is a file, not a directory"));
}

TEST(FileStoreTest, ANewDirectoryIsForItsOwnerOnly) {
  TempDir dir;
  TestClient client(dir.path() + "/new");
  struct stat info {};
  ASSERT_EQ(::stat((dir.path() + "/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

/// Opening a pipe that nobody writes to blocks, as a hung disk does.
class HungDisk {
 public:
  explicit HungDisk(const std::string& file) : file_(file) {
    fs::remove(file);
    EXPECT_EQ(::mkfifo(file.c_str(), 0600), 0);
  }
  /// Lets everyone through who has come so far, and nobody block again.
  ~HungDisk() {
    UniqueFd both(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
    fs::remove(file_);
    release_ = std::move(both);
  }

 private:
  std::string file_;
  UniqueFd release_;
};

TEST(FileStoreTest, AHungDiskCostsReadersTheirDeadlineAndMakesWritesAmbiguous) {
  TempDir dir;
  TestClient client(dir.path());
  const Revision revision = client.put("hung", "1").value();
  {
    HungDisk disk(dir.path() + "/objects/hung");
    const MonoTime start = boot_now();
    const auto write = client.put("hung", "2", Precondition::at(revision), 50ms);
    ASSERT_TRUE(write.is(Errc::kAmbiguous));
    EXPECT_THAT(write.error().message, HasSubstr("did not answer in time"));
    // Still queued behind it: certainly not written, and never will be.
    EXPECT_TRUE(client.put("queued", "x", {}, 50ms).is(Errc::kUnavailable));
    EXPECT_TRUE(client.get("hung", {}, 50ms).is(Errc::kUnavailable));
    EXPECT_LT(boot_now() - start, 10s);
  }
  EXPECT_TRUE(client.put("after", "x").ok());
  EXPECT_TRUE(client.get("queued").is(Errc::kNotFound));
}

TEST(FileStoreTest, ADeadlineThatHasPassedWritesNothing) {
  TempDir dir;
  TestClient client(dir.path());
  EXPECT_TRUE(client.put("k", "x", {}, 0s).is(Errc::kUnavailable));
  EXPECT_TRUE(client.get("k").is(Errc::kNotFound));
}

TEST(FileStoreTest, TooManyCallsAtOnceAreThrottled) {
  TempDir dir;
  TestClient client(dir.path());
  ASSERT_TRUE(client.put("hung", "1").ok());
  int throttled = 0;
  {
    HungDisk disk(dir.path() + "/objects/hung");
    EXPECT_TRUE(client.get("hung", {}, 50ms).is(Errc::kUnavailable));
    client.loop().run([&] {
      for (int i = 0; i < 4100; ++i) {
        client.store().get("k", {}, Deadline::max(), [&](Result<Object> r) {
          if (r.is(Errc::kThrottled)) ++throttled;
        });
      }
    });
    client.loop().run([] {});
  }
  EXPECT_EQ(throttled, 4);
}

TEST(FileStoreTest, NothingIsCalledAfterTheStoreIsGone) {
  TempDir dir;
  LoopThread thread;
  int calls = 0;
  thread.run([&] {
    auto store = open_file_store(Url::parse("file://" + dir.path()).value(), thread.loop()).value();
    for (int i = 0; i < 100; ++i) {
      store->put("k", "x", {}, Deadline::max(), [&](Result<Revision>) { ++calls; });
    }
  });
  thread.run([] {});
  EXPECT_EQ(calls, 0);
}

}  // namespace file_store_test
}  // namespace muster::file
