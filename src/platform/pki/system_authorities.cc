#include "platform/pki/system_authorities.h"

#include <openssl/err.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "base/mutex.h"
#include "platform/pki/openssl.h"
#include "platform/system_clock.h"

namespace muster::pki {
namespace {

constexpr Duration kAuthoritiesAge = 24h;
/// Of Debian and those after it, Arch and Alpine; of Fedora and its kin; of openSUSE.
constexpr const char* kLists[] = {"/etc/ssl/certs/ca-certificates.crt",
                                  "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"};

/// What a file was when it was read: where this differs, it is another.
struct FileMark {
  std::string path;  ///< Empty: OpenSSL's own places.
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec changed{};

  bool operator==(const FileMark& other) const {
    return path == other.path && device == other.device && inode == other.inode &&
           size == other.size && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

FileMark mark_of_list() {
  std::string own;
  if (is_set(X509_get_default_cert_file_env())) {
    own = std::getenv(X509_get_default_cert_file_env());
  } else if (is_set(X509_get_default_cert_dir_env())) {
    return {};
  }
  for (const char* list : kLists) {
    FileMark mark{own.empty() ? list : own};
    struct stat facts {};
    if (::stat(mark.path.c_str(), &facts) != 0) continue;
    mark.device = facts.st_dev;
    mark.inode = facts.st_ino;
    mark.size = facts.st_size;
    mark.changed = facts.st_mtim;
    return mark;
  }
  return {};
}

Result<Authorities> read_authorities(const FileMark& mark) {
  Authorities store(X509_STORE_new(), X509_STORE_free);
  if (!store) return openssl_failure(Errc::kInvalid, "TLS cannot be used");
  const bool usable = mark.path.empty() ? X509_STORE_set_default_paths(store.get()) == 1
                                        : X509_STORE_load_file(store.get(), mark.path.c_str()) == 1;
  if (usable) return store;
  return openssl_failure(Errc::kInvalid, "the system's CA certificates cannot be used" +
                                             (mark.path.empty() ? "" : " (" + mark.path + ")"));
}

}  // namespace

Result<Authorities> system_authorities() {
  static Mutex mutex;
  static Authorities known MUSTER_GUARDED_BY(mutex);
  static FileMark known_mark MUSTER_GUARDED_BY(mutex);
  static MonoTime known_since MUSTER_GUARDED_BY(mutex);
  MutexLock lock(mutex);
  const MonoTime now = boot_now();
  const FileMark mark = mark_of_list();
  if (known && mark == known_mark && now - known_since < kAuthoritiesAge) return known;
  auto fresh = read_authorities(mark);
  if (!fresh && !known) return fresh;
  // What cannot be read is not tried again for every connection.
  known_mark = mark;
  known_since = now;
  if (fresh) known = std::move(*fresh);
  return known;
}

}  // namespace muster::pki
