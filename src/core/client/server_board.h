#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::client {

/// Who had better answer a request.
enum class Aim {
  kAny,     ///< Every server answers from its own copy.
  kLeader,  ///< The leader spares the others a hop, or is the only one who can.
};

/// What a client knows of its servers: their addresses, who answered last, and who is said to
/// lead. A leader that was hinted at counts until it has failed twice in a row, or another is
/// named; it need not be among the configured ones. Pure; one thread.
class ServerBoard {
 public:
  /// At least one server. Begins with the one at `first`, so that many clients spread.
  ServerBoard(std::vector<std::string> servers, std::size_t first);

  /// Whom to ask now. Somebody not in `asked` while there is one.
  [[nodiscard]] std::string choose(Aim aim, const std::vector<std::string>& asked) const;

  /// It answered, whatever it said.
  void answered(const std::string& server);
  /// No connection, or no answer.
  void failed(const std::string& server);
  /// Somebody says who leads. Ignored when empty.
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
