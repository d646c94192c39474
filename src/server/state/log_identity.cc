#include "server/state/log_identity.h"

#include <algorithm>
#include <cctype>

#include "platform/files.h"
#include "platform/whole_file.h"

namespace muster::server {
namespace {

constexpr const char* kName = "log-id";
constexpr std::size_t kIdentityBytesMax = 256;

}  // namespace

std::string log_identity_path(const std::string& data_dir) {
  return data_dir + "/" + kName;
}

Result<std::string> known_log(const std::string& data_dir) {
  if (data_dir.empty()) return std::string();
  const std::string path = log_identity_path(data_dir);
  auto id = files::read_whole(path, kIdentityBytesMax);
  if (id.is(Errc::kNotFound)) return std::string();
  if (!id) return id.error();
  while (!id->empty() && id->back() == '\n') id->pop_back();
  const auto odd = [](unsigned char c) { return std::isgraph(c) == 0; };
  if (id->empty() || std::any_of(id->begin(), id->end(), odd)) {
    return {Errc::kCorrupt, path +
                                " does not hold the id of a log; when this server is to begin "
                                "anew, remove that file"};
  }
  return id;
}

Status remember_log(const std::string& data_dir, const std::string& id) {
  if (data_dir.empty()) return Done{};
  const auto directory = files::open_or_make_directory(data_dir);
  if (!directory) return directory.error();
  return files::write_whole(directory->get(), kName, id + "\n", files::Readers::kOwner,
                            files::Existing::kReplace);
}

}  // namespace muster::server
