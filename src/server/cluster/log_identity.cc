#include "server/cluster/log_identity.h"

#include <algorithm>
#include <cctype>

#include "platform/files.h"
#include "platform/whole_file.h"

namespace muster::server {
namespace {

constexpr const char* kLogFile = "log-id";
constexpr const char* kServerFile = "server-id";
constexpr std::size_t kIdentityBytesMax = 256;

/// The one line of a file; empty when the file is absent. kCorrupt when it holds anything else.
Result<std::string> read_line(const std::string& path, const std::string& of_what) {
  auto id = files::read_whole(path, kIdentityBytesMax);
  if (id.is(Errc::kNotFound)) return std::string();
  if (!id) return id.error();
  while (!id->empty() && id->back() == '\n') id->pop_back();
  const auto odd = [](unsigned char c) { return std::isgraph(c) == 0; };
  if (id->empty() || std::any_of(id->begin(), id->end(), odd)) {
    return {Errc::kCorrupt, path + " does not hold the id of a " + of_what +
                                "; to let this server begin anew, remove that file"};
  }
  return id;
}

Status write_line(const std::string& data_dir, const char* name, const std::string& line) {
  const auto directory = files::open_or_make_directory(data_dir);
  if (!directory) return directory.error();
  return files::write_whole(directory->get(), name, line + "\n", files::Readers::kOwner,
                            files::Existing::kReplace);
}

}  // namespace

std::string log_identity_path(const std::string& data_dir) {
  return data_dir + "/" + kLogFile;
}

Result<std::string> known_log(const std::string& data_dir) {
  if (data_dir.empty()) return std::string();
  return read_line(log_identity_path(data_dir), "log");
}

Status remember_log(const std::string& data_dir, const std::string& id) {
  if (data_dir.empty()) return Done{};
  return write_line(data_dir, kLogFile, id);
}

Status claim_directory(const std::string& data_dir, const std::string& server) {
  if (data_dir.empty()) return Done{};
  const auto owner = read_line(data_dir + "/" + kServerFile, "server");
  if (!owner) return owner.error();
  if (owner->empty()) return write_line(data_dir, kServerFile, server);
  if (*owner == server) return Done{};
  return {Errc::kConflict,
          "--data-dir " + data_dir + " belongs to server " + *owner + ", and this is server " +
              server + "; give each server its own directory, or start this one with --id " +
              *owner};
}

}  // namespace muster::server
