#include "cli/authority.h"

#include <fcntl.h>

#include <utility>

#include "cli/certificate_order.h"
#include "platform/pki/crl.h"
#include "platform/pki/issue.h"
#include "platform/whole_file.h"

namespace muster::cli {
namespace {

using files::Existing;
using files::Readers;
using files::write_whole;

/// What is there already is told with what to do about it.
Status kept(Status written, const std::string& path, const std::string& advice) {
  if (!written.is(Errc::kConflict)) return written;
  return {Errc::kInvalid, path + " already exists; " + advice};
}

Result<files::FileLock> lock(int directory, const std::string& path) {
  auto file = files::open_at(directory, "lock", O_RDWR | O_CREAT);
  if (!file) return file.error();
  files::FileLock held(std::move(*file));
  const auto locked = held.try_lock();
  if (!locked) return locked.error();
  if (!*locked) {
    return {Errc::kUnavailable, "process " + std::to_string(held.holder()) + " is running in " +
                                    path + "; try again when it has ended"};
  }
  return held;
}

Result<std::string> read_part(const std::string& directory, const std::string& name) {
  auto bytes = files::read_whole(directory + "/" + name, std::size_t{64} << 20);
  if (bytes.is(Errc::kNotFound)) {
    return {Errc::kInvalid, "there is no CA in " + directory + " (" + name +
                                " is missing); muster certs init --dir " + directory +
                                " makes one"};
  }
  return bytes;
}

}  // namespace

Authority::Authority(std::string directory, UniqueFd fd, files::FileLock lock,
                     pki::Certificate certificate, pki::PrivateKey key, CertificateIndex index)
    : directory_(std::move(directory)),
      fd_(std::move(fd)),
      lock_(std::move(lock)),
      certificate_(std::move(certificate)),
      key_(std::move(key)),
      index_(std::move(index)) {}

Result<Authority> Authority::create(const std::string& directory, std::uint32_t days,
                                    WallTime now) {
  auto fd = files::open_or_make_directory(directory);
  if (!fd) return fd.error();
  auto held = lock(fd->get(), directory);
  if (!held) return held.error();
  auto key = pki::PrivateKey::generate(pki::KeyType::kEcP256);
  if (!key) return key.error();
  pki::CertificateOrder order;
  // Authorities are told apart by their names, and an old one may be trusted beside a new one.
  order.common_name = "Muster CA " + pki::random_password().substr(0, 8);
  order.use = pki::CertificateOrder::Use::kAuthority;
  order.not_before = now - kBackdate;
  order.not_after = now + std::chrono::days(days);
  auto certificate = pki::issue_authority(order, *key);
  if (!certificate) return certificate.error();
  Authority made(directory, std::move(*fd), std::move(*held), std::move(*certificate),
                 std::move(*key), {});
  const int at = made.fd_.get();
  const auto write = [&](const std::string& name, const std::string& bytes, Readers readers) {
    return kept(write_whole(at, name, bytes, readers, Existing::kKeep), made.path(name),
                "a CA is never replaced: choose another directory");
  };
  // The certificate comes last: without it there is no authority yet.
  Status status = write("ca.key", made.key_.to_pem(), Readers::kOwner);
  if (status) status = write("index.json", made.index_.to_json(), Readers::kOwner);
  if (status) status = write("ca.crt", made.certificate_.to_pem(), Readers::kEverybody);
  if (!status) return status.error();
  return made;
}

Result<Authority> Authority::open(const std::string& directory) {
  const auto pem = read_part(directory, "ca.crt");
  if (!pem) return pem.error();
  auto fd = files::open_or_make_directory(directory);
  if (!fd) return fd.error();
  auto held = lock(fd->get(), directory);
  if (!held) return held.error();
  const auto key_pem = read_part(directory, "ca.key");
  if (!key_pem) return key_pem.error();
  const auto json = read_part(directory, "index.json");
  if (!json) return json.error();
  auto certificate = pki::Certificate::from_pem(*pem);
  if (!certificate) return {Errc::kCorrupt, directory + "/ca.crt: " + certificate.error().message};
  auto key = pki::PrivateKey::from_pem(*key_pem);
  if (!key) return {Errc::kCorrupt, directory + "/ca.key: " + key.error().message};
  if (!certificate->belongs_to(*key)) {
    return {Errc::kCorrupt, directory + "/ca.key is not the key of ca.crt beside it"};
  }
  auto index = CertificateIndex::from_json(*json);
  if (!index) return index.error();
  return Authority(directory, std::move(*fd), std::move(*held), std::move(*certificate),
                   std::move(*key), std::move(*index));
}

Result<IssuedCertificate> Authority::issue(const IssueOrder& order, WallTime now) {
  const auto wanted = certificate_order(order, now, facts().not_after);
  if (!wanted) return wanted.error();
  IssuedCertificate issued{path(order.id + ".crt"), path(order.id + ".key"), {}, {}, {}, {}};
  for (const std::string& file : {issued.certificate_file, issued.key_file}) {
    if (order.replace || files::read_whole(file).is(Errc::kNotFound)) continue;
    return {Errc::kInvalid, file + " already exists; give --replace to put a new one in its place"};
  }
  auto key = pki::PrivateKey::generate(
      order.role == security::Role::kServer ? pki::KeyType::kRsa2048 : pki::KeyType::kEcP256);
  if (!key) return key.error();
  auto certificate = pki::issue(*wanted, *key, certificate_, key_);
  if (!certificate) return certificate.error();
  issued.serial = certificate->facts().serial;
  issued.expires = certificate->facts().not_after;
  index_.certificates.push_back(
      {issued.serial, order.id, to_string(order.role), now, issued.expires, {}});
  if (Status status = save_index(); !status) return status.error();
  if (Status status = write_issued(order, *certificate, *key, issued); !status) {
    return status.error();
  }
  return issued;
}

Status Authority::write_issued(const IssueOrder& order, const pki::Certificate& certificate,
                               const pki::PrivateKey& key, IssuedCertificate& issued) const {
  const Existing existing = order.replace ? Existing::kReplace : Existing::kKeep;
  const auto write = [&](const std::string& name, const std::string& bytes, Readers readers) {
    return kept(write_whole(fd_.get(), name, bytes, readers, existing), path(name),
                "give --replace to put a new one in its place");
  };
  if (order.p12) {
    issued.p12_file = path(order.id + ".p12");
    issued.p12_password = pki::random_password();
    const auto bytes =
        pki::bundle_p12(order.id, issued.p12_password, certificate, key, certificate_);
    if (!bytes) return bytes.error();
    if (Status status = write(order.id + ".p12", *bytes, Readers::kOwner); !status) return status;
  }
  if (Status status = write(order.id + ".key", key.to_pem(), Readers::kOwner); !status) {
    return status;
  }
  return write(order.id + ".crt", certificate.to_pem(), Readers::kEverybody);
}

Status Authority::check_term(std::uint32_t days, WallTime now) const {
  const WallTime ends = facts().not_after;
  if (now + std::chrono::days(days) <= ends) return Done{};
  return {Errc::kInvalid,
          "the CA certificate expires before that; give --days " +
              std::to_string(std::chrono::floor<std::chrono::days>(ends - now).count()) +
              " or fewer, or make a new CA"};
}

Result<WrittenList> Authority::revoke(const std::string& id, std::uint32_t days, WallTime now) {
  if (id.empty()) return {Errc::kInvalid, "name the id whose certificates to revoke: --id ID"};
  if (!index_.knows(id)) {
    return {Errc::kInvalid,
            "this CA has issued no certificate to " + id + "; index.json lists the known ids"};
  }
  if (Status s = check_term(days, now); !s) return s.error();
  std::vector<std::string> serials = index_.revoke(id, now);
  auto list = write_list(days, now);
  if (list) list->serials = std::move(serials);
  return list;
}

Result<WrittenList> Authority::write_list(std::uint32_t days, WallTime now) {
  if (Status s = check_term(days, now); !s) return s.error();
  pki::RevocationOrder order;
  order.number = ++index_.crl_number;
  order.this_update = now - kBackdate;
  order.next_update = now + std::chrono::days(days);
  for (const IndexedCertificate& each : index_.certificates) {
    if (each.revoked) order.revoked.push_back({each.serial, *each.revoked});
  }
  if (Status status = save_index(); !status) return status.error();
  const auto pem = pki::make_revocation_list(order, certificate_, key_);
  if (!pem) return pem.error();
  if (Status status =
          write_whole(fd_.get(), "crl.pem", *pem, Readers::kEverybody, Existing::kReplace);
      !status) {
    return status.error();
  }
  return WrittenList{path("crl.pem"), order.revoked.size(), {}, order.next_update};
}

Status Authority::save_index() const {
  return write_whole(fd_.get(), "index.json", index_.to_json(), Readers::kOwner,
                     Existing::kReplace);
}

}  // namespace muster::cli
