// A store is the directory at its path: what happens when that is renamed, removed, mounted over,
// linked to another, or emptied while processes use it.

#include <fcntl.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "platform/system_clock.h"
#include "store/file/directory.h"
#include "store/file/test_client.h"
#include "store/file/test_process.h"

namespace muster::file {
namespace file_place_test {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class FilePlaceTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string object(const std::string& directory) const {
    std::ifstream in(directory + "/objects/k", std::ios::binary);
    std::string all((std::istreambuf_iterator<char>(in)), {});
    return all.size() > kObjectHeaderBytes ? all.substr(kObjectHeaderBytes) : "";
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/store";
  const std::string aside_ = dir_.path() + "/aside";
};

/// Repeats a call until it does not fail because the directory is away, for up to 10 s.
template <typename Call>
auto once_back(Call call) {
  auto result = call();
  for (const MonoTime end = boot_now() + 10s; result.is(Errc::kUnavailable) && boot_now() < end;) {
    result = call();
  }
  return result;
}

/// `client` has written "1" into the directory `old_home`, and another one is at `path` now:
/// nothing of it may reach the old one, and nothing of the old one counts in the new one.
void expect_another_store(TestClient& client, const Revision& old, const std::string& path,
                          const std::string& old_home) {
  TestClient other(path);
  ASSERT_TRUE(other.put("k", "other").ok());
  const auto renewed = once_back([&] { return client.put("k", "renewed", Precondition::at(old)); });
  EXPECT_TRUE(renewed.is(Errc::kConflict)) << "at a revision of another store";
  EXPECT_EQ(client.get("k").value().body, "other");
  ASSERT_TRUE(client.put("k", "both").ok());
  EXPECT_EQ(other.get("k").value().body, "both");
  TestClient before(old_home);
  EXPECT_EQ(before.get("k").value().body, "1") << "written after it was elsewhere";
}

TEST_F(FilePlaceTest, ARenamedDirectoryIsNeitherReadNorWritten) {
  TestClient client(path_);
  const Revision old = client.put("k", "1").value();
  fs::rename(path_, aside_);
  const auto put = client.put("k", "2", Precondition::at(old));
  ASSERT_TRUE(put.is(Errc::kUnavailable));
  EXPECT_THAT(put.error().message, HasSubstr(path_ + " fails: its directory was removed"));
  EXPECT_TRUE(client.get("k").is(Errc::kUnavailable)) << "it is not the store's any more";
  EXPECT_TRUE(client.remove("k").is(Errc::kUnavailable));
  EXPECT_TRUE(client.list("").is(Errc::kUnavailable));
  EXPECT_FALSE(fs::exists(path_)) << "anyone who renamed it has a reason";
  expect_another_store(client, old, path_, aside_);
}

TEST_F(FilePlaceTest, AFileInItsPlaceIsCalledAFile) {
  TestClient client(path_);
  ASSERT_TRUE(client.put("k", "1").ok());
  fs::rename(path_, aside_);
  std::ofstream(path_) << "text";
  EXPECT_THAT(client.put("k", "2").error().message, HasSubstr("its path is a file now"));
  fs::remove(path_);
}

TEST_F(FilePlaceTest, ADirectoryThatComesBackIsTheSameStore) {
  TestClient client(path_);
  const Revision old = client.put("k", "1").value();
  fs::rename(path_, aside_);
  ASSERT_TRUE(client.put("k", "2").is(Errc::kUnavailable));
  fs::rename(aside_, path_);
  EXPECT_TRUE(client.put("k", "2", Precondition::at(old)).ok());
}

TEST_F(FilePlaceTest, ALinkThatLeadsElsewhereLeadsToAnotherStore) {
  const std::string a = dir_.path() + "/a";
  const std::string b = dir_.path() + "/b";
  fs::create_directory(b);
  {
    TestClient make(a);
    ASSERT_TRUE(make.put("k", "1").ok());
  }
  fs::create_directory_symlink(a, path_);
  TestClient client(path_);
  const Revision old = client.get("k").value().revision;
  fs::create_directory_symlink(b, aside_);
  fs::rename(aside_, path_);  // As `ln -sfn` and deployments do it.
  expect_another_store(client, old, path_, a);
}

TEST_F(FilePlaceTest, AMountOverTheDirectoryIsAnotherStoreAndGoesAgain) {
  const std::string said = in_private_mounts(dir_.path(), "size=1m", [&]() -> std::string {
    TestClient client(path_);
    const auto old = client.put("k", "1");
    if (!old) return old.error().message;
    fs::create_directory(aside_);
    if (::mount(aside_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) != 0) return "no mount";
    const auto put = once_back([&] { return client.put("k", "renewed", Precondition::at(*old)); });
    if (!put.is(Errc::kConflict)) return put ? "written" : put.error().message;
    if (!client.put("k", "below")) return "the new one cannot be written";
    if (object(aside_) != "below") return "not written where the path leads";
    if (::umount2(path_.c_str(), MNT_DETACH) != 0) return "no unmount";
    const auto back = once_back([&] { return client.put("k", "2", Precondition::at(*old)); });
    return back ? "as it was" : back.error().message;
  });
  EXPECT_EQ(said, "as it was");
}

TEST_F(FilePlaceTest, EveryWriteUnderOneHoldOfTheLockLooksAtThePath) {
  auto directory = Directory::open(path_, {.sync = false}).value();
  ASSERT_TRUE(directory->try_lock().value());
  ASSERT_TRUE(directory->put("k", "1", {}, {}).ok());
  fs::rename(path_, aside_);
  EXPECT_TRUE(directory->put("k", "2", {}, {}).is(Errc::kUnavailable));
  EXPECT_TRUE(directory->remove("k", {}).is(Errc::kUnavailable));
  directory->unlock();
  EXPECT_EQ(object(aside_), "1");
}

TEST_F(FilePlaceTest, AnotherDirectoryIsNoticedByWhoeverOnlyWatches) {
  TestClient client(path_);
  ASSERT_TRUE(client.put("k", "1").ok());
  std::promise<void> reset;
  std::unique_ptr<Watch> watch;
  client.loop().run([&] {
    watch = client.store().watch("k", "", [&, told = false](const WatchEvent& event) mutable {
      if (event.kind != WatchEvent::Kind::kReset || std::exchange(told, true)) return;
      reset.set_value();
    });
  });
  fs::rename(path_, aside_);
  fs::create_directory(path_);
  EXPECT_EQ(reset.get_future().wait_for(10s), std::future_status::ready);
  client.loop().run([&] { watch.reset(); });
}

TEST_F(FilePlaceTest, AStoreWhoseDirectoryIsTakenAwaySaysSo) {
  TestClient client(path_);
  ASSERT_TRUE(client.put("k", "1").ok());
  fs::remove_all(path_);
  const auto lost = client.put("k", "2");
  ASSERT_TRUE(lost.is(Errc::kUnavailable));
  EXPECT_THAT(lost.error().message, HasSubstr("was removed or renamed while in use"));
  EXPECT_TRUE(client.get("k").is(Errc::kUnavailable)) << "that is no proof that it is absent";
  EXPECT_FALSE(fs::exists(path_)) << "anyone who removed it has a reason";
}

TEST_F(FilePlaceTest, AStoreWhoseDirectoryIsMadeAnewGoesOnThereWithNothingOfTheOldOne) {
  TestClient client(path_);
  const Revision old = client.put("k", "1").value();
  fs::remove_all(path_);
  ASSERT_TRUE(client.put("k", "2").is(Errc::kUnavailable));
  fs::create_directory(path_);
  EXPECT_TRUE(client.get("k").is(Errc::kNotFound));
  EXPECT_TRUE(client.put("k", "2", Precondition::at(old)).is(Errc::kConflict));
  ASSERT_TRUE(client.put("k", "3", Precondition::absent()).ok());

  fs::remove_all(path_);
  TestClient again(path_);
  ASSERT_TRUE(again.put("k", "4").ok());
  EXPECT_EQ(client.get("k").value().body, "4") << "both use the same directory";
  ASSERT_TRUE(client.put("k", "5").ok());
  EXPECT_EQ(again.get("k").value().body, "5");
}

TEST_F(FilePlaceTest, WhatIsBeingRemovedGetsNothingNew) {
  auto directory = Directory::open(path_, {.sync = false}).value();
  fs::remove(path_ + "/lock");
  const auto locked = directory->try_lock();
  ASSERT_TRUE(locked.is(Errc::kUnavailable));
  EXPECT_THAT(locked.error().message, HasSubstr("its file \"lock\" was removed while in use"));
  EXPECT_FALSE(fs::exists(path_ + "/lock"));
}

TEST_F(FilePlaceTest, ALockOrAJournalThatWasRemovedIsMadeAgain) {
  for (const char* name : {"lock", "journal"}) {
    SCOPED_TRACE(name);
    TestClient first(path_), second(path_);
    const Revision old = first.put("k", "1").value();
    fs::remove(path_ + "/" + name);
    EXPECT_TRUE(once_back([&] { return second.put("k", "2", Precondition::at(old)); }).ok())
        << "it is the same store";
    EXPECT_TRUE(fs::exists(path_ + "/" + name));
    EXPECT_TRUE(once_back([&] { return first.put("k", "3"); }).ok());
    TestClient third(path_);
    EXPECT_EQ(third.get("k").value().body, "3");
    EXPECT_TRUE(third.put("k", "4").ok());
  }
}

TEST_F(FilePlaceTest, AnEmptiedDirectoryIsAnEmptyStoreForEverybody) {
  TestClient client(path_);
  const Revision old = client.put("k", "1").value();
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry);
  const auto put = once_back([&] { return client.put("k", "2", Precondition::at(old)); });
  EXPECT_TRUE(put.is(Errc::kConflict));
  EXPECT_TRUE(client.get("k").is(Errc::kNotFound));
  ASSERT_TRUE(client.put("k", "3", Precondition::absent()).ok());
  TestClient other(path_);
  EXPECT_EQ(other.get("k").value().body, "3");
}

// Who opens the directory makes the lock at once. Anyone who is in the middle of a write holds the
// directory's own lock, so the two do not write together.
TEST_F(FilePlaceTest, ALockThatWasRemovedUnderItsHolderIsStillHeld) {
  auto holder = Directory::open(path_, {.sync = false}).value();
  ASSERT_TRUE(holder->try_lock().value());
  fs::remove(path_ + "/lock");
  auto fresh = Directory::open(path_, {.sync = false}).value();
  ASSERT_TRUE(fs::exists(path_ + "/lock"));
  EXPECT_FALSE(fresh->try_lock().value());
  holder->unlock();
  EXPECT_TRUE(fresh->try_lock().value());
  fresh->unlock();
  EXPECT_TRUE(holder->try_lock().value()) << "with the lock that the other has made";
}

// A worker of version 0.1 knows the lock's file alone.
TEST_F(FilePlaceTest, AnEarlierVersionAndThisOneExcludeEachOther) {
  auto directory = Directory::open(path_, {.sync = false}).value();
  files::FileLock earlier(files::open_at(AT_FDCWD, path_ + "/lock", O_RDWR).value());
  ASSERT_TRUE(earlier.try_lock().value());
  EXPECT_FALSE(directory->try_lock().value());
  EXPECT_EQ(directory->holder(), files::process_id());
  earlier.unlock();
  ASSERT_TRUE(directory->try_lock().value());
  EXPECT_FALSE(earlier.try_lock().value());
  directory->unlock();
  EXPECT_TRUE(earlier.try_lock().value());
}

}  // namespace file_place_test
}  // namespace muster::file
