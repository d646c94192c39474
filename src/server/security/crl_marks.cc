#include "server/security/crl_marks.h"

#include <nlohmann/json.hpp>

#include "base/time.h"
#include "platform/files.h"
#include "platform/whole_file.h"

namespace muster::server {
namespace {

constexpr const char* kName = "crl-marks.json";

Error unreadable(const std::string& path) {
  return {Errc::kInvalid, path +
                              " is damaged; it records which revocation lists are outdated. "
                              "Restore it, or remove it when the list in use is the newest one"};
}

}  // namespace

Result<std::vector<security::RevocationMark>> CrlMarks::load() const {
  const std::string path = directory_ + "/" + kName;
  const auto bytes = files::read_whole(path);
  if (bytes.is(Errc::kNotFound)) return std::vector<security::RevocationMark>{};
  if (!bytes) return bytes.error();
  const auto json = nlohmann::json::parse(*bytes, nullptr, false);
  if (!json.is_array()) return unreadable(path);
  std::vector<security::RevocationMark> marks;
  for (const auto& each : json) {
    if (!each.is_object()) return unreadable(path);
    const auto issuer = each.find("issuer");
    const auto key = each.find("key");
    const auto update = each.find("thisUpdate");
    if (issuer == each.end() || !issuer->is_string() || key == each.end() || !key->is_string() ||
        update == each.end() || !update->is_number_integer()) {
      return unreadable(path);
    }
    marks.push_back({issuer->get<std::string>(), key->get<std::string>(),
                     wall_from_ms(update->get<std::int64_t>())});
  }
  return marks;
}

Status CrlMarks::save(const std::vector<security::RevocationMark>& marks) const {
  auto json = nlohmann::ordered_json::array();
  for (const security::RevocationMark& mark : marks) {
    json.push_back(
        {{"issuer", mark.issuer}, {"key", mark.key}, {"thisUpdate", to_ms(mark.this_update)}});
  }
  const auto directory = files::open_or_make_directory(directory_);
  if (!directory) return directory.error();
  // Names and keys are ASCII (RFC 2253 escapes the rest), so that dump() cannot fail.
  return files::write_whole(directory->get(), kName, json.dump(1) + "\n", files::Readers::kOwner,
                            files::Existing::kReplace);
}

}  // namespace muster::server
