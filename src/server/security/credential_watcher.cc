#include "server/security/credential_watcher.h"

#include <utility>

#include "base/log.h"
#include "platform/pki/certificate.h"
#include "platform/pki/key.h"
#include "platform/whole_file.h"

namespace muster::server {

using security::Credentials;
using Outcome = security::CredentialGenerations::Outcome;

namespace {

constexpr std::size_t kCrlBytesMax = std::size_t{16} << 20;

}  // namespace

Status check_credentials(const Credentials& credentials, WallTime now) {
  const auto chain = pki::Certificate::all_from_pem(credentials.certificate);
  if (!chain) return {Errc::kInvalid, "the certificate file: " + chain.error().message};
  const auto key = pki::PrivateKey::from_pem(credentials.key);
  if (!key) return {Errc::kInvalid, "the key file: " + key.error().message};
  if (!chain->front().belongs_to(*key)) {
    return {Errc::kInvalid, "the key is not the key of the certificate (serial " +
                                chain->front().facts().serial + ")"};
  }
  if (chain->front().facts().not_after <= now) {
    return {Errc::kInvalid,
            "the certificate (serial " + chain->front().facts().serial + ") has expired"};
  }
  const auto authorities = pki::Certificate::all_from_pem(credentials.authorities);
  if (!authorities) return {Errc::kInvalid, "the CA file: " + authorities.error().message};
  return Done{};
}

CredentialWatcher::CredentialWatcher(Loop& loop, CredentialFiles files, Options options)
    : loop_(loop),
      files_(std::move(files)),
      options_(std::move(options)),
      generations_([this](const Credentials& found) {
        const Status fit = check_credentials(found, loop_.wall_now());
        return fit && options_.check ? options_.check(found) : fit;
      }),
      timer_(loop) {}

Status CredentialWatcher::start() {
  if (generations_.offer(read()) == Outcome::kRefused) return *generations_.trouble();
  // One that cannot be read is the trouble of who keeps the list; here only changes matter.
  if (auto crl = files::read_whole(files_.crl, kCrlBytesMax)) crl_ = std::move(*crl);
  timer_.arm(options_.interval, [this] { reload(); });
  return Done{};
}

void CredentialWatcher::reload() {
  timer_.arm(options_.interval, [this] { reload(); });
  look_at_credentials();
  look_at_crl();
}

Result<Credentials> CredentialWatcher::read() const {
  Credentials found;
  for (const auto& [path, bytes] :
       {std::pair{&files_.certificate, &found.certificate}, std::pair{&files_.key, &found.key},
        std::pair{&files_.authorities, &found.authorities}}) {
    auto content = files::read_whole(*path);
    if (!content) return content.error();
    *bytes = std::move(*content);
  }
  return found;
}

void CredentialWatcher::look_at_credentials() {
  const auto earlier = generations_.trouble();
  switch (generations_.offer(read())) {
    case Outcome::kUnchanged:
      return;
    case Outcome::kRefused: {
      const std::string& message = generations_.trouble()->message;
      if (earlier && earlier->message == message) return;
      return log_warn("new certificate files cannot be used, the earlier ones stay in force",
                      {{"reason", message}, {"generation", std::to_string(generation())}});
    }
    case Outcome::kAdopted:
      log_info("new certificate files are in force",
               {{"generation", std::to_string(generation())}});
      if (adopted_) adopted_(current(), generation());
  }
}

void CredentialWatcher::look_at_crl() {
  if (files_.crl.empty()) return;
  auto content = files::read_whole(files_.crl, kCrlBytesMax);
  if (!content || *content == crl_) return;
  crl_ = std::move(*content);
  if (crl_changed_) crl_changed_();
}

}  // namespace muster::server
