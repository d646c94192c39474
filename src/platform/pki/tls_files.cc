#include "platform/pki/tls_files.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "platform/pki/certificate.h"

namespace muster::pki {
namespace {

Result<std::string> read_file(const std::string& path) {
  if (path.empty()) return std::string();
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  const std::string why = errno == 0 ? "it is empty" : std::generic_category().message(errno);
  if (file) text << file.rdbuf();
  if (!file || text.str().empty()) {
    return {Errc::kInvalid,
            "cannot read the file " + path + " (" + why + "); check its path and permissions"};
  }
  return text.str();
}

Status check_pair(const TlsFiles& files, const TlsTexts& texts) {
  const auto certificate = pki::Certificate::from_pem(texts.cert);
  if (!certificate) {
    return {Errc::kInvalid, files.cert + ": " + certificate.error().message};
  }
  const auto key = pki::PrivateKey::from_pem(texts.key);
  if (!key) return {Errc::kInvalid, files.key + ": " + key.error().message};
  if (!certificate->belongs_to(*key)) {
    return {Errc::kInvalid, files.key + " is not the key of " + files.cert};
  }
  return Done{};
}

}  // namespace

Result<TlsTexts> read_tls_files(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return {Errc::kInvalid,
            "a certificate and its private key belong together: give both or "
            "neither"};
  }
  const auto ca = read_file(files.ca);
  const auto cert = read_file(files.cert);
  const auto key = read_file(files.key);
  for (const auto* file : {&ca, &cert, &key}) {
    if (!*file) return file->error();
  }
  TlsTexts texts{*ca, *cert, *key};
  if (!files.ca.empty()) {
    const auto authorities = pki::Certificate::all_from_pem(texts.ca);
    if (!authorities) return {Errc::kInvalid, files.ca + ": " + authorities.error().message};
  }
  if (!files.cert.empty()) {
    if (Status status = check_pair(files, texts); !status) return status.error();
  }
  return texts;
}

}  // namespace muster::pki
