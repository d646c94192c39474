#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "muster/v1/store.pb.h"
#include "server/gateway/json_message.h"

/// Elections below /v1, as they are kept in musterd's own store.
namespace muster::server {

/// What the keys begin with that are kept at a `muster://` address with this path: it ends with a
/// slash, or is empty.
[[nodiscard]] std::string key_prefix(std::string path);
/// The key of an election's state at that address.
[[nodiscard]] std::string state_key(const std::string& path, const std::string& name);

/// The election that the object holds the state of. A state that cannot be decoded has no leader,
/// and `damaged` says why.
[[nodiscard]] Json election_json(const std::string& name, const v1::StoreObject& state);

/// A list of elections that is made page by page from the keys of the store.
class ElectionList {
 public:
  /// `path`: of a `muster://` address; `after`: the last election that the client has; empty for
  /// none.
  ElectionList(const std::string& path, std::string after, std::size_t limit, bool stale_ok);

  /// What to ask the store next; none when the list is complete.
  [[nodiscard]] std::optional<v1::StoreListRequest> next() const;
  void add(const v1::StoreListResponse& page);
  /// {"elections": […], "next": "…" or null}
  [[nodiscard]] Json json() const;

 private:
  /// The election of a key of the list; empty if it belongs to none.
  [[nodiscard]] std::optional<std::string> name_in(const std::string& key) const;
  /// Behind every key of an election, and before those of the next one.
  [[nodiscard]] std::string end_of(const std::string& name) const;

  const std::string prefix_;
  std::string key_after_;
  const std::size_t limit_;
  const bool stale_ok_;
  bool more_ = true;
  std::string last_;
  Json elections_ = Json::array();
};

}  // namespace muster::server
