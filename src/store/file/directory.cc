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
      foreign_(files::foreign_file_system(root_.get())),
      random_(system_random()) {}

bool Directory::removed() const {
  return files::is_unlinked(lock_.fd());
}

Error Directory::was_removed() const {
  return {Errc::kUnavailable, "the store in " + path_ +
                                  " fails: its directory was removed while in use; it goes on when "
                                  "that is made again"};
}

Status Directory::reopen() {
  auto root = files::open_directory(path_);
  if (!root) return in_store(path_, root.error());
  const auto opened = open_files(path_, std::move(*root));
  if (!opened) return opened.error();
  // The descriptors keep their numbers, for other threads may be reading through them. The lock
  // comes last: while it is the old one, all that was replaced before counts for nothing.
  if (Status s = files::replace(root_.get(), opened->root); !s) return s;
  if (Status s = files::replace(journal_.fd(), opened->journal); !s) return s;
  return files::replace(lock_.fd(), opened->lock);
}

Error Directory::in_store(const std::string& path, const Error& error) {
  return {error.code == Errc::kNotFound ? Errc::kUnavailable : error.code,
          "the store in " + path + " fails: " + error.message};
}

Error Directory::about(const std::string& name, const Error& error) const {
  return {error.code, "the file " + path_ + "/" + name + " " + error.message};
}

Result<bool> Directory::try_lock() {
  auto locked = lock_.try_lock();
  if (!locked || !*locked) return locked;
  if (removed()) {
    lock_.unlock();
    return was_removed();
  }
  Status ready = Done{};
  if (Status loaded = journal_.load();
      !loaded || journal_.state().in_flight != InFlight::kNothing) {
    ready = put_in_order();
  }
  if (ready) return true;
  lock_.unlock();
  return in_store(path_, ready.error());
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

Result<Revision> Directory::put(const Key& key, const std::string& body, const Precondition& when,
                                const std::optional<Guard>& guard) {
  if (body.size() > kBodyBytesMax) {
    return {Errc::kInvalid, "the object for " + key + " is larger than " +
                                std::to_string(kBodyBytesMax >> 20) + " MB"};
  }
  if (Status s = holds(key, when); !s) return s.error();
  if (guard) {
    if (Status s = holds(guard->key, guard->when); !s) return s.error();
  }
  if (journal_.state().in_flight != InFlight::kNothing) {
    if (Status s = put_in_order(); !s) return s.error();
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
  const std::string name = file_of(key);
  const auto found = header(name);
  if (found.is(Errc::kNotFound)) return {Errc::kNotFound, key + " does not exist"};
  if (when) {
    if (Status s = holds(key, Precondition::at(*when)); !s) return s;
  }
  if (journal_.state().in_flight != InFlight::kNothing) {
    if (Status s = put_in_order(); !s) return s;
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
