#include "cli/certificate_index.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

IndexedCertificate read_certificate(const Json& json) {
  IndexedCertificate read{json.at("serial").get<std::string>(),
                          json.at("id").get<std::string>(),
                          json.at("role").get<std::string>(),
                          wall_from_ms(json.at("issued").get<std::int64_t>()),
                          wall_from_ms(json.at("expires").get<std::int64_t>()),
                          {}};
  const Json& revoked = json.at("revoked");
  if (!revoked.is_null()) read.revoked = wall_from_ms(revoked.get<std::int64_t>());
  return read;
}

}  // namespace

Result<CertificateIndex> CertificateIndex::from_json(std::string_view text) {
  CertificateIndex index;
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != kVersion) {
      return {Errc::kCorrupt, "index.json was written by another version of muster"};
    }
    index.crl_number = json.at("crlNumber").get<std::uint64_t>();
    for (const Json& each : json.at("certificates")) {
      index.certificates.push_back(read_certificate(each));
    }
  } catch (const Json::exception&) {
    return {Errc::kCorrupt,
            "index.json is damaged; restore it from a backup, because it is the only record of "
            "the revoked certificates"};
  }
  return index;
}

std::string CertificateIndex::to_json() const {
  Json all = Json::array();
  for (const IndexedCertificate& each : certificates) {
    all.push_back({{"serial", each.serial},
                   {"id", each.id},
                   {"role", each.role},
                   {"issued", to_ms(each.issued)},
                   {"expires", to_ms(each.expires)},
                   {"revoked", each.revoked ? Json(to_ms(*each.revoked)) : Json(nullptr)}});
  }
  const Json json = {{"version", kVersion}, {"crlNumber", crl_number}, {"certificates", all}};
  return json.dump(1) + "\n";
}

std::vector<std::string> CertificateIndex::revoke(const std::string& id, WallTime now) {
  std::vector<std::string> serials;
  for (IndexedCertificate& each : certificates) {
    if (each.id != id || each.revoked) continue;
    each.revoked = now;
    serials.push_back(each.serial);
  }
  return serials;
}

bool CertificateIndex::knows(const std::string& id) const {
  return std::any_of(certificates.begin(), certificates.end(),
                     [&](const IndexedCertificate& each) { return each.id == id; });
}

}  // namespace muster::cli
