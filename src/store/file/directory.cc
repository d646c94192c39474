// The lock and what is done under it: writes, and putting in order what a writer left.
#include "store/file/directory.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "platform/system_clock.h"
#include "store/file/layout.h"

namespace muster::file {
namespace {

constexpr const char* kLock = "lock";
constexpr const char* kJournal = "journal";
// Only the holder of the lock writes, so one name is enough for all.
constexpr const char* kTemporary = "new";
// Removing a directory begins with its content. What stays without a lock or a journal for
// this long is not being removed, and gets them again.
constexpr Duration kBareMax = 400ms;

std::string parent_of(const std::string& name) {
  return name.substr(0, name.rfind('/'));
}

}  // namespace

Result<std::unique_ptr<Directory>> Directory::open(const std::string& path, Options options) {
  auto root = files::open_or_make_directory(path);
  if (!root) return root.error();
  auto opened = open_files(path, std::move(*root));
  if (!opened) return opened.error();
  return std::unique_ptr<Directory>(new Directory(path, options, std::move(*opened)));
}

Result<Directory::Opened> Directory::open_files(const std::string& path, UniqueFd root) {
  auto lock = files::open_at(root.get(), kLock, O_RDWR | O_CREAT | O_NOFOLLOW);
  if (!lock) return in_store(path, lock.error());
  auto journal = files::open_at(root.get(), kJournal, O_RDWR | O_CREAT | O_NOFOLLOW);
  if (!journal) return in_store(path, journal.error());
  if (Status s = files::make_directory(root.get(), kObjects); !s) return in_store(path, s.error());
  if (auto found = files::entries(root.get(), kObjects); !found) {
    return in_store(path, found.error());
  }
  return Opened{std::move(root), std::move(*lock), std::move(*journal)};
}

Directory::Directory(std::string path, Options options, Opened opened)
    : path_(std::move(path)),
      options_(options),
      root_(std::move(opened.root)),
      lock_(std::move(opened.lock)),
      journal_(std::move(opened.journal)),
      line_(journal_.fd()),
      ids_(ids_of(root_.get(), lock_.fd(), journal_.fd())),
      foreign_(files::foreign_file_system(root_.get())),
      local_(foreign_.empty()),
      random_(system_random()) {}

Directory::Ids Directory::ids_of(int root, int lock, int journal) {
  const auto id = [](int fd) {
    const auto found = files::id_of(fd);
    // What cannot be examined has an id that nothing has, and so counts as lost.
    return found ? *found : files::FileId{};
  };
  return {id(root), id(lock), id(journal)};
}

Status Directory::at_path() const {
  const auto now = files::id_at(path_);
  if (now.is(Errc::kNotFound)) {
    return {Errc::kUnavailable,
            "the store in " + path_ +
                " fails: its directory was removed or renamed while in use; the store works again "
                "when there is a directory"};
  }
  if (!now) return in_store(path_, now.error());
  if (*now == ids_.root) return Done{};
  if (const auto there = files::open_directory(path_); there.is(Errc::kInvalid)) {
    return {Errc::kUnavailable, "the store in " + path_ +
                                    " fails: its path is a file now, not a directory; the store "
                                    "works again when it is a directory"};
  }
  return {Errc::kUnavailable,
          "the store in " + path_ +
              " fails: its path leads to another directory now (the one in use was renamed, "
              "mounted over, or a link to it changed)"};
}

Status Directory::in_place() const {
  if (Status s = at_path(); !s) return s;
  for (const auto& [name, id] : {std::pair(kLock, ids_.lock), std::pair(kJournal, ids_.journal)}) {
    const auto now = files::id_at(root_.get(), name);
    if (now && *now == id) continue;
    if (!now && !now.is(Errc::kNotFound)) return in_store(path_, now.error());
    return {Errc::kUnavailable, "the store in " + path_ + " fails: its file \"" + name +
                                    "\" was removed while in use; it will be made again shortly"};
  }
  return Done{};
}

Status Directory::reopen() {
  auto root = files::open_directory(path_);
  if (!root) return in_store(path_, root.error());
  const auto opened = open_files(path_, std::move(*root));
  if (!opened) return opened.error();
  line_.leave();
  bare_since_.reset();
  // The descriptors keep their numbers, for other threads may be reading through them. The ids come
  // last: while they are the old ones, all that was replaced before counts for nothing.
  if (Status s = files::replace(root_.get(), opened->root); !s) return s;
  if (Status s = files::replace(journal_.fd(), opened->journal); !s) return s;
  if (Status s = files::replace(lock_.fd(), opened->lock); !s) return s;
  local_ = files::foreign_file_system(root_.get()).empty();
  ids_ = ids_of(root_.get(), lock_.fd(), journal_.fd());
  ++openings_;
  return Done{};
}

Error Directory::in_store(const std::string& path, const Error& error) {
  return {error.code == Errc::kNotFound ? Errc::kUnavailable : error.code,
          "the store in " + path + " fails: " + error.message};
}

Error Directory::about(const std::string& name, const Error& error) const {
  return {error.code, "the file " + path_ + "/" + name + " " + error.message};
}

Result<bool> Directory::try_lock() {
  const MonoTime now = boot_now();
  if (!line_.may_ask(now)) return false;
  auto locked = take_locks();
  if (locked && *locked) {
    if (const Status here = in_place(); here) {
      bare_since_.reset();
    } else {
      locked = restore_files(here.error());
      if (!locked || !*locked) unlock();
    }
  }
  if (!locked) {
    line_.leave();
    return locked;
  }
  if (!*locked) {
    line_.was_refused(now);
    return false;
  }
  line_.was_served(now);
  Status ready = Done{};
  if (Status loaded = journal_.load();
      !loaded || journal_.state().in_flight != InFlight::kNothing) {
    ready = put_in_order();
  }
  if (ready) return true;
  unlock();
  return in_store(path_, ready.error());
}

// Two locks: the directory's own, which nobody can remove from it, and that of the file, which has
// the holder's process id and which earlier versions know alone.
Result<bool> Directory::take_locks() {
  if (local_) {
    auto locked = files::try_flock(root_.get());
    if (!locked || !*locked) return locked;
  }
  auto locked = lock_.try_lock();
  if (local_ && (!locked || !*locked)) files::release_flock(root_.get());
  return locked;
}

int Directory::holder() const {
  if (const int ours = lock_.holder(); ours != 0) return ours;
  // A program that is not Muster does not write its id into the file.
  if (const int of_directory = files::flock_holder(root_.get()); of_directory != 0) {
    return of_directory;
  }
  return files::flock_holder(lock_.fd());
}

void Directory::unlock() {
  lock_.unlock();
  if (local_) files::release_flock(root_.get());
}

// With the locks of what is open, so that nobody who had the old files open is in the middle of a
// write. False when another process has made the files again and holds the new lock; `missing`
// while the directory may be about to be removed.
Result<bool> Directory::restore_files(const Error& missing) {
  if (Status s = at_path(); !s) return s.error();
  const bool made_by_another = files::id_at(root_.get(), kLock).ok();
  if (!bare_since_) bare_since_ = boot_now();
  if (!made_by_another && boot_now() - *bare_since_ < kBareMax) return missing;
  auto again = files::open_at(root_.get(), ".", O_RDONLY | O_DIRECTORY);
  if (!again) return in_store(path_, again.error());
  const auto opened = open_files(path_, std::move(*again));
  if (!opened) return opened.error();
  const Ids made = ids_of(root_.get(), opened->lock.get(), opened->journal.get());
  if (made.lock != ids_.lock) {
    auto locked = files::try_flock(opened->lock.get());
    if (!locked || !*locked) return locked;
    if (Status s = files::replace(lock_.fd(), opened->lock); !s) return s.error();
    ids_.lock = made.lock;
  }
  if (Status s = files::replace(journal_.fd(), opened->journal); !s) return s.error();
  ids_ = made;
  bare_since_.reset();
  ++openings_;
  return lock_.try_lock();  // It is held already; this writes who holds it.
}

// Reached with a journal of an earlier boot, or after a writer that stopped between begin() and
// settle(). What it did is whole, but perhaps not durable, and new directories may hang on it.
Status Directory::put_in_order() {
  if (Status s = sweep(); !s) return s;
  if (options_.sync) {
    syncs_.fetch_add(1, std::memory_order_relaxed);
    if (Status s = files::sync_all(root_.get()); !s) return s;
  }
  if (journal_.load()) {
    journal_.settle();
    return Done{};
  }
  const auto highest = highest_sequence();
  if (!highest) return highest.error();
  return journal_.restart(*highest, random_.next() | 1);
}

Status Directory::sweep() {
  Status removed = files::unlink(root_.get(), kTemporary);
  if (removed.is(Errc::kNotFound)) return Done{};
  return removed;
}

Result<ObjectHeader> Directory::header(const std::string& name) const {
  const auto content = files::read(root_.get(), name, kObjectHeaderBytes);
  if (!content) return content.error();
  auto found = decode_header(content->bytes, content->size);
  if (!found) return about(name, found.error());
  return found;
}

Status Directory::holds(const Key& key, const Precondition& when) const {
  if (Status s = check_key(key); !s) return s;
  if (when.kind == Precondition::Kind::kNone) return Done{};
  const auto found = header(file_of(key));
  if (when.kind == Precondition::Kind::kAbsent) {
    if (found.is(Errc::kNotFound)) return Done{};
    // An object that cannot be read is there all the same.
    if (!found && found.code() != Errc::kCorrupt && found.code() != Errc::kUnsupported) {
      return found.error();
    }
    return {Errc::kConflict, key + " exists already"};
  }
  // Who knows the revision of a whole object knows what it replaces, damaged since or not.
  if (found && found->revision() == when.revision) return Done{};
  if (is_damaged_as(file_of(key), when.revision)) return Done{};
  if (!found && !found.is(Errc::kNotFound) && !found.is(Errc::kCorrupt)) return found.error();
  return {Errc::kConflict, key + " is not at revision " + when.revision.value()};
}

bool Directory::is_damaged_as(const std::string& name, const Revision& revision) const {
  if (!names_damage(revision)) return false;
  const auto content = files::read(root_.get(), name, kFileBytesMax);
  return content && decode_object(content->bytes).is(Errc::kCorrupt) &&
         damaged_revision(content->bytes, content->written) == revision;
}

// The path may have been led elsewhere since the lock was taken, and the writer before may have
// stopped half-way.
Status Directory::ready_to_write() {
  if (Status s = at_path(); !s) return s;
  if (journal_.state().in_flight == InFlight::kNothing) return Done{};
  return put_in_order();
}

Result<Revision> Directory::put(const Key& key, const std::string& body, const Precondition& when,
                                const std::optional<Guard>& guard) {
  if (body.size() > kBodyBytesMax) {
    return {Errc::kInvalid, "the object for " + key + " is larger than " +
                                std::to_string(kBodyBytesMax >> 20) + " MB"};
  }
  if (Status s = ready_to_write(); !s) return s.error();
  if (Status s = holds(key, when); !s) return s.error();
  if (guard) {
    if (Status s = holds(guard->key, guard->when); !s) return s.error();
  }
  const ObjectHeader next{journal_.state().sequence + 1, random_.next(), body.size()};
  const std::string name = file_of(key);
  Status written = write_temporary(encode_object(next.sequence, next.nonce, body));
  if (written) written = journal_.begin(key, InFlight::kPut);
  if (written) written = move_into_place(name);
  if (!written) {
    // Whatever of this fails too is swept by the next writer, or overwritten.
    [[maybe_unused]] const Status swept = sweep();
    return in_store(path_, written.error());
  }
  if (Status s = sync_parent(name); !s) return {Errc::kAmbiguous, s.error().message};
  journal_.settle();
  return next.revision();
}

Status Directory::remove(const Key& key, const std::optional<Revision>& when) {
  if (Status s = check_key(key); !s) return s;
  if (Status s = ready_to_write(); !s) return s;
  const std::string name = file_of(key);
  const auto found = header(name);
  if (found.is(Errc::kNotFound)) return {Errc::kNotFound, key + " does not exist"};
  if (when) {
    if (Status s = holds(key, Precondition::at(*when)); !s) return s;
  }
  if (Status s = journal_.begin(key, InFlight::kRemoval); !s) return in_store(path_, s.error());
  if (Status s = files::unlink(root_.get(), name); !s) return in_store(path_, s.error());
  if (Status s = sync_parent(name); !s) return {Errc::kAmbiguous, s.error().message};
  journal_.settle();
  remove_empty_parents(name);
  return Done{};
}

Status Directory::write_temporary(std::string_view bytes) {
  // Never truncates what is there: a file system without a journal may, after a power loss, show
  // an object under its temporary name as well.
  auto file = files::open_at(root_.get(), kTemporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!file) {
    if (Status s = sweep(); !s) return s;
    file = files::open_at(root_.get(), kTemporary, O_WRONLY | O_CREAT | O_EXCL);
    if (!file) return file.error();
  }
  if (Status s = files::write_at(file->get(), 0, bytes); !s) return s;
  return sync(file->get());
}

Status Directory::move_into_place(const std::string& name) {
  // ext4 writes a file out when it is renamed over another, which is a sync in all but name; a
  // store without syncs changes their names instead and removes the old one.
  if (!options_.sync && files::exchange(root_.get(), kTemporary, name)) {
    [[maybe_unused]] const Status swept = sweep();  // Or by the next writer.
    return Done{};
  }
  Status moved = files::rename(root_.get(), kTemporary, name);
  if (!moved.is(Errc::kNotFound)) return moved;
  if (Status s = make_parents(name); !s) return s;
  return files::rename(root_.get(), kTemporary, name);
}

Status Directory::make_parents(const std::string& name) {
  for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    const std::string directory = name.substr(0, slash);
    if (Status s = files::make_directory(root_.get(), directory); !s) return s;
    if (Status s = sync_parent(directory); !s) return s;
  }
  return Done{};
}

void Directory::remove_empty_parents(std::string name) {
  for (name = parent_of(name); name != kObjects; name = parent_of(name)) {
    if (!files::remove_if_empty(root_.get(), name)) return;
  }
}

Status Directory::sync(int fd) {
  if (!options_.sync) return Done{};
  syncs_.fetch_add(1, std::memory_order_relaxed);
  return files::sync(fd);
}

Status Directory::sync_parent(const std::string& name) {
  if (!options_.sync) return Done{};
  if (name.find('/') == std::string::npos) return sync(root_.get());
  const auto parent = files::open_at(root_.get(), parent_of(name), O_RDONLY | O_DIRECTORY);
  if (!parent) return parent.error();
  return sync(parent->get());
}

}  // namespace muster::file
