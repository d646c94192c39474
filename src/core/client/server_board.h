#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::client {

/// Which server should answer a request.
enum class Aim {
  kAny,     ///< Every server answers from its own copy.
  kLeader,  ///< The leader saves a hop, or is the only one that can.
};

/// A client's knowledge of its servers: their addresses, which one answered last, and which one is
/// said to lead. A hinted leader is used until it has failed twice in a row or another one is
/// named; it need not be among the configured ones. Pure. Threads: one.
class ServerBoard {
 public:
  /// Requires at least one server. Begins with the one at `first`, so that clients spread.
  ServerBoard(std::vector<std::string> servers, std::size_t first);

  /// The server to ask now; one not in `asked` while there is one.
  [[nodiscard]] std::string choose(Aim aim, const std::vector<std::string>& asked) const;

  /// The server answered, with any answer.
  void answered(const std::string& server);
  /// No connection, or no answer.
  void failed(const std::string& server);
  /// A server has named the leader. Ignored if empty.
  void learned_leader(const std::string& address);

  [[nodiscard]] const std::optional<std::string>& leader() const { return leader_; }
  [[nodiscard]] const std::vector<std::string>& servers() const { return servers_; }

 private:
  static constexpr int kFailuresMax = 2;

  std::vector<std::string> servers_;
  std::size_t current_;
  std::optional<std::string> leader_;
  int leader_failures_ = 0;
};

}  // namespace muster::client
